"""The inference server started, stopped and restarted by its own commands or its unit. asyncio only, no screen.

As with the job, a plan only looks, and its carrying out is told step by step. What serves may serve others, too, and
takes minutes to come back, so whoever asks for it is asked louder than for the job: for the host's name.
"""

from __future__ import annotations

import asyncio
import secrets
import shlex
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol
from urllib.parse import urlsplit

from console.acts import Step
from console.job.lines import clean
from console.job.units import duration
from console.journal import Kind
from remote.control_server import LOG, WAIT_S, run_server_command, unit_command
from remote.discover import clients_of
from remote.errors import CommandFailed, RemoteError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Iterator
    from datetime import datetime

    from console.config import ServerControlSettings, Settings
    from console.job.snapshot import ServerView, Snapshot
    from console.session import Session

UP_S = 3_600.0
"""Seconds that a server is waited for: large weights from a slow disk take half of that."""

END_S = 600.0
"""Seconds that a command may take which must have ended before it can be gone on: a stop waits for requests to end."""

OLD_S = 60.0
"""Seconds for which the log's word of a dead server may be that of the former one: before a new one logs anything, it
loads its libraries."""

PROBE_S = 2.0
"""Seconds between two health checks while it starts."""

UNHEARD = "not heard of yet"
"""The phase of a server whose log says nothing."""

SERVE_STEP = "wait until it serves"
"""The step in which the phases of the server's start are told."""

DONE = {"start": "The server is started.", "stop": "The server is stopped.", "restart": "The server is restarted."}

GOES_ON = "The command goes on by itself."

CLOSED = "The console was closed before its end was seen."

PORTS = {"http": 80, "https": 443}


class ServerFailed(Exception):  # noqa: N818 - it is raised here alone, and reads as what it says
    """A step of it can't be done, for a reason that is no fault of the link: one sentence."""


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be done to the server.

    Attributes:
        verb: ``start``, ``stop`` or ``restart``.
        commands: The commands on the host, in order, each a list of words.
    """

    verb: str
    commands: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class ServerPlan:
    """What would be done, shown before it is done.

    Attributes:
        order: What.
        title: One line: the act and the host.
        lines: What will be run, what it costs and whom it hits, a sentence each.
        host: What must be typed for it to be done.
        why: The reason that the operator gave, or the verdict at the time; for the journal.
    """

    order: Order
    title: str
    lines: tuple[str, ...]
    host: str
    why: str = ""


class _Known:
    """What the log said of the server when an act began: said again, it is no news, and may be of the former server.

    Attributes:
        has_news: The log has said something else since.
        was_down: A health check has failed since.
        goes_on: The last command had not ended when it was watched no longer.
    """

    def __init__(self, server: ServerView) -> None:
        self._before = (server.phase, server.trouble)
        self.has_news = self.was_down = self.goes_on = False

    def take(self, server: ServerView) -> None:
        """Take in what the log says now."""
        self.has_news = self.has_news or (server.phase, server.trouble) != self._before


class ServerControls(Protocol):
    """What the screen and the commands need of the server's control."""

    def can(self, verb: str) -> bool:
        """Whether the config says how."""
        ...

    async def plan(self, verb: str) -> ServerPlan:
        """Say what would be done; changes nothing."""
        ...

    def carry_out(self, plan: ServerPlan) -> AsyncGenerator[Step]:
        """Do it; a step that fails is the last one."""
        ...


def order_of(control: ServerControlSettings, verb: str) -> Order | None:
    """What the config gives for a verb; None when it gives nothing."""
    if control.unit is not None:
        return Order(verb, (unit_command(verb, control.unit, control.unit_of),))
    own = {"start": control.start, "stop": control.stop, "restart": control.restart}[verb]
    if own is not None:
        return Order(verb, (tuple(own),))
    if verb == "restart" and control.start is not None and control.stop is not None:
        return Order(verb, (tuple(control.stop), tuple(control.start)))
    return None


def unknown_words(verb: str) -> str:
    """That the config says nothing of it, and what to do."""
    return f"The config does not say how to {verb} the server; set server.control."


def plan_lines(order: Order, settings: Settings, snapshot: Snapshot) -> Iterator[str]:
    """What will be run, and what that costs."""
    for argv in order.commands:
        yield f"Run on the host: {clean(shlex.join(argv))}"
    yield f"Its output is added to {clean(settings.server.control.log or LOG)} there; it goes on without this console."
    option = snapshot.restart_server
    if order.verb != "start":
        yield "Every request in flight fails, also those of others."
        yield f"Cost: {option.words}" if option is not None else "What it costs is not known: no run has been seen."


def _not_run(order: Order, begun: int) -> str:
    """The commands that are left when the step of that number, from 1, was the last: a sentence, or nothing."""
    left = [clean(shlex.join(argv)) for argv in order.commands[begun:]]
    return f" Not run: {'; '.join(left)}." if left else ""


