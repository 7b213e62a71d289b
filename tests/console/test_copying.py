"""What is taken off the screen: text of every pane and list, a picture with its reading, the mouse."""

from __future__ import annotations

import json
import stat
import sys
import time
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from textual.widgets import Input

from bench.terminal import terminal
from console import pictures
from console.commands import COMMANDS
from console.job.events import Source
from console.job.reading import reading
from console.journal import Entry
from console.looks import Looks
from console.panels.panel import Panel
from console.screens.help import HelpScreen
from console.screens.journal import JournalScreen
from tests import samples
from tests.console.fakes_ui import (
    FakeControl,
    FakeFeed,
    lines,
    log_of,
    main_screen,
    make_app,
    notices,
    screen_text,
    shown,
    until,
    was_told,
)
from tests.console.test_cli import local_config
from widgets.drawn import without_bars

if TYPE_CHECKING:
    from pathlib import Path

    from textual.pilot import Pilot

    from console.app import LongwaitApp

MOUSE_ON, MOUSE_OFF = b"\x1b[?1000h", b"\x1b[?1000l"


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "longwait"


async def copied(pilot: Pilot[None], key: str) -> list[str]:
    """Press a key and give what it copies."""
    app: Any = pilot.app
    app._clipboard = ""
    await pilot.press(key)
    await until(pilot, lambda: bool(app.clipboard), f"the copy of {key}")
    return str(app.clipboard).splitlines()


async def test_without_a_focus_the_verdict_is_copied(state: Path) -> None:
    feed = FakeFeed()
    app = make_app(feed)
    async with app.run_test(size=(80, 24)) as pilot:
        snapshot = samples.intervene()
        await shown(pilot, feed, snapshot)
        (sentence,) = await copied(pilot, "y")
        assert sentence.startswith(f"INTERVENE: {snapshot.verdict.headline}")
        assert "End" in sentence
        assert (state / "clipboard.txt").read_text(encoding="utf-8") == sentence
        whole = await copied(pilot, "Y")
        assert whole[0] == "longwait  gpu01  Tue 24 Feb 2026 03:19:40 UTC"
        assert whole[1].startswith("INTERVENE: ")
        for fact in snapshot.verdict.evidence:
            assert fact in whole
        assert f"Do: {snapshot.verdict.action}" in whole


@pytest.mark.parametrize("size", [(80, 24), (120, 36), (200, 50)], ids=str)
async def test_every_pane_gives_its_line_and_all_of_itself(size: tuple[int, int]) -> None:
    feed = FakeFeed()
    app = make_app(feed)
    async with app.run_test(size=size) as pilot:
        feed.put(lines(Source.SERVER, "a line of the server"), lines(Source.JOB, "a line of the job"))
        await shown(pilot, feed, samples.healthy())
        await until(pilot, lambda: log_of(app, Source.SERVER).kept == 1, "the line")
        screen = main_screen(app)
        for panel in screen.query(Panel):
            if not panel.is_on_screen or not panel.can_focus:
                continue
            panel.focus()
            await until(pilot, lambda panel=panel: panel.has_focus, str(panel.id))  # type: ignore[misc]
            line = await copied(pilot, "y")
            whole = await copied(pilot, "Y")
            assert len(line) == 1, panel.id
            assert any(character.isalpha() for character in line[0]), panel.id
            assert without_bars(line[0]) == line[0], panel.id
            assert len(whole) > 1, panel.id
            assert all(row == row.rstrip() for row in whole)


async def test_the_datasets_out_of_sight_are_copied_too() -> None:
    feed = FakeFeed()
    app = make_app(feed)
    async with app.run_test(size=(80, 24)) as pilot:
        snapshot = samples.healthy()
        await shown(pilot, feed, snapshot)
        await pilot.press("2")
        await until(pilot, lambda: main_screen(app).pane is not None, "the datasets")
        await pilot.pause()
        whole = "\n".join(await copied(pilot, "Y"))
        assert [view.name for view in snapshot.datasets if view.name not in whole] == []
        running = next(view for view in snapshot.datasets if view.state.value == "running")
        (line,) = await copied(pilot, "y")
        assert running.name in line


async def test_link_health_and_job_are_one_line() -> None:
    feed = FakeFeed()
    app = make_app(feed)
    async with app.run_test(size=(120, 36)) as pilot:
        await shown(pilot, feed, samples.healthy())
        main_screen(app).query_one("#status", Panel).focus()
        await pilot.pause()
        (line,) = await copied(pilot, "y")
        assert [part.split()[1] for part in line.split("; ")] == ["link", "health", "job"]


async def test_help_gives_what_is_in_sight_and_all_of_it() -> None:
    feed = FakeFeed()
    app = make_app(feed)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("question_mark")
        await until(pilot, lambda: isinstance(app.screen, HelpScreen), "help")
        await pilot.pause()
        in_sight = await copied(pilot, "y")
        whole = await copied(pilot, "Y")
        assert 5 < len(in_sight) < 24 < len(whole)
        assert whole[: len(in_sight)] == in_sight
        assert "\n".join(in_sight[:3]).split() == [
            word for word in "\n".join(in_sight[:3]).split() if word in screen_text(app)
        ]


