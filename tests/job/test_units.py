"""Figures as words."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.job import units

NOW = datetime(2026, 2, 24, tzinfo=UTC)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0 s"),
        (59.4, "59 s"),
        (59.6, "1 min"),
        (90, "2 min"),
        (3_599, "1 h"),
        (5_400, "1 h 30 min"),
        (86_399, "1 d"),
        (86_340, "23 h 59 min"),
        (90_000, "1 d 1 h"),
        (-5, "0 s"),
        (None, "--"),
        (float("inf"), "--"),
    ],
)
def test_durations(seconds: float | None, words: str) -> None:
    assert units.duration(seconds) == words


def test_ages_and_what_is_ahead() -> None:
    assert units.age(NOW - timedelta(seconds=12), NOW) == "12 s ago"
    assert units.age(NOW, NOW) == "now"
    assert units.age(None, NOW) == "--"
    assert units.ahead(NOW + timedelta(hours=3, minutes=5), NOW) == "in 3 h 5 min"
    assert units.ahead(NOW - timedelta(seconds=1), NOW) == "now"
    assert units.ahead(None, NOW) == "--"


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (950, "950"),
        (999.6, "1.0 k"),
        (83_288, "83.3 k"),
        (999_949, "999.9 k"),
        (999_950, "1.0 M"),
        (10_002_311, "10.0 M"),
        (None, "--"),
    ],
)
def test_tokens(number: float | None, words: str) -> None:
    assert units.tokens(number) == words


def test_counts_and_rates() -> None:
    assert units.count(83_288) == "83,288"
    assert units.count(None) == "--"
    assert units.plural(1, "error") == "1 error"
    assert units.plural(1_200, "error") == "1,200 errors"
    assert units.rate(846.3) == "846 tok/s"
    assert units.rate(9.94) == "9.9 tok/s"
    assert units.rate(9.96) == "10 tok/s"
    assert units.rate(None) == "--"
    assert units.requests_rate(0.423) == "0.42 req/s"
    assert units.requests_rate(None) == "--"


def test_shares_latencies_and_sizes() -> None:
    assert units.share(0.82) == "0.82"
    assert units.share(None) == "--"
    assert units.percent(0.012) == "1.2 %"
    assert units.percent(0.5) == "50 %"
    assert units.percent(0) == "0 %"
    assert units.percent(None) == "--"
    assert units.latency(0.038) == "38 ms"
    assert units.latency(1.04) == "1.0 s"
    assert units.latency(None) == "--"
    assert units.size(512) == "512 B"
    assert units.size(1_536) == "1.5 KiB"
    assert units.size(1_048_570) == "1.0 MiB"
    assert units.size(None) == "--"


@given(st.floats(allow_nan=True, allow_infinity=True))
def test_any_number_has_words(number: float) -> None:
    for words in (
        units.duration,
        units.count,
        units.tokens,
        units.rate,
        units.share,
        units.percent,
        units.latency,
        units.size,
    ):
        assert words(number)
