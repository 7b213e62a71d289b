"""Stamps and prefixes that other programs put around a log's lines, alone and one in another."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from console.job.events import Unparsed
from console.job.job_events import JobTrouble, Progress
from console.job.runner_log import RunnerLog
from console.job.server_events import ServerLoad, ServerTrouble
from console.job.server_log import ServerLog
from console.job.stamps import StampReader
from tests.job.server_lines import DECODE, SEEN, STATS

OUTER = {
    "compose": "sglang-1  | ",
    "docker -t": "2026-11-30T04:00:00.123456789Z ",
    "kubectl --timestamps": "2026-11-30T04:00:00.123456789+01:00 ",
    "kubectl --prefix": "[pod/sglang-0/server] ",
    "journald short": "Nov 30 04:00:00 gpu01 sglang[812]: ",
    "journald short-precise": "Nov 30 04:00:00.123456 gpu01 sglang[812]: ",
    "journald short-iso": "2026-11-30T04:00:00+0100 gpu01 sglang[812]: ",
    "journald short-iso-precise": "2026-11-30T04:00:00.123456+01:00 gpu01 sglang@0.service[812]: ",
    "journald short-full": "Mon 2026-11-30 04:00:00 CET gpu01 sglang[812]: ",
    "github": "2026-11-30T04:00:00.1234567Z ",
    "a ci": "[2026-11-30T04:00:00Z] ",
    "gitlab": "2026-11-30T04:00:00.123456Z 00O ",
    "ray": "(SGLangEngine pid=41820) ",
    "ray on another node": "(SGLangEngine pid=41820, ip=10.0.0.2) ",
    "torchrun": "[rank3]: ",
    "mpirun": "[1,3]<stderr>: ",
}
INNER = {
    "sglang": (f"[2026-11-30 03:19:40 DP1] {DECODE}", ServerLoad("DP1", 50, 98, 0.82, 114_822, 846.33, True)),
    "sglang of old": (f"[03:19:40 DP1 TP0] {DECODE}", ServerLoad("DP1", 50, 98, 0.82, 114_822, 846.33, True)),
    "vllm": (
        f"INFO 11-30 03:19:40 [loggers.py:335] {STATS}",
        ServerLoad("", 22, 8, 0.966, None, 313.5, True, cache_hit_rate=0.022),
    ),
    "vllm's process": (
        f"(APIServer pid=7) INFO 11-30 03:19:40 [loggers.py:335] Engine 001: {STATS}",
        ServerLoad("001", 22, 8, 0.966, None, 313.5, True, cache_hit_rate=0.022),
    ),
}
AT = datetime(2026, 11, 30, 3, 19, 40, tzinfo=UTC)
PAIRS = [(one, "") for one in OUTER] + [
    (one, other)
    for one, other in itertools.permutations(OUTER, 2)
    if "docker -t" in {one, other} or "compose" in {one, other} or one.startswith(("journald", "ray"))
]


@pytest.mark.parametrize(("line", "said"), INNER.values(), ids=INNER)
@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_the_inner_stamp_of_a_servers_line_wins(one: str, other: str, line: str, said: ServerLoad) -> None:
    outer = OUTER[one] + (OUTER[other] if other else "")
    told = [s for s in ServerLog(UTC).parse(outer + line, SEEN) if isinstance(s.event, ServerLoad)]
    assert [(stamped.at, stamped.event) for stamped in told] == [(AT, said)]


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_the_inner_stamp_of_a_jobs_line_wins(one: str, other: str) -> None:
    outer = OUTER[one] + (OUTER[other] if other else "")
    text = "  50/9998 (0 err) 0.3 req/s avg_comp=1232tok tot=0.1M ETA=1.9h"
    said = Progress("", 50, 9998, 0, 0.3, 1232.0, 100_000, 6840.0)
    (stamped,) = RunnerLog(UTC).parse(f"{outer}[2026-11-30 03:19:40] {text}", SEEN)
    assert (stamped.at, stamped.event) == (AT, said)
    (stamped,) = RunnerLog(UTC).parse(f"{outer}{text}", SEEN)
    assert stamped.event == said
    dated = any(name[:3] not in {"com", "ray", "tor", "mpi"} and "prefix" not in name for name in (one, other) if name)
    assert stamped.guessed is not dated


def test_an_outer_stamp_counts_where_there_is_no_other() -> None:
    reader = StampReader(ZoneInfo("Europe/Berlin"))
    line = "Nov 30 04:00:00 gpu01 job[812]: ready"
    assert reader.read(line, SEEN).at == datetime(2026, 11, 30, 3, tzinfo=UTC)
    assert reader.read(line, SEEN).rest == "ready"
    assert reader.read("2026-11-30T04:00:00Z web-1  | ready", SEEN).rest == "ready"


def test_what_an_inner_stamp_leaves_out_is_known_by_an_outer_one() -> None:
    line = "2026-03-03T23:59:59.5Z [23:59:59 TP0] x"
    assert StampReader(UTC).read(line, SEEN).at == datetime(2026, 3, 3, 23, 59, 59, tzinfo=UTC)


@pytest.mark.parametrize(
    "line", ["B3 |####      | 50/9998", "a sentence | with a mark", "(two words) here", "[rank x]: y"]
)
def test_what_is_no_prefix(line: str) -> None:
    assert StampReader(UTC).read(line, SEEN).rest == line


TRACEBACK = (
    "Traceback (most recent call last):",
    '  File "/srv/llm/engine.py", line 7, in run',
    "    raise ValueError(text)",
    "ValueError: first words",
    "second words of the message, of any form",
)


@pytest.mark.parametrize("outer", OUTER.values(), ids=OUTER)
def test_no_line_of_a_traceback_is_unknown(outer: str) -> None:
    server, job = ServerLog(UTC), RunnerLog(UTC)
    told = [s.event for line in TRACEBACK for s in server.parse(outer + line, SEEN)]
    assert not [event for event in told if isinstance(event, Unparsed)]
    said = [s.event for line in TRACEBACK[:4] for s in job.parse(outer + line, SEEN)]
    assert said == [JobTrouble("ValueError: first words", ends=True)]


@pytest.mark.parametrize("prefix", ["(Worker_TP{} pid={}) ", "[rank{}]: ", "(SGLangEngine pid=4{}{}) ", "gpu-{}  | "])
def test_tracebacks_that_ranks_interleave(prefix: str) -> None:
    ranks = [prefix.format(rank, rank) for rank in range(3)]
    log = ServerLog(UTC)
    told = [s for line in TRACEBACK for head in ranks for s in log.parse(head + line, SEEN)]
    assert not [stamped.event for stamped in told if isinstance(stamped.event, Unparsed)]


def test_interleaved_sglang_tracebacks_name_the_first_cause_and_hide_no_report() -> None:
    log, told = ServerLog(UTC), []
    lines = [f"[2026-11-30 03:19:4{rank} TP{rank}] Scheduler hit an exception: {TRACEBACK[0]}" for rank in range(3)]
    for line in TRACEBACK[1:]:
        lines += [line, f"[2026-11-30 03:19:45 TP0] {DECODE}", line]
    for line in lines:
        told += [stamped.event for stamped in log.parse(line, SEEN)]
    assert not [event for event in told if isinstance(event, Unparsed)]
    assert sum(isinstance(event, ServerTrouble) for event in told) == 3
    assert sum(isinstance(event, ServerLoad) for event in told) == 4


def test_an_unknown_line_long_after_a_traceback_is_unknown() -> None:
    log = ServerLog(UTC)
    for line in TRACEBACK:
        log.parse(line, SEEN)
    for second in range(10, 40):
        log.parse(f"[2026-11-30 03:19:{second} TP0] {DECODE}", SEEN)
    assert [type(s.event) for s in log.parse("words of a new form", SEEN)] == [Unparsed]


def test_a_line_without_a_stamp_is_as_old_as_its_own_writers_last() -> None:
    log = ServerLog(UTC)
    log.parse("(Worker_TP0 pid=1) ERROR 11-30 03:00:00 [w.py:1] WorkerProc hit an exception.", SEEN)
    log.parse("(Worker_TP1 pid=2) ERROR 11-30 03:05:00 [w.py:1] WorkerProc hit an exception.", SEEN)
    (stamped,) = log.parse("(Worker_TP0 pid=1) torch.OutOfMemoryError: CUDA out of memory. Tried", SEEN)
    assert stamped.at == datetime(2026, 11, 30, 3, 0, tzinfo=UTC)
