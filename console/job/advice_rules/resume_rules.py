"""A job that does again what was done: its results were not found, or it does not look for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.job.advice_rules.context import sentences
from console.job.snapshot import DatasetState, Judgement, Verdict
from console.job.units import age, count, duration, tokens

if TYPE_CHECKING:
    from console.job.advice_rules.context import Context


def resume_broken(ctx: Context) -> Verdict | None:
    """The newest process does prompts again that former ones had done: it named none of them as done.

    A run that begins anew after the former one did everything is another run, and a result or two may be cut off.
    """
    run, limits = ctx.current, ctx.limits
    if run is None or run.state is not DatasetState.RUNNING or run.lost < limits.resume_lost:
        return None
    if run.lost < limits.resume_lost_share * (run.total or 0) or any(trail.anew for trail in ctx.trails):
        return None
    since = ctx.job_time(run.started_at)
    made = ctx.server.usual_throughput or ctx.server.gen_throughput
    again = round(run.former_tokens * run.lost / run.former_done) if run.former_tokens else 0
    waste = f", about {duration(again / made)} of work" if again and made else ""
    return Verdict(
        Judgement.INTERVENE,
        "resume_broken",
        f"Intervene: the job does {count(run.lost)} prompts of {run.name} again that were done.",
        sentences(
            f"{count(run.former_done)} prompts were done before this process; it began {age(since, ctx.now)} and took"
            f" {count(run.done_before)} for done.",
            f"To be made again: {tokens(again)} tokens{waste}." if again else None,
            f"Since then it has done {count(run.done_run)}.",
        ),
        action="Stop the job, see that the results of the former process are where it looks for them (folder, script),"
        f" and start it again. {ctx.restart_job().words}",
        since=since,
        options=(ctx.restart_job(),),
    )
