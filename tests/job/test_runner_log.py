"""The job's log: the founding shapes, stamped or not, and other people's progress bars."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from console.job.events import Event, Stamped, Unparsed
from console.job.job_events import (
    BudgetLeft,
    DatasetAnnounced,
    DatasetFinished,
    DatasetResumed,
    DatasetSkipped,
    DatasetStarted,
    DatasetTokenized,
    JobTrouble,
    JobZone,
    Progress,
    RunFinished,
    RunStarted,
    ServerWord,
)
from console.job.runner_log import RunnerLog

SEEN = datetime(2026, 2, 24, 12, tzinfo=UTC)
RUN = """\
============================================================
Processing: B3_magicoder (SHORT)
============================================================
Loading and tokenizing prompts for B3_magicoder...
  B3_magicoder: 10000 prompts tokenized
  Resuming: 2 already done (1,012 tokens)
  Running 9998 requests (concurrency=150, max_tokens=10240, token_budget=10,000,000)...
  Existing tokens: 1,012, remaining budget: 9,998,988
  50/9998 (0 err) 0.3 req/s avg_comp=1232tok tot=0.1M ETA=1.9h

  B3_magicoder: done 8123 (4 err), 10,002,311 tokens in 3.21h, budget reached
""".splitlines()
NAME = "B3_magicoder"
SAID: list[Event] = [
    DatasetAnnounced(NAME, "SHORT"),
    DatasetTokenized(NAME, 10000),
    DatasetResumed(NAME, 2, 1012),
    DatasetStarted(NAME, 9998, 150, 10240, 10_000_000),
    BudgetLeft(NAME, 1012, 9_998_988),
    Progress(NAME, 50, 9998, 0, 0.3, 1232.0, 100_000, 1.9 * 3600),
    DatasetFinished(NAME, 8123, 4, 10_002_311, 3.21 * 3600, "budget"),
]


def events(lines: list[str], log: RunnerLog | None = None) -> list[Event]:
    log = log or RunnerLog(UTC)
    return [stamped.event for line in lines for stamped in log.parse(line, SEEN)]


def one(line: str) -> Event:
    (event,) = events([line])
    return event


def test_the_founding_run() -> None:
    assert events(RUN) == SAID


def test_the_same_with_stamps_and_other_blanks() -> None:
    stamped = [f"[2026-02-24 03:19:{i:02}] {line.strip()}" for i, line in enumerate(RUN)]
    log = RunnerLog(ZoneInfo("Europe/Berlin"))
    parsed = [s for line in stamped for s in log.parse(line, SEEN)]
    assert [s.event for s in parsed] == SAID
    assert parsed[0] == Stamped(datetime(2026, 2, 24, 2, 19, 1, tzinfo=UTC), SAID[0])


def test_a_line_without_a_stamp_has_the_time_it_was_seen() -> None:
    assert RunnerLog(UTC).parse(RUN[1], SEEN) == [Stamped(SEEN, SAID[0], guessed=True)]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("?", None),
        ("45s", 45.0),
        ("12m", 720.0),
        ("1.9h", 6840.0),
        ("2.1d", 181_440.0),
        ("1h30m", 5400.0),
        ("soon", None),
    ],
)
def test_time_left(text: str, seconds: float | None) -> None:
    event = one(f"  50/9998 (0 err) 0.3 req/s avg_comp=1232tok tot=0.1M ETA={text}")
    assert isinstance(event, Progress)
    assert event.eta_s == (None if seconds is None else pytest.approx(seconds))


@pytest.mark.parametrize(
    ("text", "tokens"), [("0.1M", 100_000), ("123k", 123_000), ("1.2B", 1_200_000_000), ("912", 912)]
)
def test_tokens_in_short(text: str, tokens: int) -> None:
    event = one(f"5/9 (1 err) 0.3 req/s avg_comp=7tok tot={text} ETA=?")
    assert isinstance(event, Progress)
    assert event.tokens == tokens


def test_a_progress_line_that_is_cut_gives_what_it_holds() -> None:
    assert one("1,050/9,998 (12 err) 0.3 req/s avg_co") == Progress("", 1050, 9998, 12, 0.3)


def test_skip_and_done_lines() -> None:
    assert one("  B1_glaive: budget already met (10,004,221 of 10,000,000 tokens), skipping") == DatasetSkipped(
        "B1_glaive", "budget", None, None, 10_004_221, 10_000_000
    )
    assert one("  B1: all 10000 prompts done, skipping") == DatasetSkipped("B1", "all_done", 10000, 10000)
    assert one("B4: done 10 (0 err), 9,311 tokens in 45s") == DatasetFinished("B4", 10, 0, 9311, 45.0, "all_done")
    assert one("B4: done 10 (0 err), 9,311 tokens in 2m, stopped") == DatasetFinished(
        "B4", 10, 0, 9311, 120.0, "stopped"
    )


@pytest.mark.parametrize("name", ["a (b) c", "x: done 5", "größe/é 漢", "[bold]red[/]", "50/100", "two  blanks"])
def test_names_are_any_text(name: str) -> None:
    lines = [f"Processing: {name} (LONG)", f"  {name}: 5 prompts tokenized", "  Resuming: 2 already done (9 tokens)"]
    assert events(lines) == [DatasetAnnounced(name, "LONG"), DatasetTokenized(name, 5), DatasetResumed(name, 2, 9)]


def test_budget_that_is_overdrawn_and_a_run_without_one() -> None:
    assert one("Existing tokens: 12, remaining budget: -2") == BudgetLeft("", 12, -2)
    assert one("Running 7 requests (concurrency=32, max_tokens=16384)...") == DatasetStarted("", 7, 32, 16384)
    assert one("Running 7 requests (concurrency=32, max_tokens=16384, token_budget=None)...") == DatasetStarted(
        "", 7, 32, 16384
    )


def test_the_zone_line_sets_the_zone_from_its_own_stamp_on() -> None:
    log = RunnerLog(UTC)
    zone = log.parse("[2026-02-24 03:19:40] Time zone: America/St_Johns (UTC-03:30)", SEEN)
    assert zone == [Stamped(datetime(2026, 2, 24, 6, 49, 40, tzinfo=UTC), JobZone("America/St_Johns", -12_600))]
    assert log.parse("[2026-02-24 03:20:00] Processing: a (b)", SEEN)[0].at == datetime(2026, 2, 24, 6, 50, tzinfo=UTC)


def test_the_run_begins_and_ends() -> None:
    assert one("Run started: pid 8123, 8 datasets, server http://127.0.0.1:30000") == RunStarted(8123)
    assert one("All datasets done: 8 datasets, 71,204,113 tokens in 31.20h") == RunFinished("done")
    assert one("Stopped by SIGTERM: 3 requests were given up") == RunFinished("stopped")


TRACEBACK = """\
Traceback (most recent call last):
  File "/srv/run/run_inference.py", line 12, in <module>
    main()
    ^^^^^^
