"""The history of a run: what was saved comes back, whole or not at all, and no fault of the file stops the console."""

from __future__ import annotations

import os
import random
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console import history as history_module
from console.history import BYTES_PER_S, SAVE_S, History, Place, history_path, run_key
from console.history_rows import KEPT_LINES, LINE_CHARS
from console.history_samples import EtaSample, Sampler, ServerSample, VerdictSample
from console.job.events import LogLine, Source
from console.job.plan import Plan
from console.job.snapshot import Eta, Judgement, ServerView, Snapshot, Verdict
from console.job.tracker import Tracker
from remote.tail import Cursor

if TYPE_CHECKING:
    from collections.abc import Iterator

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
JOB = Place(Source.JOB, "/runs/job.log")
SERVER = Place(Source.SERVER, "/runs/it's a server.log")
CURSORS = {JOB: Cursor(7, 1000, "ab" * 16), SERVER: Cursor(2**63 - 1, 2**40)}
ROOT = Path(__file__).parents[2]


def line(n: int, source: Source = Source.JOB) -> LogLine:
    return LogLine(source, f"line {n} ✓", NOW + timedelta(seconds=n), "warning")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "runs" / "run.sqlite3"


@pytest.fixture
def history(path: Path) -> Iterator[History]:
    with closing(History.open(path)) as history:
        yield history


def test_a_new_history_is_empty_and_keeps(history: History) -> None:
    assert history.keeps
    assert history.load() is None
    assert (history.trouble, history.notices) == ("", [])


def test_what_was_saved_comes_back(history: History, path: Path) -> None:
    lines = [line(1), line(2, Source.SERVER), line(3)]
    assert history.save(CURSORS, b"state" * 99, lines, NOW)
    history.close()
    with closing(History.open(path)) as again:
        left = again.load()
    assert left is not None
    assert (left.cursors, left.state, left.lines, left.saved_at) == (CURSORS, b"state" * 99, tuple(lines), NOW)


def test_each_save_replaces_the_place_and_the_state_and_adds_lines(history: History) -> None:
    history.save(CURSORS, b"one", [line(1)], NOW)
    history.save({JOB: Cursor(8, 2)}, b"two", [line(2)], NOW)
    left = history.load()
    assert left is not None
    assert left.cursors == {**CURSORS, JOB: Cursor(8, 2)}
    assert left.state == b"two"
    assert left.lines == (line(1), line(2))


def test_the_newest_lines_of_each_source_are_kept(history: History) -> None:
    many = [line(n) for n in range(KEPT_LINES + 300)]
    history.save({}, b"", [line(0, Source.SERVER), *many[:200]], NOW)
    history.save({}, b"", many[200:], NOW)
    left = history.load()
    assert left is not None
    assert left.lines == (line(0, Source.SERVER), *many[-KEPT_LINES:])


def test_long_lines_are_cut(history: History) -> None:
    history.save({}, b"", [LogLine(Source.JOB, "x" * 100_000, NOW)], NOW)
    left = history.load()
    assert left is not None
    assert len(left.lines[0].text) == LINE_CHARS


def test_only_the_owner_can_read_it(history: History, path: Path) -> None:
    history.save(CURSORS, b"", [], NOW)
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
    assert set(modes.values()) == {0o600}, modes


