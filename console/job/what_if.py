"""What another concurrency would bring: how many requests would run, how fast, and what the change costs.

The job must be restarted for it. Then as many requests run as are sent, or as the KV pool and the server admit,

    running = min(concurrency, room, the server's own limit)

and tokens a second follow from the learned curve of ``console.job.step_model``. ``room`` is what runs now while
requests wait in the server, else the pool, as full as it gets, over the tokens that a request holds.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from math import exp
from statistics import fmean
from typing import TYPE_CHECKING

from console.job.dataset_views import in_flight
from console.job.limits import Limits
from console.job.minutes_bin import Step, steps_of
from console.job.pace import server_seconds
from console.job.snapshot import DatasetState
from console.job.step_learn import step_model
from console.job.step_model import Z_80, StepModel
from console.job.touching import cost

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from console.job.dataset_run import DatasetRun
    from console.job.minutes_bin import Bin
    from console.job.server_state import ServerState
    from console.job.state import State

_WINDOW = timedelta(minutes=30)
"""What runs and what a request holds are means over so long."""

_FULL = 0.85
"""Token usage at which a server admits no more while it has not shown it: SGLang stays below 0.9."""

_QUEUED = 0.5
"""Requests waiting on average from which on the server, not the job, limits what runs."""

_FULL_RANK = 0.9
"""The usage with a queue that nine of ten half minutes stayed below is how full the pool gets."""

_LEAST = 10
"""Half minutes with a queue that show how full the pool gets."""

_SAME = 0.03
"""A number of running requests within this share of the present one is no other."""


@dataclass(frozen=True, slots=True)
class WhatIf:
    """The answer.

    Attributes:
        concurrency: Requests in flight that were asked about.
        present: Requests in flight now; None when not known.
        running_now: Requests running, mean of the last half hour; None when not known.
        running: Requests that would run.
        limit: What would limit them: ``concurrency``, ``kv`` or ``server``.
        made_now: Tokens a second to expect at the present load.
        made: Tokens a second then, the middle.
        made_low: Low end of its 80 % range.
        made_high: High end.
        time_share: Change of the time that the work left takes: -0.2 for 20 % less.
        time_share_low: Low end of its 80 % range (most gained).
        time_share_high: High end.
        minutes_lost: By how many minutes the restart would move the end; None when not known.
        tokens_lost: Tokens of requests in flight that would be made again; None when not known.
        unknown: Why there is no answer, as a sentence; empty when there is one.
    """

    concurrency: int
    present: int | None = None
    running_now: float | None = None
    running: float | None = None
    limit: str = ""
    made_now: float | None = None
    made: float | None = None
    made_low: float | None = None
    made_high: float | None = None
    time_share: float | None = None
    time_share_low: float | None = None
    time_share_high: float | None = None
    minutes_lost: float | None = None
    tokens_lost: int | None = None
    unknown: str = ""

    @property
    def gain(self) -> float | None:
        """Tokens a second then over now, the middle."""
        return self.made / self.made_now if self.made and self.made_now else None

    @property
    def gain_low(self) -> float | None:
        """The low end of its 80 % range."""
        return self.made_low / self.made_now if self.made_low and self.made_now else None

    @property
    def gain_high(self) -> float | None:
        """The high end."""
        return self.made_high / self.made_now if self.made_high and self.made_now else None


@dataclass(frozen=True, slots=True)
class Load:
    """How the server has been loaded lately, and what it learned.

    Attributes:
        model: Its curve.
        running: Requests running.
        held: Tokens held by a request; 0 when not known.
        prompts: Prompt tokens computed per made token.
        room: Requests that the KV pool holds; None when not known.
        most: Requests that the server runs at most; None when not said.
        queued: Requests waiting.
    """

    model: StepModel
    running: float
    held: float
    prompts: float
    room: float | None
    most: int | None
    queued: float

    def at(self, concurrency: int) -> tuple[float, str]:
        """How many would run, and what would limit them."""
        limits = [(float(concurrency), "concurrency")]
        if self.room is not None:
            limits.append((self.room, "kv"))
        if self.most is not None:
            limits.append((float(self.most), "server"))
        running, limit = min(limits)
        return max(1.0, running), limit

    def made(self, running: float) -> float:
        """Tokens a second with so many running."""
        return self.model.throughput(running, running * self.held, self.prompts)[0]

    def gain(self, running: float) -> tuple[float, float]:
        """Tokens a second with so many running over those with the present number, and its log-standard deviation."""
        if abs(running - self.running) <= _SAME * self.running:
            return 1.0, 0.0
        there, here = (running, running * self.held), (self.running, self.running * self.held)
        return self.made(running) / self.made(self.running), self.model.gain_sd(there, here, self.prompts)


def load(server: ServerState, now_s: float, since_s: float | None = None) -> Load | None:
    """The load of the last half hour; None before any work in it was seen.

    Args:
        server: The server.
        now_s: Now on the clock of its history, seconds since the epoch.
        since_s: Nothing before it counts: when the dataset at work began.
    """
    model = step_model(server.minutes)
    bins = server.minutes.bins(max(now_s - _WINDOW.total_seconds(), since_s or 0.0))
    steps = steps_of(bins)
    if model is None or not steps:
        return None
    running = fmean([step.running for step in steps])
    held = fmean([step.held for step in steps]) / running
    queued = fmean([each.mean(each.queue) or 0.0 for each in bins if each.span_s])
    ranks = max(1, len(server.fresh_ranks()))
    capacity = server.capacity
    most = capacity.max_running * ranks if capacity and capacity.max_running else None
    prompts = sum([step.prompt for step in steps]) / sum([step.running for step in steps])
    return Load(model, running, held, prompts, _room(server, steps, bins, queued, held), most, queued)


def _room(server: ServerState, steps: Sequence[Step], bins: Sequence[Bin], queued: float, held: float) -> float | None:
    if queued >= _QUEUED:
        return fmean([step.running for step in steps])
    usages = sorted(
        each.usage / each.span_s for each in bins if each.span_s and (each.mean(each.queue) or 0.0) >= _QUEUED
    )
    full = usages[int(_FULL_RANK * (len(usages) - 1))] if len(usages) >= _LEAST else _FULL
    used = fmean([each.usage / each.span_s for each in bins if each.span_s])
    if server.capacity and held:
        return full * server.capacity.max_total_tokens * max(1, len(server.fresh_ranks())) / held
    return full / used * fmean([step.running for step in steps]) if used else None


def what_if(
    state: State, runs: tuple[DatasetRun, ...], now: datetime, concurrency: int, limits: Limits | None = None
) -> WhatIf:
    """What would be if the job ran with another concurrency.

    Args:
        state: All that was told.
        runs: The datasets.
        now: The console's time.
        concurrency: Requests in flight, above 0.
        limits: Thresholds.

    Raises:
        ValueError: The concurrency is below 1.
    """
    if concurrency < 1:
        raise ValueError("A concurrency is at least 1.")
    working = [run for run in runs if run.state is DatasetState.RUNNING]
    current = max(working, key=lambda run: run.state_at or now, default=None)
    now_s = server_seconds(state.server, state.server_clock, now)
    sent_s = None
    if current is not None and current.started_at is not None:
        sent_s = (now - state.job_clock.on_our_clock(current.started_at)).total_seconds()
    known = load(state.server, now_s, None if sent_s is None else now_s - sent_s)
    if known is None:
        return WhatIf(concurrency, unknown="No work of the server was seen in the last half hour.")
    flying = in_flight(current) if current else None
    running, limit = known.at(concurrency)
    gain, sd = known.gain(running)
    here = known.made(known.running)
    reach = exp(Z_80 * sd)
    restart = cost(state.server, current, flying, here, limits or Limits())
    return WhatIf(
        concurrency,
        present=current.concurrency if current and current.concurrency is not None else flying,
        running_now=known.running,
        running=running,
        limit=limit,
        made_now=here,
        made=here * gain,
        made_low=here * gain / reach,
        made_high=here * gain * reach,
        time_share=1.0 / gain - 1.0,
        time_share_low=1.0 / (gain * reach) - 1.0,
        time_share_high=reach / gain - 1.0,
        minutes_lost=restart.minutes(server=False),
        tokens_lost=restart.tokens,
    )