KeyError: 'server'
""".splitlines()


def test_of_a_traceback_the_last_line_counts() -> None:
    assert events(TRACEBACK) == [JobTrouble("KeyError: 'server'", ends=True)]
    assert events([f"[2026-02-24 03:19:40] {line}" for line in TRACEBACK]) == [
        JobTrouble("KeyError: 'server'", ends=True)
    ]


def test_a_chain_of_tracebacks_tells_each_cause() -> None:
    lines = [*TRACEBACK, "", "During handling of the above exception, another exception occurred:", "", *TRACEBACK]
    assert events(lines) == [JobTrouble("KeyError: 'server'", ends=True)] * 2


@pytest.mark.parametrize(
    ("line", "ends"),
    [
        ("ERROR: no answer", False),
        ("Killed", True),
        ("Segmentation fault (core dumped)", True),
        ("srun: error: gpu01: task 0: Exited with exit code 1", True),
        ("OSError: [Errno 28] No space left on device", False),
        ("httpx.ConnectError: all attempts failed", False),
    ],
)
def test_troubles(line: str, ends: bool) -> None:
    assert one(line) == JobTrouble(line.strip(), ends=ends)


@pytest.mark.parametrize("line", ["exit code 0", "exits with status of the last command", "No exit code yet"])
def test_no_trouble(line: str) -> None:
    assert not isinstance(one(line), JobTrouble)


@pytest.mark.parametrize(
    ("line", "state"),
    [
        ("  WARNING: Server is away: connection refused", "gone"),
        ("  ERROR: Server fails: 20 prompts in a row failed (http_500); one is tried at a time", "fails"),
        ("  Still waiting for the server: connection refused", "still"),
        ("  Waiting for the server (3 min)...", "still"),
    ],
)
def test_what_the_job_says_of_the_server(line: str, state: str) -> None:
    assert events([line]) == [JobTrouble(line.strip()), ServerWord(state, line.strip())]


def test_that_the_server_is_back_is_no_trouble() -> None:
    assert one("  Server is back: it answers again") == ServerWord("back", "Server is back: it answers again")


def test_unknown_lines_are_kept_as_such_and_rulers_are_not() -> None:
    assert one("something else entirely") == Unparsed("something else entirely")
    assert events(["", "   ", "====", "-----", "[2026-02-24 03:19:40] ", "[2026-02-24 03:19:40] ======="]) == []


def test_a_name_is_that_of_the_dataset_announced_last() -> None:
    progress = "1/2 (0 err) 0.1 req/s avg_comp=1tok tot=0.0M ETA=?"
    said = events(["Processing: a (SHORT)", progress, "Processing: b (SHORT)", progress])
    assert [event.name for event in said if isinstance(event, Progress)] == ["a", "b"]


def test_times_of_unstamped_lines_follow_the_stamped_ones() -> None:
    log = RunnerLog(UTC)
    log.parse("[2026-02-20 03:00:00] Processing: a (SHORT)", SEEN)
    (trouble,) = log.parse("Killed", SEEN + timedelta(seconds=1))
    assert trouble == Stamped(datetime(2026, 2, 20, 3, 0, 1, tzinfo=UTC), JobTrouble("Killed", ends=True), guessed=True)


OVERLAP = """\
Processing: B3_magicoder (SHORT)
  B3_magicoder: 10000 prompts tokenized
  Running 10000 requests (concurrency=150, max_tokens=10240, token_budget=none)...
  9900/10000 (0 err) 0.3 req/s avg_comp=1232tok tot=12.2M ETA=5m
