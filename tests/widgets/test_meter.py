"""A meter shows the parts of what is done, in shapes and not in colours alone."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rich.cells import cell_len

from tests.widgets.stage import NASTY, Stage, line, safe
from widgets.meter import Meter, _marked

FIGURES = ("4,200/10,000", "ETA 3h 12m", "6.1M/10M tok", "3 err")


def meter(label: str = "B3_magicoder") -> Meter:
    return Meter(label, 0.5, FIGURES, label_width=14, before=0.2, flight=0.1, state="running", state_width=10, sign="▸")


@pytest.mark.parametrize(
    ("width", "shown", "word"),
    [(20, 1, False), (40, 1, False), (60, 2, True), (80, 4, True), (120, 4, True), (200, 4, True)],
)
async def test_the_bar_shrinks_then_figures_go(width: int, shown: int, word: bool) -> None:
    one = meter()
    async with Stage(one).run_test(size=(width, 3)):
        text = line(one)
        assert cell_len(text) == width
        assert [figure in text for figure in FIGURES] == [index < shown for index in range(len(FIGURES))]
        assert ("running" in text) is word
        assert "▸" in text
        assert text.startswith("B3")


@pytest.mark.parametrize("width", [80, 200])
async def test_parts_have_shapes_in_proportion(width: int) -> None:
    one = meter()
    async with Stage(one).run_test(size=(width, 3)):
        counts = [line(one).count(sign) for sign in "═━╍─"]
        total = sum(counts)
        assert [count / total for count in counts] == pytest.approx([0.2, 0.3, 0.1, 0.4], abs=1.01 / total)


async def test_meters_line_up() -> None:
    meters = [
        meter("B1"),
        meter("B2_a_name_that_is_too_long"),
        Meter("B3", None, FIGURES, label_width=14, state_width=10),
    ]
    async with Stage(*meters).run_test(size=(100, 5)):
        assert len({line(one).index("4,200") for one in meters}) == 1
        assert "B2_a_name_tha…" in line(meters[1])


async def test_unknown_is_not_nothing() -> None:
    one = Meter("B4")
    async with Stage(one).run_test(size=(60, 3)) as pilot:
        assert line(one).rstrip().endswith("--")
        assert "┄" in line(one)
        assert one.has_class("-unknown")
        one.share = 0.0
        await pilot.pause()
        assert line(one).rstrip().endswith("0%")
        assert "┄" not in line(one)
        assert not one.has_class("-unknown")


async def test_done_is_full_and_tone_is_a_class() -> None:
    one = Meter("B1", 1.0, "10,000", tone="good")
    async with Stage(one).run_test(size=(60, 3)) as pilot:
        assert "─" not in line(one)
        assert one.has_class("-good")
        one.tone = "bad"
        await pilot.pause()
        assert one.has_class("-bad")
        assert not one.has_class("-good")


async def test_a_mark_stands_where_it_is_set() -> None:
    one = Meter("", 0.0, "x", mark=0.5)
    async with Stage(one).run_test(size=(42, 3)) as pilot:
        assert line(one).index("┃") == 20
        for outside, at in ((9.0, 39), (-1.0, 0)):
            one.mark = outside
            await pilot.pause()
            assert line(one).index("┃") == at


async def test_what_the_mark_leaves_out_is_told_from_what_is_still_to_do() -> None:
    one = Meter("", 0.25, "x", mark=0.5)
    async with Stage(one).run_test(size=(42, 3)) as pilot:
        assert line(one)[:40] == "━" * 10 + "─" * 10 + "┃" + "┈" * 19
        one.share = None
        await pilot.pause()
        assert line(one)[:40] == "┄" * 20 + "┃" + "┄" * 19
        one.share, one.mark = 1.0, None
        await pilot.pause()
        assert line(one)[:40] == "━" * 40


async def test_what_is_under_way_is_seen_however_little_it_is() -> None:
    one = Meter("", 0.5, "x", flight=0.000_01)
    async with Stage(one).run_test(size=(42, 3)) as pilot:
        assert line(one).count("╍") == 1
        for share, flight in ((0.5, 0.0), (1.0, 0.1)):
            one.share, one.flight = share, flight
            await pilot.pause()
            assert "╍" not in line(one)


async def test_a_figure_may_be_a_warning_and_a_cursor_stands_before_all() -> None:
    one = Meter("B1", 0.5, ("3,452/10,000", "41 err"))
    async with Stage(one).run_test(size=(60, 3)) as pilot:
        plain = line(one)
        one.lead, one.alert = "▸", "41 err"
        await pilot.pause()
        assert line(one).startswith("▸B1 ")
        assert cell_len(line(one)) == cell_len(plain) == 60
        styles = {segment.text.strip(): segment.style for segment in one.render_line(0)}
        assert styles["41 err"] != styles["3,452/10,000"]
        one.lead = " "
        await pilot.pause()
        assert line(one).startswith(" B1 ")


SHARES = st.none() | st.floats(allow_nan=True, allow_infinity=True) | st.floats(-1, 2)


@example(126, None, 0.0, 0.0, 1.4e306).via("times the width it is no float any more")
@given(st.integers(0, 200), SHARES, st.floats(-1, 2), st.floats(allow_nan=True), SHARES)
def test_any_bar_is_as_wide_as_its_room(
    width: int, share: float | None, before: float, flight: float, mark: float | None
) -> None:
    pieces = Meter("", share, before=before, flight=flight, mark=mark)._bar(width)
    assert sum(len(text) for text, _ in pieces) == width


@given(st.lists(st.text("ab", max_size=5), min_size=1), st.data())
def test_a_mark_takes_one_cell(texts: list[str], data: st.DataObject) -> None:
    bar = "".join(texts)
    at = data.draw(st.integers(0, max(0, len(bar) - 1)))
    marked = "".join(text for text, _ in _marked([(text, "x") for text in texts], at))
    assert marked == (bar[:at] + "┃" + bar[at + 1 :] if bar else "")


async def test_text_is_never_markup() -> None:
    one = Meter(NASTY, 0.3, (NASTY, NASTY), state=NASTY, sign="[")
    async with Stage(one).run_test(size=(200, 3)):
        assert "[b]bold[/b]" in line(one)
        assert safe(line(one))
