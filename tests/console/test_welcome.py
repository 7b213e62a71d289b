"""Who comes back is told what happened: after a while without the terminal's focus, or without a key."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from textual import events
from textual.widgets import Input

from console.history import History
from console.journal import Journal, Kind
from console.looked import keep_look, last_look
from console.screens.help import HelpScreen
from console.screens.since import SinceScreen
from tests import samples
from tests.console.fakes_ui import main_screen, notices, screen_text, until, was_told
from tests.console.test_timeline_screen import Clocked, at

if TYPE_CHECKING:
    from pathlib import Path

    from textual.pilot import Pilot

    from console.job.snapshot import Snapshot

WORSE = "server_stalled"


def bad(minutes: float) -> Snapshot:
    """The run in trouble, so many minutes after the sample's moment."""
    trouble = samples.intervene()
    return replace(at(minutes), verdict=replace(trouble.verdict, since=at(minutes).at))


async def gone(pilot: Pilot[None], clocked: Clocked, minutes: float = 60, *, worse: bool = True) -> None:
    """Somebody looked at a healthy run, and then so many minutes passed."""
    await clocked.watch(pilot, 0, 1, 2)
    await pilot.press("x")  # no command's key: it only says that somebody is there
    await clocked.show(pilot, (bad if worse else at)(minutes / 2))
    await clocked.show(pilot, (bad if worse else at)(minutes / 2 + 1))
    await clocked.show(pilot, at(minutes))
    await clocked.show(pilot, at(minutes + 1))


def is_card(clocked: Clocked) -> bool:
    return isinstance(clocked.app.screen, SinceScreen)


@pytest.mark.parametrize("size", [(80, 24), (120, 36), (60, 24)])
async def test_the_first_key_after_a_quarter_of_an_hour_brings_the_card(size: tuple[int, int]) -> None:
    clocked = Clocked()
    async with clocked.app.run_test(size=size) as pilot:
        await gone(pilot, clocked)
        await pilot.press("3")
        await until(pilot, lambda: is_card(clocked), "the card")
        await pilot.pause()
        text = " ".join(screen_text(clocked.app).split())
        assert "Since you last looked, 59 min ago (03:21)" in text
        assert "INTERVENE" in text
        assert "WAIT kv limited" in text
        assert "end" in text


async def test_any_key_closes_the_card_and_does_what_it_does() -> None:
    clocked = Clocked()
    async with clocked.app.run_test(size=(120, 36)) as pilot:
        await gone(pilot, clocked)
        await pilot.press("3")
        await until(pilot, lambda: is_card(clocked), "the card")
        assert main_screen(clocked.app).focused is None  # the key that brought the card did no more
        await pilot.press("question_mark")
        await until(pilot, lambda: isinstance(clocked.app.screen, HelpScreen), "the help")


@pytest.mark.parametrize("key", ["escape", "enter"])
async def test_esc_and_enter_only_close_it(key: str) -> None:
    clocked = Clocked()
    async with clocked.app.run_test(size=(120, 36)) as pilot:
        await gone(pilot, clocked)
        await pilot.press("x")
        await until(pilot, lambda: is_card(clocked), "the card")
        await pilot.press(key)
        await until(pilot, lambda: clocked.app.screen is main_screen(clocked.app), "the panes")
        await pilot.press("3")
        await pilot.pause()
        assert not is_card(clocked)  # it is told once


async def test_a_click_closes_it_too() -> None:
    clocked = Clocked()
    async with clocked.app.run_test(size=(120, 36)) as pilot:
        await gone(pilot, clocked)
        # As a driver gives it: a pilot's click goes to the screen, past the app.
        for kind in (events.MouseDown, events.MouseUp):
            clocked.app.post_message(kind(None, 10, 10, 0, 0, 1, False, False, False, 10, 10))
        await until(pilot, lambda: is_card(clocked), "the card")
        await pilot.click(offset=(60, 18))
        await until(pilot, lambda: not is_card(clocked), "the panes")


