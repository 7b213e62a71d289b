"""The proofs of life: each asked now, each with its latency."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from console.feed_probes import ServerProbe
from console.job.events import MetricsMissing
from console.job.metrics import parse_metrics
from remote.errors import RemoteError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from console.control import JobControl
    from console.session import Session
    from remote.host import Host


@dataclass(frozen=True, slots=True)
class Proof:
    """One answer to "is it alive?".

    Attributes:
        name: What was asked.
        ok: Whether it spoke for life.
        latency_s: Seconds until the answer; None when none came.
        detail: What came, or why nothing did.
        vital: False for what a healthy host may lack, such as a metrics page.
    """

    name: str
    ok: bool
    latency_s: float | None
    detail: str
    vital: bool = True


async def prove(session: Session) -> tuple[Proof, ...]:
    """Ask for all proofs; connects and closes the host."""
    try:
        return tuple([proof async for proof in proofs(session)])
    finally:
        await session.host.close()


async def proofs(session: Session) -> AsyncIterator[Proof]:
    """Give each proof as it comes, in the order in which each needs the one before; connects the host."""
    login = await _connect(session.host)
    yield login
    if not login.ok:
        return
    yield await _round_trip(session.host)
    server = ServerProbe(session.host, session.settings.server)
    yield await _health(server)
    if session.settings.server.metrics:
        yield await _metrics(server)
    if session.control is not None:
        yield await _process(session.control)


async def _connect(host: Host) -> Proof:
    began = time.monotonic()
    try:
        await host.connect()
    except RemoteError as error:
        return Proof("connection", ok=False, latency_s=None, detail=error.message)
    return Proof("connection", ok=True, latency_s=time.monotonic() - began, detail=f"to {host.name}")


async def _round_trip(host: Host) -> Proof:
    began = time.monotonic()
    try:
        await host.run(["true"], timeout_s=10.0)
    except RemoteError as error:
        return Proof("command", ok=False, latency_s=None, detail=error.message)
    return Proof("command", ok=True, latency_s=time.monotonic() - began, detail="a command ran and came back")


async def _health(server: ServerProbe) -> Proof:
    try:
        probe = await server.health(by_hand=True)
    except RemoteError as error:
        return Proof("health", ok=False, latency_s=None, detail=error.message)
    detail = probe.error or f"{probe.path} answered {probe.status}"
    return Proof("health", probe.ok, probe.latency_s, detail)


async def _metrics(server: ServerProbe) -> Proof:
    began = time.monotonic()
    try:
        page = await server.metrics()
    except RemoteError as error:
        return Proof("metrics", ok=False, latency_s=None, detail=error.message, vital=False)
    took = time.monotonic() - began
    if isinstance(page, MetricsMissing):
        return Proof("metrics", ok=False, latency_s=took, detail=page.reason, vital=False)
    read = parse_metrics(page)
    if read is None:
        return Proof("metrics", ok=False, latency_s=took, detail="the page has no series that is known", vital=False)
    return Proof("metrics", ok=True, latency_s=took, detail=f"{read.running} running, {read.queue} queued", vital=False)


async def _process(control: JobControl) -> Proof:
    began = time.monotonic()
    try:
        fact = await control.process_fact()
    except RemoteError as error:
        return Proof("job", ok=False, latency_s=None, detail=error.message)
    detail = f"pid {fact.pid} runs" if fact.alive else "no process of the job runs"
    return Proof("job", fact.alive, time.monotonic() - began, detail)
