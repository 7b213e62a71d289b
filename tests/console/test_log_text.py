"""A log's lines for its pane: time, rank, figures; and what the operator types as a pattern."""

from __future__ import annotations

from datetime import UTC, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.job.events import LogLine, Source
from console.panels.log_search import as_pattern, too_slow
from console.panels.log_text import FIGURES, KINDS, LineReader, in_order, rank_of
from tests.samples import NOW


def read(*texts: str, level: str = "info") -> list[tuple[str, bool]]:
    """Give the rank of each line, and whether it holds figures."""
    reader = LineReader(UTC)
    lines = reader.read(LogLine(Source.SERVER, text, NOW, level) for text in texts)
    return [(next((tag for tag in line.tags if tag != FIGURES), ""), FIGURES in line.tags) for line in lines]


@pytest.mark.parametrize(
    ("text", "rank", "figures"),
    [
        ("[2026-02-24 03:19:40 DP1 TP0] Decode batch, #running-req: 50, #token: 4", "DP1", True),
        ("[2026-02-24 03:19:40 TP3] Prefill batch, #new-seq: 1, #new-token: 7", "TP3", True),
        ("[2026-02-24 03:19:40] Launch DP0 starting at GPU #0.", "", False),
        ("(EngineCore_DP1 pid=14745) INFO 11-30 08:47:50 [core.py:1] ready", "DP1", False),
        ("(EngineCore_0 pid=14745) INFO 11-30 08:47:50 [core.py:1] ready", "DP0", False),
        ("(Worker_TP2 pid=9) INFO 11-30 08:47:50 [w.py:1] loaded", "TP2", False),
        ("INFO 11-30 08:47:50 [l.py:1] Engine 001: Avg prompt throughput: 0.0 tokens/s", "DP1", True),
        ("  50/9998 (0 err) 0.3 req/s avg_comp=1232tok", "", True),
        ('INFO:     127.0.0.1:57828 - "GET /health HTTP/1.1" 200 OK', "", False),
    ],
)
def test_rank_and_figures(text: str, rank: str, figures: bool) -> None:
    assert read(text) == [(rank, figures)]


def test_a_traceback_belongs_to_the_rank_of_the_line_before() -> None:
    ranks = [
        rank
        for rank, _ in read(
            "[2026-02-24 03:19:40 DP1 TP0] Scheduler hit an exception: Traceback (most recent call last):",
            '  File "scheduler.py", line 1, in run',
            "RuntimeError: CUDA error",
            "[2026-02-24 03:19:41] no rank here",
            "  and none below",
        )
    ]
    assert ranks == ["DP1", "DP1", "DP1", "", ""]


def test_ranks_stand_by_name_then_number() -> None:
    assert in_order({"DP10", "TP1", "DP2"}) == ["DP2", "DP10", "TP1"]


def test_the_time_is_written_anew_when_it_changes() -> None:
    reader = LineReader(UTC)
    times = [NOW, NOW, NOW + timedelta(seconds=1), NOW]
    stamps = [line.stamp for line in reader.read(LogLine(Source.JOB, "x", at) for at in times)]
    assert stamps == ["03:19:40", "03:19:40", "03:19:41", "03:19:40"]


def test_each_kind_chooses() -> None:
    reader = LineReader(UTC)
    lines = reader.read(
        [
            LogLine(Source.JOB, "1/2 (0 err)", NOW),
            LogLine(Source.JOB, "bad", NOW, "error"),
            LogLine(Source.JOB, "hm", NOW, "warning"),
            LogLine(Source.JOB, "GET", NOW, "quiet"),
        ]
    )
    chosen = {name: [line.text for line in lines if holds is None or holds(line)] for name, holds in KINDS}
    assert chosen == {
        "all lines": ["1/2 (0 err)", "bad", "hm", "GET"],
        "figures only": ["1/2 (0 err)"],
        "warnings and errors": ["bad", "hm"],
    }


@given(st.text(max_size=300), st.text(max_size=20))
def test_any_line_has_at_most_one_rank(text: str, stamped: str) -> None:
    assert rank_of(text, stamped) == "" or rank_of(text, stamped)[:2] in {"DP", "TP", "PP", "EP"}
    in_order({rank_of(text, stamped)})


def test_an_exclamation_mark_is_the_inverse() -> None:
    pattern = as_pattern("!health|metrics")
    assert pattern is not None
    assert pattern.search("GET /HEALTH") is None
    assert pattern.search("POST /generate") is not None
    alone = as_pattern("!")
    assert alone is not None
    assert alone.search("oh!") is not None


@pytest.mark.parametrize("typed", ["(a+)+$", "(?:x*)*", "!(a|b+)+c", "([ab]{1,9})+"])
def test_what_could_run_for_hours_is_taken_as_it_stands(typed: str) -> None:
    assert too_slow(typed)
    pattern = as_pattern(typed)
    assert pattern is not None
    pattern.search("a" * 2_000 + "!")


@pytest.mark.parametrize("typed", ["8[3-5]", "a+b*", "(DP0|DP1).*err", "(abc)+", r"\d{3,}"])
def test_ordinary_expressions_are_expressions(typed: str) -> None:
    assert not too_slow(typed)
