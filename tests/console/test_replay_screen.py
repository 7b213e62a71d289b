"""The console on a recording: the real app, played by a clock that the test turns."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from textual.widgets import Static

from console.app import LongwaitApp
from console.job.events import Source
from console.job.snapshot import Judgement
from console.panels.replay import ReplayBar, pace, place, ribbon
from console.replay_commands import REPLAY, REPLAYED
from console.replay_feed import ReplayFeed
from console.replay_files import load
from console.replay_transport import Change, Transport
from console.replay_walk import Replay
from console.screens.help import HelpScreen
from console.screens.replay import ReplayScreen
from tests.console.fakes_ui import log_of, notices, screen_text, until
from tests.console.recordings import a_run, a_run_with_a_death
from tests.job.builders import T0, after
from widgets.scrub import Scrub

if TYPE_CHECKING:
    from textual.pilot import Pilot

    from console.replay_files import Given


class Played:
    """The app on a recording, and the hands on its clock."""

    def __init__(self, given: Given, speed: float = 600.0) -> None:
        self.tick = 0.0
        self.feed = ReplayFeed(lambda: load(given, None), speed=speed, ticks=lambda: self.tick)
        self.app = LongwaitApp(
            self.feed,
            host=given.names,
            clock=self.feed.moment,
            zone=UTC,
            screen=lambda _feed, _control, setup: ReplayScreen(self.feed, setup),
        )

    @property
    def screen(self) -> ReplayScreen:
        screen = self.app.screen_stack[0]
        assert isinstance(screen, ReplayScreen)
        return screen

    @property
    def at(self) -> datetime | None:
        """The moment of what is drawn."""
        return self.screen.snapshot.at if self.screen.snapshot and self.screen.transport else None

    async def stands_at(self, pilot: Pilot[None], moment: datetime) -> None:
        await until(pilot, lambda: self.at == moment and self.transport.target is None, f"{moment}, not {self.at}")
        await pilot.pause()

    @property
    def transport(self) -> Transport:
        assert self.screen.transport is not None
        return self.screen.transport

    async def paused_at(self, pilot: Pilot[None], seconds: float) -> None:
        """Pause, and go to a moment by the feed's own verb."""
        await until(pilot, lambda: self.at is not None, "the recording")
        if self.transport.playing:
            await pilot.press("space")
        whole = self.transport.last - self.transport.first
        self.feed.go_to_share((after(seconds) - self.transport.first) / whole)
        await self.stands_at(pilot, after(seconds))


def shown_lines(app: LongwaitApp, source: Source) -> list[str]:
    return [line.original for line in log_of(app, source).lines]


@pytest.mark.parametrize("size", [(80, 24), (120, 36)])
async def test_it_says_that_it_is_a_replay_and_what_moment_is_shown(tmp_path: Path, size: tuple[int, int]) -> None:
    played = Played(a_run().given(tmp_path))
    async with played.app.run_test(size=size) as pilot:
        await played.paused_at(pilot, 1500)
        text = screen_text(played.app)
        assert "REPLAY" in text
        assert "Tue 24 Feb 02:25:00 UTC" in text.splitlines()[0]
        assert "server.log, job.log" in text.splitlines()[0]
        assert "35 min of 50 min" in text
        assert "WAIT" in text
        for word in ("Play", "+1 min", "Change", "Help", "q Quit"):
            assert word in text
        for word in ("Restart", "Health ", "link_down", " old"):
            assert word not in text


async def test_what_is_shown_is_what_replay_at_prints(tmp_path: Path) -> None:
    given = a_run_with_a_death(30).given(tmp_path)
    recording = load(given, None)
    played = Played(given)
    async with played.app.run_test(size=(120, 36)) as pilot:
        for seconds in (1830, 300, 1201, 2400):
            await played.paused_at(pilot, seconds)
            assert played.screen.snapshot == Replay(recording.logs, recording.fresh).at(after(seconds))


async def test_log_panes_show_only_what_was_logged_until_then(tmp_path: Path) -> None:
    scene = a_run()
    given = scene.given(tmp_path)
    played = Played(given)
    async with played.app.run_test(size=(120, 36)) as pilot:
        for seconds in (2000, 600, 602, 900, 1200):
            await played.paused_at(pilot, seconds)
            edge = f"[{after(seconds):%Y-%m-%d %H:%M:%S}"
            written = [line for line in scene.logs["server"].splitlines() if line[:20] <= edge]
            assert shown_lines(played.app, Source.SERVER) == written
            job = [line for line in scene.logs["job"].splitlines() if line[:20] <= edge]
            assert shown_lines(played.app, Source.JOB) == job


