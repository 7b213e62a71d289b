"""What a full KV cache means in a batch run, and what else only the screen shows of the server."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from console.job import server_events as ev
from console.job.host_events import ServerMetrics
from console.job.limits import Limits
from console.job.minutes_bin import STEP_S, Bin
from console.job.server_shown import FEW, pressure
from console.job.server_state import ServerState, apply_server
from console.job.server_views import server_view
from console.job.snapshot import ServerView
from console.job.source_clock import SourceClock

T0 = datetime(2026, 2, 24, tzinfo=UTC)
NOW = T0 + timedelta(hours=1)


def bins(before: int, recent: int) -> list[Bin]:
    """An hour with so many retractions in its first fifty minutes and in its last ten, evenly."""
    begin_s = int(T0.timestamp())
    found = []
    for place in range(120):
        late = place >= 100
        whole, parts, first = (recent, 20, 100) if late else (before, 100, 0)
        count = whole * (place - first + 1) // parts - whole * (place - first) // parts
        found.append(Bin(begin_s + STEP_S * place, retracted=count))
    return found


def view(made: float | None, usage: float | None = 0.97, usual: float | None = 846.0) -> ServerView:
    return ServerView(token_usage=usage, gen_throughput=made, usual_throughput=usual)


@pytest.mark.parametrize(
    ("shown", "before", "recent", "said"),
    [
        (view(846.0), 0, 0, "fine"),
        (view(846.0), 0, 40, "fine"),  # requests are put back, and nothing is lost by it
        (view(500.0), 0, 0, ""),  # slower for another reason: the verdict says which
        (view(500.0), 100, 20, ""),  # as many as ever
        (view(500.0), 0, FEW - 1, ""),
        (view(500.0), 0, FEW, "strained"),
        (view(500.0), 50, 40, "strained"),
        (view(846.0, usage=0.3), 0, 0, ""),
        (view(None), 0, 40, ""),
        (view(846.0, usual=None), 0, 0, ""),
    ],
)
def test_it_warns_only_when_retractions_rise_and_throughput_falls(
    shown: ServerView, before: int, recent: int, said: str
) -> None:
    assert pressure(shown, bins(before, recent), NOW, Limits()) == said


def load(second: int, rank: str = "", **more: object) -> tuple[ev.ServerLoad, datetime]:
    return ev.ServerLoad(rank, 50, 98, 0.82, 114_000, 846.0, **more), T0 + timedelta(seconds=second)  # type: ignore[arg-type]


def state_after(*events: tuple[object, datetime]) -> ServerState:
    state = ServerState()
    for event, at in events:
        state = apply_server(state, event, at, at)  # type: ignore[arg-type]
    return state


def shown_of(state: ServerState, second: int = 10) -> ServerView:
    return server_view(state, SourceClock(trusted=True), T0 + timedelta(seconds=second))


def test_ranks_accept_length_and_cache_hits_are_those_of_the_log() -> None:
    prefill = ev.ServerPrefill("DP0", 2, 750, 250, 10, 4, 0.5)
    state = state_after(
        load(1, "DP0", accept_length=2.0), load(2, "DP1", accept_length=3.0), (prefill, T0 + timedelta(seconds=3))
    )
    found = shown_of(state)
    assert (found.accept_length, found.cache_hit_rate) == (2.5, 0.25)
    assert [(rank.name, rank.running, rank.token_usage, rank.throughput) for rank in found.rank_views] == [
        ("DP0", 50, 0.82, 846.0),
        ("DP1", 50, 0.82, 846.0),
    ]
    assert found.mean_usage == pytest.approx(0.82)


def test_a_server_that_prints_no_prefills_tells_its_own_rate() -> None:
    assert shown_of(state_after(load(1, cache_hit_rate=0.4))).cache_hit_rate == 0.4
    assert shown_of(state_after(load(1))).cache_hit_rate is None


def test_retractions_are_counted_for_the_last_hour() -> None:
    events = [(ev.Retraction("", 4), T0 + timedelta(minutes=minute)) for minute in (1, 50, 100)]
    state = state_after(load(0), *events)
    found = server_view(state, SourceClock(trusted=True), T0 + timedelta(minutes=101))
    assert (found.retractions, found.retractions_last_hour) == (12, 8)


def test_a_prefill_read_twice_counts_its_cached_tokens_once() -> None:
    prefill = (ev.ServerPrefill("", 2, 750, 250, 10, 4, 0.5), T0)
    assert state_after(prefill, prefill).cached_tokens == 250


def test_a_verdict_does_without_all_that() -> None:
    found = server_view(state_after(load(1)), SourceClock(), T0 + timedelta(seconds=2), history=False)
    assert (found.curve, found.rank_views, found.kv) == (None, (), "")


def test_metrics_pages_are_dated_by_the_console_however_far_off_the_hosts_clock_is() -> None:
    state = ServerState()
    for place in range(60):
        page = ServerMetrics("sglang", 50, 98, 0.82, 846.0, 850.0 * 15 * place, 2.0 * place)
        at = NOW + timedelta(seconds=15 * place)
        state = apply_server(state, page, at, at)
    now = NOW + timedelta(seconds=15 * 59)
    for ahead_s in (0.0, 7_200.0, -7_200.0):
        found = server_view(state, SourceClock().measured(ahead_s), now)
        assert found.retractions_last_hour == 2 * 59
        assert found.throughput_history[-1] == 846.0
        assert found.curve is not None
        cut = found.curve.cut("1 h", now)
        assert cut is not None
        assert any(column is not None for column in cut.columns[-5:])
