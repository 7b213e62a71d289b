"""``progress.jsonl``: every event that the job writes, and everything that may be broken in a line."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from console.job.events import Event, Stamped, Unparsed
from console.job.job_events import (
    Completion,
    DatasetAnnounced,
    DatasetFinished,
    DatasetResumed,
    DatasetSkipped,
    DatasetStarted,
    DatasetTokenized,
    Heartbeat,
    JobTrouble,
    JobZone,
    RequestFailed,
    RunFinished,
    RunStarted,
    ServerWord,
)
from console.job.progress_log import parse_progress

SEEN = datetime(2026, 2, 24, 12, tzinfo=UTC)
AT = datetime(2026, 2, 24, 3, 19, 40, 250_000, tzinfo=UTC)


def line(event: str, **fields: Any) -> str:
    return json.dumps({"t": "2026-02-24T03:19:40.250Z", "event": event, **fields})


def events(text: str) -> list[Event]:
    return [stamped.event for stamped in parse_progress(text, SEEN)]


STARTED = {"dataset": "B3", "kind": "SHORT", "total": 10, "todo": 8, "done": 2, "tokens": 99, "concurrency": 150}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            line("run_started", pid=7, version=1, zone="Europe/Berlin", utc_offset_s=3600, datasets=["B1", "B2"]),
            [JobZone("Europe/Berlin", 3600), RunStarted(7, ("B1", "B2"))],
        ),
        (line("run_started"), [RunStarted()]),
        (
            line("dataset_started", **STARTED, max_tokens=10240, budget=10_000_000),
            [
                DatasetAnnounced("B3", "SHORT"),
                DatasetTokenized("B3", 10),
                DatasetResumed("B3", 2, 99),
                DatasetStarted("B3", 8, 150, 10240, 10_000_000),
            ],
        ),
        (
            line("dataset_started", **(STARTED | {"done": 0, "tokens": 0, "todo": 10}), max_tokens=10240, budget=None),
            [DatasetAnnounced("B3", "SHORT"), DatasetTokenized("B3", 10), DatasetStarted("B3", 10, 150, 10240)],
        ),
        (
            line("dataset_skipped", dataset="B1", reason="budget", done=5, total=None, tokens=10, budget=9),
            [DatasetSkipped("B1", "budget", 5, None, 10, 9)],
        ),
        (
            line(
                "completion",
                dataset="B3",
                id="p-1",
                prompt_tokens=800,
                completion_tokens=1999,
                finish_reason="stop",
                seconds=41.5,
                attempt=2,
            ),
            [Completion("B3", "p-1", 800, 1999, "stop", 41.5, 2)],
        ),
        (
            line("completion", dataset="B3", id=17, completion_tokens=3, seconds=1),
            [Completion("B3", "17", 0, 3, "", 1.0)],
        ),
        (
            line("error", dataset="B3", id="p", kind="timeout", attempt=5, final=True, message="no answer"),
            [RequestFailed("B3", "p", "timeout", 5, final=True, message="no answer")],
        ),
        (
            line("heartbeat", dataset="B3", done=50, errors=0, in_flight=150, tokens=10),
            [Heartbeat("B3", 50, 0, 150, 10)],
        ),
        (
            line("dataset_finished", dataset="B3", done=8, errors=1, tokens=99, seconds=12.5, reason="budget"),
            [DatasetFinished("B3", 8, 1, 99, 12.5, "budget")],
        ),
        (
            line("server_gone", dataset="B3", message="connection refused"),
            [JobTrouble("connection refused"), ServerWord("gone", "connection refused")],
        ),
        (
            line("server_gone", dataset="B3", state="unwell", message="20 failed"),
            [JobTrouble("20 failed"), ServerWord("fails", "20 failed")],
        ),
        (line("server_back", dataset="B3", message="answers again"), [ServerWord("back", "answers again")]),
        (line("run_finished", reason="stopped", exit_code=6), [RunFinished("stopped", 6)]),
        ("", []),
        ("  ", []),
    ],
)
def test_every_event(text: str, said: list[Event]) -> None:
    assert events(text) == said


def test_times_are_the_jobs_own() -> None:
    assert parse_progress(line("run_finished", reason="done"), SEEN) == [Stamped(AT, RunFinished("done"))]
    offset = line("run_finished", reason="done").replace("03:19:40.250Z", "04:19:40.250+01:00")
    assert parse_progress(offset, SEEN)[0].at == AT


@pytest.mark.parametrize(
    "text",
    [
        "not json",
        '{"t": "2026-02-24T03:19:40Z", "event": "heartbeat", "data',
        "[]",
        "17",
        "null",
        '{"event": "run_finished", "reason": "done"}',
        '{"t": "yesterday", "event": "run_finished", "reason": "done"}',
        '{"t": 17, "event": "run_finished", "reason": "done"}',
        '{"t": "0001-01-01T00:00:00+14:00", "event": "run_finished", "reason": "done"}',
        '{"t": "2026-02-24T03:19:40Z"}',
        line("unheard_of"),
        line("heartbeat", dataset="B3", done="50", errors=0, in_flight=1, tokens=1),
        line("heartbeat", dataset="B3", done=True, errors=0, in_flight=1, tokens=1),
        line("heartbeat", dataset=None, done=5, errors=0, in_flight=1, tokens=1),
        line("completion", dataset="B3", id="p", completion_tokens=float("nan"), seconds=1),
        line("completion", dataset="B3", id="p", completion_tokens=1, seconds=float("inf")),
        line("error", dataset="B3", id="p", kind="timeout", final="yes"),
        line("run_started", datasets="B1"),
        "[" * 100_000,
    ],
)
def test_what_is_broken_shows_as_such(text: str) -> None:
    assert parse_progress(text, SEEN) == [Stamped(SEEN, Unparsed(text), guessed=True)]


JSON: st.SearchStrategy[Any] = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.just([1]) | st.just({"a": []})
)
KEYS = st.sampled_from(
    [
        "t",
        "event",
        "dataset",
        "id",
        "done",
        "errors",
        "tokens",
        "total",
        "todo",
        "seconds",
        "reason",
        "final",
        "pid",
        "datasets",
    ]
)
NAMES = st.sampled_from(
    ["completion", "heartbeat", "error", "run_started", "dataset_started", "dataset_skipped", "dataset_finished"]
)


@given(st.text() | JSON.map(json.dumps))
def test_any_text_never_raises(text: str) -> None:
    parse_progress(text, SEEN)


@given(NAMES, st.dictionaries(KEYS, JSON, max_size=6))
@settings(max_examples=150)
def test_any_fields_never_raise(name: str, fields: dict[str, Any]) -> None:
    parse_progress(json.dumps({"t": "2026-02-24T03:19:40Z", **fields, "event": name}), SEEN)
