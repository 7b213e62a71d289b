"""What is at stake in an act: what is done and kept, what is in flight and lost, is the server well. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from console.acts import Check, Verb
from console.job.dataset_run import FINAL
from console.job.lines import clean
from console.job.snapshot import DatasetState
from console.job.units import age, count, latency, tokens

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.acts import ActionPlan
    from console.job.snapshot import DatasetView, Snapshot


def with_stakes(plan: ActionPlan, snapshot: Snapshot | None) -> ActionPlan:
    """The plan with what the run shows at the time.

    Args:
        plan: As the host answered.
        snapshot: What is known of the run; None when nothing is.
    """
    if plan.refusal is not None and plan.process is None:
        return plan
    checks = plan.checks if plan.verb is Verb.STOP or snapshot is None else (*plan.checks, server_check(snapshot))
    cost: tuple[str, ...] = ("What is done and in flight is not known: no log of the run has been read.",)
    kept: tuple[str, ...] = ()
    if snapshot is not None and snapshot.datasets:
        cost, kept = tuple(cost_lines(plan, snapshot)), tuple(kept_lines(snapshot))
    # The cost stands right below the process: a long command would push it off a short screen.
    first = min(1, plan.about)
    head, about, rest = plan.lines[:first], plan.lines[first : plan.about], plan.lines[plan.about :]
    return replace(plan, lines=(*head, *cost, *about, *kept, *rest), checks=checks)


def kept_lines(snapshot: Snapshot) -> Iterator[str]:
    """A line for each dataset that has begun, and one for all others."""
    waiting = [view.name for view in snapshot.datasets if view.state is DatasetState.WAITING and not view.done]
    for view in snapshot.datasets:
        if view.name not in waiting:
            yield f"Kept: {_kept(view)}."
    if waiting:
        yield f"Not begun: {clean(', '.join(waiting))}."


def _kept(view: DatasetView) -> str:
    done = f"{count(view.done)} of {count(view.total)} prompts done"
    budget = "" if view.budget is None else f" of {tokens(view.budget)}"
    made = "" if view.tokens is None else f", {tokens(view.tokens)}{budget} tokens"
    ready = ", finished" if view.state in FINAL else ""
    return f"{clean(view.name)}, {done}{made}{ready}"


def cost_lines(plan: ActionPlan, snapshot: Snapshot) -> Iterator[str]:
    """What is lost, and how old that figure is; nothing for a start."""
    option = snapshot.restart
    if plan.verb is Verb.START or option is None:
        return
    yield f"Cost: {option.words[0].lower()}{option.words[1:]}"
    spoken = max((view.updated_at for view in snapshot.datasets if view.updated_at is not None), default=None)
    if spoken is not None and snapshot.link.state not in {"up", ""}:
        yield f"These figures are from {age(spoken, snapshot.at)}: the link is {snapshot.link.state}."


def server_check(snapshot: Snapshot) -> Check:
    """Whether the server answers, by its newest health check."""
    health = snapshot.health
    if health.state == "ok":
        answered = f"{health.path} answered {age(health.checked_at, snapshot.at)} in {latency(health.latency_s)}"
        return Check("server", "ok", answered)
    if health.state == "failing":
        why = clean(health.error).rstrip(".") or f"HTTP {health.status}"
        first = age(health.failing_since, snapshot.at)
        failing = f"{health.path} fails, seen first {first} ({why}); the job's requests may fail"
        return Check("server", "warning", failing)
    return Check("server", "unknown", "its health has not been asked yet")