class ServerControl:
    """The server of one run; a ``ServerControls``.

    Args:
        session: The run.
        clock: The time now, UTC.
    """

    def __init__(self, session: Session, clock: Callable[[], datetime]) -> None:
        self._session = session
        self._clock = clock

    def can(self, verb: str) -> bool:
        """Whether the config says how."""
        return order_of(self._session.settings.server.control, verb) is not None

    async def plan(self, verb: str) -> ServerPlan:
        """Say what would be done; changes nothing.

        Raises:
            RemoteError: The config does not say how.
        """
        settings = self._session.settings
        order = order_of(settings.server.control, verb)
        if order is None:
            raise RemoteError(unknown_words(verb))
        lines = (*plan_lines(order, settings, self._snapshot()), *await self._who_asks())
        return ServerPlan(order, f"{verb.capitalize()} the server on {settings.host}", lines, settings.host)

    async def carry_out(self, plan: ServerPlan) -> AsyncGenerator[Step]:
        """Do it, step by step, and follow a server that comes up until it serves; never raises ``RemoteError``."""
        act, journal, verb = secrets.token_hex(4), self._session.journal, plan.order.verb
        journal.write(Kind.INTENT, plan.title, why=plan.why, act=act)
        failed, begun = CLOSED, 0
        try:
            last: Step | None = None
            async with aclosing(self._steps(plan.order)) as steps:
                async for last in steps:
                    begun += last.state == "running" and not last.detail
                    failed = CLOSED + _not_run(plan.order, begun)
                    yield last
            failed = last.detail if last is not None and last.state == "failed" else ""
        finally:
            more = {"server": verb, "ok": not failed}
            entry = journal.write(
                Kind.ACTION, plan.title, why=plan.why, outcome=failed or DONE[verb], act=act, more=more
            )
        if self._session.control is not None:
            await self._session.control.share(entry)

    async def _steps(self, order: Order) -> AsyncGenerator[Step]:
        known = _Known(self._snapshot().server)
        ends = [order.verb == "stop" or argv is not order.commands[-1] for argv in order.commands]
        works = [
            (f"run {clean(argv[0])}", self._command(argv, known, must_end=must_end))
            for argv, must_end in zip(order.commands, ends, strict=True)
        ]
        if order.verb != "stop":
            works.append((SERVE_STEP, self._until_ready(known)))
        for begun, (name, work) in enumerate(works, 1):
            began, detail = self._clock(), ""
            yield Step(name, "running")
            try:
                async with aclosing(work) as told:
                    async for detail in told:
                        yield Step(name, "running", detail)
            except (RemoteError, ServerFailed) as error:
                goes_on = f" {GOES_ON}" if isinstance(error, RemoteError) and error.retryable else ""
                words = f"{error}{goes_on}{_not_run(order, begun)}"
                yield Step(name, "failed", words, self._since(began))
                return
            yield Step(name, "done", detail, self._since(began))

    def _since(self, began: datetime) -> float:
        return (self._clock() - began).total_seconds()

    def _snapshot(self) -> Snapshot:
        return self._session.feed.snapshot(self._clock())

    async def _who_asks(self) -> list[str]:
        """Who is connected to the server now, as far as the host can see it."""
        settings = self._session.settings
        parts = urlsplit(settings.server.url)
        port = parts.port or PORTS.get(parts.scheme)
        if port is None:
            return []
        try:
            clients, unseen = await clients_of(self._session.host, settings.job.python, port)
        except RemoteError as error:
            return [f"Who is connected to it could not be seen: {error.message}"]
        told = [
            f"Connected: {clean(each.command) or clean(each.address) or each.kind} ({each.kind}, {each.connections})"
            for each in clients
            if each.kind not in {"console", "tunnel", "probe"}
        ]
        return [*told, *(f"Not seen: {clean(text)}" for text in unseen)]

    async def _command(self, argv: tuple[str, ...], known: _Known, *, must_end: bool) -> AsyncGenerator[str]:
        """Run one command, telling how far it is."""
        settings = self._session.settings
        control, python = settings.server.control, settings.job.python
        log, cwd, wait_s = control.log or LOG, control.dir or "", END_S if must_end else WAIT_S
        work = run_server_command(self._session.host, python, argv, log=log, cwd=cwd, wait_s=wait_s)
        try:
            async with aclosing(work) as steps:
                async for step in steps:
                    known.take(self._snapshot().server)
                    known.goes_on = step.step == "goes_on"
                    if known.goes_on and must_end:
                        raise ServerFailed(f"{clean(argv[0])} has not ended within {duration(wait_s)}. {GOES_ON}")
                    if step.failed:
                        tail = "".join(f"\n  {clean(line)}" for line in step.tail)
                        words = f"{clean(argv[0])} ended with status {step.status}; its output is in {clean(step.log)}."
                        raise ServerFailed(words + tail)
                    word = {"ended": "ended", "goes_on": "goes on"}.get(step.step, "runs")
                    yield f"process {step.pid} {word}, {duration(step.seconds)}"
        except CommandFailed as error:
            raise ServerFailed(clean(error.message)) from error

    async def _until_ready(self, known: _Known) -> AsyncGenerator[str]:
        """Tell the phases of the server's start until it serves."""
        said, began = "", self._clock()
        since = began
        while self._since(began) < UP_S:
            server = self._snapshot().server
            phase = server.phase or UNHEARD
            said, since = (said, since) if phase == said else (phase, self._clock())
            yield f"{clean(phase)}, {duration(self._since(since))}"
            known.take(server)
            if phase == "dead" and server.trouble and (known.has_news or self._since(began) >= OLD_S):
                raise ServerFailed(f"The server has ended: {clean(server.trouble)}")
            answers = (await self._session.feed.ping()).ok
            known.was_down = known.was_down or not answers
            # While its command goes on, what is ready and answers may still be the former server.
            is_new = not known.goes_on or known.has_news or known.was_down
            if answers and (phase == UNHEARD or (phase == "ready" and is_new)):
                return
            await asyncio.sleep(PROBE_S)
        raise ServerFailed(f"The server did not serve within {duration(UP_S)}; its log says why.")


if TYPE_CHECKING:
    _CHECKED: type[ServerControls] = ServerControl
