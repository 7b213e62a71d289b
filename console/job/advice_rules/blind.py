"""When nothing can be concluded: the host or its logs can't be seen now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.job.events import Source
from console.job.snapshot import Judgement, Verdict
from console.job.units import age, ahead, duration

if TYPE_CHECKING:
    from console.job.advice_rules.context import Context


def link_down(ctx: Context) -> Verdict | None:
    """The connection is lost, or was never made. A link that has just been lost gets a moment to come back."""
    link = ctx.state.host.link
    if link.fact is None or link.fact.state == "up" or link.since is None:
        return None
    away_s = ctx.since(link.up_at or link.since)
    if link.up_at is None:
        headline = f"Nothing is known yet: connecting to {ctx.host or 'the host'}."
    elif ctx.since(link.since) < ctx.limits.link_grace_s and link.fact.state != "refused":
        return None
    else:
        headline = f"The host can't be seen: the link was lost {age(link.since, ctx.now)}. The job goes on without it."
    if link.fact.state == "refused":
        headline = f"{ctx.host or 'The host'} refuses the connection; somebody must mend that."
    tried = f"Next try {ahead(link.fact.next_try_at, ctx.now)}." if link.fact.next_try_at else ""
    old = f"The last figures are {duration(away_s)} old; nothing is concluded from them." if link.up_at else ""
    evidence = tuple(words for words in (link.fact.reason, old, tried) if words)
    return Verdict(Judgement.BLIND, "link_down", headline, evidence, since=link.since, next_look=link.fact.next_try_at)


def logs_unreadable(ctx: Context) -> Verdict | None:
    """No log that the judgement needs can be read, and no metrics page stands in for it."""
    facts = {source: ctx.state.host.source(source) for source in Source}
    known = [fact for fact in facts.values() if fact is not None]
    bad = [fact for fact in known if fact.state in {"missing", "unreadable"}]
    if not bad or len(bad) < len(known) or ctx.link.state != "up":
        return None
    if ctx.link.since is not None and ctx.since(ctx.link.since) < ctx.limits.first_words_s:
        return None  # the other logs have not been heard of yet
    if all(fact.state == "missing" for fact in bad) and not ctx.begun:
        return None  # nothing has been started yet
    page_at = ctx.state.server.metrics.at
    job_seen = ctx.job_grown_s is not None and ctx.job_grown_s < ctx.limits.old_s
    if job_seen or (page_at is not None and ctx.since(page_at) < ctx.limits.old_s and not ctx.begun):
        return None
    evidence = tuple(f"{fact.path}: {fact.reason or fact.state}" for fact in bad)
    headline = "The run can't be judged: none of its logs can be read."
    return Verdict(Judgement.BLIND, "logs_unreadable", headline, evidence)


RULES = (link_down, logs_unreadable)
"""In the order in which they are asked."""
