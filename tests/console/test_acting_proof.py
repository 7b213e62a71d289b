"""The proof on the screen: it fills itself, may be left and shown again, is written down once, and offers the way back."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from console.acts import ActResult
from console.control import ActionPlan, LeftOver, Step, Verb
from console.facts import SnapshotTaken
from console.job.proof_facts import before_from
from console.job.snapshot import JobView
from console.journal import Entry, Journal, Kind
from console.screens.act import ActScreen
from console.screens.journal import JournalScreen, NoteScreen
from console.screens.main import MainScreen
from remote.errors import LinkLost
from tests import samples
from tests.console.fakes_ui import FakeControl, FakeFeed, asked, make_app, notices, screen_text, shown, until
from widgets.confirm import Confirm

if TYPE_CHECKING:
    from pathlib import Path

    from textual.pilot import Pilot

    from console.app import LongwaitApp
    from console.job.snapshot import Snapshot

SHA = "ab" * 32
RESULT = ActResult(
    50_001, samples.NOW - timedelta(seconds=1), SHA, "/data/run/job.py.20260224T031940Z.0011aabb", act="a1"
)
STEPS = (
    Step("stop the process group", "running"),
    Step("stop the process group", "done", "gone after 2 s", 2.1, ActResult()),
    Step("start the job", "running"),
    Step("start the job", "done", "process 50001", 0.4, RESULT),
)


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(tmp_path / "j", host=samples.HOST, clock=lambda: samples.NOW, user="me@desk")


def control_of(**parts: object) -> FakeControl:
    control = FakeControl(steps=STEPS, **parts)  # type: ignore[arg-type]  # a test's own table
    control.gate.set()
    return control


def after(sha256: str = SHA) -> Snapshot:
    """The run a moment after the start."""
    at = samples.NOW + timedelta(seconds=2)
    job = JobView(pid=50_001, alive=True, checked_at=at, script_sha256=sha256)
    return replace(samples.healthy(), at=at, job=job)


async def restarted(pilot: Pilot[None], feed: FakeFeed) -> None:
    """Show the run, restart it, and wait for the board."""
    await shown(pilot, feed, samples.healthy())
    await pilot.press("R")
    await until(pilot, lambda: isinstance(pilot.app.screen, ActScreen), "the board")


def app_of(feed: FakeFeed, control: FakeControl, journal: Journal, **settings: object) -> LongwaitApp:
    return make_app(feed, control, confirm=False, journal=lambda: journal, **settings)


async def test_the_proof_fills_itself_below_the_steps_and_can_be_left(journal: Journal) -> None:
    feed = FakeFeed()
    app = app_of(feed, control_of(), journal)
    async with app.run_test(size=(120, 36)) as pilot:
        await restarted(pilot, feed)
        await until(pilot, lambda: "the process lives" in screen_text(app), "the checklist")
        assert "· the process lives" in screen_text(app)
        await pilot.press("escape")
        await shown(pilot, feed, after())
        await pilot.press("p")
        await until(pilot, lambda: "✓ the process lives" in screen_text(app), "the first proof")
        assert "✓ the script is the one sent" in screen_text(app)
        assert "· first progress line" in screen_text(app)
        assert "p shows it again" in screen_text(app)
    assert journal.entries() == ()


async def test_a_failed_proof_is_written_once_and_one_key_rolls_back(journal: Journal) -> None:
    feed, control = FakeFeed(), control_of()
    app = app_of(feed, control, journal)
    async with app.run_test(size=(120, 36)) as pilot:
        await restarted(pilot, feed)
        gone = replace(after(), job=JobView(alive=False, checked_at=after().at))
        await until(pilot, lambda: "the process lives" in screen_text(app), "the checklist")
        feed.put(SnapshotTaken(gone))
        await until(pilot, lambda: "✗ the process lives" in screen_text(app), "the failure")
        await until(pilot, lambda: any("B rolls back" in note for note in notices(app)), "the notice")
        await pilot.press("B")
        await until(pilot, lambda: len(control.carried) == 2, "the way back")
        assert control.backs == 1
        assert control.carried[1].rolls_back
        await until(pilot, lambda: "The job is rolled back." in notices(app), "the outcome")
    (entry,) = journal.entries()
    assert (entry.kind, entry.act) == (Kind.PROOF, "a1")
    assert entry.outcome.startswith("Not as it should be: the process lives: process 50001 has ended")
    assert entry.more["ok"] is False
    assert len(entry.more["items"]) == 8


async def test_what_was_before_goes_to_the_journal_with_the_act(journal: Journal) -> None:
    feed, control = FakeFeed(), control_of()
    app = app_of(feed, control, journal)
    async with app.run_test(size=(120, 36)) as pilot:
        await restarted(pilot, feed)
        await until(pilot, lambda: control.before is not None, "the act")
    marks = before_from(json.loads(json.dumps(control.before))).marks
    assert [(mark.name, mark.done, mark.met) for mark in marks[:3]] == [
        ("B1_glaive", 7_312, True),
        ("B2_dialogue", 6_120, True),
        ("B3_magicoder", 3_452, False),
    ]
    assert control.carried[0].why == "wait (kv_limited)"


async def test_a_failed_act_that_replaced_the_script_offers_the_way_back(journal: Journal) -> None:
    failed = Step("start the job", "failed", "It ended at once.", 0.4, ActResult(kept="/data/job.py.1"))
    control = FakeControl(steps=(*STEPS[:3], failed))
    control.gate.set()
    app = app_of(FakeFeed(), control, journal)
    async with app.run_test(size=(120, 36)) as pilot:
        await pilot.press("R")
        await until(pilot, lambda: "B rolls back" in screen_text(app), "the offer")
        await pilot.press("B")
        await until(pilot, lambda: control.backs == 1, "the way back")


async def test_an_act_without_a_change_offers_none(journal: Journal) -> None:
    failed = Step("stop the process group", "failed", "No.", 0.4, ActResult())
    control = FakeControl(steps=(STEPS[0], failed))
    control.gate.set()
    app = app_of(FakeFeed(), control, journal)
    async with app.run_test(size=(120, 36)) as pilot:
        await pilot.press("R")
        await until(pilot, lambda: "Restart failed" in screen_text(app), "the failure")
        await pilot.press("B")
        await pilot.pause()
        assert control.backs == 0


async def test_the_key_rolls_back_from_the_main_screen_and_asks(journal: Journal) -> None:
    control = control_of()
    app = make_app(FakeFeed(), control, journal=lambda: journal)
    async with app.run_test(size=(120, 36)) as pilot:
        await pilot.press("B")
        await asked(pilot)
        assert "Roll the job on gpu01 back" in screen_text(app)
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, MainScreen), "the main screen")
        assert control.carried == []
        await pilot.press("p")
        await until(pilot, lambda: any("from this console yet" in note for note in notices(app)), "the reason")


# -- what a former console has left


LEFT = LeftOver(
    "The restart of 2026-02-24 03:00:00 UTC by me@desk was broken off when the job was being started.",
    ("No job runs now.", "The script on the host is the one that was meant."),
    ActionPlan(Verb.START, "Start the job on gpu01", ("Start: python3 job.py",)),
)


@pytest.mark.parametrize("confirm", [True, False])
async def test_a_half_done_act_is_told_and_finished_after_a_question(journal: Journal, confirm: bool) -> None:
    feed, control = FakeFeed(), control_of(left=LEFT)
    app = make_app(feed, control, journal=lambda: journal, confirm=confirm)
    async with app.run_test(size=(120, 36)) as pilot:
        await shown(pilot, feed, samples.healthy())
        await asked(pilot)
        assert "was broken off when the job was being started" in screen_text(app)
        assert "No job runs now." in screen_text(app)
        await pilot.press("y")
        await until(pilot, lambda: len(control.carried) == 1, "the act")
        assert control.carried[0].verb is Verb.START


async def test_a_half_done_act_may_be_left(journal: Journal) -> None:
    feed, control = FakeFeed(), control_of(left=LEFT)
    app = make_app(feed, control, journal=lambda: journal)
    async with app.run_test(size=(120, 36)) as pilot:
        await shown(pilot, feed, samples.healthy())
        await asked(pilot)
        await pilot.press("n")
        await until(pilot, lambda: isinstance(app.screen, MainScreen), "the main screen")
        await shown(pilot, feed, replace(samples.healthy(), at=samples.NOW + timedelta(seconds=1)))
        assert not isinstance(app.screen, Confirm)
        assert control.carried == []


async def test_nothing_is_looked_back_for_before_the_host_is_seen(journal: Journal) -> None:
    feed, control = FakeFeed(), control_of(left=LEFT)
    app = make_app(feed, control, journal=lambda: journal)
    async with app.run_test(size=(120, 36)) as pilot:
        await shown(pilot, feed, samples.link_lost())
        assert control.left is LEFT


async def test_a_proof_that_another_console_began_is_taken_up(journal: Journal) -> None:
    more = {"verb": "restart", "ok": True, "pid": 50_001, "sha256": SHA, "before": {}}
    journal.write(Kind.ACTION, "Restart the job on gpu01", outcome="The job is restarted.", act="b2", more=more)
    feed, control = FakeFeed(), control_of()
    app = make_app(feed, control, journal=lambda: journal)
    async with app.run_test(size=(120, 36)) as pilot:
        await shown(pilot, feed, samples.healthy())
        await pilot.press("p")
        await until(pilot, lambda: "· the process lives" in screen_text(app), "the checklist")
        await shown(pilot, feed, after("cd" * 32))
        await until(pilot, lambda: "✗ the script is the one sent" in screen_text(app), "the failure")
        gone = replace(after(), at=after().at + timedelta(seconds=1), job=JobView(alive=False, checked_at=after().at))
        await shown(pilot, feed, gone)
        await until(pilot, lambda: len(journal.entries()) == 2, "the entry")
    assert journal.entries()[-1].act == "b2"


# -- the journal


async def test_a_note_is_kept_and_the_journal_shown(journal: Journal) -> None:
    app = make_app(FakeFeed(), None, journal=lambda: journal)
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.press("n")
        await until(pilot, lambda: isinstance(app.screen, NoteScreen), "the field")
        await pilot.press(*"fan", "space", *"[b]loud", "enter")
        await until(pilot, lambda: "Noted." in notices(app), "the note")
        await pilot.press("J")
        await until(pilot, lambda: isinstance(app.screen, JournalScreen), "the journal")
        await until(pilot, lambda: "fan [b]loud" in screen_text(app), "the note in it")
        assert "2026-02-24 03:19:40  note  me@desk" in screen_text(app)
        await pilot.press("escape", "n", "escape")
        await until(pilot, lambda: isinstance(app.screen, MainScreen), "the main screen")
    assert [entry.what for entry in journal.entries()] == ["fan [b]loud"]


def by_bob(minute: int, what: str = "Restart the job on gpu01") -> Entry:
    at = samples.NOW.replace(minute=minute)
    return Entry(at, Kind.ACTION, what, outcome="The job is restarted.", user="bob@laptop", host="gpu01", act="b0b")


async def test_the_journal_shows_what_others_have_done_each_once(journal: Journal) -> None:
    control = FakeControl()
    app = make_app(FakeFeed(), control, journal=lambda: journal)
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.press("n")
        await until(pilot, lambda: isinstance(app.screen, NoteScreen), "the field")
        await pilot.press(*"mine", "enter")
        await until(pilot, lambda: len(control.shared) == 1, "the note on the host")
        control.there = (by_bob(10), journal.entries()[0])
        await pilot.press("J")
        await until(pilot, lambda: "bob@laptop" in screen_text(app), "the other's act")
        assert screen_text(app).count("mine") == 1
        assert screen_text(app).index("bob@laptop") < screen_text(app).index("mine")
        await pilot.press("escape")
        control.there = LinkLost("The link is gone.")
        await pilot.press("J")
        told = "The journal on the host could not be read: The link is gone."
        await until(pilot, lambda: told in notices(app), "why not")


async def test_what_another_console_does_meanwhile_is_told(journal: Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MainScreen, "AGAIN_S", 0.0)
    stop = by_bob(5, "Stop the job on gpu01")
    feed, control = FakeFeed(), FakeControl(there=(stop,))
    app = make_app(feed, control, journal=lambda: journal)
    first = samples.healthy()
    async with app.run_test(size=(100, 30)) as pilot:
        await shown(pilot, feed, first)
        await until(pilot, lambda: not any(worker.group == "others" for worker in app.workers), "the first look")
        control.there = (stop, by_bob(18))
        await shown(pilot, feed, replace(first, job=replace(first.job, pid=50_001)))
        words = "By bob@laptop: Restart the job on gpu01: The job is restarted."
        await until(pilot, lambda: words in notices(app), "the other's act")
        assert not any("Stop the job" in told for told in notices(app))


async def test_without_a_journal_it_is_said() -> None:
    app = make_app(FakeFeed(), None)
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.press("J", "n")
        await until(pilot, lambda: len(notices(app)) == 2, "the reasons")
        assert all("no journal yet" in note for note in notices(app))


async def test_a_lasting_change_of_the_verdict_is_written(journal: Journal) -> None:
    feed = FakeFeed()
    app = make_app(feed, None, journal=lambda: journal)
    async with app.run_test(size=(100, 30)) as pilot:
        for second in range(0, 15, 3):
            await shown(pilot, feed, replace(samples.healthy(), at=samples.NOW + timedelta(seconds=second)))
    assert [entry.what for entry in journal.entries()] == ["WAIT (kv_limited)"]
