"""A run written line by line, as the founding one printed it: what the tests of meaning feed the tracker."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from console.job.events import Source
from console.job.plan import Plan, PlannedDataset
from console.job.tracker import Tracker

T0 = datetime(2026, 2, 24, 2, 0, 0, tzinfo=UTC)
"""When the job of these tests begins."""

BUDGET = 10_000_000
"""Completion tokens of each dataset at most."""

PLAN = Plan(
    datasets=(
        PlannedDataset("B1_glaive", 12_000, BUDGET, "SHORT"),
        PlannedDataset("B2_dialogue", 10_000, BUDGET, "SHORT"),
        PlannedDataset("B3_magicoder", 10_000, BUDGET, "SHORT"),
        PlannedDataset("B4_longdocs", 4_288, BUDGET, "LONG"),
    ),
    host="gpu01",
)


def after(seconds: float) -> datetime:
    """A time so many seconds into the run."""
    return T0 + timedelta(seconds=seconds)


class Scene:
    """A tracker, and two logs that are written to it with the time running.

    Args:
        plan: The run as planned.
        zone: The zone of the logs' stamps.
    """

    def __init__(self, plan: Plan = PLAN, zone: str = "UTC") -> None:
        self.tracker = Tracker(plan)
        self.zone = ZoneInfo(zone)

    def stamp(self, seconds: float) -> str:
        return after(seconds).astimezone(self.zone).strftime("[%Y-%m-%d %H:%M:%S]")

    def job(self, seconds: float, *lines: str, seen: float | None = None) -> None:
        """Lines of the job's log, stamped."""
        text = "".join(f"{self.stamp(seconds)} {line}\n" for line in lines)
        self.tracker.feed(Source.JOB, text.encode(), after(seconds if seen is None else seen))

    def server(self, seconds: float, *lines: str, seen: float | None = None, rank: str = "") -> None:
        """Lines of the server's log, stamped."""
        head = self.stamp(seconds)[:-1] + (f" {rank}]" if rank else "]")
        text = "".join(f"{head} {line}\n" for line in lines)
        self.tracker.feed(Source.SERVER, text.encode(), after(seconds if seen is None else seen))

    def decode(self, seconds: float, running: int = 50, queue: int = 98, tok_s: float = 846.3, **more: object) -> None:
        """One report of the server."""
        usage = float(str(more.pop("usage", 0.82)))
        tokens = round(usage * 141_312)
        line = (
            f"Decode batch, #running-req: {running}, #token: {tokens}, token usage: {usage:.2f}, cuda graph: True, "
            f"gen throughput (token/s): {tok_s:.2f}, #queue-req: {queue}"
        )
        self.server(seconds, line, **more)  # type: ignore[arg-type]

    def ready(self, seconds: float = -600) -> None:
        """A server that came up before the job."""
        self.server(seconds, "server_args=ServerArgs(model_path='/models/m', tp_size=8)")
        self.server(
            seconds + 60,
            "max_total_num_tokens=141312, chunked_prefill_size=8192, max_prefill_tokens=16384, max_running_requests=2048, context_len=40960",
            "The server is fired up and ready to roll!",
        )

    def begin(self, seconds: float = 0, *, seen: float | None = None) -> None:
        """The job's first two datasets are skipped, the third begins."""
        self.job(
            seconds,
            *announcement("B1_glaive"),
            "  B1_glaive: budget already met (10,004,221 of 10,000,000 tokens), skipping",
            *announcement("B2_dialogue"),
            "  B2_dialogue: budget already met (10,001,870 of 10,000,000 tokens), skipping",
            seen=seen,
        )
        self.dataset(seconds + 1, "B3_magicoder", seen=seen)

    def dataset(self, seconds: float, name: str, *, seen: float | None = None) -> None:
        """A dataset of 10,000 prompts begins, two of which are done."""
        self.job(
            seconds,
            *announcement(name),
            f"Loading and tokenizing prompts for {name}...",
            f"  {name}: 10000 prompts tokenized",
            "  Resuming: 2 already done (1,012 tokens)",
            "  Running 9998 requests (concurrency=150, max_tokens=10240, token_budget=10,000,000)...",
            "  Existing tokens: 1,012, remaining budget: 9,998,988",
            seen=seen,
        )

    def progress(
        self,
        seconds: float,
        done: int,
        mean: int,
        *,
        errors: int = 0,
        seen: float | None = None,
        total: int = 9_998,
    ) -> None:
        """A progress line."""
        made = done * mean / 1e6
        line = f"  {done}/{total} ({errors} err) 0.4 req/s avg_comp={mean}tok tot={made:.1f}M ETA=1.9h"
        self.job(seconds, line, seen=seen)


def announcement(name: str, kind: str = "SHORT") -> tuple[str, ...]:
    """The banner of a dataset."""
    return ("=" * 60, f"Processing: {name} ({kind})", "=" * 60)


def steady_run(minutes: int = 60) -> Scene:
    """A run that has gone on for so many minutes: B3 runs, KV-limited, 846 tok/s, completions growing to 2,000 tokens."""
    scene = Scene()
    scene.ready()
    scene.begin()
    for second in range(8, minutes * 60, 4):
        scene.decode(second, tok_s=846.3 + (second % 7) * 2)
        if second % 120 == 0:
            tokens = 846 * second - 60_000
            mean = min(1_990, 900 + second / 3)
            if tokens > 0:
                scene.progress(second, int(tokens / mean), round(mean))
    return scene
