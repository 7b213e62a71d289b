"""When not to touch the run, and why it looks as it does."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from console.job.advice_rules.context import sentences
from console.job.marks import windows
from console.job.series import median_of
from console.job.snapshot import DatasetState, Judgement, Verdict
from console.job.units import age, ahead, count, duration, percent, plural, rate, requests_rate, share, tokens

if TYPE_CHECKING:
    from datetime import datetime

    from console.job.advice_rules.context import Context
    from console.job.dataset_run import DatasetRun

_PHASES = {
    "starting": "starts",
    "weights": "loads its weights",
    "kv_cache": "allocates its KV cache",
    "graphs": "captures its graphs",
    "warmup": "warms up",
    "http_up": "warms up",
}
"""What the server does in a phase of its start."""

_BATCH_SHORT = 0.7
"""Share of the requests in flight below which the running ones are clearly held back by the server."""

_NEAR_PEAK = 0.9
"""From this share of the peak on there is nothing to explain."""

_FEW = 10
"""Completions, or reports, of a window that say something of it."""


def finished(ctx: Context) -> Verdict | None:
    """Every dataset is done, or the job was stopped on purpose."""
    done = ctx.job.finished == "done" or (bool(ctx.runs) and not ctx.unfinished)
    if not done and ctx.job.finished != "stopped":
        return None
    errors = sum(run.errors for run in ctx.runs)
    made = sum(run.tokens or 0 for run in ctx.runs)
    ready = len(ctx.runs) - len(ctx.unfinished)
    summary = f"{ready} of {plural(len(ctx.runs), 'dataset')} done; {tokens(made)} tokens; {plural(errors, 'error')}."
    headline = "The run is done: nothing is left to do."
    if not done:
        headline = f"The job was stopped; {plural(len(ctx.unfinished), 'dataset')} left. Start it again to go on."
    ended = max((run.state_at for run in ctx.runs if run.state_at is not None), default=None)
    return Verdict(Judgement.WAIT, "finished", headline, (summary,), since=ctx.job_time(ended))


def starting(ctx: Context) -> Verdict | None:
    """The server is on its way up, or nothing has been seen of the job yet."""
    phase = _PHASES.get(ctx.server.phase)
    if phase:
        at = ctx.state.server.phase_share
        how_far = f" ({percent(at)})" if at is not None else ""
        headline = f"Don't intervene: the server {phase}{how_far}."
        took_s = ctx.state.server.life.load_s
        usual = "" if took_s is None else f"Its last start took {duration(took_s)}."
        evidence = sentences("Minutes of silence are normal while a server starts.", usual or None)
        since = ctx.server_time(ctx.state.server.phase_at)
        return Verdict(Judgement.WAIT, "starting", headline, evidence, since=since)
    if any(run.state is not DatasetState.WAITING for run in ctx.runs):
        return None
    if ctx.job.alive is False:
        headline = "The job does not run, and nothing has been seen of it yet."
    elif ctx.begun:
        headline = "Don't intervene: the job has begun and turns to its first dataset."
    else:
        headline = "Nothing has been seen of the run yet."
    server = f"The server is {ctx.server.phase}." if ctx.server.phase else None
    return Verdict(Judgement.WAIT, "starting", headline, sentences(server))


def dataset_switch(ctx: Context) -> Verdict | None:
    """Between two datasets: prompts are loaded and tokenized, and no request is in flight."""
    run = ctx.current
    if run is not None and run.state is DatasetState.LOADING:
        since = ctx.job_time(run.state_at)
        evidence = sentences(f"It turned to {run.name} {age(since, ctx.now)}.", ctx.trust_sentence())
        headline = f"Don't intervene: the job loads the prompts of {run.name}."
        return Verdict(Judgement.WAIT, "dataset_switch", headline, evidence, since=since)
    if run is None and ctx.unfinished:
        headline = "Don't intervene: the job is between two datasets."
        return Verdict(Judgement.WAIT, "dataset_switch", headline, sentences(ctx.trust_sentence()))
    return None


def first_progress_pending(ctx: Context) -> Verdict | None:
    """Requests are in flight and none has ended: a batch begins all at once, so its first line takes minutes.

    It is due when the first 50 have ended (``console.job.first_progress``).
    """
    run = ctx.current
    if run is None or run.done_run or run.first_progress_at is not None or run.started_at is None:
        return None
    if any(other.done_run and other.state is DatasetState.RUNNING for other in ctx.runs):
        return None  # it fills the places that another one leaves free, one by one
    early, due = ctx.first_due or (None, None)
    sent = (
        f"{plural(ctx.in_flight, 'request')} of {run.name} were"
        if ctx.in_flight
        else f"The requests of {run.name} were"
    )
    since = ctx.job_time(run.started_at)
    first = f"{sent} sent {age(since, ctx.now)}; none has ended yet, and the job tells of them in groups."
    expected = (
        f"The first progress line is expected {_between(early, due, ctx.now)}." if due and due > ctx.now else None
    )
    headline = "Don't intervene: the first batch began all at once, so its first progress line takes minutes."
    evidence = sentences(first, expected, ctx.load_sentence(), ctx.speed_sentence())
    return Verdict(Judgement.WAIT, "first_progress_pending", headline, evidence, since=since, next_look=due)


def _between(early: datetime | None, late: datetime, now: datetime) -> str:
    """A range ahead; its end where the beginning is not known or has come."""
    if early is None or early <= now:
        return f"at the latest {ahead(late, now)}" if early is not None else ahead(late, now)
    return f"{ahead(early, now)} to {ahead(late, now).removeprefix('in ')}"


def tail_drain(ctx: Context) -> Verdict | None:
    """All requests of the dataset are sent; the last, long ones run out, and throughput falls with their number."""
    run = ctx.current
    if run is None or run.requests is None or run.concurrency is None or ctx.server.queue:
        return None
    left = run.requests - run.done_run - run.errors
    if left > run.concurrency or run.requests <= run.concurrency:
        return None
    headline = f"Don't intervene: the last {plural(max(0, left), 'request')} of {run.name} run out."
    tail = "Falling tok/s with falling running requests is the tail of a dataset, not a fault."
    evidence = sentences(ctx.load_sentence(), ctx.speed_sentence(), tail)
    return Verdict(Judgement.WAIT, "tail_drain", headline, evidence, next_look=_end(ctx, run))


def budget_nearly_met(ctx: Context) -> Verdict | None:
    """The dataset's budget is nearly used up: it will end soon, with prompts left over, as planned."""
    run = ctx.current
    if run is None or not run.budget or run.tokens is None or run.tokens < ctx.limits.budget_near * run.budget:
        return None
    headline = f"Don't intervene: {run.name} has nearly met its token budget and will end soon."
    used = f"{count(run.tokens)} of {count(run.budget)} tokens made ({percent(run.tokens / run.budget)})."
    evidence = sentences(used, ctx.load_sentence(), ctx.speed_sentence())
    return Verdict(Judgement.WAIT, "budget_nearly_met", headline, evidence, next_look=_end(ctx, run))


