"""ASCII in place of what a terminal can't show: the same cells, and what differs in meaning differs in shape."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from textual.app import App

from tests.widgets.stage import Stage, screen_text
from widgets import card, lamp, scrub, steps, strip, trend
from widgets.band import BAND, END, MIDDLE, NOW
from widgets.glyphs import HEIGHTS, AsciiFilter, ascii_of, braille, needs_ascii, plain
from widgets.histogram import BLOCKS, LINE, OPEN
from widgets.log_view import LogText, LogView
from widgets.meter import Meter
from widgets.plain import clean


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=40))
def test_any_clean_text_becomes_ascii_of_the_same_width(text: str) -> None:
    shown = clean(text)
    flat = ascii_of(shown)
    assert flat.isascii()
    assert cell_len(flat) == cell_len(shown)


@pytest.mark.parametrize(
    ("what", "glyphs"),
    [
        ("parts of a meter", "═━╍─┈┃"),
        ("a meter of nothing known", "┄┃"),
        ("marks of a histogram", BLOCKS + OPEN + LINE),
        ("parts of a band", BAND + MIDDLE + NOW + END),
        (
            "parts of a strip of time",
            "".join(scrub.SIGNS.values()) + strip.BORDER + strip.AHEAD + strip.RANGE + strip.MIDDLE + strip.NOW,
        ),
        ("cap and mean", "▼▽"),
        ("signs of a lamp", "".join(lamp.SIGNS.values())),
        ("signs of a card", "".join(card.SIGNS.values())),
        ("tones of a bar of time", "".join(scrub.SIGNS.values()) + scrub.CURSOR),
        ("states of a step", "".join(steps.SIGNS.values())),
        ("states of a dataset", "·…▶»✓■"),
        ("heights", trend.BLOCKS),
        ("directions", "↑↓→←"),
    ],
)
def test_what_differs_in_meaning_differs_in_shape(what: str, glyphs: str) -> None:
    assert len({plain(glyph) for glyph in glyphs}) == len(set(glyphs)), what


def test_heights_rise_in_ink() -> None:
    assert "".join(HEIGHTS) == trend.BLOCKS


def test_boxes_keep_their_corners_and_lines() -> None:
    assert ascii_of("╭─┬─╮│ ┏━┓║╚╝▔▁█") == "+-+-+| +#+|++-_#"


def test_a_chart_of_dots_keeps_its_course() -> None:
    top, middle, bottom, full = chr(0x2801), chr(0x2802), chr(0x2840), chr(0x28FF)
    assert [braille(cell) for cell in (chr(0x2800), top, middle, bottom, full)] == [" ", "'", "-", ".", "#"]


def test_letters_lose_their_accents_and_wide_signs_keep_their_room() -> None:
    assert ascii_of("Zoë naïve 漢字 🙂") == "Zoe naive ???? ??"


@pytest.mark.parametrize(
    ("environ", "encoding", "ascii_only"),
    [
        ({"LANG": "de_DE.UTF-8", "TERM": "xterm-256color"}, "utf-8", False),
        ({"LANG": "en_US.utf8"}, "UTF-8", False),
        ({"TERM": "linux", "LANG": "de_DE.UTF-8"}, "utf-8", True),
        ({"LC_ALL": "C", "LANG": "de_DE.UTF-8"}, "utf-8", True),
        ({"LC_CTYPE": "C.UTF-8", "LANG": "C"}, "utf-8", False),
        ({"LANG": "de_DE.ISO-8859-1"}, "iso8859-1", True),
        ({"LANG": "POSIX"}, "utf-8", True),
        ({}, "utf-8", False),
        ({}, "ascii", True),
        ({}, "", False),
    ],
)
def test_ascii_is_for_terminals_that_say_so(environ: dict[str, str], encoding: str, ascii_only: bool) -> None:
    assert needs_ascii(environ, encoding) is ascii_only


async def test_all_that_is_drawn_goes_through_the_table() -> None:
    class Flat(Stage):
        def get_line_filters(self) -> list[object]:  # type: ignore[override]
            return [*App.get_line_filters(self), AsciiFilter()]

    log = LogView("log · née")
    app = Flat(Meter("B1", 0.5, "5/10", state="running", sign="▶", before=0.2, flight=0.1, mark=0.9), log)
    async with app.run_test(size=(60, 8)) as pilot:
        log.append([LogText("naïve 漢字 …", "error", "03:19:40")])
        await pilot.pause()
        shown = screen_text(app)
    assert shown.isascii()
    assert "B1 > running ====" in shown
    assert "x naive ???? ~" in shown
    assert all(len(row) == 60 for row in shown.splitlines())
