"""The envelope of a figure: bounded, and no peak and no dip is ever lost."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from console.job.envelope import Envelope, Span

POINTS = st.lists(st.tuples(st.floats(0.0, 1e6), st.floats(-1e9, 1e9)), max_size=80)


@given(POINTS, st.integers(1, 12))
def test_it_holds_the_least_and_the_greatest_of_every_span(points: list[tuple[float, float]], limit: int) -> None:
    envelope = Envelope(limit=limit).after(points)
    assert len(envelope.spans) <= limit
    assert [span.time_s for span in envelope.spans] == sorted({span.time_s for span in envelope.spans})
    for span in envelope.spans:
        inside = [value for time_s, value in points if span.time_s <= time_s < span.time_s + envelope.width_s]
        assert (span.low, span.high) == (min(inside), max(inside))
    assert len(points) == sum(
        span.time_s <= time_s < span.time_s + envelope.width_s for span in envelope.spans for time_s, _ in points
    )


@given(POINTS, st.integers(0, 80))
def test_points_read_twice_change_nothing(points: list[tuple[float, float]], cut: int) -> None:
    once = Envelope(limit=8).after(points)
    assert once.after(points[:cut]) == once
    assert Envelope(limit=8).after(points[:cut]).after(points).spans == once.spans


def test_two_days_and_a_half_fit_and_the_dip_of_one_second_is_there() -> None:
    envelope = Envelope()
    for begin in range(0, 60 * 3600, 320):
        envelope = envelope.after(
            [(begin + step, 12.0 if begin + step == 100_000 else 846.0) for step in range(0, 320, 5)]
        )
    assert len(envelope.spans) <= envelope.limit
    assert envelope.width_s == 240
    assert [span for span in envelope.spans if span.low < 800.0] == [Span(99_840, 12.0, 846.0)]


def test_a_clock_that_was_set_back_takes_what_lies_ahead_with_it() -> None:
    envelope = Envelope().after([(10.0, 1.0), (40.0, 2.0), (100.0, 3.0)])
    assert envelope.before(45.0).spans == envelope.spans[:2]