def kv_limited(ctx: Context) -> Verdict | None:
    """Requests wait because the KV cache admits no more: good in a batch run, while tok/s holds."""
    server, run = ctx.server, ctx.current
    if not server.queue or not server.running or run is None or _at_server_limit(ctx):
        return None
    full = server.token_usage is not None and server.token_usage >= ctx.limits.kv_full
    short = bool(ctx.in_flight) and server.running < _BATCH_SHORT * (ctx.in_flight or 0)
    begun = ctx.job_time(run.started_at)
    filling = begun is not None and ctx.since(begun) < ctx.limits.ramp_s
    if not (full or (short and not filling)) or (ctx.in_flight is not None and server.running >= ctx.in_flight):
        return None
    flight = plural(ctx.in_flight, "request") + " are in flight and " if ctx.in_flight else ""
    load = f"{flight}{count(server.running)} run: the KV cache ({share(server.token_usage)}) admits no more."
    headline = f"Don't intervene: the KV cache is the limit, and the server {_pace(ctx)}."
    more = "More concurrency would only lengthen the queue; less would not speed anything up."
    return _steady_verdict(ctx, "kv_limited", headline, (load, ctx.speed_sentence(), more, _of_peak(ctx)))


def _of_peak(ctx: Context) -> str | None:
    """What is made, as a share of the server's peak: the batch is smaller while every answer holds more."""
    made, peak, usual = ctx.server.gen_throughput, ctx.server.peak_throughput, ctx.server.usual_throughput
    if not made or not peak or made > _NEAR_PEAK * peak:
        return None
    expected = ctx.pace.ratio_fast if ctx.pace else made / usual if usual else 0.0
    why = " at full batch, as expected for long completions" if expected >= _NEAR_PEAK else ""
    return f"{rate(made)} is {percent(made / peak)} of this server's peak of {rate(peak)}{why}."