def test_a_save_that_fails_changes_nothing(history: History, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise sqlite3.OperationalError("disk I/O error")

    history.save(CURSORS, b"one", [line(1)], NOW)
    monkeypatch.setattr(history_module, "put_samples", fail)
    assert not history.save({JOB: Cursor(9, 9)}, b"two", [line(2)], NOW)
    assert "disk I/O error" in history.trouble
    assert not history.keeps
    assert not history.save({}, b"three", [], NOW)
    assert len(history.notices) == 1
    with closing(History.open(path)) as again:
        left = again.load()
    assert left is not None
    assert (left.cursors, left.state, left.lines) == (CURSORS, b"one", (line(1),))


def test_a_full_disk_stops_the_history_alone(path: Path) -> None:
    with closing(History.open(path)) as history:
        history.save(CURSORS, b"one", [], NOW)
        assert history._base is not None
        history._base.execute("PRAGMA max_page_count = 20")
        assert not history.save(CURSORS, random.Random(1).randbytes(500_000), [], NOW)
        assert "full" in history.trouble
        assert history.notices == [history.trouble]
        assert history.load() is None
    with closing(History.open(path)) as again:
        left = again.load()
    assert left is not None
    assert left.state == b"one"


def test_a_second_console_keeps_none_and_says_so(history: History, path: Path) -> None:
    history.save(CURSORS, b"one", [], NOW)
    with closing(History.open(path)) as second:
        assert not second.keeps
        assert str(os.getpid()) in second.trouble
        assert second.load() is None
        assert not second.save(CURSORS, b"two", [], NOW)
        second.forget()
        second.note(snapshot())
        assert second.server_samples() == ()
    left = history.load()
    assert left is not None
    assert left.state == b"one"


KILLED = """
import os, signal, sys; from datetime import datetime, UTC; from pathlib import Path; from console.history import History
history = History.open(Path(sys.argv[1])); history.save({}, b"kept", [], datetime.now(UTC))
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_console_that_was_killed_leaves_its_state_and_no_lock(path: Path) -> None:
    subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False, cwd=ROOT)
    with closing(History.open(path)) as history:
        assert history.keeps
        left = history.load()
    assert left is not None
    assert left.state == b"kept"


@pytest.mark.parametrize("damage", ["garbage", "middle", "short", "version", "state"])
def test_a_file_of_no_use_is_moved_aside(path: Path, damage: str) -> None:
    with closing(History.open(path)) as history:
        history.save(CURSORS, b"one" * 5000, [line(n) for n in range(2000)], NOW)
    whole = path.read_bytes()
    match damage:
        case "garbage":
            path.write_bytes(b"not a database " * 500)
        case "middle":
            path.write_bytes(whole[:4096] + b"\xff" * (len(whole) - 4096))
        case "short":
            path.write_bytes(whole[: len(whole) // 2])
        case "version":
            with closing(sqlite3.connect(path)) as base:
                base.execute("PRAGMA user_version = 99")
        case _:
            with closing(sqlite3.connect(path)) as base, base:
                base.execute("UPDATE state SET packed = x'00'")
    with closing(History.open(path)) as history:
        assert history.load() is None
        assert history.keeps
        assert "begins anew" in history.notices[0]
        assert path.with_suffix(".damaged").exists()
        assert history.save(CURSORS, b"two", [], NOW)
        left = history.load()
    assert left is not None
    assert left.state == b"two"


def test_a_place_that_can_not_be_used_is_said(tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("a file")
    with closing(History.open(tmp_path / "runs" / "run.sqlite3")) as history:
        assert not history.keeps
        assert history.notices == [history.trouble]
        assert "No history is kept" in history.trouble


def test_a_folder_in_its_place_is_said(path: Path) -> None:
    path.mkdir(parents=True)
    with closing(History.open(path)) as history:
        assert not history.keeps
        assert "can't be opened" in history.trouble


def test_forgetting_drops_what_was_read_and_keeps_samples(history: History) -> None:
    history.note(snapshot())
    history.save(CURSORS, b"one", [line(1)], NOW)
    history.forget()
    assert history.load() is None
    assert len(history.server_samples()) == 1
    assert len(history.notices) == 1


def test_a_large_state_is_saved_less_often(history: History) -> None:
    history.save({}, b"small", [], NOW)
    assert history.pause_s == pytest.approx(SAVE_S, abs=3)
    history.save({}, random.Random(1).randbytes(BYTES_PER_S * 60), [], NOW)
    assert history.pause_s >= 60


def test_the_name_tells_the_host_and_the_logs() -> None:
    assert run_key("ops@GPU01:2222", ["a", "b"]).startswith("ops-gpu01-2222-")
    assert run_key("gpu01", ["a", "b"]) == run_key("gpu01", ["b", "a"])
    assert len({run_key("gpu01", ["a"]), run_key("gpu02", ["a"]), run_key("gpu01", ["ab"]), run_key("gpu01", [])}) == 4
    assert history_path("gpu01", ["a"]).parts[-3:-1] == ("longwait", "runs")


@given(st.text(max_size=80))
def test_any_host_gives_a_plain_file_name(host: str) -> None:
    assert run_key(host, []).replace("-", "").isalnum()
    assert len(run_key(host, [])) < 60


def test_a_restarted_console_goes_on_in_the_middle_of_a_line(path: Path) -> None:
    """The example of the module's docstring, with a kill in between."""
    log = b"2026-11-30 09:00:00,100 - INFO - one\n2026-11-30 09:00:01,100 - INFO - tw"
    first = Tracker(Plan())
    with closing(History.open(path)) as history:
        lines = first.feed(Source.JOB, log, NOW)
        history.save({JOB: Cursor(7, len(log))}, first.freeze(), lines, NOW)
        first.feed(Source.JOB, b"never saved\n", NOW)
    second = Tracker(Plan())
    with closing(History.open(path)) as history:
        left = history.load()
    assert left is not None
    assert second.thaw(left.state)
    assert left.cursors[JOB] == Cursor(7, len(log))
    (whole,) = second.feed(Source.JOB, b"o\n", NOW)
    assert whole.text.endswith("- two")
    assert [kept.text for kept in left.lines] == ["2026-11-30 09:00:00,100 - INFO - one"]


def snapshot(seconds: float = 0, cause: str = "decoding", *, news: bool = True, eta: bool = True) -> Snapshot:
    at = NOW + timedelta(seconds=seconds)
    return Snapshot(
        at,
        Verdict(Judgement.WAIT, cause, "."),
        Eta(at=NOW + timedelta(hours=5)) if eta else Eta(),
        server=ServerView(running=3, queue=4, token_usage=0.5, gen_throughput=99.5, updated_at=at if news else NOW),
    )


def test_few_snapshots_make_rows() -> None:
    sampler = Sampler()
    rows = [row for tenth in range(12_000) for row in sampler.take(snapshot(tenth / 10))]
    assert sum(isinstance(row, ServerSample) for row in rows) == 120
    assert sum(isinstance(row, EtaSample) for row in rows) == 2
    assert sum(isinstance(row, VerdictSample) for row in rows) == 1
    assert sampler.take(snapshot(1199.9, "idle")) == [VerdictSample(NOW + timedelta(seconds=1199.9), "wait", "idle")]


def test_old_figures_are_not_kept_as_new_ones() -> None:
    sampler = Sampler()
    rows = [row for n in range(100) for row in sampler.take(snapshot(n * 11, news=False, eta=False))]
    assert [type(row) for row in rows] == [ServerSample, VerdictSample]


def test_samples_come_back(history: History) -> None:
    for minute in range(3):
        history.note(snapshot(minute * 60))
    history.save({}, b"", [], NOW)
    assert [(row.at, row.throughput) for row in history.server_samples()] == [
        (NOW + timedelta(minutes=minute), 99.5) for minute in range(3)
    ]
