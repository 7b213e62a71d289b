"""The commands without a screen: status, watch, ping, logs, start, stop, restart."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import click

from console.control import STOP_STEP, WHEN_LEFT, Verb
from console.feed import LinesArrived, Noticed, SnapshotTaken
from console.job.events import Source
from console.job.reading import EXIT_CODES, line, reading, text
from console.session import new_script_of, now, open_session
from remote.errors import RemoteError

if TYPE_CHECKING:
    import re
    from collections.abc import AsyncIterator, Coroutine
    from pathlib import Path

    from console.config import Settings
    from console.control import ActionPlan, Controller
    from console.feed import Fact
    from console.job.events import LogLine
    from console.job.snapshot import Snapshot

CANNOT = 1
BLIND = 30
INTERRUPTED = 130
"""What a shell gives for a program ended by Ctrl-C."""


def run(main: Coroutine[None, None, int]) -> int:
    """Run to the end; Ctrl-C ends in order and without a traceback."""
    try:
        return asyncio.run(main)
    except KeyboardInterrupt:
        return INTERRUPTED
    except RemoteError as error:
        click.echo(error.message, err=True)
        return BLIND if error.retryable else CANNOT


# ---------------------------------------------------------------- status and watch


def run_status(settings: Settings, timeout_s: float, *, as_json: bool) -> int:
    """One reading, once everything has been seen."""
    return run(_status(settings, timeout_s, as_json=as_json))


async def _status(settings: Settings, timeout_s: float, *, as_json: bool) -> int:
    session = open_session(settings)
    async with _consumed(session.feed.facts()):
        await session.feed.settle(timeout_s)
        snapshot = session.feed.snapshot(now())
    click.echo(json.dumps(reading(snapshot)) if as_json else text(snapshot))
    return EXIT_CODES[snapshot.verdict.verdict]


@asynccontextmanager
async def _consumed(facts: AsyncIterator[Fact]) -> AsyncIterator[None]:
    """Let the feed work while nobody reads what it says."""

    async def consume() -> None:
        async for _ in facts:
            pass

    task = asyncio.create_task(consume())
    try:
        yield
    finally:
        task.cancel()
        # What the feed died of must not pass for a quiet host.
        (end,) = await asyncio.gather(task, return_exceptions=True)
        if isinstance(end, Exception):
            raise end


def run_watch(settings: Settings, *, as_json: bool) -> int:
    """Follow until the job ends; a line for each change."""
    return run(_watch(settings, as_json=as_json))


async def _watch(settings: Settings, *, as_json: bool) -> int:
    session = open_session(settings, remember=True)
    facts = session.feed.facts()
    last: Snapshot | None = None
    said = ""
    try:
        async for fact in facts:
            if isinstance(fact, Noticed) and not as_json:
                click.echo(fact.text, err=True)
            if not isinstance(fact, SnapshotTaken):
                continue
            snapshot = fact.snapshot
            said = tell_link(snapshot, said)
            if last is None or _changed(last, snapshot):
                click.echo(json.dumps(reading(snapshot)) if as_json else line(snapshot))
                last = snapshot
            if snapshot.verdict.cause == "finished":
                return EXIT_CODES[snapshot.verdict.verdict]
    finally:
        await facts.aclose()
    return BLIND


def tell_link(snapshot: Snapshot, said: str) -> str:
    """Say on stderr why there is no connection, once for each reason; give what was said last."""
    link = snapshot.link
    reason = link.reason if link.state in {"lost", "refused"} else ""
    if reason and reason != said:
        click.echo(reason, err=True)
    return reason or ("" if link.state == "up" else said)


def _changed(old: Snapshot, new: Snapshot) -> bool:
    """Whether something happened that is worth a line: verdict, cause, the link, or a dataset's state."""
    before, after = old.verdict, new.verdict
    states = [(dataset.name, dataset.state) for dataset in old.datasets]
    return (
        (before.verdict, before.cause) != (after.verdict, after.cause)
        or old.link.state != new.link.state
        or states != [(dataset.name, dataset.state) for dataset in new.datasets]
    )


# ---------------------------------------------------------------- ping


def run_ping(settings: Settings, *, as_json: bool) -> int:
    """Each proof of life, with its latency. Exit code: 0 well, 1 the server is not, 30 the host can't be seen."""
    return run(_ping(settings, as_json=as_json))


