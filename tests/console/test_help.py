"""Help: made from the table of commands and the panels' own words, the focused pane's first; it can be searched."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from console.commands import COMMANDS, Situation, key_words
from console.glossary import GLOSSARY
from console.panels.header import HeaderLine
from console.panels.panel import Panel
from console.screens.help import PANELS, HelpScreen, help_text, moving, near_first
from tests import samples
from tests.console.fakes_ui import (
    FakeControl,
    FakeFeed,
    main_screen,
    make_app,
    notices,
    screen_text,
    shown,
    until,
)
from widgets.page import Page

if TYPE_CHECKING:
    from textual.pilot import Pilot

    from console.app import LongwaitApp


def test_help_names_every_command_and_every_panel() -> None:
    text = help_text(None, {}, Situation())
    for command in COMMANDS:
        assert text.count(f"`{key_words(command, {})}` **{command.name}**") == 1
    for panel in PANELS:
        assert panel.HELP in text
    assert moving({}) in text
    assert "`q` closes it" in text


def test_help_shows_the_operator_s_own_keys_and_what_is_refused() -> None:
    text = help_text(None, {"health": "f5"}, Situation(read_only=True))
    assert "`f5` **Check health now**" in text
    assert "**Stop the job**. This console is read-only" in text
    assert "`f10` closes it, and the job goes on" in help_text(None, {"quit": "f10"}, Situation())


def test_the_keys_of_the_place_where_the_focus_is_come_first() -> None:
    for beside_logs in (False, True):
        near, others = near_first(COMMANDS, beside_logs=beside_logs)
        assert sorted(command.id for command in (*near, *others)) == sorted(command.id for command in COMMANDS)
        assert ("next-match" in {command.id for command in near}) == beside_logs
        assert ("note" in {command.id for command in near}) != beside_logs


def test_the_glossary_is_in_order_and_in_the_docs() -> None:
    terms = [term for term, _ in GLOSSARY]
    assert terms == sorted(terms, key=str.lower)
    page = (Path(__file__).parents[2] / "docs" / "console.md").read_text(encoding="utf-8")
    assert [term for term, meaning in GLOSSARY if f"| {term} | {meaning} |" not in page] == []


async def opened(pilot: Pilot[None], *keys: str) -> Page:
    await pilot.press(*keys, "question_mark")
    await until(pilot, lambda: isinstance(pilot.app.screen, HelpScreen), "the help")
    await pilot.pause()
    return pilot.app.screen.query_one(Page)


async def test_help_begins_with_the_focused_pane() -> None:
    app = make_app(FakeFeed(), FakeControl())
    async with app.run_test(size=(120, 36)) as pilot:
        await opened(pilot, "2")
        await until(pilot, lambda: "Datasets" in screen_text(app), "the pane's own words")
        assert screen_text(app).index("Datasets") < screen_text(app).index("Keys here")
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(app.screen, HelpScreen), "the main screen")


def says(app: LongwaitApp, text: str) -> bool:
    return text in screen_text(app)


@pytest.mark.parametrize("size", [(60, 24), (80, 24), (120, 36)])
async def test_help_is_searched_with_a_live_count(size: tuple[int, int]) -> None:
    app = make_app(FakeFeed(), FakeControl())
    async with app.run_test(size=size) as pilot:
        page = await opened(pilot)
        whole = page.count
        await pilot.press("slash")
        await until(pilot, lambda: says(app, f"{whole} of {whole} entries"), "the field")
        await pilot.press(*"retraction")
        await until(pilot, lambda: 0 < len(page.found) < whole, "the choice")
        found = len(page.found)
        await until(pilot, lambda: says(app, f"{found} of {whole} entries"), "the count")
        assert "Go to the verdict" not in screen_text(app)
        await pilot.press("enter")
        await until(pilot, lambda: says(app, f"match 1 of {found}"), "the first")
        await pilot.press("N")
        await until(pilot, lambda: page.here == found - 1, "the last, round about")
        await pilot.press("n")
        await until(pilot, lambda: page.here == 0, "the first again")
        await pilot.press("escape")
        await until(pilot, lambda: len(page.found) == whole, "the whole help")
        assert isinstance(app.screen, HelpScreen)
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(app.screen, HelpScreen), "the main screen")


async def test_a_search_that_finds_nothing_says_so_and_none_says_how() -> None:
    app = make_app(FakeFeed(), FakeControl())
    async with app.run_test(size=(80, 24)) as pilot:
        page = await opened(pilot)
        await pilot.press("n")
        await until(pilot, lambda: "Nothing is looked for: / searches." in notices(app), "how to search")
        await pilot.press("slash", *"xyzzy", "enter", "n")
        await until(pilot, lambda: "Nothing is found." in notices(app), "the answer")
        assert not page.found


@pytest.mark.parametrize(("key", "back"), [("j", "k"), ("ctrl+d", "ctrl+u"), ("G", "g"), ("pagedown", "pageup")])
async def test_help_is_scrolled_by_letters_too(key: str, back: str) -> None:
    app = make_app(FakeFeed(), FakeControl())
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        box = app.screen.query_one("#page")
        await pilot.press(key)
        await until(pilot, partial(lambda: box.scroll_y > 0), "down")
        await pilot.press(back)
        await until(pilot, partial(lambda: box.scroll_y == 0), "up")


async def test_help_begins_anew_at_each_opening_and_is_the_same_screen() -> None:
    app = make_app(FakeFeed(), FakeControl())
    async with app.run_test(size=(80, 24)) as pilot:
        page = await opened(pilot)
        first, whole = app.screen, page.count
        await pilot.press("slash", *"retraction", "enter")
        await until(pilot, lambda: 0 < len(page.found) < whole, "the choice")
        await pilot.press("q")
        await until(pilot, lambda: not isinstance(app.screen, HelpScreen), "the main screen")
        page = await opened(pilot)
        assert app.screen is first
        assert len(page.found) == whole
        box = app.screen.query_one("#page")
        await until(pilot, lambda: box.scroll_y == 0, "its top")
        assert app.focused is box
        await pilot.press("q")
        await until(pilot, lambda: not isinstance(app.screen, HelpScreen), "the main screen again")
        assert "Datasets" not in screen_text(app).splitlines()[1]
        await opened(pilot, "2")  # another pane has the focus: its words come first
        await until(pilot, lambda: "Datasets" in screen_text(app).splitlines()[1], "they do")


async def test_nothing_is_drawn_below_the_help_and_all_of_it_afterwards() -> None:
    feed = FakeFeed()
    app = make_app(feed, FakeControl())
    async with app.run_test(size=(120, 36)) as pilot:
        await shown(pilot, feed, samples.healthy())
        main = main_screen(app)
        seen = [main.is_current]
        await opened(pilot)
        seen.append(main.is_current)
        assert seen == [True, False]
        before = app.screen._compositor.render_strips()
        await shown(pilot, feed, samples.intervene())
        assert not app.screen._compositor._dirty_regions  # what came below is no reason to draw the help anew
        assert app.screen._compositor.render_strips() == before
        await pilot.press("q")
        await until(pilot, lambda: app.screen is main, "the main screen")
        await until(pilot, lambda: "INTERVENE" in screen_text(app), "what has come meanwhile")


@pytest.mark.parametrize("size", [(80, 24), (160, 45)])
async def test_a_terminal_that_was_resized_under_the_help_is_laid_out_anew(size: tuple[int, int]) -> None:
    feed = FakeFeed()
    app = make_app(feed, FakeControl())
    async with app.run_test(size=(120, 36)) as pilot:
        await shown(pilot, feed, samples.healthy())
        await opened(pilot)
        await pilot.resize_terminal(*size)
        await until(pilot, lambda: app.screen.size == size, "the help's new size")
        await pilot.press("q")
        await until(pilot, lambda: app.screen is main_screen(app), "the main screen")
        await until(pilot, lambda: main_screen(app).query_one(HeaderLine).outer_size.width == size[0], "its new width")
        await until(pilot, lambda: main_screen(app).has_class("-narrow") == (size[0] < 110), "its class")
        assert len(screen_text(app).splitlines()) == size[1]


GLUE = {"s", "min", "h", "d", "ms", "of", "to", "in", "k/", "ended"}
"""What stands behind a figure and needs no word of help: time, and words of every day."""


async def test_each_pane_s_help_names_every_unit_that_it_shows() -> None:
    """The verdict is left out: its evidence is free text of the rules, which docs/judgement.md explains."""
    feed = FakeFeed()
    app = make_app(feed, FakeControl())
    missing: set[tuple[str, str]] = set()
    terms = {term for term, _ in GLOSSARY}
    async with app.run_test(size=(200, 50)) as pilot:
        for sample in samples.ALL.values():
            await shown(pilot, feed, sample())
            for panel in app.screen.query(Panel):
                if panel.id in {"verdict", "logs"}:
                    continue
                text = "\n".join(panel.whole())
                units = re.findall(r"(?<![\w.])\d[\d.,]*(?: [kMG])? ?([A-Za-z%][A-Za-z/%-]*)", text)
                named = panel.HELP.lower()
                missing |= {(panel.TITLE, unit) for unit in units if unit.lower() not in named and unit not in terms}
    assert sorted(pair for pair in missing if pair[1] not in GLUE) == []
