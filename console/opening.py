"""A session that is still being opened, as a feed and a control: so the first frame waits for nothing.

Importing the SSH library takes a third of a second, and bringing up the demo host more. The screen is drawn first and
shows what it waits for; the session opens behind it.
"""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import TYPE_CHECKING

from console.facts import Noticed, SnapshotTaken
from console.job.events import LinkFact
from console.journal_remote import NEWEST_BYTES
from remote.errors import RemoteError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
    from datetime import datetime
    from pathlib import Path
    from typing import Any

    from console.control import ActionPlan, Controller, LeftOver, Step, Verb
    from console.feed import Fact
    from console.job.dataset_detail import DatasetDetail
    from console.job.events import HealthProbe
    from console.job.plan import Plan
    from console.journal import Entry, Journal
    from console.pings import Pinger
    from console.server_control import ServerControl
    from console.session import Session
    from remote.control_checks import GpuMemory


class Opening:
    """Stands for a session until it is there, then passes everything on.

    Args:
        opener: Makes the session; may take its time.
        plan: What is known of the run before.
        waiting_for: What the screen says meanwhile.
        close: Called when nobody wants facts any more, after the session's own end.
    """

    def __init__(
        self,
        opener: Callable[[], Awaitable[Session]],
        *,
        plan: Plan,
        waiting_for: str,
        clock: Callable[[], datetime],
        close: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self._opener = opener
        self._plan = plan
        self._waiting_for = waiting_for
        self._clock = clock
        self._close = close
        self._session: Session | None = None

    async def facts(self) -> AsyncGenerator[Fact]:
        """Give a first snapshot at once, then those of the session."""
        try:
            async with aclosing(self._facts()) as inner:
                async for fact in inner:
                    yield fact
        finally:
            if self._close is not None:
                await self._close()

    async def _facts(self) -> AsyncGenerator[Fact]:
        # Imported behind the first frame: the parsers' patterns take a tenth of a second to be made.
        from console.job.tracker import Tracker  # noqa: PLC0415

        tracker = Tracker(self._plan)
        opening = asyncio.ensure_future(self._opener())
        try:
            # One turn of the loop: what is there at once need not be waited for on the screen.
            await asyncio.wait((opening,), timeout=0)
            if not opening.done():
                tracker.note(LinkFact("connecting", self._waiting_for), self._clock())
                yield SnapshotTaken(tracker.snapshot(self._clock()))
            self._session = await opening
        except RemoteError as error:
            tracker.note(LinkFact("refused", error.message), self._clock())
            yield SnapshotTaken(tracker.snapshot(self._clock()))
            yield Noticed(error.message, "error")
            await asyncio.Event().wait()
            return
        finally:
            opening.cancel()
        async with aclosing(self._session.feed.facts()) as inner:
            async for fact in inner:
                yield fact

    async def ping(self) -> HealthProbe:
        """Ask the server's health now."""
        return await self._there().feed.ping()

    def reconnect(self) -> None:
        """Connect now; while the session is still being opened that is under way already."""
        if self._session is not None:
            self._session.feed.reconnect()

    def look(self) -> None:
        """Look at the job's process now, once there is a session."""
        if self._session is not None:
            self._session.feed.look()

    def detail(self, name: str) -> DatasetDetail | None:
        """One dataset seen closely, once there is a session."""
        return None if self._session is None else self._session.feed.detail(name)

    async def plan(self, verb: Verb, script: Path | None = None) -> ActionPlan:
        """Look at the host and say what would be done."""
        return await self._control().plan(verb, script)

    async def plan_back(self) -> ActionPlan:
        """Say how the former script and command would be put back."""
        return await self._control().plan_back()

    async def left_over(self) -> LeftOver | None:
        """Look whether an act was broken off."""
        return await self._control().left_over()

    async def gpu_memory(self, pids: Sequence[int]) -> GpuMemory | None:
        """Ask who holds GPU memory."""
        return await self._control().gpu_memory(pids)

    async def journal_there(self, size: int = NEWEST_BYTES) -> tuple[Entry, ...]:
        """What the journal on the host holds."""
        return await self._control().journal_there(size)

    async def share(self, entry: Entry | None) -> None:
        """Add an entry to the journal on the host."""
        await self._control().share(entry)

    async def carry_out(self, plan: ActionPlan, before: Mapping[str, Any] | None = None) -> AsyncIterator[Step]:
        """Do it."""
        async for step in self._control().carry_out(plan, before):
            yield step

    def pinger(self) -> Pinger | None:
        """What asks for all signs of life, once there is a session."""
        session = self._session
        if session is None:
            return None
        from console.pings import Pinger, history_of  # noqa: PLC0415 - nobody may ever ask

        return Pinger(session, history_of(session), self._clock, session.feed.ping)

    def past(self) -> Path | None:
        """Where the run's history lies, once there is a session; None where none is kept."""
        session = self._session
        if session is None or not session.settings.history:
            return None
        from console.run_files import path_of  # noqa: PLC0415 - it imports SQLite, for which no first frame need wait

        return path_of(session.settings)

    def server_control(self) -> ServerControl | None:
        """What restarts the server, once there is a session."""
        session = self._session
        if session is None:
            return None
        from console.server_control import ServerControl  # noqa: PLC0415 - nobody may ever ask

        return ServerControl(session, self._clock)

    def journal(self) -> Journal | None:
        """The run's journal, once there is a session."""
        return None if self._session is None else self._session.journal

    def _there(self) -> Session:
        if self._session is None:
            raise RemoteError(f"Not yet: {self._waiting_for}. Try again in a moment.")
        return self._session

    def _control(self) -> Controller:
        control = self._there().control
        if control is None:
            raise RemoteError("The config does not say how the job is found or started; set job.command or job.match.")
        return control
