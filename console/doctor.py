"""``longwait doctor``: tries each thing that the config needs, and says what is wrong and how to mend it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from console.doctor_host import Check, check_clock, check_files, check_key, check_lingering, check_python
from console.job.events import Source
from console.job.lines import clean
from console.job.stamps import StampReader
from console.job.tracker import Tracker
from console.job.user_patterns import describe, pattern_format
from console.oneshot import BLIND, CANNOT, run
from console.paths import followed_path
from console.planned import plan_of
from console.proofs import Proof, proofs
from console.session import now, open_session
from remote.errors import RemoteError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from console.config import Settings
    from console.job.formats import Format
    from console.job.plan import Plan
    from remote.host import Host

SAMPLE_BYTES = 262_144
"""Bytes of a log's end that are parsed to see how well it is understood: some thousand lines."""

UNDERSTOOD_WELL = 0.9
"""Below this share of understood lines, the shapes that were not understood are listed."""

SIGNS = {"ok": "ok  ", "warn": "warn", "fail": "FAIL"}

REMEDIES = {
    "health": "Is the server started, and is server.url its address as the host sees it?",
    "metrics": "Nothing else needs it; SGLang serves it when started with --enable-metrics.",
    "job": "`longwait start` starts it; job.match or job.script finds one that was started by hand.",
}
"""What to do when a proof fails."""


def run_doctor(settings: Settings) -> int:
    """Print each check as it ends. Exit code: 0 nothing failed, 1 something did, 30 the host can't be seen."""
    return run(_doctor(settings))


async def _doctor(settings: Settings) -> int:
    failed = 0
    async for check in examine(settings):
        click.echo(f"{SIGNS[check.state]}  {check.name:<12} {check.detail}")
        for remedy in check.remedies:
            click.echo(f"      {'':<12} {remedy}")
        if check.name == "connection" and check.state == "fail":
            return BLIND
        failed += check.state == "fail"
    click.echo(f"{failed} failed; mend the first, then run it again." if failed else "Nothing failed.")
    return CANNOT if failed else 0


async def examine(settings: Settings) -> AsyncIterator[Check]:
    """Give each check as it ends, in the order in which each needs those before."""
    for check in check_key(settings):
        yield check
    session = open_session(settings)
    try:
        async for proof in proofs(session):
            yield _of_proof(proof)
            if proof.name == "command" and proof.ok:
                for check in await _of_host(session.host, settings):
                    yield check
    finally:
        await session.host.close()


async def _of_host(host: Host, settings: Settings) -> list[Check]:
    """What is seen by running commands there."""
    return [
        *await check_clock(host, settings, now),
        *await check_files(host, settings),
        *await _logs(host, settings),
        *_commands(settings),
        *await check_python(host, settings),
        *await check_lingering(host),
    ]


def _of_proof(proof: Proof) -> Check:
    latency = "" if proof.latency_s is None else f" ({proof.latency_s * 1000:,.0f} ms)"
    state = "ok" if proof.ok else "fail" if proof.vital else "warn"
    remedies = () if proof.ok or proof.name not in REMEDIES else (REMEDIES[proof.name],)
    return Check(proof.name, state, proof.detail + latency, remedies)


def _commands(settings: Settings) -> list[Check]:
    parts = (("server", settings.server.log_command), ("job", settings.job.log_command))
    return [
        Check(f"{name} log", "ok", f"from {' '.join(command)}", (f"`longwait logs {name}` shows whether it comes.",))
        for name, command in parts
        if command is not None
    ]


async def _logs(host: Host, settings: Settings) -> list[Check]:
    logs = (*((Source.SERVER, path) for path in settings.server.log_paths), (Source.JOB, settings.job.log))
    return [
        await _understood(host, source, followed_path(settings, path), plan_of(settings), _formats(settings))
        for source, path in logs
        if path is not None
    ]


def _formats(settings: Settings) -> tuple[Format, ...]:
    return tuple(pattern_format(each.name, each.regex, each.sample or "") for each in settings.job.patterns)


async def _understood(host: Host, source: Source, path: str, plan: Plan, formats: tuple[Format, ...]) -> Check:
    """Parse the end of a log and say how much of it was understood."""
    name = f"{source} lines"
    try:
        done = await host.run(["tail", "-c", str(SAMPLE_BYTES), "--", path], timeout_s=20.0)
    except RemoteError:
        return Check(name, "warn", "nothing to read yet", ("The file check above says why.",))
    tracker = Tracker(plan, formats=formats)
    # The first line of a sample is cut somewhere in its middle, unless the sample is the whole file.
    body = done.stdout if len(done.stdout) < SAMPLE_BYTES else done.stdout.partition(b"\n")[2]
    tracker.feed(source, body + b"\n", now())
    view = next((log for log in tracker.snapshot(now()).logs if log.source == source), None)
    if view is None or view.understood is None:
        return Check(name, "warn", "the log is empty", ("It will be read as soon as it is written.",))
    detail = f"{view.understood:.0%} of the last {view.lines:,} lines understood"
    if source is Source.JOB and formats:
        stamps = StampReader(plan.zone)
        texts = [stamps.find(text, now()).rest for text in map(clean, body.decode("utf-8", "replace").splitlines())]
        hits = describe(formats, texts)
        detail += "; " + ", ".join(f"pattern {name} found {count:,}" for name, count in hits)
    if view.understood >= UNDERSTOOD_WELL:
        return Check(name, "ok", detail)
    shapes = tuple(f"not understood {count:,} times: {shape}" for shape, count in tracker.unparsed(source)[:5])
    return Check(name, "warn", detail, shapes)
