"""longwait is held to its word."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from console.job.forecasts import EVERY, RUN, Forecasts
from console.job.told import Told

T0 = datetime(2026, 2, 24, tzinfo=UTC)
HOUR = timedelta(hours=1)


def _range(middle: datetime, half: timedelta, at: datetime = T0) -> Told:
    return Told(at, middle - half, middle, middle + half)


def test_what_is_said_is_kept_on_the_quarter_of_an_hour() -> None:
    forecasts = Forecasts()
    for minute in range(0, 61, 5):
        at = T0 + timedelta(minutes=minute)
        forecasts = forecasts.told(at, {RUN: _range(T0 + 5 * HOUR, HOUR, at)})
    assert [told.at - T0 for told in forecasts.of(RUN)] == [EVERY * place for place in range(5)]


def test_the_score_counts_only_ends_that_came() -> None:
    forecasts = Forecasts().told(T0, {RUN: _range(T0 + 9 * HOUR, HOUR), "B1": _range(T0 + 2 * HOUR, HOUR)})
    forecasts = forecasts.told(T0 + HOUR, {RUN: _range(T0 + 9 * HOUR, HOUR), "B1": _range(T0 + 6 * HOUR, HOUR)})
    assert forecasts.score().told == 0
    assert not forecasts.score().words()
    forecasts = forecasts.ended("B1", T0 + 2 * HOUR)
    assert (forecasts.score().held, forecasts.score().told) == (1, 2)
    assert forecasts.score("B1").words() == "of 2 ranges, 1 held so far"


def test_an_end_counts_once_and_may_be_taken_back() -> None:
    forecasts = Forecasts().told(T0, {"B1": _range(T0 + HOUR, HOUR)}).ended("B1", T0 + HOUR)
    assert forecasts.ended("B1", T0 + 9 * HOUR) is forecasts
    again = forecasts.reopened("B1")
    assert again.score().told == 0
    assert again.ended("B1", T0 + 9 * HOUR).score().held == 0


@given(minutes=st.lists(st.integers(0, 10_000), max_size=60))
def test_no_two_forecasts_lie_in_one_quarter(minutes: list[int]) -> None:
    forecasts = Forecasts()
    for minute in sorted(minutes):
        at = T0 + timedelta(minutes=minute)
        forecasts = forecasts.told(at, {RUN: _range(at + HOUR, HOUR, at)})
    quarters = [int(told.at.timestamp() // EVERY.total_seconds()) for told in forecasts.of(RUN)]
    assert len(quarters) == len(set(quarters))
