"""Patterns of the user's own: their figures, what is refused, and that any line is survived."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.job.endless import may_never_end
from console.job.events import Source
from console.job.job_events import Progress
from console.job.plan import Plan
from console.job.runner_log import RunnerLog
from console.job.snapshot import DatasetState
from console.job.tracker import Tracker
from console.job.user_patterns import describe, pattern_format

SEEN = datetime(2026, 12, 1, tzinfo=UTC)
ALL = pattern_format(
    "all",
    r"set (?P<dataset>\S+): (?P<done>\S+) of (?P<total>\S+), bad (?P<errors>\S+), (?P<tokens>\S+) tok, "
    r"mean (?P<mean>\S+), left (?P<eta_s>\S+)$",
    "set B1: 1 of 2, bad 0, 3 tok, mean 3, left 4",
)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("set B1: 5 of 20, bad 1, 300 tok, mean 60.5, left 90", Progress("B1", 5, 20, 1, None, 60.5, 300, 90.0)),
        (
            "set B1: 1,005 of 10_000, bad 0, 1.2M tok, mean 1.2k, left 1h30m",
            Progress("B1", 1005, 10_000, 0, None, 1200.0, 1_200_000, 5400.0),
        ),
        ("set B1: 12k of 0.1M, bad ?, ? tok, mean ?, left 1:30:00", Progress("B1", 12_000, 100_000, eta_s=5400.0)),
        ("set B1: 5 of 20, bad 0, 1 tok, mean 1, left ?", Progress("B1", 5, 20, 0, None, 1.0, 1, None)),
    ],
)
def test_figures_as_people_print_them(line: str, said: Progress) -> None:
    assert ALL.read(line) == (said,)


@pytest.mark.parametrize("line", ["", "set B1: ? of 20, bad 0, 1 tok, mean 1, left 1", "30 of 20", "nothing"])
def test_lines_of_another_kind(line: str) -> None:
    assert ALL.read(line) is None
    assert pattern_format("n", r"(?P<done>\d+) of (?P<total>\d+)", "").read("30 of 20") is None


@pytest.mark.parametrize(
    ("regex", "word"),
    [
        ("(", "no regular expression"),
        (r"(\d+)", "no group named done"),
        (r"(?P<done>\d+) (?P<speed>\d+)", "unknown groups speed"),
        (r"(?P<done>(\d+,?)+)", "repeats a part"),
        ("(?P<done>" + "(" * 200, "no regular expression"),
    ],
)
def test_what_is_refused(regex: str, word: str) -> None:
    with pytest.raises(ValueError, match=word):
        pattern_format("mine", regex, "")


@pytest.mark.parametrize(
    "regex",
    [
        "(a+)+",
        "(a*b)*",
        "(?:x(?:a+)y)+",
        "((ab)+c){2,}",
        "([a-z]+)*",
        "((a+)b?)+$",
        r"((\w+)\s?)+!$",
        "(a|aa)+$",
        r"(.|\w)+#",
        "(a+){2,30}b",
        ".*a.*b.*c",
    ],
)
def test_repeats_in_repeats_are_found(regex: str) -> None:
    assert may_never_end(regex)


@pytest.mark.parametrize(
    "regex",
    [
        r"a+b+",
        r"(ab)+",
        r"(a+)b",
        r"(\+)+",
        r"[(+)]+(a)",
        r"(a+){2}",
        r"(a+)?",
        r"\(a+\)+",
        "(a|b)c",
        "a.*b.*c",
        "[.*]+x",
    ],
)
def test_single_repeats_are_fine(regex: str) -> None:
    assert not may_never_end(regex)


def test_only_the_head_of_a_line_is_searched() -> None:
    shape = pattern_format("end", r"x(?P<done>\d+)", "x1")
    assert shape.read("-" * 1_990 + "x7") == (Progress("", 7, 0),)
    assert shape.read("-" * 2_000 + "x7") is None
    began = time.perf_counter()
    assert pattern_format("slow", r"\w+ \w+ (?P<done>\d+)z", "").read("1" * 10_000_000) is None
    assert time.perf_counter() - began < 2.0


def test_a_total_that_is_not_printed_stays_as_it_was_known() -> None:
    shape = pattern_format("mine", r"^(?P<dataset>\w+): finished (?P<done>\d+)(?: of (?P<total>\d+))?$", "")
    tracker = Tracker(Plan(), formats=(shape,))
    for second, text in enumerate(("B1: finished 1", "B1: finished 2 of 40", "B1: finished 3")):
        line = f"[2026-12-01 00:00:0{second}] {text}\n"
        tracker.feed(Source.JOB, line.encode(), SEEN.replace(second=second))
        (view,) = tracker.snapshot(SEEN.replace(second=second)).datasets
        assert (view.done, view.total, view.state) == (
            second + 1,
            None if not second else 40,
            DatasetState.RUNNING,
        )


def test_the_users_own_come_before_the_known_ones() -> None:
    shape = pattern_format("batches", r"batch (?P<done>\d+)/(?P<total>\d+) of \d+", "batch 3/20 of 9")
    (stamped,) = RunnerLog(UTC, (shape,)).parse("[2026-12-01 00:00:00] batch 3/20 of 9", SEEN)
    assert stamped.event == Progress("", 3, 20)


def test_words_that_look_like_a_collectors_prefix_belong_to_the_pattern_too() -> None:
    shape = pattern_format("mine", r"^step \| (?P<done>\d+) done", "step | 3 done")
    (stamped,) = RunnerLog(UTC, (shape,)).parse("step | 3 done", SEEN)
    assert stamped.event == Progress("", 3, 0)


def test_the_doctor_is_told_how_many_lines_each_finds() -> None:
    one, other = pattern_format("one", r"a(?P<done>\d)", ""), pattern_format("other", r"b(?P<done>\d)", "")
    assert describe((one, other), ["a1", "a2", "c", "b"]) == [("one", 2), ("other", 0)]


@given(st.text(max_size=60))
def test_any_line_and_any_expression_are_survived(text: str) -> None:
    ALL.read(text)
    ALL.read(f"set B1: {text} of {text}, bad {text}, {text} tok, mean {text}, left {text}")
    may_never_end(text)
