"""One of several DP ranks that stands still, while the others hide it: the server as a whole still reports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from console.job.advice_rules.context import IN_TRANSIT, sentences
from console.job.advice_rules.server_rules import SERVING, is_watched
from console.job.signs_of_life import agreement, signs
from console.job.snapshot import Judgement, Verdict
from console.job.units import age, plural

if TYPE_CHECKING:
    from datetime import datetime

    from console.job.advice_rules.context import Context

_SEVERAL = 2
"""DP ranks, at least, of which one may stall alone."""

_PROMPTS = 5.0
"""Times as long may a rank say nothing of its batch that was seen to compute prompts since."""

_SHARE = 0.25
"""Of an even share of the requests in flight, a rank that stalled held at least so much by its last report."""


@dataclass(frozen=True, slots=True)
class _Ranks:
    """The ranks, parted.

    Attributes:
        silent: Names of those that fell silent over running requests.
        since: The first one's last report, by the server's clock.
        newest: The newest report of all.
        stuck: Requests that ran on the silent ones.
        held: Requests that run or wait on the others.
    """

    silent: tuple[str, ...]
    since: datetime
    newest: datetime
    stuck: int
    held: int


def rank_stalled(ctx: Context) -> Verdict | None:
    """One of several DP ranks has fallen silent over its requests while the others report.

    A rank that ran out of work is silent, too. But then what is in flight is with the others, or the job sends no more:
    it is missed only while the job's places are all taken, and the others hold too few of these.
    """
    if ctx.server.phase not in SERVING or not is_watched(ctx) or ctx.job.alive is False or ctx.job_times_guessed:
        return None
    if not ctx.sends_on or (ctx.sent_s or 0.0) < ctx.stall_limit_s:
        return None
    ranks, flying = _parted(ctx), ctx.in_flight or 0
    if ranks is None or flying - ranks.held < max(IN_TRANSIT, ranks.stuck / 2):
        return None
    if ranks.stuck < max(IN_TRANSIT, _SHARE * flying / len(ctx.state.server.ranks)):
        return None
    since = ctx.server_time(ranks.since)
    return Verdict(
        Judgement.INTERVENE,
        "server_stalled",
        f"Intervene: rank {', '.join(ranks.silent)} of the server has been silent"
        f" {age(since, ctx.now).removesuffix(' ago')} over {plural(ranks.stuck, 'running request')}.",
        sentences(
            f"{plural(flying, 'request')} are in flight, of which the other ranks hold {ranks.held}.",
            f"The other ranks reported {age(ctx.server_time(ranks.newest), ctx.now)}.",
            ctx.speed_sentence(),
            agreement(signs(ctx)),
        ),
        action=f"Restart the server, then the job if it has ended. {ctx.restart_server().words}",
        since=since,
        options=(ctx.restart_server(), ctx.restart_job()),
    )


def _parted(ctx: Context) -> _Ranks | None:
    """The ranks; None without a silent one, or without one that reports."""
    ranks = ctx.state.server.ranks
    newest = max((report.at for _, report in ranks), default=None)
    if newest is None or len(ranks) < _SEVERAL:
        return None
    began_s, computing = ctx.sent_s or 0.0, dict(ctx.state.server.minutes.pending)
    silent = {
        name: report
        for name, report in ranks
        if report.load.running
        # One that has not spoken since the dataset began may have got nothing of it, and ended what it had.
        and ctx.since(ctx.state.server_clock.on_our_clock(report.at)) <= began_s
        and (newest - report.at).total_seconds() >= ctx.stall_limit_s * (_PROMPTS if computing.get(name) else 1.0)
    }
    if not silent or len(silent) == len(ranks):
        return None
    return _Ranks(
        tuple(silent),
        min(report.at for report in silent.values()),
        newest,
        sum(report.load.running for report in silent.values()),
        sum(report.load.running + (report.load.queue or 0) for name, report in ranks if name not in silent),
    )
