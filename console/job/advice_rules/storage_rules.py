"""A full disk: whoever meets it can't keep what it makes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.job.advice_rules.context import sentences
from console.job.snapshot import Judgement, Verdict
from console.job.units import age

if TYPE_CHECKING:
    from datetime import datetime

    from console.job.advice_rules.context import Context


def disk_full(ctx: Context) -> Verdict | None:
    """The job or the server said that the disk is full, and has not shown since that it is over.

    It is over when the job begins anew, or when it goes on for ``disk_s`` without saying so again.
    """
    found = _job_word(ctx) or _server_word(ctx)
    if found is None or (ctx.begun and bool(ctx.runs) and not ctx.unfinished):
        return None
    who, words, at = found
    return Verdict(
        Judgement.INTERVENE,
        "disk_full",
        f"Intervene: the disk is full, by the {who}'s own word {age(at, ctx.now)}.",
        sentences(
            f"The {who}'s log: {words}",
            f"What is made now may not be kept. The job's newest word is {age(ctx.job_spoke_at, ctx.now)}."
            if ctx.job_spoke_at
            else None,
            ctx.speed_sentence(),
        ),
        action=f"Make room on the disk, then restart the job. {ctx.restart_job().words}",
        since=at,
        options=(ctx.restart_job(),),
    )


_Word = tuple[str, str, "datetime"]
"""Who said it, in which words, and when."""


def _job_word(ctx: Context) -> _Word | None:
    for trail in ctx.trails:
        at = ctx.job_time(trail.disk_at)
        if not trail.disk or at is None:
            continue
        spoke = ctx.job_time(trail.tokens.grown_at()) if trail.tokens.last else None
        went_on = spoke is not None and (spoke - at).total_seconds() > ctx.limits.disk_s
        if not went_on:
            return "job", trail.disk, at
    return None


def _server_word(ctx: Context) -> _Word | None:
    life = ctx.state.server.life
    at = ctx.server_time(life.disk_at)
    if not life.disk or at is None or ctx.lived_after(at, ctx.limits.disk_s):
        return None
    worked = ctx.server_time(ctx.state.server.progressed_at)
    if worked is not None and (worked - at).total_seconds() > ctx.limits.disk_s:
        return None
    return "server", life.disk, at
