"""Other people's progress: bars and counters that are the run's, and those that are not."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from console.job.job_events import Progress
from console.job.runner_log import RunnerLog

if TYPE_CHECKING:
    from console.job.events import Event

SEEN = datetime(2026, 2, 24, 12, tzinfo=UTC)


def events(lines: list[str]) -> list[Event]:
    log = RunnerLog(UTC)
    return [stamped.event for line in lines for stamped in log.parse(line, SEEN)]


@pytest.mark.parametrize(
    ("line", "done", "total", "rate", "left"),
    [
        ("generate:  45%|####5     | 450/1000 [12:30<15:20,  2.00s/it]", 450, 1000, 0.5, 920.0),
        ("100%|██████████| 83288/83288 [31:10:02<00:00,  1.35it/s]", 83288, 83288, 1.35, 0.0),
        ("  0%|          | 0/83288 [00:00<?, ?it/s]", 0, 83288, None, None),
        (" 27%|▎| 1.23k/4.56k [00:10<01:12, 120.1 examples/s]", 1230, 4560, 120.1, 72.0),
        (" 27%|▎| 1.23k/4.56k [00:10<01:12, 1.21kit/s]", 1230, 4560, 1210.0, 72.0),
        (
            "Processed prompts:  64%|█▌ | 5971/9263 [2:16:18<1:17:49,  4.00s/it, output: 2683.22 toks/s]",
            5971,
            9263,
            0.25,
            4669.0,
        ),
        ("Running batch:  45% Completed | 450/1000 [12:30<15:20, 1.67req/s]", 450, 1000, 1.67, 920.0),
        ("[450/1000]", 450, 1000, None, None),
        ("450 of 1,000 prompts", 450, 1000, None, None),
        ("processed 450/1000", 450, 1000, None, None),
        ("Progress: 450/1000 (45.0%)", 450, 1000, None, None),
        ("Batch 3/20", 3, 20, None, None),
    ],
)
def test_other_jobs_progress(line: str, done: int, total: int, rate: float | None, left: float | None) -> None:
    assert events([line]) == [Progress("", done, total, requests_per_s=rate, eta_s=left)]


@pytest.mark.parametrize(
    "line",
    [
        "2025/11/30 started",
        "11/30 12:00:01 started",
        "reading /data/1/2/3.jsonl",
        "HTTP/1.1 200",
        "Loading shard 2/20",
        "2/2 done",
        "attempt 3/5",
        "epoch 1/3",
        "1000/450 backwards",
        "Loading safetensors checkpoint shards:  25% Completed | 1/4 [00:03<00:09,  3.02s/it]",
        "Map (num_proc=8):  12%|#2     | 1234/10000 [00:10<01:12, 120.1 examples/s]",
        "Downloading:  12%|#2     | 12.3M/100M [00:10<01:12, 1.21MB/s]",
        "Capturing batches (bs=8):  45%|####5     | 10/22 [00:08<00:09,  1.25it/s]",
    ],
)
def test_what_is_no_progress_of_the_run(line: str) -> None:
    assert not any(isinstance(event, Progress) for event in events([line]))


def test_in_our_own_log_only_its_own_lines_are_progress() -> None:
    lines = ["Processing: B3 (SHORT)", " 45%|####5     | 450/1000 [12:30<15:20,  1.67s/it]"]
    assert not any(isinstance(event, Progress) for event in events(lines))
