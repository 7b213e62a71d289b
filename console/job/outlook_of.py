"""The speed ahead, by what the server has reported, else by the job's own counts.

What was made lately is the ratio of the sums over the last hour of the dataset at work (an average of speeds would
count a burst as much as an hour), without ramps, tails and idle time. Between batch sizes the learned step time leads;
while it has not been learned, a decode step is taken to cost as much as with the present batch by 70 %, whatever runs:
reading the weights dominates it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import sqrt
from statistics import median
from typing import TYPE_CHECKING

from console.job.minutes_bin import STEP_S
from console.job.outlook import Outlook
from console.job.prompts import mean_prompt
from console.job.speed import by_progress
from console.job.step_learn import step_model

if TYPE_CHECKING:
    from collections.abc import Sequence

    from console.job.dataset_run import DatasetRun
    from console.job.minutes_bin import Bin
    from console.job.series import Series
    from console.job.server_state import ServerState

_WINDOW_S = 3_600.0
"""Throughput wanders over minutes; an hour averages that out and still follows what changes."""

_BUSY = 0.5
"""Bins with fewer running than this share of the usual are ramps or tails."""

_FIXED = 0.7
"""Share of a decode step's time that does not depend on the batch, while nothing better is known: published step times
of dense models at batches of 16 to 64 fall between 0.6 and 0.9."""

_FULL = {"sglang": 0.85, "vllm": 0.95}
"""Usage at which a server admits no more, until it is seen: SGLang keeps tokens back for what its requests may still
make, vLLM fills the pool."""

_SETTLED_S, _STAYS, _MOST_SETTLED_S = 300.0, 4.0, 3_600.0
"""Seconds after a dataset's start from which on its batch is taken to be as it will stay, and the same in stays of a
mean answer: by then most of the long ones that began first have ended. Not later than an hour."""

_NEWEST = 40
"""Newest bins whose usage is looked at: twenty minutes."""

_WANDER, _YOUNG = 0.035, 0.12
"""Log-standard deviation of the speed over the rest of a run, and what a few bins add to it."""

_OTHER_LEARNED, _OTHER = 0.15, 0.35
"""What a batch of another size adds, per unit of the log ratio of sizes, with and without a learned step time."""

_BY_PROGRESS = 0.12
"""Log-standard deviation of a speed by progress lines."""

_USUAL_RUNNING, _USUAL_EACH, _GUESSED = 64, 14.0, 0.8
"""Requests that run at once and tokens a second that each makes, while nothing has been seen: large models on one host
make 8 to 30 for each of 30 to 150. Log-standard deviation of the product: the 80 % range is a factor of 8 wide."""


@dataclass(frozen=True, slots=True)
class Lately:
    """What the server did lately.

    Attributes:
        made: Tokens a second.
        running: Requests that ran.
        held: Tokens held by each of them, prompt included; None when no report tells.
        usage: Token usage while requests waited; None while none did.
        prompts: Prompt tokens computed for each token made; None where no prefill was reported.
        bins: Bins that this rests on.
        settled: The batch had time to reach its usual ages.
        reach: Tokens that one request could have made since the dataset began.
    """

    made: float
    running: float
    held: float | None
    usage: float | None
    prompts: float | None
    bins: int
    settled: bool
    reach: float


def lately(server: ServerState, run: DatasetRun | None) -> Lately | None:
    """What the server did in the last hour, or since the dataset at work began; None before it has made a token."""
    newest = server.minutes.open
    if newest is None:
        return None
    since_s = newest.time_s - _WINDOW_S
    started_s = run.started_at.timestamp() if run and run.started_at else since_s
    bins = _busy(server.minutes.bins(max(since_s, started_s))) or _busy(server.minutes.bins(since_s))
    walls = [each.wall_s for each in bins]
    wall_s = sum(walls)
    if not any(each.made for each in bins):
        return None
    running = sum((each.mean(each.running) or 0.0) * wall for each, wall in zip(bins, walls, strict=True)) / wall_s
    held = sum((each.mean(each.held) or 0.0) * wall for each, wall in zip(bins, walls, strict=True)) / wall_s
    age_s = newest.time_s - started_s if run and run.started_at else 0.0
    waiting = [usage for each in bins[-_NEWEST:] if each.queue and (usage := each.mean_usage())]
    made = sum((each.throughput() or 0.0) * wall for each, wall in zip(bins, walls, strict=True)) / wall_s
    stay_s = (run.mean or 0.0) * running / made if run else 0.0
    computed = sum(each.prompt_tokens for each in bins)
    return Lately(
        made=made,
        running=running,
        held=held / running if held else None,
        usage=median(waiting) if waiting else None,
        prompts=computed / (made * wall_s) if computed else None,
        bins=len(bins),
        reach=max(0.0, age_s) * made / running if running else 0.0,
        settled=age_s >= min(_MOST_SETTLED_S, max(_SETTLED_S, _STAYS * stay_s)) if stay_s else False,
    )


def _busy(bins: Sequence[Bin]) -> list[Bin]:
    """The bins that tell of speed, less ramps and tails."""
    told = [(each.running / each.span_s, each) for each in bins if each.good_s and each.running]
    if not told:
        return []
    usual = median(running for running, _ in told)
    return [each for running, each in told if running >= _BUSY * usual]


def outlook_of(
    server: ServerState, seen: Lately | None, current: DatasetRun | None, progress: Series
) -> Outlook | None:
    """How fast tokens will be made; None while neither the server nor the job's counts tell.

    Args:
        server: The server.
        seen: What it did lately.
        current: The dataset at work.
        progress: Completion tokens of the whole run against time, by the job.
    """
    return _by_progress(progress, current) if seen is None else _by_server(server, seen, current)


def _by_server(server: ServerState, seen: Lately, current: DatasetRun | None) -> Outlook:
    prompt = _prompt_now(server, current)
    if prompt is None:
        prompt = server.prompt_tokens / server.prompts if server.prompts else 0.0
    level = sqrt(_WANDER**2 + _YOUNG**2 / (1 + seen.bins / 4))
    rough = replace(
        _rough(seen.running, seen.made, level, "server"),
        prompt=prompt,
        pool=_pool(server, seen),
        reach=seen.reach,
        most=None if seen.usage else seen.running,
        loads=tuple((float(each.load.running), float(each.load.queue or 0)) for _, each in server.fresh_ranks()),
    )
    model = step_model(server.minutes)
    if model is None or seen.held is None:
        return rough
    # What was made lately is right for the present load; the model says how other loads differ from it.
    share = model.prompts if seen.prompts is None else seen.prompts
    each_s = model.request_s + model.token_s * seen.held + model.prompt_s * share
    scale = seen.running / seen.made / (model.fixed_s + seen.running * each_s)
    return replace(
        rough,
        a=scale * model.fixed_s,
        b=scale * model.request_s,
        c=scale * model.token_s,
        d=scale * model.prompt_s,
        each=scale * each_s,
        other_sd=_OTHER_LEARNED,
        noise_s=model.noise**2 * STEP_S * (1 + model.lag) / (1 - model.lag),
    )


def _prompt_now(server: ServerState, run: DatasetRun | None) -> float | None:
    """Mean prompt of the dataset at work, by what its first some hundred requests brought; None when not known."""
    if run is None or run.started_at is None:
        return None
    brought = server.flight.usual_prompt(run.started_at)
    return mean_prompt(server.minutes, run) if brought is None else brought


def _pool(server: ServerState, seen: Lately) -> float | None:
    """Tokens that are held when no more requests are admitted."""
    if server.capacity is None:
        return seen.running * seen.held if seen.usage and seen.held else None
    whole = server.capacity.max_total_tokens * max(1, len(server.fresh_ranks()))
    return whole * (seen.usage if seen.usage and seen.settled else _FULL.get(server.engine, 0.9))


def _by_progress(progress: Series, run: DatasetRun | None) -> Outlook | None:
    made = by_progress(progress)
    if made is None:
        return None
    running = float(run.concurrency if run and run.concurrency else 1)
    return _rough(running, made, _BY_PROGRESS, "progress")


def by_guess(concurrency: int | None) -> Outlook:
    """What servers of such jobs usually make, for the minutes before this one has made a token; the range is wide.

    Args:
        concurrency: Requests in flight at most, of the first dataset; None when not known.
    """
    running = float(min(concurrency or _USUAL_RUNNING, _USUAL_RUNNING))
    return _rough(running, running * _USUAL_EACH, _GUESSED, "guess")


def _rough(running: float, made: float, level_sd: float, source: str) -> Outlook:
    """What one speed alone tells: of a decode step's time a usual share does not depend on the batch."""
    each = (1 - _FIXED) / made
    return Outlook(
        a=_FIXED * running / made,
        b=each,
        each=each,
        c=0.0,
        d=0.0,
        prompt=0.0,
        pool=None,
        running=running,
        level_sd=level_sd,
        other_sd=_OTHER,
        made=made,
        source=source,
    )