async def test_the_terminals_focus_brings_it_after_five_minutes() -> None:
    clocked = Clocked()
    async with clocked.app.run_test(size=(120, 36)) as pilot:
        await clocked.watch(pilot, 0, 1, 2)
        clocked.app.post_message(events.AppBlur())
        await until(pilot, lambda: not clocked.app.app_focus, "the blur")
        await clocked.show(pilot, bad(4))
        await clocked.show(pilot, bad(5))
        clocked.app.post_message(events.AppFocus())
        await until(pilot, lambda: clocked.app.app_focus, "the focus")
        await pilot.pause()
        assert not is_card(clocked)  # three minutes are no absence
        clocked.app.post_message(events.AppBlur())
        await until(pilot, lambda: not clocked.app.app_focus, "the blur")
        await clocked.show(pilot, at(11))
        await clocked.show(pilot, at(12))
        clocked.app.post_message(events.AppFocus())
        await until(pilot, lambda: is_card(clocked), "the card")
        assert "Since you last looked, 7 min ago" in screen_text(clocked.app)


async def test_when_nothing_happened_one_line_says_so_and_the_key_does_what_it_does() -> None:
    clocked = Clocked()
    async with clocked.app.run_test(size=(120, 36)) as pilot:
        await gone(pilot, clocked, worse=False)
        await pilot.press("3")
        await until(pilot, lambda: was_told(clocked.app, "You were away for 59 min: nothing happened"), "the notice")
        assert not is_card(clocked)
        focused = main_screen(clocked.app).focused
        assert focused is not None
        assert focused.id == "server"


async def test_a_question_is_not_covered() -> None:
    clocked = Clocked()
    async with clocked.app.run_test(size=(120, 36)) as pilot:
        await clocked.watch(pilot, 0, 1, 2)
        await pilot.press("question_mark")
        await until(pilot, lambda: isinstance(clocked.app.screen, HelpScreen), "the help")
        for minutes in (30, 31):
            await clocked.show(pilot, bad(minutes))
        await pilot.press("down")
        await pilot.pause()
        assert isinstance(clocked.app.screen, HelpScreen)
        await pilot.press("escape")
        await until(pilot, lambda: clocked.app.screen is main_screen(clocked.app), "the panes")
        await pilot.press("x")
        await until(pilot, lambda: is_card(clocked), "the card, now")


async def test_words_that_are_typed_are_not_lost() -> None:
    clocked = Clocked()
    async with clocked.app.run_test(size=(120, 36)) as pilot:
        await clocked.watch(pilot, 0, 1, 2)
        await pilot.press("slash")
        await until(pilot, lambda: isinstance(main_screen(clocked.app).focused, Input), "the field")
        for minutes in (30, 31):
            await clocked.show(pilot, bad(minutes))
        await pilot.press("a", "b")
        field = main_screen(clocked.app).focused
        assert isinstance(field, Input)
        assert field.value == "ab"
        assert not is_card(clocked)


async def test_a_key_shows_it_again() -> None:
    clocked = Clocked()
    async with clocked.app.run_test(size=(120, 36)) as pilot:
        await clocked.watch(pilot, 0, 1)
        await pilot.press("a")
        await until(pilot, lambda: was_told(clocked.app, "You have not been away"), "the refusal")
        await gone(pilot, clocked)
        await pilot.press("x", "escape", "a")
        await until(pilot, lambda: is_card(clocked), "the card")


