"""The time of a line: every shape, wrappers, zones, doubled hours, missing years and dates."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest

from console.job.stamps import Shape, StampReader, records

BERLIN = ZoneInfo("Europe/Berlin")
SEEN = datetime(2026, 2, 24, 12, tzinfo=UTC)


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("line", "when", "rest", "ranks", "shape"),
    [
        ("[2026-02-24 03:19:40] hi", "2026-02-24 02:19:40", "hi", "", Shape.BRACKET),
        ("[2026-02-24 03:19:40]   50/9998", "2026-02-24 02:19:40", "  50/9998", "", Shape.BRACKET),
        ("[2026-02-24 03:19:40 DP1 TP4] Decode", "2026-02-24 02:19:40", "Decode", "DP1 TP4", Shape.BRACKET),
        ("[2026-02-24 03:19:40.250 TP0 EP1] x", "2026-02-24 02:19:40.25", "x", "TP0 EP1", Shape.BRACKET),
        (
            "[2026-02-24 03:19:40 DP0 PP1 ATTN_CP0 TP2] x",
            "2026-02-24 02:19:40",
            "x",
            "DP0 PP1 ATTN_CP0 TP2",
            Shape.BRACKET,
        ),
        ("[03:19:40 TP0] Decode", "2026-02-24 02:19:40", "Decode", "TP0", Shape.BRACKET),
        ("[23:59:40] late", "2026-02-23 22:59:40", "late", "", Shape.BRACKET),
        ("INFO 02-24 03:19:40 [a.py:3] m", "2026-02-24 02:19:40", "[a.py:3] m", "", Shape.LEVEL),
        ("INFO 12-31 23:19:40 a.py:3] m", "2025-12-31 22:19:40", "a.py:3] m", "", Shape.LEVEL),
        (
            "(Worker_TP1 pid=9) WARNING 02-24 03:19:40.123 [a.py:3] m",
            "2026-02-24 02:19:40.123",
            "[a.py:3] m",
            "",
            Shape.LEVEL,
        ),
        ("2026-02-24T03:19:40.5Z text", "2026-02-24 03:19:40.5", "text", "", Shape.ISO),
        ("2026-02-24T03:19:40+0530 text", "2026-02-23 21:49:40", "text", "", Shape.ISO),
        ("2026-02-24 03:19:40,123 INFO text", "2026-02-24 02:19:40.123", "INFO text", "", Shape.ISO),
        (
            "2026-02-24 03:19:40 INFO 77 [DP3 TP3 EP3 s.py:22] Decode",
            "2026-02-24 02:19:40",
            "Decode",
            "DP3 TP3 EP3",
            Shape.ISO,
        ),
        ("2026-02-24 03:19:40 INFO 77 [s.py:22] Decode", "2026-02-24 02:19:40", "Decode", "", Shape.ISO),
        (
            "[rank5]:[E0223 03:31:38.918469923 P.cpp:607] g",
            "2026-02-23 02:31:38.918469",
            "P.cpp:607] g",
            "",
            Shape.GLOG,
        ),
        ("E210 03:31:38.918469 12 a.py] g", "2026-02-10 02:31:38.918469", "12 a.py] g", "", Shape.GLOG),
        # Wrappers: the inner stamp counts.
        (
            "2026-02-24T05:00:00.123456789Z [2026-02-24 03:19:40 TP0] q",
            "2026-02-24 02:19:40",
            "q",
            "TP0",
            Shape.BRACKET,
        ),
        ("[2026-02-24T05:00:00Z] [2026-02-24 03:19:40 TP0] z", "2026-02-24 02:19:40", "z", "TP0", Shape.BRACKET),
        ("[2026-02-24T05:00:00Z] INFO 02-24 03:19:40 [a.py:3] z", "2026-02-24 02:19:40", "[a.py:3] z", "", Shape.LEVEL),
        ("sglang-1  | [2026-02-24 03:19:40] z", "2026-02-24 02:19:40", "z", "", Shape.BRACKET),
        ("(SGLangEngine pid=418) [2026-02-24 03:19:40 TP0] z", "2026-02-24 02:19:40", "z", "TP0", Shape.BRACKET),
        # A bar that has no newline behind it.
        (
            " 45%|##| 10/22 [00:08<00:09,  1.2it/s][2026-02-24 03:19:40 TP0] z",
            "2026-02-24 02:19:40",
            "z",
            "TP0",
            Shape.BRACKET,
        ),
        # A stamp that a message quotes is not its time.
        (
            "[2026-02-24 03:19:40] since [2026-02-23 01:00:00] z",
            "2026-02-24 02:19:40",
            "since [2026-02-23 01:00:00] z",
            "",
            Shape.BRACKET,
        ),
    ],
)
def test_shapes(line: str, when: str, rest: str, ranks: str, shape: Shape) -> None:
    stamp = StampReader(BERLIN).read(line, SEEN)
    assert stamp.at == at(when)
    assert (stamp.rest, stamp.ranks, stamp.shape) == (rest, ranks, shape)


@pytest.mark.parametrize(
    "line",
    [
        "none",
        "[2026-13-24 03:19:40] month 13",
        "[2026-02-30 03:19:40] no such day",
        " 45%|##| 10/22 [00:08<00:09,  1.2it/s]",
        "[1:23:45<2:00:00, 3s/it]",
        "Decode batch, [2026-02-24",
        "[0001-01-01 00:00:00] before time",
    ],
)
def test_what_is_no_stamp(line: str) -> None:
    stamp = StampReader(BERLIN).read(line, SEEN)
    assert stamp.at is None
    assert stamp.rest == line


def test_a_line_of_nothing_but_stamps_is_survived() -> None:
    assert StampReader(UTC).read("[2026-02-24 03:19:40] " * 3000, SEEN).at == at("2026-02-24 03:19:40")


def test_text_before_the_stamp_is_kept() -> None:
    bar = " 45%|##| 10/22 [00:08<00:09,  1.2it/s]"
    assert StampReader(UTC).read(f"{bar}[2026-02-24 03:19:40] z", SEEN).before == bar


def test_glued_records_are_told_apart() -> None:
    line = "bar [00:08<00:09][2026-02-24 03:19:40] one[2026-02-24 03:19:41 TP0] two"
    assert records(line) == ["bar [00:08<00:09][2026-02-24 03:19:40] one", "[2026-02-24 03:19:41 TP0] two"]
    assert records("[2026-02-24 03:19:40] one") == ["[2026-02-24 03:19:40] one"]


def test_time_runs_on_through_the_hour_that_comes_twice() -> None:
    reader = StampReader(BERLIN)
    seen = datetime(2026, 10, 26, tzinfo=UTC)
    clocks = ["01:59:00", "02:20:00", "02:50:00", "02:10:00", "02:58:00", "02:59:50", "03:10:00"]
    times = [reader.read(f"[2026-10-25 {clock}] x", seen).at for clock in clocks]
    later = ["00:20:00", "00:50:00", "01:10:00", "01:58:00", "01:59:50", "02:10:00"]
    assert times == [at("2026-10-24 23:59:00"), *(at(f"2026-10-25 {clock}") for clock in later)]


def test_lines_that_ranks_mix_do_not_jump_an_hour() -> None:
    reader = StampReader(BERLIN)
    seen = datetime(2026, 10, 26, tzinfo=UTC)
    reader.read("[2026-10-25 02:20:05] x", seen)
    assert reader.read("[2026-10-25 02:20:04] x", seen).at == at("2026-10-25 00:20:04")


def test_a_console_opened_in_the_second_hour_sees_it_as_now() -> None:
    seen = at("2026-10-25 01:30:10")
    assert StampReader(BERLIN).read("[2026-10-25 02:30:08] x", seen).at == at("2026-10-25 01:30:08")


def test_the_skipped_hour_does_no_harm() -> None:
    assert StampReader(BERLIN).read("[2026-03-29 02:30:00] x", SEEN).at == at("2026-03-29 01:30:00")


def test_29_february_is_found_years_back() -> None:
    assert StampReader(UTC).read("INFO 02-29 03:19:40 [a.py:1] x", SEEN).at == at("2024-02-29 03:19:40")


def test_a_host_whose_clock_runs_ahead_is_not_a_year_old() -> None:
    assert StampReader(UTC).read("INFO 02-24 13:00:00 [a.py:1] x", SEEN).at == at("2026-02-24 13:00:00")


def test_the_year_turns_while_reading() -> None:
    reader = StampReader(UTC)
    seen = at("2026-01-01 00:05:00")
    assert reader.read("INFO 12-31 23:59:59 [a.py:1] x", seen).at == at("2025-12-31 23:59:59")
    assert reader.read("INFO 01-01 00:00:01 [a.py:1] x", seen).at == at("2026-01-01 00:00:01")


def test_a_zone_that_the_log_names_is_adopted() -> None:
    reader = StampReader(UTC)
    line = "[2026-02-24 03:19:40] x"
    assert reader.read(line, SEEN).at == at("2026-02-24 03:19:40")
    reader.adopt(timezone(timedelta(hours=1)))
    assert reader.read(line, SEEN).at == at("2026-02-24 02:19:40")


def test_a_zone_that_knows_summer_time_is_kept_when_it_agrees() -> None:
    reader = StampReader(BERLIN)
    reader.read("[2026-02-24 03:19:40] x", SEEN)
    reader.adopt(timezone(timedelta(hours=1)))
    assert reader.read("[2026-07-01 02:00:00] x", SEEN).at == at("2026-07-01 00:00:00")


def test_a_line_without_a_stamp_keeps_its_place_behind_a_stamped_one() -> None:
    reader = StampReader(UTC)
    assert reader.guess(SEEN) == SEEN
    reader.read("[2026-02-20 03:00:00] read days later", SEEN)
    assert reader.guess(SEEN) == at("2026-02-20 03:00:00")
    assert reader.guess(SEEN + timedelta(seconds=5)) == at("2026-02-20 03:00:05")
    assert reader.guess(SEEN + timedelta(hours=3)) == SEEN + timedelta(hours=3)


@pytest.mark.parametrize(("glog", "wanted"), [("E0224 03:19:41", 41), ("E0224 12:31:38", 40), ("E0101 00:00:00", 40)])
def test_a_library_whose_clock_is_far_off_is_dated_by_the_lines_around_it(glog: str, wanted: int) -> None:
    seen_at = datetime(2026, 2, 24, 3, 20, tzinfo=UTC)
    reader = StampReader(UTC)
    lines = [
        "[2026-02-24 03:19:40] Decode batch.",
        f"[rank5]:[{glog}.918469923 ProcessGroupNCCL.cpp:607] Watchdog caught",
    ]
    reader.look_ahead(lines, seen_at)
    at = [reader.read(line, seen_at).at for line in lines][1]
    assert at is not None
    assert at.replace(microsecond=0) == datetime(2026, 2, 24, 3, 19, wanted, tzinfo=UTC)
