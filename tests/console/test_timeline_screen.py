"""The timeline on the screen: a moment is chosen by keys, its reading opened, and the past comes from the history."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from console.history import History
from console.job.snapshot import DatasetState, DatasetView, Eta, Snapshot
from console.job.timeline_course import Course, Span
from console.job.timeline_marks import MarkKind
from console.journal import Journal, Kind
from console.panels.status import Usual
from console.panels.timeline import TimelinePanel
from console.screens.moment import EARLIEST, LATEST, MomentScreen
from tests import samples
from tests.console.fakes_ui import FakeFeed, main_screen, make_app, screen_text, shown, until, was_told
from tests.console.recordings import a_run
from tests.console.test_replay_screen import Played
from tests.job.builders import after
from tests.widgets.stage import NASTY
from widgets.lamp import Lamp
from widgets.strip import Strip

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

    from textual.pilot import Pilot

    from console.app import LongwaitApp

NOW = samples.NOW
FIRST = NOW - timedelta(hours=2, minutes=20)


def at(minutes: float) -> Snapshot:
    """The healthy run, so many minutes after the sample's moment, dated by its logs."""
    calm = samples.healthy()
    course = Course((Span("B3_magicoder", FIRST, None),), (FIRST,))
    moment = NOW + timedelta(minutes=minutes)
    return replace(calm, at=moment, course=course)


class Clocked:
    """The app with a clock that the test sets."""

    def __init__(self, past: Path | None = None, journal: Journal | None = None, *, usual: Usual | None = None) -> None:
        self.now = NOW
        self.feed = FakeFeed()
        self.app: LongwaitApp = make_app(
            self.feed, clock=lambda: self.now, past=lambda: past, journal=lambda: journal, usual=usual
        )

    @property
    def panel(self) -> TimelinePanel:
        return main_screen(self.app).query_one(TimelinePanel)

    def moment(self) -> datetime | None:
        """The chosen moment."""
        return self.panel.chosen

    @property
    def title(self) -> str:
        return str(self.panel.border_title)

    async def show(self, pilot: Pilot[None], snapshot: Snapshot) -> None:
        self.now = snapshot.at
        await shown(pilot, self.feed, snapshot)

    async def watch(self, pilot: Pilot[None], *minutes: float) -> None:
        for minute in minutes:
            await self.show(pilot, at(minute))


def moment_screen(app: LongwaitApp) -> MomentScreen:
    screen = app.screen
    assert isinstance(screen, MomentScreen)
    return screen


async def opened(pilot: Pilot[None], clocked: Clocked) -> MomentScreen:
    await until(pilot, lambda: isinstance(clocked.app.screen, MomentScreen), "the reading")
    await pilot.pause()
    return moment_screen(clocked.app)


@pytest.mark.parametrize("size", [(80, 34), (120, 36), (200, 50)])
async def test_the_strip_shows_the_run_and_what_is_ahead(size: tuple[int, int]) -> None:
    clocked = Clocked()
    async with clocked.app.run_test(size=size) as pilot:
        await clocked.watch(pilot, 0, 1)
        drawn = [clocked.panel.query_one(Strip).render_line(row).text for row in range(3)]
        assert "B3_mag" in drawn[0]
        assert "░" in drawn[1]
        assert "◆" in drawn[1]
        assert drawn[2].startswith(f"J {FIRST:%H:%M} ")
        assert clocked.title.startswith("Timeline · 2 h 21 min gone · ")
        assert "verdicts known since 03:19" in clocked.title


async def test_at_80_x_24_it_is_opened_by_its_key() -> None:
    clocked = Clocked()
    async with clocked.app.run_test(size=(80, 24)) as pilot:
        await clocked.watch(pilot, 0, 1)
        assert "Timeline" not in screen_text(clocked.app)
        await pilot.press("5")
        await until(pilot, lambda: "Timeline" in screen_text(clocked.app), "the pane")
        await until(pilot, lambda: "the job was started" in screen_text(clocked.app), "the list")
        assert "> 03:19" in screen_text(clocked.app)
        await pilot.press("escape")
        await until(pilot, lambda: "Timeline" not in screen_text(clocked.app), "all panes")