async def test_time_plays_pauses_and_steps_by_keys(tmp_path: Path) -> None:
    played = Played(a_run().given(tmp_path))
    async with played.app.run_test(size=(120, 36)) as pilot:
        await played.paused_at(pilot, 600)
        steps = ((".", 660), (">", 1260), ("comma", 1200), ("<", 600), ("]", 2396), ("[", -600))  # an hour is too far
        for key, seconds in steps:
            await pilot.press(key)
            await played.stands_at(pilot, after(seconds))
        await pilot.press("space")
        await until(pilot, lambda: played.transport.playing, "the play")
        played.tick += 0.5
        await played.stands_at(pilot, after(-300))
        await pilot.press("+", "+")
        await until(pilot, lambda: played.transport.speed == 3600, "the pace")
        await pilot.press("-")
        await until(pilot, lambda: played.transport.speed == 1200, "the pace")
        assert "▶ 1200x" in screen_text(played.app)


async def test_it_ends_and_begins_again(tmp_path: Path) -> None:
    played = Played(a_run().given(tmp_path))
    async with played.app.run_test(size=(120, 36)) as pilot:
        await until(pilot, lambda: played.at is not None, "the recording")
        await pilot.press("end")
        await until(pilot, lambda: "The recording ends here." in notices(played.app), "the end")
        await played.stands_at(pilot, played.transport.last)
        assert not played.transport.playing
        await pilot.press("space")
        await played.stands_at(pilot, played.transport.first)
        assert played.transport.playing


