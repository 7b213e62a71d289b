"""A tracker's state as bytes: what is thawed goes on as if nothing had happened, and what can't be used is refused."""

from __future__ import annotations

import hashlib
import os
import pickle
import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import console
from bench.make_log import Mix, progress_log, server_log
from console.job.events import Source
from console.job.formats import Format
from console.job.plan import Plan
from console.job.tracker import Tracker

LOGS = Path(__file__).parents[1] / "data" / "logs"
SERVER = b"".join((LOGS / name).read_bytes()[:6000] for name in ("sglang-load-hang-crash.log", "vllm-dp2.log"))
JOB = (
    b"2026-11-30 09:00:00,100 - INFO - Traceback (most recent call last):\r\n  File x\nKeyError: 'a'\n"
    b"  7%|7         | 70/1000 [00:10<02:00,  7.00it/s]\rhalf a li"
)
DECODE = (
    b"[2026-02-24 03:19:40] Decode batch, #running-req: 50, #token: 114822, token usage: 0.82, cuda graph: True, "
    b"gen throughput (token/s): 846.33, #queue-req: 98\n"
)
SEEN_AT = datetime(2026, 11, 30, 12, tzinfo=UTC)
PLAN = Plan(zone=ZoneInfo("Europe/Berlin"), host="gpu01")


def feed(tracker: Tracker, server: bytes, job: bytes) -> None:
    tracker.feed(Source.SERVER, server, SEEN_AT)
    tracker.feed(Source.JOB, job, SEEN_AT)


def thawed(frozen: bytes, plan: Plan = PLAN) -> Tracker:
    tracker = Tracker(plan)
    assert tracker.thaw(frozen)
    return tracker


@given(st.integers(0, len(SERVER)), st.integers(0, len(JOB)))
@settings(max_examples=15, deadline=None)
def test_going_on_anywhere_is_the_same_as_never_stopping(server_at: int, job_at: int) -> None:
    whole, first = Tracker(PLAN), Tracker(PLAN)
    feed(whole, SERVER, JOB)
    feed(first, SERVER[:server_at], JOB[:job_at])
    second = thawed(first.freeze())
    feed(second, SERVER[server_at:], JOB[job_at:])
    assert second.state == whole.state
    assert second.snapshot(SEEN_AT) == whole.snapshot(SEEN_AT)
    assert second.unparsed(Source.JOB) == whole.unparsed(Source.JOB)
    assert list(second.flush(Source.JOB, SEEN_AT)) == list(whole.flush(Source.JOB, SEEN_AT))


def test_freezing_changes_nothing_and_twice_is_the_same() -> None:
    tracker = Tracker(PLAN)
    feed(tracker, SERVER, JOB)
    frozen = tracker.freeze()
    assert tracker.freeze() == frozen
    feed(tracker, b"more\n", b"more\n")
    assert thawed(frozen).freeze() == frozen


def test_states_of_one_process_have_what_stays_in_common() -> None:
    server, job = server_log(6, Mix(60, 60, 60), 1), progress_log(3_000, 1)
    tracker, later = Tracker(PLAN), Tracker(PLAN)
    tracker.feed(Source.SERVER, server, SEEN_AT)
    tracker.feed(Source.PROGRESS, job, SEEN_AT)
    shared: list[object] = []
    packed = tracker.freeze(shared)
    assert len(packed) < len(tracker.freeze()) / 2
    again: list[object] = []
    tracker.feed(Source.SERVER, DECODE, SEEN_AT)
    tracker.freeze(again)
    assert {id(one) for one in shared} & {id(one) for one in again}
    assert later.thaw(packed, shared)
    assert later.state == thawed(later.freeze()).state
    later.feed(Source.SERVER, DECODE, SEEN_AT)
    assert later.state == tracker.state
    assert not Tracker(PLAN).thaw(packed), "without what it shares it is not whole"


STARTED = b'{"t": "2026-11-30T08:00:00Z", "event": "dataset_started", "dataset": "a", "todo": 99, "total": 99}\n'
COMPLETION = (
    b'{"t": "2026-11-30T09:00:00Z", "event": "completion", "dataset": "a", "id": "p-%d", "completion_tokens": 5, '
    b'"seconds": 1}\n'
)
PROGRESS = STARTED + b"".join(COMPLETION % n for n in range(50))
OTHER_PROCESS = f"""
import sys; from datetime import datetime, UTC
from console.job.events import Source; from console.job.plan import Plan; from console.job.tracker import Tracker
tracker = Tracker(Plan())
tracker.feed(Source.PROGRESS, {PROGRESS!r}, datetime(2026, 11, 30, 12, tzinfo=UTC))
sys.stdout.buffer.write(tracker.freeze())
"""


def test_ids_are_known_again_in_another_process() -> None:
    environment = {**os.environ, "PYTHONHASHSEED": "7"}
    done = subprocess.run(
        [sys.executable, "-c", OTHER_PROCESS], check=True, capture_output=True, env=environment, cwd=LOGS.parents[2]
    )
    tracker = thawed(done.stdout, Plan())
    before = tracker.state.progress.datasets
    assert len(before[0].completed) == 50
    tracker.feed(Source.PROGRESS, PROGRESS, SEEN_AT)
    assert tracker.state.progress.datasets[0].completed == before[0].completed
    assert tracker.state.progress.datasets[0].done_run == before[0].done_run


FROZEN = Tracker(PLAN).freeze()


@given(st.integers(0, len(FROZEN) - 1), st.integers(1, 255))
@settings(max_examples=50, deadline=None)
def test_damage_is_seen(at: int, flip: int) -> None:
    damaged = bytearray(FROZEN)
    damaged[at] ^= flip
    for bad in (bytes(damaged), FROZEN[:at]):
        tracker = Tracker(PLAN)
        assert not tracker.thaw(bad)
        assert tracker.freeze() == FROZEN


@pytest.mark.parametrize("plan", [Plan(), Plan(zone=ZoneInfo("Asia/Tokyo")), Plan(zone=PLAN.zone, engine="vllm")])
def test_another_plan_reads_anew(plan: Plan) -> None:
    assert not Tracker(plan).thaw(FROZEN)


def test_another_version_reads_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console, "__version__", "99")
    assert not Tracker(PLAN).thaw(FROZEN)


def test_a_changed_class_reads_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    from console.job.server_state import ServerState  # noqa: PLC0415  (changed here alone)

    monkeypatch.setattr(ServerState, "__annotations__", {**ServerState.__annotations__, "phase": "bytes"})
    assert not Tracker(PLAN).thaw(FROZEN)


def test_formats_of_the_users_own_stay_those_of_the_program() -> None:
    own = Format("own", "", re.compile("own (?P<n>[0-9]+)"), lambda _: (), ("own 1",))
    tracker = Tracker(PLAN, formats=(own,))
    feed(tracker, b"", b"own 1\n")
    frozen = tracker.freeze()
    assert Tracker(PLAN, formats=(own,)).thaw(frozen)
    assert not Tracker(PLAN).thaw(frozen)


class Evil:
    """Runs a command when it is read back."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.system, ("touch evil",)


@pytest.mark.parametrize("evil", [Evil(), re.compile, Path(), subprocess.run, Tracker.freeze, datetime.now])
def test_nothing_else_is_ever_built(evil: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    body = pickle.dumps(evil)
    assert not Tracker(PLAN).thaw(hashlib.sha256(body).digest() + body)
    assert list(tmp_path.iterdir()) == []