async def test_keys_choose_a_moment_and_the_title_says_what_was_there() -> None:
    clocked = Clocked()
    async with clocked.app.run_test(size=(120, 36)) as pilot:
        await clocked.watch(pilot, 0, 1)
        await pilot.press("5")
        await until(pilot, lambda: clocked.panel.has_focus, "the focus")
        assert clocked.title.startswith("Timeline · 03:20 · WAIT kv limited · B3_magicoder")
        line = clocked.panel.timeline
        assert line is not None
        await pilot.press("left")
        first = clocked.moment()
        assert first is not None
        await pilot.press("h", "l", "right", "right")
        assert clocked.moment() is None  # the cell of now is now
        await pilot.press("left")
        assert clocked.moment() == first
        await pilot.press("home")
        assert clocked.moment() == line.first
        assert "verdict not known" in clocked.title
        assert "the job was started" in clocked.title
        await pilot.press("left")
        assert clocked.moment() == line.first
        await pilot.press("end")
        assert clocked.moment() is None


async def test_keys_leap_to_what_happened() -> None:
    clocked = Clocked()
    async with clocked.app.run_test(size=(120, 36)) as pilot:
        await clocked.watch(pilot, 0, 1)
        line = clocked.panel.timeline
        assert line is not None
        await pilot.press("5", "shift+left")
        assert clocked.moment() == NOW
        await pilot.press("ctrl+left")
        assert clocked.moment() == FIRST
        await pilot.press("shift+left")
        assert clocked.moment() == FIRST
        await pilot.press("ctrl+right")
        assert clocked.moment() == NOW
        await pilot.press("L")
        assert clocked.moment() is None


async def test_enter_opens_the_reading_of_that_time_and_esc_goes_back() -> None:
    clocked = Clocked()
    async with clocked.app.run_test(size=(120, 48)) as pilot:
        third = at(0).datasets[2]
        for five in range(13):
            views = (*at(0).datasets[:2], replace(third, done=third.done + five * 10), *at(0).datasets[3:])
            await clocked.show(pilot, replace(at(five * 5), datasets=views))
            await clocked.watch(pilot, five * 5 + 1)
        await pilot.press("5")
        clocked.panel.chosen = NOW + timedelta(minutes=32)
        await pilot.press("enter")
        screen = await opened(pilot, clocked)
        assert screen.snapshot is not None
        assert screen.snapshot.at == NOW + timedelta(minutes=31)
        text = screen_text(clocked.app)
        assert "THE PAST" in text.splitlines()[0]
        assert "Tue 24 Feb 03:50 UTC" in text.splitlines()[0]
        assert "1 min before the one chosen" in text.splitlines()[0]
        for words in ("WAIT", samples.healthy().verdict.headline[:20], "B3_magicoder", "846", "How it turned out"):
            assert words in text
        await pilot.press("right")
        await until(
            pilot, lambda: screen.snapshot is not None and screen.snapshot.at > NOW + timedelta(minutes=31), "on"
        )
        await pilot.press("h")
        await until(pilot, lambda: screen.now == NOW + timedelta(minutes=31), "back")
        await pilot.press("escape")
        await until(pilot, lambda: clocked.app.screen is main_screen(clocked.app), "the present")
        assert clocked.moment() == NOW + timedelta(minutes=32)


async def test_beyond_the_first_and_the_last_reading_there_is_none() -> None:
    clocked = Clocked()
    async with clocked.app.run_test(size=(120, 36)) as pilot:
        await clocked.watch(pilot, 0, 1)
        await pilot.press("5", "home", "enter")
        await opened(pilot, clocked)
        await pilot.press("left")
        await until(pilot, lambda: was_told(clocked.app, EARLIEST), "the refusal")
        await pilot.press("right")
        await until(pilot, lambda: was_told(clocked.app, LATEST), "the refusal")