Processing: B4: metamath (SHORT)
  B4: metamath: 40 prompts tokenized
  Running 40 requests (concurrency=150, max_tokens=10240, token_budget=none)...
  B3_magicoder: 9950/10000 (1 err) 0.3 req/s avg_comp=1240tok tot=12.3M ETA=2m
  0/40 (0 err) 0.0 req/s avg_comp=?tok tot=0.0M ETA=?
  B4: metamath: done 40 (0 err), 9,311 tokens in 0.02h
  B3_magicoder: 9998/10000 (1 err) 0.1 req/s avg_comp=1250tok tot=12.5M ETA=45s
  B3_magicoder: done 9999 (1 err), 12,498,750 tokens in 9.21h
""".splitlines()


def test_of_two_datasets_at_work_each_progress_line_finds_its_own() -> None:
    said = events(OVERLAP)
    assert not any(isinstance(event, Unparsed) for event in said)
    assert [(event.name, event.done, event.errors) for event in said if isinstance(event, Progress)] == [
        ("B3_magicoder", 9900, 0),
        ("B3_magicoder", 9950, 1),
        ("B4: metamath", 0, 0),
        ("B3_magicoder", 9998, 1),
    ]
    named = next(event for event in said if isinstance(event, Progress) and event.done == 9950)
    assert (named.total, named.requests_per_s, named.mean_completion_tokens) == (10000, 0.3, 1240.0)
    assert (named.tokens, named.eta_s) == (12_300_000, 120.0)


def test_how_far_a_budget_was_overshot_is_no_other_end() -> None:
    line = "  B3: done 8123 (4 err), 10,002,311 tokens in 3.21h, budget reached, 2,311 tokens over"
    assert one(line) == DatasetFinished("B3", 8123, 4, 10_002_311, 3.21 * 3600, "budget")


def test_one_of_several_servers_left_out_is_no_trouble() -> None:
    lines = ["  Left out: http://b:30000: Cannot connect, server down", "  Taken in again: http://b:30000: it answers"]
    assert events(lines) == []
