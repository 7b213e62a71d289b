"""A figure's curve: exact about its span, whole across short silences, broken across long ones, and no dip is lost."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from console.job.curve import BRIDGE_S, COLUMNS, Curve, Cut
from console.job.envelope import Envelope
from console.job.series import Series, SeriesDraft
from console.job.spans import SPANS

T0 = datetime(2026, 2, 24, tzinfo=UTC)


def curve(seconds: dict[float, float], ahead_s: float = 0.0) -> Curve:
    """A curve of points by their seconds since T0, on a clock that is ahead."""
    draft = SeriesDraft(Series(envelope=Envelope()))
    for second, value in seconds.items():
        draft.add(T0 + timedelta(seconds=second + ahead_s), value, 50)
    return Curve(draft.freeze(), timedelta(seconds=ahead_s))


def cut(known: Curve, span: str, at_s: float) -> Cut:
    found = known.cut(span, T0 + timedelta(seconds=at_s))
    assert found is not None
    return found


def test_before_the_first_figure_there_is_none() -> None:
    assert Curve().cut("1 h", T0) is None


@pytest.mark.parametrize(
    ("age_s", "span", "shown_s"),
    [
        (50, "5 min", 60),
        (290, "5 min", 300),
        (4000, "5 min", 300),
        (700, "1 h", 900),
        (3599, "1 h", 3600),
        (40_000, "1 h", 3600),
        (50, "all", 60),
        (5000, "all", 5400),
        (90_000, "all", 129_600),
    ],
)
def test_the_span_is_the_one_asked_for_or_what_holds_all_that_is_known(age_s: int, span: str, shown_s: float) -> None:
    known = curve({float(second): 846.0 for second in range(0, age_s, 5)})
    found = cut(known, span, age_s)
    assert found.span_s == shown_s
    assert len(found.columns) <= COLUMNS
    right = found.begins_at + timedelta(seconds=found.span_s)
    # The grid puts the right edge up to one column ahead of the present.
    assert timedelta() <= right - (T0 + timedelta(seconds=age_s)) <= timedelta(seconds=shown_s / len(found.columns))
    if span == "all":
        assert found.begins_at <= T0


def test_a_short_silence_is_drawn_through_and_a_long_one_is_a_gap() -> None:
    known = curve({0: 100.0, 5: 100.0, 45: 200.0, 50: 200.0, 150: 50.0})
    found = cut(known, "5 min", 155)
    first = next(place for place, column in enumerate(found.columns) if column)
    line = found.columns[first : first + 31]
    assert all(column is not None for column in line[:11])
    middles = [column[0] for column in line[:11] if column]
    assert middles == sorted(middles)
    assert line[11:30] == (None,) * 19
    assert BRIDGE_S == 45.0


def test_a_dip_of_seconds_shows_in_a_chart_of_two_days_and_so_does_a_peak() -> None:
    two_days = 48 * 3600 - 1000
    points = {float(second): 846.0 for second in range(0, two_days, 5)}
    points[70_000.0], points[100_000.0] = 3.0, 1900.0
    found = cut(curve(points), "all", two_days)
    assert (found.low, found.high) == (3.0, 1900.0)
    assert sum(column is not None for column in found.columns) >= COLUMNS - 1
    dip = next(place for place, column in enumerate(found.columns) if column and column[0] == 3.0)
    at_s = (found.begins_at - T0).total_seconds() + dip * found.span_s / len(found.columns)
    assert at_s <= 70_000 < at_s + found.span_s / len(found.columns) + 240  # an envelope's span stands at its beginning


def test_a_log_whose_clock_is_ahead_is_drawn_at_our_time() -> None:
    found = cut(curve({0: 1.0, 60: 2.0}, ahead_s=3600.0), "5 min", 61)
    assert abs((found.begins_at - T0).total_seconds()) <= 120
    assert found.columns[-1] == (2.0, 2.0) or found.columns[-2] == (2.0, 2.0)


def test_the_same_figures_stand_in_the_same_columns_a_second_later() -> None:
    known = curve({float(second): 800.0 + second % 37 for second in range(0, 4000, 5)})
    one, two = cut(known, "1 h", 4000.2), cut(known, "1 h", 4001.1)
    assert (one.begins_at, one.columns) == (two.begins_at, two.columns)


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.floats(0.0, 3000.0), st.floats(0.0, 1e7)), max_size=150),
    st.sampled_from(sorted(SPANS)),
    st.floats(-5000.0, 1e6),
)
def test_any_figures_at_any_time(points: list[tuple[float, float]], span: str, at_s: float) -> None:
    draft, at = SeriesDraft(Series(limit=128, envelope=Envelope(limit=4))), T0
    for gap_s, value in points:
        at += timedelta(seconds=gap_s)
        draft.add(at, value, 1)
    found = Curve(draft.freeze()).cut(span, T0 + timedelta(seconds=at_s))
    assert (found is None) is (not points)
    if found is not None:
        assert 1 <= len(found.columns) <= COLUMNS
        assert all(column is None or column[0] <= column[1] for column in found.columns)
        assert len(found.middles()) == len(found.columns)