async def test_keys_and_mouse_go_along_the_bar(tmp_path: Path) -> None:
    played = Played(a_run().given(tmp_path))
    async with played.app.run_test(size=(120, 36)) as pilot:
        await played.paused_at(pilot, 600)
        first, last = played.transport.first, played.transport.last
        await pilot.press("right", "right")
        await played.stands_at(pilot, after(600) + 0.04 * (last - first))
        await pilot.press("left", "left")
        await played.stands_at(pilot, after(600))
        await pilot.press("home")
        await played.stands_at(pilot, first)
        scrub = played.screen.query_one(Scrub)
        text = scrub.render_line(0).text
        left, right = text.index("●"), text.index(" 0 s of") - 1
        await pilot.click(scrub, offset=(right, 0))
        await played.stands_at(pilot, last)
        await pilot.click(scrub, offset=(left + (right - left) // 2, 0))
        await until(pilot, lambda: played.at != last, "the middle")
        assert played.transport.share(played.transport.at) == pytest.approx(0.5, abs=0.02)


async def test_it_goes_from_one_change_of_verdict_to_the_next(tmp_path: Path) -> None:
    played = Played(a_run_with_a_death().given(tmp_path))
    async with played.app.run_test(size=(120, 36)) as pilot:
        await played.paused_at(pilot, 1800)
        await until(pilot, lambda: (played.transport.read_until or T0) >= after(4140), "the reading ahead")
        assert "✗" in screen_text(played.app).splitlines()[1]
        await pilot.press("}")
        await until(pilot, lambda: played.at is not None and played.at > after(1800), "the change")
        await pilot.pause()
        assert played.screen.snapshot is not None
        assert played.screen.snapshot.verdict.verdict is Judgement.INTERVENE
        assert "INTERVENE" in screen_text(played.app)
        await pilot.press("}", "}", "}")
        await until(pilot, lambda: bool(notices(played.app)), "the answer")
        assert notices(played.app)[-1] == "The verdict does not change any more."
        await pilot.press("home")
        await played.stands_at(pilot, played.transport.first)
        await pilot.press("{")
        await until(pilot, lambda: len(notices(played.app)) > 1, "the answer")
        assert notices(played.app)[-1] == "The verdict did not change before this moment."


@pytest.mark.parametrize(("key", "what"), [("R", "job"), ("S", "job"), ("K", "job"), ("h", "server"), ("r", "host")])
async def test_there_is_nothing_to_control(tmp_path: Path, key: str, what: str) -> None:
    played = Played(a_run().given(tmp_path))
    async with played.app.run_test(size=(120, 36)) as pilot:
        await until(pilot, lambda: played.at is not None, "the recording")
        await pilot.press(key)
        await until(pilot, lambda: bool(notices(played.app)), "the refusal")
        assert notices(played.app)[0].startswith(f"This is a replay: there is no {what}")


async def test_help_names_the_replays_keys(tmp_path: Path) -> None:
    played = Played(a_run().given(tmp_path))
    async with played.app.run_test(size=(120, 200)) as pilot:
        await until(pilot, lambda: played.at is not None, "the recording")
        await pilot.press("?")
        await until(pilot, lambda: isinstance(played.app.screen, HelpScreen), "the help")
        await pilot.pause()
        assert played.app.screen.query(Static)
        words = played.screen.help_words()
        assert ReplayBar.HELP in words
        for command in REPLAYED:
            assert command.name in words
        assert "`,` **A minute back**" in words
        refused = [command for command in REPLAYED if command.refusal(played.screen.situation)]
        assert words.count("This is a replay") == len(refused) >= 9


async def test_an_empty_recording_and_one_that_is_gone_are_told(tmp_path: Path) -> None:
    given = a_run().given(tmp_path)
    for name in ("server.log", "job.log"):
        (tmp_path / name).write_text("")
    played = Played(given)
    async with played.app.run_test(size=(120, 36)) as pilot:
        await until(pilot, lambda: "The recording holds no line." in notices(played.app), "the notice")
        await pilot.press("space", ".", "}")
        await until(pilot, lambda: "The recording is still being read." in notices(played.app), "the answer")
    (tmp_path / "job.log").unlink()
    gone = Played(given)
    async with gone.app.run_test(size=(120, 36)) as pilot:
        await until(pilot, lambda: any("can't be read" in note for note in notices(gone.app)), "the notice")


async def test_keys_can_be_remapped(tmp_path: Path) -> None:
    given = a_run().given(tmp_path)
    feed = ReplayFeed(lambda: load(given, None), ticks=lambda: 0.0)
    app = LongwaitApp(
        feed, host="x", keymap={"play": "p"}, clock=feed.moment, screen=lambda _f, _c, setup: ReplayScreen(feed, setup)
    )
    async with app.run_test() as pilot:
        screen = app.screen_stack[0]
        assert isinstance(screen, ReplayScreen)
        await until(pilot, lambda: screen.transport is not None, "the recording")
        await pilot.press("p")
        await until(pilot, lambda: screen.transport is not None and not screen.transport.playing, "the pause")


def test_no_two_commands_of_a_replay_share_a_key_or_an_id() -> None:
    # A note shares its key with the next match: it is for where no log has the focus, and never for a replay.
    keys = [key for command in REPLAYED if command.only != "elsewhere" for key in command.key.split(",")]
    for values in (keys, [command.id for command in REPLAYED], [command.action for command in REPLAYED]):
        assert len(set(values)) == len(values)


@pytest.mark.parametrize("command", REPLAY, ids=lambda command: command.id)
def test_each_command_has_an_action_on_the_screen(command: object) -> None:
    assert callable(getattr(ReplayScreen, f"action_{command.action.split('(')[0]}"))  # type: ignore[attr-defined]


def test_the_bar_words_where_it_stands() -> None:
    changes = (Change(T0, Judgement.WAIT, "steady", ""), Change(after(1800), Judgement.WATCH, "log_quiet", ""))
    transport = Transport(after(900), T0, after(3600), changes=changes, read_until=after(2700))
    assert pace(transport) == "▶ 600x"
    assert place(transport) == ("15 min of 1 h",)
    assert ribbon(transport) == ((0.0, "good"), (0.5, "warn"), (0.75, "unread"))
    ahead = Transport(after(2760), T0, after(3600), playing=False, target=after(3600), read_until=after(2700))
    assert pace(ahead) == "» reading"


def test_the_page_on_the_replay_names_every_key_and_id() -> None:
    page = (Path(__file__).parents[2] / "docs" / "replay.md").read_text(encoding="utf-8")
    keys = [key.replace("comma", ",") for command in REPLAY for key in command.key.split(",") if key != "="]
    assert [
        key for key in keys if f"`{key}`" not in page and f"{key}" not in {"space", "left", "right", "home", "end"}
    ] == []
    assert [command.id for command in REPLAY if f"`{command.id}`" not in page] == []
    for key in ("space", "right, left", "home, end"):
        assert f"| {key} |" in page
