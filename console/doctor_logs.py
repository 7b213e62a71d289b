"""The logs, as the doctor sees them: whether a command gives one, and how much of its lines is understood."""

from __future__ import annotations

import asyncio
import shlex
import time
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from console.doctor_host import Check
from console.job.events import Source
from console.job.lines import clean
from console.job.stamps import StampReader
from console.job.tracker import Tracker
from console.job.user_patterns import describe, pattern_format
from console.paths import followed_path
from console.planned import plan_of
from remote.command_tail import ENDED_WELL, CommandChunk, follow_command
from remote.errors import RemoteError
from remote.frames import Beat, Waiting

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Sequence
    from datetime import datetime

    from console.config import Settings
    from remote.command_tail import CommandEvent
    from remote.host import Host

SAMPLE_BYTES = 262_144
"""Bytes of a log that are parsed to see how well it is understood: some thousand lines."""

TRY_S = 10.0
"""Seconds that a log's command has for its first lines. `kubectl logs` from a distant cluster takes some."""

UNDERSTOOD_WELL = 0.9
"""Below this share of understood lines, the shapes that were not understood are listed."""


@dataclass(frozen=True, slots=True)
class CommandTried:
    """What came of running a log's command for a moment.

    Attributes:
        data: Its first bytes, whole lines.
        ended: Why it ended, as a sentence; empty while it runs.
        seconds: How long that took.
    """

    data: bytes
    ended: str
    seconds: float


async def check_logs(host: Host, settings: Settings, clock: Callable[[], datetime]) -> list[Check]:
    """Each log that the config names, read for a moment."""
    server, job = settings.server, settings.job
    checks = [await _file(host, Source.SERVER, path, settings, clock) for path in server.log_paths]
    if job.log is not None:
        checks.append(await _file(host, Source.JOB, job.log, settings, clock))
    for source, command in ((Source.SERVER, server.log_command), (Source.JOB, job.log_command)):
        if command is not None:
            checks += await _command(host, source, command, settings, clock)
    return checks


async def _file(host: Host, source: Source, path: str, settings: Settings, clock: Callable[[], datetime]) -> Check:
    """Parse the end of a file."""
    words = ["tail", "-c", str(SAMPLE_BYTES), "--", followed_path(settings, path)]
    try:
        done = await host.run(words, timeout_s=20.0)
    except RemoteError:
        return Check(f"{source} lines", "warn", "nothing to read yet", ("The file check above says why.",))
    # The first line of a sample is cut somewhere in its middle, unless the sample is the whole file.
    body = done.stdout if len(done.stdout) < SAMPLE_BYTES else done.stdout.partition(b"\n")[2]
    return _understood(source, body, settings, clock())


async def _command(
    host: Host, source: Source, command: Sequence[str], settings: Settings, clock: Callable[[], datetime]
) -> list[Check]:
    """Run a log's command for a moment, and parse what came."""
    name = f"{source} log"
    by_hand = f"By hand: {'' if settings.host == 'local' else f'ssh {settings.host} '}{shlex.join(command)}"
    try:
        tried = await try_command(host, command)
    except RemoteError as error:
        return [Check(name, "fail", error.message, (by_hand,))]
    lines = tried.data.count(b"\n")
    if tried.ended and (not lines or ENDED_WELL not in tried.ended):
        return [Check(name, "fail", tried.ended, (by_hand,))]
    if not lines:
        detail = f"`{shlex.join(command)}` runs, but printed nothing in {tried.seconds:.0f} s"
        return [
            Check(name, "warn", detail, ("Is the log empty so far? Its lines are picked up when they come.", by_hand))
        ]
    understood = _understood(source, tried.data, settings, clock())
    if tried.ended:
        remedy = "A log's command must stay and follow the log, as `tail -F` does; it is started again and again now."
        detail = f"`{shlex.join(command)}` gave {lines:,} lines and ended by itself"
        return [Check(name, "warn", detail, (remedy,)), understood]
    detail = f"`{shlex.join(command)}` gave {lines:,} lines in {tried.seconds:.1f} s"
    return [Check(name, "ok", detail), understood]


async def try_command(host: Host, command: Sequence[str], timeout_s: float = TRY_S) -> CommandTried:
    """Run a log's command until its past was read, ``SAMPLE_BYTES`` have come, it ended, or ``timeout_s`` are over.

    Raises:
        RemoteError: The host ran nothing.
    """
    began = time.monotonic()
    data, ended = bytearray(), ""
    # A tool's newest lines are asked for; another command prints what it prints, and the first of that is taken.
    events = follow_command(host, command, last_bytes=SAMPLE_BYTES)
    try:
        async with asyncio.timeout(timeout_s), aclosing(events):
            ended = await _first_of(events, data)
    except TimeoutError:
        ended = ""
    whole = bytes(data[: data.rfind(b"\n") + 1]) if not ended else bytes(data)
    return CommandTried(whole, ended, time.monotonic() - began)


async def _first_of(events: AsyncGenerator[CommandEvent, None], data: bytearray) -> str:
    """Gather what a command prints first; gives why it ended."""
    async for event in events:
        match event:
            case CommandChunk(data=more):
                data += more[: SAMPLE_BYTES - len(data)]
                if len(data) >= SAMPLE_BYTES:
                    return ""
            case Beat() if data:
                return ""
            case Waiting(reason=reason):
                return reason
    return ""


def _understood(source: Source, body: bytes, settings: Settings, now: datetime) -> Check:
    """Say how much of some lines is understood, and what the user's own patterns found."""
    name, plan = f"{source} lines", plan_of(settings)
    formats = tuple(pattern_format(each.name, each.regex, each.sample or "") for each in settings.job.patterns)
    tracker = Tracker(plan, formats=formats)
    tracker.feed(source, body + b"\n", now)
    view = next((log for log in tracker.snapshot(now).logs if log.source == source), None)
    if view is None or view.understood is None:
        return Check(name, "warn", "the log is empty", ("It will be read as soon as it is written.",))
    detail = f"{view.understood:.0%} of {view.lines:,} lines understood"
    if source is Source.JOB and formats:
        stamps = StampReader(plan.zone)
        texts = [stamps.find(text, now).rest for text in map(clean, body.decode("utf-8", "replace").splitlines())]
        hits = describe(formats, texts)
        detail += "; " + ", ".join(f"pattern {each} found {count:,}" for each, count in hits)
    if view.understood >= UNDERSTOOD_WELL:
        return Check(name, "ok", detail)
    shapes = tuple(f"not understood {count:,} times: {shape}" for shape, count in tracker.unparsed(source)[:5])
    return Check(name, "warn", detail, shapes)