async def test_the_journal_is_copied_whole() -> None:
    entries = [Entry(samples.NOW + timedelta(minutes=number), "note", "me", f"note {number}") for number in range(60)]
    app = make_app(FakeFeed())
    async with app.run_test(size=(80, 24)) as pilot:
        app.push_screen(JournalScreen(entries, None))
        await until(pilot, lambda: isinstance(app.screen, JournalScreen), "the journal")
        await pilot.pause()
        whole = "\n".join(await copied(pilot, "Y"))
        assert "note 0" in whole
        assert "note 59" in whole
        in_sight = "\n".join(await copied(pilot, "y"))
        assert "note 59" in in_sight
        assert "note 0\n" not in in_sight


async def test_a_field_takes_y_and_s_as_letters() -> None:
    app = make_app(FakeFeed())
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("slash")
        await until(pilot, lambda: isinstance(app.focused, Input), "the field")
        await pilot.press("y", "s", "M", "Y")
        assert isinstance(app.focused, Input)
        assert app.focused.value == "ysMY"
        assert notices(app) == []


# ---------------------------------------------------------------- the picture and the reading


async def test_s_saves_a_picture_and_the_reading(state: Path) -> None:
    feed = FakeFeed()
    app = make_app(feed, FakeControl())
    async with app.run_test(size=(80, 24)) as pilot:
        snapshot = samples.healthy()
        await shown(pilot, feed, snapshot)
        await pilot.press("s")
        await until(pilot, lambda: was_told(app, "Saved "), "where it is")
        picture = state / "pictures" / "gpu01-20260224T031940Z.svg"
        assert was_told(app, f"Saved {picture} and its .json.")
        assert "B3_magicoder" in picture.read_text(encoding="utf-8")
        assert json.loads(picture.with_suffix(".json").read_text(encoding="utf-8")) == reading(snapshot)
        assert {stat.S_IMODE(path.stat().st_mode) for path in picture.parent.iterdir()} == {0o600}


async def test_where_it_cannot_be_saved_it_says_so(state: Path) -> None:
    state.mkdir(parents=True)
    (state / "pictures").write_text("in the way", encoding="utf-8")
    app = make_app(FakeFeed())
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("s")
        await until(pilot, lambda: was_told(app, "The picture could not be saved"), "the reason")


def test_a_picture_of_anything_has_a_safe_name(tmp_path: Path) -> None:
    path = pictures.save(tmp_path / "a" / "b", "../../etc me@h:22 /x", samples.NOW, "<svg/>", None)
    assert path.parent == tmp_path / "a" / "b"
    assert path.name == "etc-me-h-22-x-20260224T031940Z.svg"
    assert not path.with_suffix(".json").exists()


def test_s_means_one_thing_in_each_place() -> None:
    places = {command.id: command.only for command in COMMANDS if command.key == "s"}
    assert places == {"search": "logs", "save-picture": "elsewhere"}


# ---------------------------------------------------------------- the mouse


async def test_the_mouse_is_given_back_and_taken_again() -> None:
    app = make_app(FakeFeed())
    async with app.run_test(size=(120, 36)) as pilot:
        await pilot.press("M")
        await pilot.pause()
        assert "the mouse selects text (M)" in screen_text(app)
        assert was_told(app, "The mouse is the terminal's now")
        await pilot.press("M")
        await pilot.pause()
        assert "the mouse selects text" not in screen_text(app)


def test_the_terminal_is_told_of_it(tmp_path: Path) -> None:
    config = local_config(tmp_path, "history: false\n")
    argv = [sys.executable, "-m", "console", "--config", str(config)]
    with terminal(argv, (80, 24), {"XDG_CONFIG_HOME": str(tmp_path)}) as program:
        program.read_until(b"KV", 30.0)
        assert MOUSE_ON in program.printed
        assert MOUSE_OFF not in program.printed
        program.type("M")
        program.read_until(MOUSE_OFF, 10.0)
        program.printed.clear()
        program.type("M")
        program.read_until(MOUSE_ON, 10.0)
        program.type("q")
        assert program.wait_end(10.0)


async def test_copying_long_lists_takes_no_long_time() -> None:
    entries = [Entry(samples.NOW, "note", "me", f"note {number}") for number in range(400)]
    app: LongwaitApp = make_app(FakeFeed(), looks=Looks())
    async with app.run_test(size=(80, 24)) as pilot:
        app.push_screen(JournalScreen(entries, None))
        await until(pilot, lambda: isinstance(app.screen, JournalScreen), "the journal")
        await pilot.pause()
        begun = time.process_time()  # what others do on the machine meanwhile is no fault of ours
        assert len(await copied(pilot, "Y")) == 800
        assert time.process_time() - begun < 5.0


async def test_a_screen_that_can_be_copied_keeps_the_look_of_a_dialog() -> None:
    app = make_app(FakeFeed())
    async with app.run_test(size=(80, 24)) as pilot:
        app.push_screen(JournalScreen((), None))
        await until(pilot, lambda: isinstance(app.screen, JournalScreen), "the journal")
        assert app.screen.styles.background.a < 1.0  # what is below shines through
        assert {"y", "Y", "escape"} <= set(app.screen.active_bindings)
