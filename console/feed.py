"""What comes in: remote text, through the tracker, as facts. asyncio only, no screen.

The console, ``status`` and ``watch`` consume the same facts. Order of things: the link comes up, the host's clock is
measured (a stamp without a zone means nothing alone), what a former console left is taken up, and only then are logs
read and questions asked.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from console.facts import Fact, FactSource, LinesArrived, Noticed, SnapshotTaken
from console.feed_fill import Filler
from console.feed_logs import MIB, followers_of, parts_of
from console.feed_machine import MachineAsker
from console.feed_memory import Memory
from console.feed_outbox import Outbox
from console.feed_probes import ClockUnread, HostClock, host_clock
from console.feed_progress import with_transfers
from console.feed_questions import Questions
from console.job import events as ev
from console.job.host_views import with_shapes
from console.job.past import PastTracker
from console.job.tracker import Tracker
from console.job.user_patterns import pattern_format
from console.planned import limits_of, plan_of
from remote.errors import LinkLost, RemoteError
from remote.link import Link

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Sequence
    from datetime import datetime

    from console.config import Settings
    from console.feed_sources import SourceFollower
    from console.job.dataset_detail import DatasetDetail
    from console.job.events import Event, HealthProbe, LogLine, ProcessFact
    from console.job.snapshot import Snapshot
    from console.job.state import State
    from remote.host import Host
    from remote.link import LinkState

__all__ = ["Fact", "FactSource", "Feed", "LinesArrived", "Noticed", "SnapshotTaken", "plan_of"]

SNAPSHOT_EVERY_S = 0.5
"""Seconds between snapshots, and batches of lines, while things change: faster than that nobody reads."""

FIRST_SNAPSHOTS, FIRST_EVERY_S = 12, 0.03
"""So many at first, in which the screen fills, come this often: the first figures need not wait for their turn."""

LOGS_FIRST_S, DRAWN_S = 0.5, 0.25
"""Seconds that questions leave to the logs at first, and then to the screen: the logs have the first figures, and for
HTTP there is a library to be read from disk."""

QUIET_SNAPSHOT_S = 5.0
"""Seconds between snapshots while nothing changes: time itself can change a verdict."""

RETRY_S = 5.0
"""Seconds before something that failed for another reason than the link is asked of the host again."""

CLOCK_TRIES = 3
"""Tries to read the host's clock; then UTC is taken, and said."""