async def _ping(settings: Settings, *, as_json: bool) -> int:
    from console.proofs import prove  # noqa: PLC0415 - only this command needs it

    proofs = await prove(open_session(settings))
    if as_json:
        proven = [
            {"name": proof.name, "ok": proof.ok, "latency_s": proof.latency_s, "detail": proof.detail}
            for proof in proofs
        ]
        click.echo(json.dumps({"at": now().isoformat(timespec="seconds"), "proofs": proven}))
    else:
        for proof in proofs:
            latency = "      --" if proof.latency_s is None else f"{proof.latency_s * 1000:6,.0f} ms"
            click.echo(f"{'ok  ' if proof.ok else 'FAIL'}  {proof.name:<16} {latency}  {proof.detail}")
    if not proofs[0].ok:
        return BLIND
    return 0 if all(proof.ok for proof in proofs if proof.vital) else CANNOT


# ---------------------------------------------------------------- logs


def run_logs(settings: Settings, which: str, pattern: re.Pattern[str] | None, *, follow: bool) -> int:
    """Print a log, cleaned."""
    source = Source(which)
    part = settings.server if source is Source.SERVER else settings.job
    if part.log is None and part.log_command is None:
        click.echo(f"The config names no log of the {which}; set {which}.log.", err=True)
        return 2
    return run(_logs(settings, source, pattern, follow=follow))


async def _logs(settings: Settings, source: Source, pattern: re.Pattern[str] | None, *, follow: bool) -> int:
    session = open_session(settings, every_line=True)
    facts = session.feed.facts()
    settled = asyncio.create_task(session.feed.settle(60.0))
    said = ""
    try:
        async for fact in facts:
            if isinstance(fact, LinesArrived):
                _print(fact.lines, source, pattern)
            elif isinstance(fact, Noticed):
                click.echo(fact.text, err=True)
            else:
                said = tell_link(fact.snapshot, said) if follow else ""
                if settled.done() and not follow:
                    break
    finally:
        settled.cancel()
        await facts.aclose()
    snapshot = session.feed.snapshot(now())
    view = next((log for log in snapshot.logs if log.source == source), None)
    if view is not None and view.state not in {"", "following"} and not view.lines:
        click.echo(f"{view.path}: {view.reason}. `longwait doctor` checks the paths.", err=True)
        return CANNOT
    if snapshot.link.state != "up":
        click.echo(snapshot.link.reason, err=True)
        return BLIND
    return 0


def _print(lines: tuple[LogLine, ...], source: Source, pattern: re.Pattern[str] | None) -> None:
    for logged in lines:
        if logged.source == source and (pattern is None or pattern.search(logged.text)):
            click.echo(logged.text)


# ---------------------------------------------------------------- start, stop, restart


def run_act(settings: Settings, verb: str, script: Path | None, *, dry_run: bool, yes: bool) -> int:
    """Show the plan, ask, do it."""
    return run(_act(settings, Verb(verb), script, dry_run=dry_run, yes=yes))


async def _act(settings: Settings, verb: Verb, script: Path | None, *, dry_run: bool, yes: bool) -> int:
    session = open_session(settings)
    if session.control is None:
        click.echo("The config does not say how the job is found or started; set job.command or job.match.", err=True)
        return 2
    if verb is Verb.RESTART and script is None:
        script = new_script_of(settings)
    await session.host.connect()
    try:
        plan = await session.control.plan(verb, script)
        show(plan)
        if plan.refusal is not None:
            return CANNOT
        if dry_run:
            return 0
        if not yes and not _agreed(verb):
            click.echo("Nothing was done.")
            return CANNOT
        return await _carry_out(session.control, plan)
    finally:
        await session.host.close()


def show(plan: ActionPlan) -> None:
    """Print a plan for a person."""
    click.echo(plan.title)
    for planned in plan.lines:
        click.echo(f"  {planned}")
    for changed in plan.diff:
        click.echo(changed)
    if plan.refusal is not None:
        click.echo(plan.refusal, err=True)


def _agreed(verb: Verb) -> bool:
    """Ask. The loop stands still meanwhile, so Ctrl-C is taken back from it: it must end the question at once."""
    if not sys.stdin.isatty():
        click.echo("Not asked, since this is no terminal; give --yes to act.", err=True)
        return False
    former = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return click.confirm(f"{verb.capitalize()} the job?", default=False)
    except click.Abort:
        click.echo()
        return False
    finally:
        signal.signal(signal.SIGINT, former)


async def _carry_out(control: Controller, plan: ActionPlan) -> int:
    failed = stopping = False
    try:
        async for step in control.carry_out(plan):
            stopping = stopping or (step.name == STOP_STEP and bool(step.detail))
            if step.state == "running":
                continue
            took = "" if step.seconds is None else f" ({step.seconds:.1f} s)"
            click.echo(f"{step.state:<7} {step.name}{took}{': ' + step.detail if step.detail else ''}")
            failed = step.state == "failed"
    except asyncio.CancelledError:
        if stopping:
            click.echo(WHEN_LEFT, err=True)
        raise
    return CANNOT if failed else 0
