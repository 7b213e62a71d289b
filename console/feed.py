"""What comes in: remote text, through the tracker, as facts. asyncio only, no screen.

The console, ``status`` and ``watch`` consume the same facts.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from console.facts import Fact, FactSource, LinesArrived, Noticed, SnapshotTaken
from console.feed_outbox import Outbox
from console.feed_probes import NO_METRICS_S, HostClock, ServerProbe, host_clock, repeat
from console.feed_sources import SourceFollower
from console.job.events import Event, HealthProbe, LinkFact, MetricsMissing, Source
from console.job.plan import Plan, PlannedDataset
from console.job.tracker import Tracker
from remote.errors import LinkLost, RemoteError
from remote.link import Link

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
    from datetime import datetime

    from console.config import Settings
    from console.job.events import ProcessFact
    from console.job.snapshot import Snapshot
    from remote.host import Host
    from remote.link import LinkState

__all__ = ["Fact", "FactSource", "Feed", "LinesArrived", "Noticed", "SnapshotTaken", "plan_of"]

MIB = 1_048_576

JOB_LOG_BYTES = 64 * MIB
"""The job's log and progress file are read from their beginning, as far as this goes: a run of 80,000 prompts has
about 1 MiB of log and 16 MiB of progress file; what is longer was not written by a runner that prints lines."""

SNAPSHOT_EVERY_S = 0.25
"""Seconds between snapshots while things change: faster than that nobody reads."""

QUIET_SNAPSHOT_S = 5.0
"""Seconds between snapshots while nothing changes: time itself can change a verdict."""


class Feed:
    """The live feed: one link, the logs over it, and what is asked now and then.

    Args:
        host: The machine; connected, watched and closed by this feed.
        settings: What to follow and how often to ask.
        look: Asks for the job's process; None where there is nothing to look for.
        clock: The time now, UTC.
    """

    def __init__(
        self,
        host: Host,
        settings: Settings,
        *,
        look: Callable[[], Awaitable[ProcessFact]] | None = None,
        clock: Callable[[], datetime],
    ) -> None:
        self._host = host
        self._settings = settings
        self._look = look
        self._clock = clock
        self._outbox = Outbox()
        self._link = Link(host, self._on_link, clock=clock)
        self._server = ServerProbe(host, settings.server)
        self._plan = plan_of(settings)
        self._tracker = Tracker(self._plan)
        self._link_fact = LinkFact("connecting", f"connecting to {host.name}")
        self._tracker.note(self._link_fact, clock())
        self._clock_known = asyncio.Event()
        self._followers = self._make_followers()
        self._asked = {name: asyncio.Event() for name in ("health", "metrics", "process")}
        self._unreachable = asyncio.Event()
        self._told: set[str] = set()
        self._notices: list[Noticed] = []
        self.host_clock: HostClock | None = None

    # ------------------------------------------------------------ what others call

    async def facts(self) -> AsyncGenerator[Fact]:
        """Give facts until closed; everything that was begun ends with it."""
        work = asyncio.create_task(self._work(), name="feed")
        work.add_done_callback(lambda _: self._outbox.mark())
        try:
            yield SnapshotTaken(self.snapshot(self._clock()))
            while not work.done():
                await self._outbox.wait(QUIET_SNAPSHOT_S)
                lines, _ = self._outbox.take()
                if lines:
                    yield LinesArrived(lines)
                while self._notices:
                    yield self._notices.pop(0)
                yield SnapshotTaken(self.snapshot(self._clock()))
                await asyncio.sleep(SNAPSHOT_EVERY_S)
            await work
        finally:
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)

    def snapshot(self, at: datetime) -> Snapshot:
        """All that is known at ``at``."""
        return self._tracker.snapshot(at)

    async def ping(self) -> HealthProbe:
        """Ask the server's health now.

        Raises:
            LinkLost: When there is no connection.
        """
        probe = await self._server.health(by_hand=True)
        self._note(probe)
        return probe

    def reconnect(self) -> None:
        """Do not wait for the next try: connect now."""
        self._link.reconnect()

    async def settle(self, timeout_s: float) -> bool:
        """Wait until all has been seen once: logs read to their end, health, metrics and process asked.

        Needs ``facts`` to be consumed meanwhile.

        Returns:
            False when the host could not be reached, or ``timeout_s`` seconds were not enough.
        """
        seen: list[Coroutine[Any, Any, object]] = [follower.caught_up.wait() for follower in self._followers]
        seen += [asked.wait() for asked in self._asked.values()]
        whole = asyncio.create_task(_all(seen))
        refused = asyncio.create_task(self._unreachable.wait())
        try:
            await asyncio.wait((whole, refused), timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
            return whole.done()
        finally:
            whole.cancel()
            refused.cancel()
            await asyncio.gather(whole, refused, return_exceptions=True)

    # ------------------------------------------------------------ the work

    async def _work(self) -> None:
        server = self._settings.server
        works: list[Coroutine[None, None, None]] = [self._link.run(), self._learn_clock()]
        works += [self._follow(follower) for follower in self._followers]
        works.append(repeat(self._ask_health, self._link.wait_up))
        if server.metrics:
            works.append(repeat(self._ask_metrics, self._link.wait_up))
        else:
            self._asked["metrics"].set()
        if self._look is not None:
            works.append(repeat(self._look_at_process, self._link.wait_up))
        else:
            self._asked["process"].set()
        async with asyncio.TaskGroup() as group:
            for work in works:
                group.create_task(work)

    def _make_followers(self) -> tuple[SourceFollower, ...]:
        server, job = self._settings.server, self._settings.job
        wanted = [(Source.JOB, job.log, JOB_LOG_BYTES), (Source.PROGRESS, job.progress, JOB_LOG_BYTES)]
        wanted += [(Source.SERVER, path, int(server.log_last_mib * MIB)) for path in server.log_paths]
        return tuple(
            SourceFollower(
                source,
                path,
                host=self._host,
                link=self._link,
                outbox=self._outbox,
                clock=self._clock,
                last_bytes=last_bytes,
            )
            for source, path, last_bytes in wanted
            if path is not None
        )

    async def _follow(self, follower: SourceFollower) -> None:
        await self._clock_known.wait()
        await follower.run(self._tracker)

    async def _learn_clock(self) -> None:
        """Measure the host's clock before the first line is read: a stamp without a zone means nothing alone."""
        while not self._clock_known.is_set():
            await self._link.wait_up()
            try:
                self.host_clock = await host_clock(self._host, self._clock)
            except RemoteError:
                await asyncio.sleep(SNAPSHOT_EVERY_S)
                continue
            if self._settings.timezone is None:
                self._plan = replace(self._plan, zone=self.host_clock.zone)
                self._tracker = Tracker(self._plan)
                self._tracker.note(self._link_fact, self._clock())
            self._clock_known.set()

    async def _ask_health(self) -> float:
        try:
            self._note(await self._server.health())
        except LinkLost:
            return SNAPSHOT_EVERY_S
        self._asked["health"].set()
        return self._settings.server.health_every_s

    async def _ask_metrics(self) -> float:
        try:
            page = await self._server.metrics()
        except LinkLost:
            return SNAPSHOT_EVERY_S
        self._asked["metrics"].set()
        if isinstance(page, MetricsMissing):
            self._note(page)
            return NO_METRICS_S
        self._tracker.metrics_page(page, self._clock())
        self._outbox.mark()
        return self._settings.server.metrics_every_s

    async def _look_at_process(self) -> float:
        if self._look is None:
            return QUIET_SNAPSHOT_S
        try:
            self._note(await self._look())
        except LinkLost:
            return SNAPSHOT_EVERY_S
        except RemoteError as error:
            # The old look is left to age on the screen; why there is no newer one is told once.
            self._tell_once(error.message)
        self._asked["process"].set()
        return self._settings.job.look_every_s

    # ------------------------------------------------------------ news

    def _note(self, event: Event) -> None:
        self._tracker.note(event, self._clock())
        self._outbox.mark()

    def _tell_once(self, text: str) -> None:
        if text not in self._told:
            self._told.add(text)
            self._notices.append(Noticed(text, "warning"))
            self._outbox.mark()

    def _on_link(self, state: LinkState) -> None:
        self._link_fact = LinkFact(state.state, state.reason, state.attempt, state.next_try_at)
        self._note(self._link_fact)
        if state.state in {"lost", "refused"}:
            self._unreachable.set()
        else:
            self._unreachable.clear()


def plan_of(settings: Settings) -> Plan:
    """What the settings say of the run before its logs do."""
    datasets = tuple(PlannedDataset(d.name, d.prompts, d.budget, d.kind) for d in settings.datasets)
    named = {} if settings.timezone is None else {"zone": ZoneInfo(settings.timezone)}
    return Plan(datasets=datasets, host=settings.host, engine=settings.server.engine, **named)


async def _all(waits: list[Coroutine[Any, Any, object]]) -> bool:
    await asyncio.gather(*waits)
    return True
