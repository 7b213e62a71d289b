"""Keep one connection to the host up: connect, watch, wait, connect again, for ever."""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Literal

from remote.backoff import CAP_S, delays
from remote.errors import CannotConnect, RemoteError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from remote.host import Host

REFUSED_RETRY_S = 60.0
"""Wait after a refused login or host key: only a person can mend it, perhaps in another window just now. Knocking
more often would look like an attack to the host (fail2ban)."""
STEADY_S = 30.0
"""A link that held this long was a good one: the next cut starts again with short waits. A host that lets us in and
drops us at once doesn't get hammered."""
LEAST_REST_S = 0.2
"""Seconds between a failed attempt and the next one. Waits are counted from an attempt's start: one that waited for an
answer until its time was up has had its pause."""

LinkName = Literal["connecting", "up", "lost", "refused"]


@dataclass(frozen=True, slots=True)
class LinkState:
    """What the connection is now.

    Attributes:
        state: ``connecting`` (an attempt is under way), ``up``, ``lost`` (waits for the next attempt) or
            ``refused`` (likewise, but a person must mend the key or the host key).
        since: When it came up or was lost; the start of the first attempt before that. Kept through attempts.
        reason: Why it is not up, as a sentence; empty while up and before the first attempt has failed.
        attempt: Attempts since it was last up; 0 while up.
        next_try_at: When the next attempt starts; None while up or connecting.
    """

    state: LinkName
    since: datetime
    reason: str = ""
    attempt: int = 0
    next_try_at: datetime | None = None


def _utc_now() -> datetime:
    return datetime.now(UTC)


class Link:
    """Supervises a host's connection.

    Args:
        host: The host; nobody else calls its ``connect`` and ``close``.
        on_change: Told of each new state, in order; must not raise.
        clock: Gives the time, UTC.
        sleep: Waits that many seconds; a test gives one that doesn't.
        rng: The jitter's source.
    """

    def __init__(
        self,
        host: Host,
        on_change: Callable[[LinkState], None],
        *,
        clock: Callable[[], datetime] = _utc_now,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        rng: random.Random | None = None,
    ) -> None:
        self._host = host
        self._on_change = on_change
        self._clock = clock
        self._sleep = sleep
        self._rng = rng or random.Random()  # noqa: S311  (jitter, no secret)
        self._up = asyncio.Event()
        self._hurry = asyncio.Event()
        self._state = LinkState("connecting", clock())

    @property
    def state(self) -> LinkState:
        """The state now."""
        return self._state

    def reconnect(self) -> None:
        """Try at once instead of waiting; nothing happens while the link is up or an attempt is under way."""
        self._hurry.set()

    async def wait_up(self) -> None:
        """Return when the link is up, at once if it is."""
        await self._up.wait()

    async def run(self) -> None:
        """Keep the link up until cancelled; closes the host then."""
        drops = delays(self._rng, early_cap=CAP_S)
        try:
            while True:
                await self._come_up(delays(self._rng))
                came_up_at = self._clock()
                reason = await self._host.wait_lost()
                self._up.clear()
                if self._clock() - came_up_at >= timedelta(seconds=STEADY_S):
                    drops = delays(self._rng, early_cap=CAP_S)
                await self._rest(LinkState("lost", self._clock(), reason), next(drops))
        finally:
            self._up.clear()
            await self._host.close()

    async def _come_up(self, waits: Iterator[float]) -> None:
        """Try until the connection is made."""
        attempt = 0
        while True:
            attempt += 1
            since, reason = self._state.since, self._state.reason
            began = self._clock()
            self._tell(LinkState("connecting", since, reason, attempt))
            try:
                await self._host.connect()
            except RemoteError as error:
                refused = isinstance(error, CannotConnect) and not error.retryable
                name: LinkName = "refused" if refused else "lost"
                took_s = max(0.0, (self._clock() - began).total_seconds())
                wait_s = REFUSED_RETRY_S if refused else max(LEAST_REST_S, next(waits) - took_s)
                await self._rest(LinkState(name, since, error.message, attempt), wait_s)
            else:
                self._tell(LinkState("up", self._clock()))
                self._up.set()
                return

    async def _rest(self, state: LinkState, wait_s: float) -> None:
        """Show a state that is not up, and wait; ``reconnect`` cuts the wait short."""
        next_try_at = self._clock() + timedelta(seconds=wait_s)
        self._hurry.clear()
        self._tell(LinkState(state.state, state.since, state.reason, state.attempt, next_try_at))
        waiting = asyncio.ensure_future(self._sleep(wait_s))
        hurried = asyncio.ensure_future(self._hurry.wait())
        try:
            await asyncio.wait({waiting, hurried}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            waiting.cancel()
            hurried.cancel()
            await asyncio.gather(waiting, hurried, return_exceptions=True)

    def _tell(self, state: LinkState) -> None:
        self._state = state
        self._on_change(state)