class Feed:
    """The live feed: one link, the logs over it, and what is asked now and then.

    Args:
        host: The machine; connected, watched and closed by this feed.
        settings: What to follow and how often to ask.
        look: Asks for the job's process; None where there is nothing to look for.
        clock: The time now, UTC.
        remember: Keep a history on this machine, so that the next console goes on where this one stopped.
        every_line: Give every line of the logs, also those of a backlog that no pane would keep.
        logs_first: Let questions come behind the logs at first: for a screen, which shows what there is; who waits for
            everything would only wait longer.
    """

    def __init__(
        self,
        host: Host,
        settings: Settings,
        *,
        look: Callable[[], Awaitable[ProcessFact]] | None = None,
        clock: Callable[[], datetime],
        remember: bool = False,
        every_line: bool = False,
        logs_first: bool = False,
    ) -> None:
        self._host = host
        self._settings = settings
        self._clock = clock
        self._outbox = Outbox()
        self._link = Link(host, self._on_link, clock=clock)
        self._questions = Questions(host, settings, look, note=self._note, page=self._page, tell=self._tell)
        self._machine = MachineAsker(host, settings, note=self._note)
        self._formats = tuple(
            pattern_format(each.name, each.regex, each.sample or "") for each in settings.job.patterns
        )
        self._plan = plan_of(settings)
        self._limits = limits_of(settings)
        self._tracker = self._fresh()
        self._link_fact = ev.LinkFact("connecting", f"connecting to {host.name}")
        self._tracker.note(self._link_fact, clock())
        self._memory = Memory(settings) if remember else None
        self._followers = followers_of(
            settings, host, link=self._link, outbox=self._outbox, clock=clock, took=self._took, every_line=every_line
        )
        self._filler: Filler | None = None
        self._ready = asyncio.Event()
        self._unreachable = asyncio.Event()
        self._logs_had_turn = not logs_first
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
            told = 0
            while not work.done():
                await self._outbox.wait(QUIET_SNAPSHOT_S)
                lines, _ = self._outbox.take()
                if lines:
                    yield LinesArrived(lines)
                while self._notices:
                    yield self._notices.pop(0)
                taken = self.snapshot(self._clock())
                if self._memory is not None:
                    self._memory.note(taken)
                yield SnapshotTaken(taken)
                told += 1
                await asyncio.sleep(FIRST_EVERY_S if told < FIRST_SNAPSHOTS else SNAPSHOT_EVERY_S)
            await work
        finally:
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)
            await self._questions.close()
            if self._memory is not None:
                await self._memory.end(self._tracker, self._followers, self._clock())

    def snapshot(self, at: datetime) -> Snapshot:
        """All that is known at ``at``."""
        taken = self._tracker.snapshot(at)
        logs = with_shapes(taken.logs, self._tracker.unparsed)
        return replace(taken, logs=with_transfers(logs, self._followers, self._filler, at))

    def detail(self, name: str) -> DatasetDetail | None:
        """One dataset seen closely."""
        return self._tracker.detail(name, self._clock())

    @property
    def state(self) -> State:
        """All that was told so far."""
        return self._tracker.state

    async def ping(self) -> HealthProbe:
        """Ask the server's health now.

        Raises:
            LinkLost: When there is no connection.
        """
        return await self._questions.ping()

    def reconnect(self) -> None:
        """Do not wait for the next try: connect now."""
        self._link.reconnect()

    def look(self) -> None:
        """Look at the job's process now: something was done to it."""
        self._questions.look_now.set()

    async def settle(self, timeout_s: float) -> bool:
        """Wait until all has been seen once: logs read to their end, health, metrics and process asked.

        Needs ``facts`` to be consumed meanwhile.

        Returns:
            False when the host could not be reached, or ``timeout_s`` seconds were not enough.
        """
        seen: list[Coroutine[Any, Any, object]] = [follower.caught_up.wait() for follower in self._followers]
        seen += [asked.wait() for asked in (*self._questions.asked.values(), self._machine.asked)]
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
        works: list[Coroutine[None, None, None]] = [self._link.run(), self._begin()]
        works += [self._follow(follower) for follower in self._followers]
        if self._server_files():
            works.append(self._fill())
        works += self._questions.works(self._wait_turn) + self._machine.works(self._wait_turn)
        async with asyncio.TaskGroup() as group:
            for work in works:
                group.create_task(work)

    def _fresh(self) -> Tracker:
        """A tracker that has read nothing."""
        return Tracker(self._plan, limits=self._limits, formats=self._formats, parts=parts_of(self._settings))

    def _fresh_and_timed(self) -> PastTracker:
        """A fresh tracker for the past, that knows the host's clock as the present one does."""
        tracker = PastTracker(self._plan, formats=self._formats, parts=parts_of(self._settings))
        if self.host_clock is not None:
            tracker.note(ev.HostClock(str(self.host_clock.zone), self.host_clock.offset_s), self._clock())
        return tracker

    async def _wait_ready(self) -> None:
        await self._ready.wait()
        await self._link.wait_up()

    async def _wait_turn(self) -> None:
        """Wait until a question may be asked: with the link up, and behind the logs at first."""
        await self._wait_ready()
        if not self._logs_had_turn:
            reading = [asyncio.create_task(follower.caught_up.wait()) for follower in self._followers]
            if reading:
                await asyncio.wait(reading, timeout=LOGS_FIRST_S)
            for task in reading:
                task.cancel()
            await asyncio.sleep(DRAWN_S)
            self._logs_had_turn = True

    async def _follow(self, follower: SourceFollower) -> None:
        await self._ready.wait()
        await follower.run(self._tracker)

    def _server_files(self) -> list[SourceFollower]:
        """The server's log, where it is files: of these the end is read first."""
        return [each for each in self._followers if each.source is ev.Source.SERVER and not each.is_command]

    async def _fill(self) -> None:
        """Read the older part of the server's log behind the present."""
        await self._ready.wait()
        self._filler = Filler(
            self._host,
            self._server_files(),
            self._fresh_and_timed,
            bytes_per_s=self._settings.server.fill_mib_s * MIB,
            wait_up=self._link.wait_up,
            clock=self._clock,
        )
        try:
            if await self._filler.run(self._tracker):
                self._outbox.mark()
        except RemoteError as error:
            self._tell(f"{error.message} The older part of the server's log is left out.")

    async def _begin(self) -> None:
        """Measure the clock, take up what was left, let the others begin; then keep what comes."""
        self.host_clock = await self._learn_clock()
        if self._settings.timezone is None:
            self._plan = replace(self._plan, zone=self.host_clock.zone)
        self._tracker = self._fresh()
        if self._memory is not None:
            lines = await asyncio.to_thread(self._memory.begin, self._tracker, self._followers, self._clock())
            await self._outbox.put(lines)
            self._tell(*self._memory.notices())
        self._tracker.note(self._link_fact, self._clock())
        self._note(ev.HostClock(str(self.host_clock.zone), self.host_clock.offset_s))
        self._ready.set()
        while self._memory is not None:
            await asyncio.sleep(self._memory.pause_s)
            await self._memory.keep(self._tracker, self._followers, self._clock())
            self._tell(*self._memory.notices())

    async def _learn_clock(self) -> HostClock:
        for attempt in range(CLOCK_TRIES):
            await self._link.wait_up()
            try:
                return await host_clock(self._host, self._clock)
            except LinkLost:
                await asyncio.sleep(SNAPSHOT_EVERY_S)
            except (ClockUnread, RemoteError) as error:
                self._tell(str(error))
                if attempt + 1 < CLOCK_TRIES:
                    await asyncio.sleep(RETRY_S)
        self._tell(
            "The host's clock could not be read: times in its logs are taken for UTC. Set timezone in the config."
        )
        return HostClock.unknown()

    # ------------------------------------------------------------ news

    def _took(self, lines: Sequence[LogLine]) -> None:
        if self._memory is not None:
            self._memory.take(lines)

    def _page(self, text: str) -> None:
        self._tracker.metrics_page(text, self._clock())
        self._outbox.mark()

    def _note(self, event: Event) -> None:
        self._tracker.note(event, self._clock())
        self._outbox.mark()

    def _tell(self, *texts: str) -> None:
        """Say something once."""
        for text in texts:
            if text not in self._told:
                self._told.add(text)
                self._notices.append(Noticed(text, "warning"))
                self._outbox.mark()

    def _on_link(self, state: LinkState) -> None:
        self._link_fact = ev.LinkFact(state.state, state.reason, state.attempt, state.next_try_at)
        self._note(self._link_fact)
        if state.state in {"lost", "refused"}:
            self._unreachable.set()
        else:
            self._unreachable.clear()


async def _all(waits: list[Coroutine[Any, Any, object]]) -> bool:
    await asyncio.gather(*waits)
    return True
