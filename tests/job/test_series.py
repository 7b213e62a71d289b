"""Bounded histories."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.job.id_set import IdSet, IdSetDraft
from console.job.series import Series, median_of, spread_of
from console.job.server_state import ServerState
from console.job.server_views import server_view
from console.job.source_clock import SourceClock

T0 = datetime(2026, 2, 24, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return T0 + timedelta(seconds=seconds)


def filled(count: int, step: float = 5) -> Series:
    series = Series()
    for number in range(count):
        series = series.add(at(number * step), float(number))
    return series


def test_one_point_per_step_the_newest_wins() -> None:
    series = Series(step_s=5).add(at(0), 1).add(at(3), 2).add(at(5), 3)
    assert [point.value for point in series.points()] == [2, 3]


def test_the_history_is_bounded_and_the_peak_outlives_it() -> None:
    series = Series(limit=128).add(at(0), 99_999)
    for number in range(1, 1_000):
        series = series.add(at(number * 5), number)
    assert 128 <= len(series) <= 192
    assert series.peak == 99_999
    assert series.last is not None
    assert series.last.value == 999


def test_late_points_are_dropped_and_a_clock_set_back_is_followed() -> None:
    series = filled(1_000)
    assert series.add(at(100 * 5 + 4_000), 7.0) == series
    back = series.add(at(1_000), -1.0)
    assert [point.value for point in back.points()][-2:] == [199.0, -1.0]
    assert back.add(at(1_000), -1.0) == back
    grown = back.add(at(1_010), 5.0)
    assert grown.last is not None
    assert grown.last.value == 5.0
    assert len(grown) == 202


def test_resampling_leaves_gaps_unknown() -> None:
    series = Series().add(at(0), 10).add(at(5), 20).add(at(30), 40)
    assert series.resampled(at(39), 40, 4) == (15, None, None, 40)


def test_windows_medians_and_spread() -> None:
    series = filled(100)
    assert median_of(series.points(at(100), at(110))) == 21
    assert median_of([], 1) is None
    assert median_of(series.points(at(0), at(5)), least=3) is None
    assert spread_of(series.points(at(0), at(5))) is None
    assert spread_of(filled(3).points()) == 1.4826
    found = series.at_or_before(at(12))
    assert found is not None
    assert found.value == 2
    assert series.at_or_before(at(-1)) is None


@given(st.lists(st.tuples(st.integers(0, 10_000), st.floats(0, 1e4)), max_size=60))
def test_points_stay_in_order_and_a_repeat_changes_nothing(samples: list[tuple[int, float]]) -> None:
    series = Series()
    for seconds, value in samples:
        series = series.add(at(seconds), value)
        assert series.add(at(seconds), value) == series
    times = [point.time_s for point in series.points()]
    assert times == sorted(times)


@given(st.lists(st.text(max_size=8)))
def test_an_id_counts_once(names: list[str]) -> None:
    ids = IdSet()
    for name in names:
        ids = ids.add(name)
    assert len(ids) == len(set(names))
    assert all(name in ids for name in names)
    assert ("no such" * 3) not in ids


def test_many_ids_take_little_and_their_order_does_not_matter() -> None:
    names = [f"B1-{number}" for number in range(20_000)]
    there, back = IdSetDraft(IdSet()), IdSetDraft(IdSet())
    assert all(there.add(name) for name in names)
    assert all(back.add(name) for name in reversed(names))
    ids = there.freeze()
    assert (ids, hash(ids)) == (back.freeze(), hash(back.freeze()))
    assert len(ids) == len(names)
    assert all(name in ids for name in names)
    assert not any(f"B2-{number}" in ids for number in range(20_000))
    assert ids != IdSet()
    assert len(ids.table) < 16 * len(names)


@pytest.mark.parametrize(("seen_s", "cells"), [(60, 12), (290, 58), (850, 56), (3_600, 60)])
def test_the_servers_history_spans_what_was_seen(seen_s: int, cells: int) -> None:
    state = ServerState()
    for second in range(0, seen_s + 1, 5):
        state = replace(state, throughput=state.throughput.add(T0 + timedelta(seconds=second), 846.0, 50))
    history = server_view(state, SourceClock(), T0 + timedelta(seconds=seen_s)).throughput_history
    assert len(history) == 60
    assert sum(value is not None for value in history) == pytest.approx(cells, abs=1)
    assert history[-1] is not None
