"""Large text: three rows of equal width, plain text where there is no room, any text at all."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from tests.widgets.stage import NASTY, Stage, rows, safe, screen_text
from widgets.large import ROWS, Large, enlarged
from widgets.plain import clean


def test_a_figure_and_its_unit() -> None:
    assert enlarged("17 h") == (
        "▄█ ▀▀█  ",
        " █   █  ",
        " ▀   ▀ h",
    )


@given(st.text(max_size=30))
def test_any_text_gives_three_rows_of_one_width(text: str) -> None:
    drawn = enlarged(clean(text))
    assert len(drawn) == ROWS
    assert len({cell_len(row) for row in drawn}) == 1
    assert all(safe(row) for row in drawn)


def test_each_word_of_a_verdict_can_be_large() -> None:
    for word in ("✓ WAIT", "! WATCH", "✗ INTERVENE", "? BLIND"):
        assert not set("".join(enlarged(word))) - set(" ▀▄█")


@pytest.mark.parametrize("width", [1, 4, 12, 20, 80])
async def test_it_is_large_only_where_it_fits(width: int) -> None:
    figure = Large("17 h 26 min", tall=True)
    figure.styles.width = width
    async with Stage(figure).run_test(size=(width, 6)):
        shown = rows(figure)
        if width >= cell_len(enlarged("17 h 26 min")[0]):
            assert tuple(row.rstrip() for row in shown) == tuple(row.rstrip() for row in enlarged("17 h 26 min"))
        else:
            assert len(shown) == 1
            assert "17 h 26 min".startswith(shown[0].strip().rstrip("…"))


async def test_it_takes_another_text_and_another_height() -> None:
    figure = Large("9")
    async with Stage(figure).run_test(size=(40, 6)) as pilot:
        assert rows(figure) == ["9"]
        figure.tall = True
        await pilot.pause()
        assert len(rows(figure)) == ROWS
        figure.text = NASTY
        await pilot.pause()
        assert safe(screen_text(pilot.app))