async def test_before_anything_is_kept_enter_says_so() -> None:
    clocked = Clocked()
    async with clocked.app.run_test(size=(120, 36)) as pilot:
        await clocked.watch(pilot, 0)
        await pilot.press("5", "enter")
        await until(pilot, lambda: was_told(clocked.app, "Nothing was kept of that time"), "the refusal")


async def test_how_it_turned_out_is_told() -> None:
    clocked = Clocked()
    async with clocked.app.run_test(size=(120, 48)) as pilot:
        await clocked.watch(pilot, 0, 1)
        first = at(0)
        assert first.eta.at is not None
        ended = first.eta.at - timedelta(minutes=20)
        over = replace(
            samples.finished(),
            at=ended + timedelta(minutes=6),
            eta=Eta(ended, ended, ended),
            course=replace(first.course, spans=(Span("B3_magicoder", FIRST, NOW + timedelta(minutes=61)),)),
        )
        await clocked.show(pilot, over)
        await pilot.press("x", "escape", "5", "home", "enter")
        await opened(pilot, clocked)
        text = " ".join(screen_text(clocked.app).split())
        assert (
            "The run: told 20:45 (18:29 to 23:24); ended 20:25: the range held; 20 min earlier than told then." in text
        )
        assert "B3_magicoder: told 04:20; ended 04:20: as told then." in text


async def test_a_click_chooses_and_another_opens() -> None:
    clocked = Clocked()
    async with clocked.app.run_test(size=(120, 36)) as pilot:
        await clocked.watch(pilot, 0, 1)
        strip = clocked.panel.query_one(Strip)
        await pilot.click(strip, offset=(4, 1))
        await until(pilot, lambda: clocked.panel.chosen is not None, "the place")
        assert clocked.panel.has_focus
        await pilot.click(strip, offset=(4, 1))
        await opened(pilot, clocked)


async def test_the_past_before_this_console_comes_from_the_history_and_the_journal(tmp_path: Path) -> None:
    path = tmp_path / "run.sqlite3"
    with closing(History.open(path)) as history:
        for half in range(-240, -60):
            history.note(at(half / 2))
        assert history.save({}, b"", [], at(-31).at)
    journal = Journal(tmp_path / "journal.jsonl", host="gpu01", clock=lambda: at(-45).at, user="me@desk")
    journal.write(Kind.NOTE, f"seen {NASTY}")
    clocked = Clocked(path, journal)
    async with clocked.app.run_test(size=(120, 48)) as pilot:
        await clocked.watch(pilot, 0)
        chronicle = main_screen(clocked.app)._chronicle
        assert chronicle is not None
        await until(pilot, lambda: chronicle.known_from == samples.healthy().verdict.since, "the history")
        await until(pilot, lambda: bool(chronicle.entries), "the journal")
        await clocked.watch(pilot, 1, 1.2)
        line = clocked.panel.timeline
        assert line is not None
        assert line.changes[0].at == samples.healthy().verdict.since
        assert line.changes[0].headline == samples.healthy().verdict.headline
        assert line.change_at(NOW - timedelta(minutes=10)) is None  # no console looked
        await pilot.press("5", "5")
        await until(pilot, lambda: "note by me@desk: seen" in screen_text(clocked.app), "the note")
        clocked.panel.chosen = NOW - timedelta(minutes=60)
        await pilot.press("enter")
        screen = await opened(pilot, clocked)
        assert screen.snapshot is not None
        assert NOW - timedelta(minutes=65) <= screen.snapshot.at <= NOW - timedelta(minutes=60)


async def test_a_history_that_can_not_be_read_is_said(tmp_path: Path) -> None:
    path = tmp_path / "run.sqlite3"
    path.write_bytes(b"no database" * 99)
    clocked = Clocked(path)
    async with clocked.app.run_test(size=(160, 36)) as pilot:
        await clocked.watch(pilot, 0, 1)
        await until(pilot, lambda: "can't be read" in clocked.title, "the trouble")