def completions_growing(ctx: Context) -> Verdict | None:
    """Fewer requests end a second than before while as many tokens are made: the completions get longer.

    Two windows side by side: completions a second fell by ``growing_fall`` and their mean grew to match, while tok/s
    stayed within ``growing_flat``.
    """
    run, limits = ctx.current, ctx.limits
    if run is None or run.state is not DatasetState.RUNNING or not run.marks:
        return None
    found = windows(run.marks, timedelta(seconds=limits.growing_s))
    if found is None:
        return None
    before, after = found
    if before.mean is None or after.mean is None or min(before.done, after.done) < _FEW:
        return None
    if after.per_s > (1 - limits.growing_fall) * before.per_s or after.mean * (1 - limits.growing_fall) < before.mean:
        return None
    speeds = _speeds(ctx, run.marks[-1].at, before.seconds, after.seconds)
    if speeds is None or abs(speeds[1] / speeds[0] - 1) > limits.growing_flat:
        return None
    headline = "Don't intervene: fewer requests end a second because the answers get longer; the server is as fast."
    grew = (
        f"{requests_rate(before.per_s)} fell to {requests_rate(after.per_s)}, while the mean completion grew from"
        f" {count(before.mean)} to {count(after.mean)} tokens and {rate(speeds[0])} stayed {rate(speeds[1])}."
    )
    return _steady_verdict(ctx, "completions_growing", headline, (grew, ctx.load_sentence()))


def _speeds(ctx: Context, end: datetime, before_s: float, after_s: float) -> tuple[float, float] | None:
    """The median tok/s of two windows side by side, the second of which ends at a time of the job's clock."""
    on_server = ctx.state.job_clock.on_our_clock(end) - ctx.state.server_clock.offset
    middle = on_server - timedelta(seconds=after_s)
    series = ctx.state.server.throughput
    before = median_of(series.points(middle - timedelta(seconds=before_s), middle), _FEW)
    after = median_of(series.points(middle, on_server), _FEW)
    return (before, after) if before and after else None


def concurrency_limited(ctx: Context) -> Verdict | None:
    """Nothing waits: the number of requests sent at once is the limit."""
    server = ctx.server
    if not server.running or (server.queue and not _at_server_limit(ctx)):
        return None
    if _at_server_limit(ctx):
        headline = f"Don't intervene: the server runs as many requests as it was told to, and {_pace(ctx)}."
        return _steady_verdict(ctx, "concurrency_limited", headline, (ctx.load_sentence(),))
    flight = ctx.in_flight
    if flight is None or server.running < _BATCH_SHORT * flight or (server.queue or 0) > 0:
        return None
    full = server.token_usage is not None and server.token_usage >= ctx.limits.kv_full
    more = "the KV cache has little room for more" if full else "more at once may be faster next time"
    headline = f"Don't intervene: all requests run, and the server {_pace(ctx)}; {more}."
    return _steady_verdict(ctx, "concurrency_limited", headline, (ctx.load_sentence(),))


def steady(ctx: Context) -> Verdict:
    """Nothing stands out."""
    headline = f"Don't intervene: the run goes on, and the server {_pace(ctx)}."
    load = ctx.load_sentence() if ctx.server.running is not None else None
    return _steady_verdict(ctx, "steady", headline, (load,))


def _at_server_limit(ctx: Context) -> bool:
    capacity, running = ctx.state.server.capacity, ctx.server.running
    if capacity is None or capacity.max_running is None or running is None:
        return False
    return running >= capacity.max_running * (ctx.server.ranks or 1)


def _pace(ctx: Context) -> str:
    made, usual = ctx.server.gen_throughput, ctx.server.usual_throughput
    if made is None:
        return "has not told its speed yet"
    if usual is None:
        return "makes tokens"
    return "runs at its usual speed" if made >= 0.9 * usual else "makes tokens"


def _steady_verdict(ctx: Context, cause: str, headline: str, words: tuple[str | None, ...]) -> Verdict:
    evidence = tuple(dict.fromkeys(sentences(*words, ctx.speed_sentence(), ctx.trust_sentence())))
    return Verdict(Judgement.WAIT, cause, headline, evidence, next_look=_end(ctx, ctx.current))


def _end(ctx: Context, run: DatasetRun | None) -> datetime | None:
    return ctx.ends.get(run.name) if run else None


RULES = (
    starting,
    dataset_switch,
    first_progress_pending,
    tail_drain,
    budget_nearly_met,
    completions_growing,
    kv_limited,
)
"""In the order in which they are asked. ``finished`` is asked before all but ``blind``."""

LATE_RULES = (concurrency_limited, steady)
"""Asked last; ``steady`` always answers."""
