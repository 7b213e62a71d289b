"""What is remembered of a run, in memory and in its history: few readings, all changes, and they come back whole."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console import history_rows
from console.chronicle import MOST_READINGS, Chronicle, changes_of, marks_of
from console.history import History
from console.history_file import SCHEMA, VERSION
from console.history_past import Past, past_of, reading_beside, reading_near
from console.job.machine_facts import GpuReading
from console.job.machine_view import MachineView
from console.job.reading import reading
from console.job.reading_back import NoReading, snapshot_of
from console.job.snapshot import Judgement, LinkView, Snapshot
from console.job.timeline_changes import Change
from console.job.timeline_marks import Mark, MarkKind
from console.journal import Entry, Kind
from console.looked import keep_look, last_look, looked_path
from console.moments import Moments
from console.recorder import READING_EVERY, READING_LEAST, PackedReading, Recorder, packed, unpacked
from tests import samples

NOW = samples.NOW
ROOT = Path(__file__).parents[2]


def at(minutes: float, snapshot: Snapshot | None = None, cause: str = "kv_limited") -> Snapshot:
    base = snapshot or samples.healthy()
    moment = NOW + timedelta(minutes=minutes)
    return replace(base, at=moment, verdict=replace(base.verdict, cause=cause, since=moment))


def watched(minutes: range, recorder: Recorder | Chronicle) -> list[object]:
    """Show a snapshot each half minute."""
    told: list[object] = []
    for half in range(2 * minutes.start, 2 * minutes.stop):
        kept = recorder.take(at(half / 2))
        told += kept if isinstance(kept, list) else []
    return told


# ---------------------------------------------------------------- readings


@pytest.mark.parametrize("name", samples.ALL)
def test_a_reading_comes_back_as_it_was_shown(name: str) -> None:
    shown = samples.ALL[name]()
    back = unpacked(packed(shown).packed)
    bare = replace(shown, logs=tuple(replace(log, shapes=()) for log in shown.logs))
    assert reading(back) == reading(bare)
    assert back.at == shown.at


def test_of_a_log_what_is_not_understood_is_not_kept_but_can_be_read() -> None:
    calm = samples.healthy()
    log = replace(calm.logs[0], shapes=(("a #", 3),))
    whole = replace(calm, logs=(log,))
    assert unpacked(packed(whole).packed).logs[0].shapes == ()
    assert snapshot_of(reading(whole)).logs[0].shapes == (("a #", 3),)


def test_the_host_and_the_kinds_of_queues_come_back_too() -> None:
    gpus = (
        GpuReading(0, "H100", 0.97, 70e9, 80e9, 64.0, 612.5, 700.0),
        GpuReading(1, "H100", mig=True),
        GpuReading(2, lost=True),
    )
    machine = MachineView(
        at=NOW,
        load=(3.5, 2.0, 1.25),
        cores=64,
        memory_total=256e9,
        memory_available=200e9,
        disk="/data",
        disk_size=2e12,
        disk_free=3e11,
        disk_full_at=NOW + timedelta(hours=9),
        gpus=gpus,
        gpus_at=NOW,
    )
    blind = MachineView(missing="not asked", disk_fault="df hangs", gpu_fault="the host has no GPU")
    calm = samples.healthy()
    server = replace(calm.server, queues=(("grammar", 3), ("retracted", 1)))
    for host in (machine, blind):
        back = unpacked(packed(replace(calm, machine=host, server=server)).packed)
        assert back.machine == host
        assert back.server.queues == server.queues


def test_what_another_version_adds_is_passed_over_and_what_it_lacked_is_unknown() -> None:
    values = {**reading(samples.healthy()), "machine": {"gpus": []}}
    values["server"] = {**values["server"], "novel": 3}
    assert reading(snapshot_of(values))["server"] == reading(samples.healthy())["server"]
    bare = {name: values[name] for name in ("at", "verdict", "cause", "headline")}
    back = snapshot_of(bare)
    assert (back.datasets, back.eta.at, back.server.running, back.link.state) == ((), None, None, "")


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
        max_leaves=8,
    ),
    st.sampled_from([*reading(samples.healthy()), "nothing"]),
)
def test_anything_else_is_no_reading_or_one_that_can_be_drawn(anything: object, name: str) -> None:
    for values in (anything, {**reading(samples.healthy()), name: anything}):
        try:
            back = snapshot_of(values)
        except NoReading:
            continue
        assert reading(back)["at"]


@pytest.mark.parametrize("kept", [b"", b"no zlib", packed(samples.healthy()).packed[:-9]])
def test_a_damaged_reading_is_none(kept: bytes) -> None:
    with pytest.raises(NoReading):
        unpacked(kept)


def test_55_hours_fit_into_a_few_megabytes() -> None:
    told = watched(range(55 * 60), Recorder())
    readings = [each for each in told if isinstance(each, PackedReading)]
    assert 650 <= len(readings) <= 670
    assert sum(len(each.packed) for each in readings) < 1_000_000
    assert [type(each) for each in told if not isinstance(each, PackedReading)] == [Mark, Change]


def test_a_change_is_kept_at_once_but_a_flutter_is_not() -> None:
    recorder = Recorder()
    watched(range(3), recorder)
    told = [each for second in range(180, 240) for each in recorder.take(at(second / 60, cause="steady"))]
    assert [type(each) for each in told] == [Change, PackedReading]
    states = [replace(samples.healthy(), datasets=samples.waiting()[:count]) for count in (1, 2, 3, 4, 5, 6)]
    told = [each for second in range(60) for each in recorder.take(at(5 + second / 60, states[second % 6], "steady"))]
    kept = [each for each in told if isinstance(each, PackedReading)]
    assert len(kept) == 2
    assert kept[1].at - kept[0].at >= READING_LEAST


# ---------------------------------------------------------------- the history


def saved(path: Path, *snapshots: Snapshot) -> None:
    """Have a console keep a history."""
    with closing(History.open(path)) as history:
        for snapshot in snapshots:
            history.note(snapshot)
        assert history.save({}, b"", [], snapshots[-1].at)


def test_the_past_comes_back_from_the_history(tmp_path: Path) -> None:
    path = tmp_path / "run.sqlite3"
    halves = [at(half / 2, cause="kv_limited" if half < 60 else "steady") for half in range(120)]
    saved(path, *halves)
    past = past_of(path)
    assert [(change.at, change.cause) for change in past.changes] == [
        (NOW, "kv_limited"),
        (NOW + timedelta(minutes=30), "steady"),
    ]
    assert past.changes[0].headline == halves[0].verdict.headline
    assert [mark.kind for mark in past.marks] == [MarkKind.OPENED]
    assert past.etas
    near = reading_near(path, NOW + timedelta(minutes=33))
    assert near is not None
    assert timedelta(0) <= NOW + timedelta(minutes=33) - near.at <= READING_EVERY
    before, later = (reading_beside(path, near.at, back=back) for back in (True, False))
    assert before is not None
    assert later is not None
    assert before.at < near.at < later.at
    first = reading_near(path, NOW - timedelta(days=1))
    assert first is not None
    assert reading_beside(path, first.at, back=True) is None


def test_when_no_console_looked_is_known(tmp_path: Path) -> None:
    path = tmp_path / "run.sqlite3"
    saved(path, *(at(half / 2) for half in range(40)))
    saved(path, *(at(120 + half / 2) for half in range(40)))
    ((begin, end),) = past_of(path).unwatched
    assert end == NOW + timedelta(minutes=120)
    assert timedelta(0) <= NOW + timedelta(minutes=19.5) - begin <= READING_EVERY
    saved(path, *(at(141 + half / 2) for half in range(40)))  # one that is opened at once again
    assert len(past_of(path).unwatched) == 1


def test_of_no_history_or_one_of_no_use_nothing_is_known(tmp_path: Path) -> None:
    path = tmp_path / "run.sqlite3"
    assert past_of(path) == Past()
    assert reading_near(path, NOW) is None
    path.write_bytes(b"no database" * 99)
    assert "can't be read" in past_of(path).trouble
    assert reading_near(path, NOW) is None


def test_a_history_of_a_former_version_is_taken_over(tmp_path: Path) -> None:
    path = tmp_path / "run.sqlite3"
    with closing(sqlite3.connect(path)) as base:
        base.executescript(SCHEMA)
        for table in ("changes", "marks", "readings"):
            base.execute(f"DROP TABLE {table}")
        base.execute("INSERT INTO verdicts VALUES (?, 'wait', 'steady')", (NOW.timestamp(),))
        base.execute("INSERT INTO verdicts VALUES (?, 'watch', 'log_quiet')", (NOW.timestamp() + 1,))
        base.execute("INSERT INTO verdicts VALUES (?, 'wait', 'kv_limited')", (NOW.timestamp() + 2,))
        base.execute("PRAGMA user_version = 2")
        base.commit()
    assert [change.cause for change in past_of(path).changes] == ["kv_limited"]  # what lasted a second is left out
    assert reading_near(path, NOW) is None
    saved(path, *(at(half / 2) for half in range(20)))
    with closing(sqlite3.connect(path)) as base:
        assert base.execute("PRAGMA user_version").fetchone() == (VERSION,)
    assert reading_near(path, NOW + timedelta(minutes=5)) is not None
    assert [change.cause for change in past_of(path).changes] == ["kv_limited"]


def test_the_newest_readings_and_marks_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history_rows, "KEPT_READINGS", 5)
    path = tmp_path / "run.sqlite3"
    saved(path, *(at(half / 2) for half in range(200)))
    with closing(sqlite3.connect(path)) as base:
        times = [row[0] for row in base.execute("SELECT at FROM readings ORDER BY at")]
    assert len(times) == 5
    assert times[-1] >= (NOW + timedelta(minutes=94)).timestamp()


def test_a_history_says_when_something_is_worth_a_save(tmp_path: Path) -> None:
    with closing(History.open(tmp_path / "run.sqlite3")) as history:
        assert history.note(at(0))  # that a console was opened
        assert not history.note(at(0.1))
        assert history.note(at(0.5))  # a verdict that lasts
        lost = replace(at(1), link=LinkView("lost", since=NOW))
        assert history.note(lost)


# ---------------------------------------------------------------- the console's own memory


def entry(minutes: float, kind: Kind, what: str, **more: str) -> Entry:
    return Entry(NOW + timedelta(minutes=minutes), kind, what, user="me@desk", more=more)


def test_a_chronicle_joins_what_was_kept_with_what_it_saw() -> None:
    chronicle = Chronicle()
    watched(range(60, 70), chronicle)
    former = Change(NOW, Judgement.WATCH, "log_quiet", "")
    seen = Mark(NOW, MarkKind.LINK_LOST, "link lost")
    chronicle.recall(Past((former,), (seen,), until=NOW + timedelta(minutes=30)))
    chronicle.note([entry(10, Kind.NOTE, "seen"), entry(20, Kind.ACTION, "Restart the job")])
    assert [change.cause for change in chronicle.changes] == ["log_quiet", "kv_limited"]
    kinds = [mark.kind for mark in chronicle.marks]
    assert kinds == [MarkKind.LINK_LOST, MarkKind.NOTE, MarkKind.ACT, MarkKind.OPENED]
    assert chronicle.unwatched == ((NOW + timedelta(minutes=30), NOW + timedelta(minutes=60)),)
    line = chronicle.timeline(at(70))
    assert line.change_at(NOW + timedelta(minutes=45)) is None


def test_without_a_history_the_journal_tells_the_verdicts_of_before() -> None:
    chronicle = Chronicle()
    watched(range(60, 62), chronicle)
    told = [
        entry(0, Kind.VERDICT, "WATCH (log_quiet)", verdict="watch", cause="log_quiet"),
        entry(5, Kind.VERDICT, "of a later version", verdict="ponder", cause="x"),
    ]
    chronicle.note(told)
    assert [change.cause for change in chronicle.changes] == ["log_quiet", "kv_limited"]
    assert chronicle.known_from == NOW
    assert [mark.kind for mark in chronicle.marks] == []


def test_text_of_a_journal_is_data() -> None:
    (mark,) = marks_of([entry(0, Kind.NOTE, "a\x1b[31mb\nc")])
    assert mark.what == "ab c"
    (change,) = changes_of([replace(entry(0, Kind.VERDICT, "", verdict="wait", cause="a\x1b[2Jb"))])
    assert change.cause == "ab"


def test_memory_is_bounded() -> None:
    chronicle = Chronicle()
    for five in range(MOST_READINGS + 50):
        chronicle.take(at(five * 5))
        chronicle.take(at(five * 5 + 1))
    oldest = chronicle.reading_near(NOW + timedelta(minutes=5 * 40))
    assert oldest is None
    assert chronicle.reading_near(NOW + timedelta(days=30)) is not None


def test_a_clock_that_was_put_back_does_not_hide_readings() -> None:
    chronicle = Chronicle()
    watched(range(60, 80), chronicle)
    watched(range(20), chronicle)
    for minutes in (12, 71):
        near = chronicle.reading_near(NOW + timedelta(minutes=minutes))
        assert near is not None
        assert timedelta() <= NOW + timedelta(minutes=minutes) - near.at < timedelta(minutes=6)
    walked = [NOW]
    while (later := chronicle.reading_beside(walked[-1], back=False)) is not None:
        walked.append(later.at)
    assert walked == sorted(set(walked))
    assert walked[-1] > NOW + timedelta(minutes=70)


async def test_readings_are_found_wherever_they_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "run.sqlite3"
    saved(path, *(at(half / 2) for half in range(40)))
    chronicle = Chronicle()
    assert await Moments(chronicle, None).near(NOW) is None
    watched(range(60, 80), chronicle)
    moments = Moments(chronicle, path)
    kept = await moments.near(NOW + timedelta(minutes=12))
    own = await moments.near(NOW + timedelta(minutes=71))
    early = await moments.near(NOW - timedelta(minutes=10))
    assert kept is not None
    assert own is not None
    assert early is not None
    assert kept.at <= NOW + timedelta(minutes=12)
    assert NOW + timedelta(minutes=60) < own.at <= NOW + timedelta(minutes=71)
    assert early.at < NOW + timedelta(minutes=1)
    walked = [kept.at]
    while (later := await moments.beside(walked[-1], back=False)) is not None:
        walked.append(later.at)
    assert walked == sorted(set(walked))
    assert walked[-1] > NOW + timedelta(minutes=70)
    back = await moments.beside(own.at, back=True)
    assert back is not None
    assert back.at < own.at


# ---------------------------------------------------------------- when somebody looked


def test_the_last_look_is_kept_beside_the_history(tmp_path: Path) -> None:
    history = tmp_path / "runs" / "gpu01-0123456789ab.sqlite3"
    assert last_look(history) is None
    keep_look(history, NOW)
    keep_look(history, NOW + timedelta(minutes=3))
    assert last_look(history) == NOW + timedelta(minutes=3)
    assert [each.name for each in history.parent.iterdir()] == ["gpu01-0123456789ab.looked"]
    for damaged in ("", "yesterday", "2026-02-24T03:19:40", "\xff"):
        looked_path(history).write_text(damaged, encoding="latin-1")
        assert last_look(history) is None


def test_where_it_can_not_be_kept_nothing_is_harmed(tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("a file")
    keep_look(tmp_path / "runs" / "run.sqlite3", NOW)
    assert (tmp_path / "runs").read_text() == "a file"
