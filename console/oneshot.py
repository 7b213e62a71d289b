"""The commands without a screen that only look: status, watch, ping, logs."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import click

from console.feed import LinesArrived, Noticed, SnapshotTaken
from console.job.events import Source
from console.job.reading import EXIT_CODES, line, reading, text
from console.journal_verdicts import VerdictNotes
from console.session import now, open_session
from remote.errors import RemoteError

if TYPE_CHECKING:
    import re
    from collections.abc import AsyncIterator, Coroutine

    from console.config import Settings
    from console.control import LeftOver
    from console.feed import Fact
    from console.job.events import LogLine
    from console.job.snapshot import Snapshot
    from console.ping_asks import Sign
    from console.session import Session

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
    async with consumed(session.feed.facts()):
        await session.feed.settle(timeout_s)
        snapshot = session.feed.snapshot(now())
        left = await _left_over(session, snapshot)
    if as_json:
        click.echo(json.dumps({**reading(snapshot), "half_done": _half_done_values(left)}))
    else:
        click.echo(text(snapshot))
        click.echo("".join(f"{line}\n" for line in _half_done_lines(left)), nl=False)
    return EXIT_CODES[snapshot.verdict.verdict]


async def _left_over(session: Session, snapshot: Snapshot) -> LeftOver | None:
    """What a console has left half done; a host that is not seen is not asked."""
    if session.control is None or snapshot.link.state != "up":
        return None
    try:
        return await session.control.left_over()
    except RemoteError as error:
        click.echo(f"Whether an act was broken off could not be seen: {error.message}", err=True)
        return None


def _half_done_values(left: LeftOver | None) -> dict[str, object] | None:
    if left is None:
        return None
    return {"what": left.title, "now": list(left.lines), "finish": None if left.plan is None else left.plan.verb.value}


def _half_done_lines(left: LeftOver | None) -> tuple[str, ...]:
    if left is None:
        return ()
    finish = ("`longwait finish` finishes it.",) if left.plan is not None else ("Nothing is left to do.",)
    return ("", f"Half done: {left.title}", *left.lines, *finish)


@asynccontextmanager
async def consumed(facts: AsyncIterator[Fact]) -> AsyncIterator[None]:
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
    notes = VerdictNotes(session.journal)
    last: Snapshot | None = None
    said = ""
    try:
        async for fact in facts:
            if isinstance(fact, Noticed) and not as_json:
                click.echo(fact.text, err=True)
            if not isinstance(fact, SnapshotTaken):
                continue
            snapshot = fact.snapshot
            notes.take(snapshot)
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


PAST = 20
"""Former checks of a sign that stand behind it."""


def run_ping(settings: Settings, *, answer: bool, as_json: bool) -> int:
    """Each sign of life, with latency and age. Exit code: 0 well, 1 the server is not, 30 the host can't be seen."""
    return run(_ping(settings, answer=answer, as_json=as_json))


async def _ping(settings: Settings, *, answer: bool, as_json: bool) -> int:
    from console.pings import Pinger, history_of, in_order, strip  # noqa: PLC0415 - only this command needs them

    session = open_session(settings)
    pinger = Pinger(session, history_of(session), now)
    try:
        login = await pinger.connect()
        signs = [login]
        if login.state == "ok":
            signs += [sign async for sign in pinger.signs(answer=answer)]
    finally:
        await session.host.close()
    if as_json:
        told = [{"name": sign.name, "ok": _as_bool(sign), **_figures(sign)} for sign in in_order(signs)]
        click.echo(json.dumps({"at": now().isoformat(timespec="seconds"), "proofs": told}))
    else:
        past = pinger.history.pings()
        for sign in in_order(signs):
            click.echo(f"{_sign_line(sign)}  {strip(past, sign.name, PAST)}".rstrip())
    if login.state != "ok":
        return BLIND
    return 0 if all(sign.state != "failed" for sign in signs if sign.vital) else CANNOT


def _as_bool(sign: Sign) -> bool | None:
    return None if sign.state == "unknown" else sign.state == "ok"


def _figures(sign: Sign) -> dict[str, object]:
    return {"latency_s": sign.latency_s, "age_s": sign.age_s, "detail": sign.detail}


def _sign_line(sign: Sign) -> str:
    said = {"ok": "ok  ", "failed": "FAIL", "unknown": "--  "}[sign.state]
    latency = "      --" if sign.latency_s is None else f"{sign.latency_s * 1000:6,.0f} ms"
    return f"{said}  {sign.name:<16} {latency}  {sign.detail}"


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
            elif isinstance(fact, SnapshotTaken):
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