async def test_the_journal_is_read_again_when_somebody_has_written(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal.jsonl", host="gpu01", clock=lambda: at(0).at, user="you@lab")
    clocked = Clocked(None, journal)
    async with clocked.app.run_test(size=(120, 36)) as pilot:
        await clocked.watch(pilot, 0, 1)
        journal.write(Kind.ACTION, "Restart the job", outcome="The job is restarted.")
        main_screen(clocked.app)._look_into_journal()
        chronicle = main_screen(clocked.app)._chronicle
        assert chronicle is not None
        await until(pilot, lambda: MarkKind.ACT in {mark.kind for mark in chronicle.marks}, "the entry")
        await clocked.watch(pilot, 2)
        assert "a" in clocked.panel.query_one(Strip).render_line(2).text.replace("now", "")


# ---------------------------------------------------------------- a replay


async def test_a_replay_has_the_strip_and_enter_goes_there(tmp_path: Path) -> None:
    played = Played(a_run(minutes=60).given(tmp_path))
    async with played.app.run_test(size=(120, 40)) as pilot:
        await played.paused_at(pilot, 3000)
        panel = played.screen.query_one(TimelinePanel)
        await until(pilot, lambda: panel.timeline is not None and panel.timeline.now == after(3000), "the strip")
        line = panel.timeline
        assert line is not None
        assert all(change.at <= after(3000) for change in line.changes)
        assert [segment.name for segment in line.segments][:3] == ["B1_glaive", "B2_dialogue", "B3_magicoder"]
        await pilot.press("5")
        await until(pilot, lambda: panel.has_focus, "the focus")
        await pilot.press("home")
        panel.chosen = after(1200)
        await pilot.press("enter")
        await played.stands_at(pilot, after(1200))
        assert played.at == after(1200)


async def test_a_screen_of_any_datasets_is_drawn() -> None:
    clocked = Clocked()
    views = (
        DatasetView(NASTY, state=DatasetState.RUNNING, updated_at=NOW, eta=NOW + timedelta(hours=1)),
        DatasetView("漢字" * 20, eta=NOW + timedelta(hours=2)),
    )
    async with clocked.app.run_test(size=(120, 36)) as pilot:
        course = Course((Span(NASTY, FIRST, None),), (FIRST,))
        await clocked.show(pilot, replace(at(0), datasets=views, course=course))
        await pilot.press("5", "5")
        await pilot.pause()
        assert "\x1b" not in screen_text(clocked.app)


async def test_a_click_ahead_of_now_chooses_now() -> None:
    clocked = Clocked()
    async with clocked.app.run_test(size=(120, 36)) as pilot:
        await clocked.watch(pilot, 0, 1)
        await pilot.click(clocked.panel.query_one(Strip), offset=(115, 1))
        await until(pilot, lambda: clocked.moment() is not None, "the moment")
        assert clocked.moment() == at(1).at


async def test_the_reading_moves_by_the_keys_that_move_everywhere() -> None:
    clocked = Clocked()
    async with clocked.app.run_test(size=(80, 16)) as pilot:
        await clocked.watch(pilot, 0, 1)
        main_screen(clocked.app).open_moment(at(1).at)
        screen = await opened(pilot, clocked)
        box = screen.query_one("#moment")
        for key in ("j", "ctrl+d", "end"):
            before = box.scroll_y
            await pilot.press(key)
            await until(pilot, lambda: box.scroll_y > before, key)  # noqa: B023 - it is awaited here
        await pilot.press("g")
        await until(pilot, lambda: box.scroll_y == 0, "the top")


async def test_the_past_counts_as_old_what_is_seldom_asked_only_when_it_is_overdue() -> None:
    clocked = Clocked(usual=Usual(health_s=600.0, look_s=600.0))
    async with clocked.app.run_test(size=(120, 36)) as pilot:
        slow = replace(at(1), health=replace(at(1).health, checked_at=at(-4).at))
        await clocked.watch(pilot, 0)
        await clocked.show(pilot, slow)
        main_screen(clocked.app).open_moment(slow.at)
        screen = await opened(pilot, clocked)
        assert screen.query_one("#health", Lamp).word == "ok"
