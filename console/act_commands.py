"""The commands that act, without a screen: start, stop, restart, rollback, finish."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import click

from console.act_stakes import with_stakes
from console.acts import START_STEP
from console.control import STOP_STEP, WHEN_LEFT, Verb
from console.job.proof_facts import before_of
from console.journal import Kind, journal_of
from console.oneshot import CANNOT, run
from console.proving import item_words, proving
from console.session import new_script_of, now, open_session
from console.watched import watched

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator
    from pathlib import Path

    from console.acts import ActionPlan, Step
    from console.config import Settings
    from console.control import Controller, JobControl
    from console.proving import Proving
    from console.session import Session
    from console.watched import Watched

LOOK_S = 1.2
"""Seconds that the logs may take to be read for a plan, beside what is asked of the host: a plan is to come in 2 s."""

NO_CONTROL = "The config does not say how the job is found or started; set job.command or job.match."

GOES_ON = "The job goes on; what was proven so far stands above, and `longwait` shows the rest."


@dataclass(frozen=True, slots=True)
class How:
    """How an act is to be done.

    Attributes:
        dry_run: Show the plan only.
        yes: Do not ask.
        proof: Wait for the proof that it worked, and print it.
        why: The operator's reason, for the journal; may be empty.
    """

    dry_run: bool = False
    yes: bool = False
    proof: bool = False
    why: str = ""


def run_act(settings: Settings, verb: str, script: Path | None, how: How) -> int:
    """Show the plan, ask, do it; ``verb`` may also be ``rollback`` or ``finish``."""
    return run(_run_act(settings, verb, script, how))


def refused_read_only(settings: Settings, what: str, words: str) -> None:
    """Note in the journal that an act was refused since nothing may be changed."""
    journal_of(settings, now).write(Kind.REFUSAL, what, outcome=words)


async def _run_act(settings: Settings, verb: str, script: Path | None, how: How) -> int:
    session = open_session(settings)
    if session.control is None:
        click.echo(NO_CONTROL, err=True)
        return 2
    async with watched(session) as watch:
        await watch.up()
        look = _look(session.control, verb, script or (new_script_of(settings) if verb == Verb.RESTART else None))
        settled = asyncio.create_task(session.feed.settle(LOOK_S))
        try:
            plan = await look()
            await settled
        finally:
            settled.cancel()
        if plan is None:
            return 0
        return await _act(session, watch, replace(with_stakes(plan, watch.snapshot), why=how.why or plan.why), how)


def _look(control: JobControl, verb: str, script: Path | None) -> Callable[[], Awaitable[ActionPlan | None]]:
    if verb == "rollback":
        return control.plan_back
    if verb == "finish":
        return lambda: _finish(control)
    return lambda: control.plan(Verb(verb), script)


async def _finish(control: JobControl) -> ActionPlan | None:
    """The plan that finishes what was broken off; None when nothing is left to do, which is told."""
    left = await control.left_over()
    if left is None:
        click.echo("Nothing was broken off.")
        return None
    for words in (left.title, *left.lines):
        click.echo(words)
    if left.plan is None:
        click.echo("Nothing is left to do.")
    return left.plan


async def _act(session: Session, watch: Watched, plan: ActionPlan, how: How) -> int:
    show(plan)
    if plan.refusal is not None:
        return CANNOT
    if how.dry_run:
        return 0
    if not how.yes and not agreed(f"{plan.name.capitalize()} the job?"):
        click.echo("Nothing was done.")
        return CANNOT
    assert session.control is not None  # noqa: S101 - the caller has a plan of it
    last, begun = await _carry_out(session.control, plan, watch)
    for trouble in filter(None, (session.journal.trouble, session.control.trouble)):
        click.echo(trouble, err=True)
    if last is None or last.state == "failed":
        if last is not None and last.result is not None and last.result.kept:
            click.echo("`longwait rollback` goes back to the former script and command.", err=True)
        return CANNOT
    return await _prove(session, watch, begun) if how.proof and begun is not None else 0


def show(plan: ActionPlan) -> None:
    """Print a plan for a person."""
    click.echo(plan.title)
    for planned in plan.lines:
        click.echo(f"  {planned}")
    for check in plan.checks:
        click.echo(f"  {check.line}")
    colours = {"+": "green", "-": "red", "@": "cyan"}
    for changed in plan.diff:
        # click leaves colours away where the output is no terminal.
        click.secho(changed, fg=colours.get(changed[:1]) if _coloured() else None)
    if plan.refusal is not None:
        click.echo(plan.refusal, err=True)


def _coloured() -> bool:
    return "NO_COLOR" not in os.environ


@contextmanager
def interruptible() -> Iterator[None]:
    """For a question: the loop stands still meanwhile, so Ctrl-C is taken back from it, to end the question at once."""
    former = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, former)


def agreed(question: str) -> bool:
    """Ask."""
    if not sys.stdin.isatty():
        click.echo("Not asked, since this is no terminal; give --yes to act.", err=True)
        return False
    try:
        with interruptible():
            return click.confirm(question, default=False)
    except click.Abort:
        click.echo()
        return False


async def _carry_out(control: Controller, plan: ActionPlan, watch: Watched) -> tuple[Step | None, Proving | None]:
    usual = at_start = watch.snapshot
    last: Step | None = None
    stopping = False
    try:
        async for step in control.carry_out(plan, before_of(usual, usual, plan.gpu_pids).values()):
            last = step
            stopping = stopping or (step.name == STOP_STEP and bool(step.detail))
            if step.state == "running":
                at_start = watch.snapshot if step.name == START_STEP and not step.detail else at_start
                continue
            took = "" if step.seconds is None else f" ({step.seconds:.1f} s)"
            click.echo(f"{step.state:<7} {step.name}{took}{': ' + step.detail if step.detail else ''}")
    except asyncio.CancelledError:
        if stopping:
            click.echo(WHEN_LEFT, err=True)
        raise
    return last, proving(plan, last, usual, at_start, now())


async def _prove(session: Session, watch: Watched, begun: Proving) -> int:
    """Print each line of the proof as it is settled; 0 when nothing has failed."""
    assert session.control is not None  # noqa: S101 - it has just started something
    session.feed.look()
    gpus = asyncio.create_task(begun.watch_gpus(session.control))
    said: dict[str, str] = {}
    try:
        while not begun.proof.ended:
            begun.take(watch.snapshot)
            for item in begun.proof.items:
                words = f"{item.state:<7} {item.name}: {item_words(item, None)}"
                worth = item.state != "waiting" or (item.due is not None and item.name not in said)
                if worth and said.get(item.name) != item.state:
                    said[item.name] = item.state
                    click.echo(words)
            if not begun.proof.ended:
                await watch.news()
    except asyncio.CancelledError:
        click.echo(GOES_ON, err=True)
        raise
    finally:
        gpus.cancel()
        await asyncio.gather(gpus, return_exceptions=True)
    begun.write(session.journal)
    click.echo(begun.proof.outcome)
    if begun.proof.failed:
        click.echo("`longwait rollback` goes back to the former script and command.", err=True)
    return CANNOT if begun.proof.failed else 0