async def test_what_was_done_is_told_with_by_whom(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal.jsonl", host="gpu01", clock=lambda: at(40).at, user="you@lab")
    clocked = Clocked(None, journal)
    async with clocked.app.run_test(size=(120, 36)) as pilot:
        await clocked.watch(pilot, 0, 1)
        await pilot.press("x")
        journal.write(Kind.ACTION, "Restart the job", why="old script", outcome="The job is restarted.")
        for minutes in (59, 60):
            await clocked.show(pilot, at(minutes))
        main_screen(clocked.app)._look_into_journal()
        chronicle = main_screen(clocked.app)._chronicle
        assert chronicle is not None
        await until(pilot, lambda: any(each.kind == Kind.ACTION for each in chronicle.entries), "the entry")
        await pilot.press("x")
        await until(pilot, lambda: is_card(clocked), "the card")
        assert "you@lab: Restart the job: The job is restarted. (why: old script)" in screen_text(clocked.app)


async def test_a_new_console_tells_when_the_run_was_last_looked_at(tmp_path: Path) -> None:
    path = tmp_path / "runs" / "run.sqlite3"
    history = History.open(path)
    for half in range(-240, -60):
        history.note(at(half / 2))
    assert history.save({}, b"", [], at(-31).at)
    history.close()
    keep_look(path, at(-90).at)
    clocked = Clocked(path)
    async with clocked.app.run_test(size=(120, 36)) as pilot:
        await clocked.watch(pilot, 0, 1)
        await until(pilot, lambda: was_told(clocked.app, "This run was last looked at 1 h 3"), "the notice")
        await pilot.press("a")
        await until(pilot, lambda: is_card(clocked), "the card")
        text = screen_text(clocked.app)
        assert "Since you last looked, 1 h 31 min ago" in text
        assert "no console looked from" in text


async def test_it_is_written_down_that_somebody_looks(tmp_path: Path) -> None:
    path = tmp_path / "runs" / "run.sqlite3"
    clocked = Clocked(path)
    async with clocked.app.run_test(size=(120, 36)) as pilot:
        await clocked.watch(pilot, 0, 5)
        await pilot.press("x")
        await until(pilot, lambda: last_look(path) == at(5).at, "the look")
        await clocked.watch(pilot, 5.5)
        await pilot.press("x")
        await pilot.pause()
        assert last_look(path) == at(5).at  # no more than once a minute
        await clocked.watch(pilot, 7)
        clocked.app.post_message(events.AppBlur())
        await until(pilot, lambda: last_look(path) == at(7).at, "the look")
        assert notices(clocked.app) == []


async def test_a_key_before_the_past_is_read_does_not_hide_when_the_run_was_last_looked_at(tmp_path: Path) -> None:
    path = tmp_path / "runs" / "run.sqlite3"
    keep_look(path, at(-90).at)
    clocked = Clocked(path)
    async with clocked.app.run_test(size=(120, 36)) as pilot:
        await pilot.press("x")
        assert main_screen(clocked.app)._absence is not None  # the key was seen
        assert [each for each in clocked.app.workers if each.group == "look"] == []
        assert last_look(path) == at(-90).at
        await clocked.watch(pilot, 0, 1)
        await until(pilot, lambda: was_told(clocked.app, "This run was last looked at 1 h 3"), "the notice")
        await until(pilot, lambda: last_look(path) != at(-90).at, "this look")


async def test_a_clock_that_was_put_back_does_not_keep_looks_from_being_written(tmp_path: Path) -> None:
    path = tmp_path / "runs" / "run.sqlite3"
    clocked = Clocked(path)
    async with clocked.app.run_test(size=(120, 36)) as pilot:
        await clocked.watch(pilot, 60, 61)
        await pilot.press("x")
        await until(pilot, lambda: last_look(path) == at(61).at or last_look(path) == at(60).at, "the look")
        clocked.now = at(0).at
        await pilot.press("x")
        await until(pilot, lambda: last_look(path) == at(0).at, "the look, by the clock that is")


async def test_a_card_too_long_for_the_screen_is_scrolled_by_the_moving_keys() -> None:
    clocked = Clocked()
    async with clocked.app.run_test(size=(40, 8)) as pilot:
        await gone(pilot, clocked)
        await pilot.press("x")
        await until(pilot, lambda: is_card(clocked), "the card")
        box = clocked.app.screen.query_one("#since")
        await until(pilot, lambda: "↑↓ scroll" in str(box.border_subtitle), "what the keys do")
        for key in ("down", "j"):
            before = box.scroll_y
            await pilot.press(key)
            await until(pilot, lambda: box.scroll_y > before, "the next row")  # noqa: B023 - it is awaited here
        await pilot.press("g")
        await until(pilot, lambda: box.scroll_y == 0, "the top")
        assert is_card(clocked)
        await pilot.press("x")
        await until(pilot, lambda: not is_card(clocked), "the panes")
