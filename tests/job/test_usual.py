"""What is usual, reckoned from digests: the same figure as from all points, at a fraction of the time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from statistics import median

from hypothesis import given, settings
from hypothesis import strategies as st

from console.job.envelope import Envelope
from console.job.series import Series, SeriesDraft

T0 = datetime(2026, 2, 24, tzinfo=UTC)
FIGURES = st.lists(st.tuples(st.integers(0, 40), st.floats(0.0, 2000.0), st.integers(1, 150)), min_size=1, max_size=400)
"""Seconds since the one before, tok/s, running requests."""


def drawn(figures: list[tuple[int, float, int]]) -> tuple[Series, datetime]:
    draft, at = SeriesDraft(Series(limit=256, envelope=Envelope(limit=8))), T0
    for gap_s, value, load in figures:
        at += timedelta(seconds=gap_s)
        draft.add(at, value, load)
    return draft.freeze(), at


@settings(deadline=None)
@given(FIGURES, st.integers(1, 150), st.integers(0, 3000), st.integers(0, 600))
def test_the_median_at_a_like_load_is_that_of_all_its_points(
    figures: list[tuple[int, float, int]], load: int, long_s: int, short_s: int
) -> None:
    series, last = drawn(figures)
    since, until = last - timedelta(seconds=long_s), last - timedelta(seconds=short_s)
    alike = [point.value for point in series.points(since, until) if abs(point.load - load) <= 0.25 * load]
    assert series.median_like(since, until, load, 0.25, 5) == (median(alike) if len(alike) >= 5 else None)


@settings(deadline=None)
@given(FIGURES, st.integers(-2000, 0))
def test_a_draft_files_chunks_as_single_points_do(figures: list[tuple[int, float, int]], back_s: int) -> None:
    series, at = Series(limit=256, envelope=Envelope(limit=8)), T0
    draft = SeriesDraft(series)
    for gap_s, value, load in [*figures, (back_s, 7.0, 50), *figures[:3]]:
        at += timedelta(seconds=gap_s)
        draft.add(at, value, load)
        series = series.add(at, value, load)
    assert draft.freeze() == series
    assert len(series.digests) == len(series.chunks)
    for chunk, digest in zip(series.chunks, series.digests, strict=True):
        assert digest.values == tuple(sorted(point.value for point in chunk))
    assert series.envelope is not None
    kept = [point.value for chunk in series.chunks for point in chunk]
    if kept:
        assert min(span.low for span in series.envelope.spans) <= min(kept)
        assert max(span.high for span in series.envelope.spans) >= max(kept)
