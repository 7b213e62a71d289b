"""The quick ways give what the plain ones give: any sequence, any split, whatever was known before."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bench.make_log import Mix, progress_log, server_log
from console.job import events as ev
from console.job.access import is_access, others
from console.job.events import Source, Stamped, Unparsed
from console.job.fold import fold
from console.job.id_set import IdSet, IdSetDraft
from console.job.lines import LineSplitter
from console.job.log_lines import KEPT
from console.job.plan import Plan
from console.job.series import Series, SeriesDraft
from console.job.server_log import ServerLog
from console.job.sglang_log import SglangLog
from console.job.state import State, apply, heard
from console.job.tracker import Tracker
from tests.job.test_state import EVENTS, SMALL

T0 = datetime(2026, 2, 24, tzinfo=UTC)
SEEN = datetime(2026, 12, 1, tzinfo=UTC)
LOGS = sorted((Path(__file__).parents[1] / "data" / "logs").glob("*.log"))
RANKS = st.sampled_from(["", "DP0", "DP1", "DP10"])
SHARES = st.none() | st.floats(0, 1)
REPORTS = st.one_of(
    st.builds(ev.ServerLoad, RANKS, SMALL, st.none() | SMALL, SHARES, SMALL, st.none() | st.floats(0, 1e4), st.booleans(), SMALL),
    st.builds(ev.ServerPrefill, RANKS, SMALL, SMALL, SMALL, SMALL, SMALL, SHARES),
)  # fmt: skip
NAME = st.sampled_from("AAAB")
NEWS = st.one_of(
    st.builds(ev.Completion, NAME, st.sampled_from("abcdefghij"), SMALL, st.integers(-5, 40), st.just("stop"), st.just(1.0)),
    st.builds(ev.Heartbeat, NAME, SMALL, SMALL, SMALL, SMALL),
)  # fmt: skip
STEP = st.sampled_from([0, 0, 1, 2, 7, 30, -3])
ANY = st.lists(st.tuples(st.integers(-40, 2_000), EVENTS | st.builds(Unparsed, st.just("?"))), max_size=3)


def runs_of(events: st.SearchStrategy[Any]) -> st.SearchStrategy[list[tuple[int, Any]]]:
    """A run of events, some of them told twice."""
    one = st.tuples(STEP, events, st.booleans())
    twice = one.map(lambda told: [told[:2], *([(0, told[1])] if told[2] else [])])
    return st.lists(twice, min_size=1, max_size=7).map(lambda parts: [entry for part in parts for entry in part])


TOLD = st.lists(runs_of(REPORTS) | runs_of(NEWS) | ANY, max_size=4).map(
    lambda parts: [entry for part in parts for entry in part]
)
READY = (0, ev.ServerPhase("ready"))
BEGUN = [(0, ev.DatasetAnnounced("A")), (0, ev.DatasetResumed("A", 5, 100)), (1, ev.DatasetStarted("A", 40))]
AT_WORK = [*BEGUN, (1, ev.Completion("A", "z", 1, 1, "stop", 1.0))]
FORMER = st.sampled_from(
    [
        [],
        [READY],
        [READY, (1, ev.ServerStopping("SIGTERM"))],
        [READY, (1, ev.ServerTrouble("crash", "boom", fatal=True))],
        BEGUN,
        AT_WORK,
        [*AT_WORK, (1, ev.DatasetResumed("A", 9, 200))],
        [*AT_WORK, (9, ev.RunFinished("done"))],
    ]
)
"""What was told before: servers at work, ending and dead; datasets begun, at work, resumed anew and ended."""


def one_by_one(state: State, told: list[Stamped], source: Source, seen_at: datetime) -> State:
    for stamped in told:
        if not stamped.guessed:
            state = heard(state, source, stamped.at, seen_at)
        state = apply(state, stamped, source=source, seen_at=seen_at)
    return state


def stamped_at(told: list[tuple[int, Any]], guessed: set[int]) -> list[Stamped]:
    """Events with their times: small steps run on, large ones jump."""
    second, stamped = 0, []
    for place, (step, event) in enumerate(told):
        second += step
        stamped.append(Stamped(T0 + timedelta(seconds=second), event, place in guessed))
    return stamped


def made(prompt: str) -> ev.Completion:
    return ev.Completion("A", prompt, 5, 7, "stop", 1.0)


RESUMED = [*AT_WORK, (1, ev.DatasetResumed("A", 9, 200))]
ENDED = [*AT_WORK, (9, ev.RunFinished("done"))]


@example(RESUMED, [(1, made("a")), (1, made("b"))], set(), Source.PROGRESS, 50)
@example(ENDED, [(-3, made("a")), (1, made("b")), (7, made("c")), (1, made("d"))], set(), Source.PROGRESS, 50)
@given(FORMER, TOLD, st.sets(st.integers(0, 20)), st.sampled_from(Source), st.integers(0, 50))
@settings(max_examples=250, deadline=None)
def test_a_chunk_at_once_is_one_event_after_the_other(
    former: list[tuple[int, Any]], told: list[tuple[int, Any]], guessed: set[int], source: Source, cut: int
) -> None:
    stamped = stamped_at([*former, *told], guessed)
    slow = quick = apply(State(), Stamped(T0, ev.LinkFact("up")))
    for part, later in ((stamped[:cut], 0), (stamped[cut:], 60)):
        seen_at = T0 + timedelta(seconds=100 + later)
        slow, quick = one_by_one(slow, part, source, seen_at), fold(quick, part, source, seen_at)
    assert quick == slow


def test_ranks_at_the_edge_of_stale() -> None:
    """Three ranks, ten to sixteen seconds apart: some reports are just stale, some just not; each is told twice."""
    seconds = (*range(0, 300, 10), *range(310, 900, 15), *range(910, 2_000, 16))
    told = [
        Stamped(T0 + timedelta(seconds=second), ev.ServerLoad(f"DP{place % 3}", 9, 1, 0.5, 1, 100.0 + second), False)
        for place, second in enumerate(seconds)
        for _ in range(2)
    ]
    slow, quick = one_by_one(State(), told, Source.SERVER, SEEN), fold(State(), told, Source.SERVER, SEEN)
    assert quick == slow
    assert len({point.value for point in quick.server.throughput.points()}) > 50


@given(st.lists(st.tuples(st.sampled_from([0, 1, 3, 5, 400, -3, -2_000]), st.floats(-9, 9)), max_size=300))
@settings(max_examples=100)
def test_a_series_that_grows_in_place(steps: list[tuple[int, float]]) -> None:
    series, second = Series(limit=128), 10_000
    draft = SeriesDraft(series)
    for step, value in steps:
        second += step
        series = series.add(T0 + timedelta(seconds=second), value, 2.0)
        draft.add(T0 + timedelta(seconds=second), value, 2.0)
    assert draft.freeze() == series


@given(st.lists(st.text(max_size=3)), st.lists(st.text(max_size=3)))
def test_a_set_of_ids_that_grows_in_place(former: list[str], later: list[str]) -> None:
    ids = IdSet()
    for name in former:
        ids = ids.add(name)
    draft, whole = IdSetDraft(ids), ids
    for name in later:
        assert draft.add(name) is (name not in whole)
        whole = whole.add(name)
    assert draft.freeze() == whole


@given(st.integers(0, 10_000), st.lists(st.integers(0, 60_000), max_size=9))
@settings(max_examples=15, deadline=None)
def test_any_split_of_a_log_gives_the_same_state(seed: int, cuts: list[int]) -> None:
    server, job = server_log(0.3, Mix(60, 60, 60), seed), progress_log(60, seed)
    for source, data in ((Source.SERVER, server), (Source.PROGRESS, job)):
        edges = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
        whole, parts = Tracker(Plan()), Tracker(Plan())
        lines = list(whole.feed(source, data, SEEN))
        given_lines = [
            line for here, there in itertools.pairwise(edges) for line in parts.feed(source, data[here:there], SEEN)
        ]
        assert parts.state == whole.state
        assert given_lines == lines
        assert parts.snapshot(SEEN) == whole.snapshot(SEEN)
        again = whole.state
        if source is Source.PROGRESS:
            whole.feed(source, data, SEEN)
            assert whole.state == again


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.stem)
def test_the_shortcut_for_batch_lines_changes_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = LineSplitter().feed(path.read_bytes())
    log = ServerLog(UTC)
    quick = [log.parse(line, SEEN) for line in lines]
    with monkeypatch.context() as patched:
        patched.setattr(SglangLog, "quick", lambda *_: None)
        log = ServerLog(UTC)
        assert [log.parse(line, SEEN) for line in lines] == quick


HEADS = st.sampled_from(["[2026-11-30 03:00:01] ", "[2026-11-30 03:00:01 DP1 TP0] ", "[2026-11-30 03:00:61] ", "[2026-11-31 03:00:01] ", "[2026-11-30 03:02:01 TP3] "])  # fmt: skip
TAILS = st.sampled_from(["", ", ", ", #pending-token: 4", "5", ".5", " (most recent call last):", ", (most recent call last):", "[2026-11-30 03:00:01] x", ", nan", '" HTTP/1.1" 200 OK'])  # fmt: skip
MIDDLES = st.sampled_from(
    [
        "Decode batch, #running-req: 5, #token: 48, token usage: 0.82, cuda graph: True, gen throughput (token/s): 846.33, #queue-req: 98",
        "Decode batch. #running-req: 0, #token: 48, token usage: 1.82, gen throughput (token/s): 8, #queue-req: 9",
        "Prefill batch, #new-seq: 1, #new-token: 24, #cached-token: 0, token usage: 0.00, #running-req: 00, #queue-req: 0",
        "Prefill batch, #new-seq: 1, #new-token: 24, #cached-token: 0, token usage: 0.00, #running-req: 7, #queue-req: 0",
        "Decode batch, #running-req: 5, #token: 4, token usage: 0.82, accept len: 2.31, cuda graph: True, gen throughput (token/s): 9.3, #queue-req: 98",
        "Decode batch, #running-req: 5, #token: 4, token usage: 0.82, #retracted-req: 2, gen throughput (token/s): 9.3, #queue-req: 98",
        "Decode batch, #running-req: 5, #full token: 4, full token usage: 0.82, gen throughput (token/s): 9.3, #queue-req: 98",
        "Decode batch, #running-req: 5, #queue-req: 9",
        "Load weight begin.",
    ]
)


@given(st.lists(st.tuples(HEADS, MIDDLES, TAILS).map("".join), max_size=12))
@settings(max_examples=200)
def test_nor_for_lines_that_nearly_take_it(lines: list[str]) -> None:
    quick, slow = ServerLog(UTC), ServerLog(UTC)
    slow._sglang.quick = lambda *_: None  # type: ignore[method-assign]
    for line in lines:
        assert quick.parse(line, SEEN) == slow.parse(line, SEEN)


@given(st.lists(st.text(max_size=20) | st.sampled_from(['"GET / HTTP/1.1" 200 OK', '"GET / HTTP/1.1" 404 Not Found', "Decode batch, #running-req: 1" + "x" * 130 + ' HTTP/1.1" 200 OK']), max_size=9))  # fmt: skip
def test_only_access_lines_are_left_out(lines: list[str]) -> None:
    kept = others(lines)
    assert [lines[place] for place, _ in kept] == [line for _, line in kept]
    left_out = set(range(len(lines))) - {place for place, _ in kept}
    assert all(is_access(lines[place]) for place in left_out)
    assert not any("batch" in lines[place] for place in left_out)


def test_the_newest_lines_of_a_backlog_are_given_and_all_are_counted() -> None:
    tracker = Tracker(Plan())
    text = "\n".join(f"[2026-11-30 03:{n // 60 % 60:02}:{n % 60:02}] line {n}" for n in range(KEPT + 300)) + "\n"
    lines = tracker.feed(Source.SERVER, text.encode(), SEEN)
    assert len(lines) == len(list(lines)) == KEPT
    assert lines[0].text.endswith(" line 300")
    assert lines[-1] == list(lines)[-1]
    assert lines[1:3] == tuple(lines)[1:3]
    assert [lines[place] for place in range(0, KEPT, 777)] == list(lines)[::777]
    assert tracker.snapshot(SEEN).logs[0].lines == KEPT + 300
