"""What is asked now and then, as long as the link is up: the server's health and metrics, the job's process."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from console.feed_probes import ServerProbe, repeat
from remote.errors import LinkLost, RemoteError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine

    from console.config import Settings
    from console.job.events import Event, HealthProbe, ProcessFact
    from remote.host import Host

LINK_PAUSE_S = 0.25
"""Seconds after a cut before asking whether the link is up again."""

NO_METRICS_S = 600.0
"""Seconds before a server that answers without a metrics page is asked for it again."""


class Questions:
    """Asks, each question at its own pace.

    Args:
        host: Whom.
        settings: How often.
        look: Asks for the job's process; None where there is nothing to look for.
        note: Told of each answer.
        page: Told of each metrics page.
        tell: Told of what the operator should hear once.
    """

    def __init__(
        self,
        host: Host,
        settings: Settings,
        look: Callable[[], Awaitable[ProcessFact]] | None,
        *,
        note: Callable[[Event], None],
        page: Callable[[str], None],
        tell: Callable[[str], None],
    ) -> None:
        self._server = ServerProbe(host, settings.server)
        self._settings = settings
        self._look = look
        self._note = note
        self._page = page
        self._tell = tell
        self._pinging: asyncio.Task[HealthProbe] | None = None
        self.look_now = asyncio.Event()
        """Set, the next look at the process comes at once."""
        self.asked = {name: asyncio.Event() for name in ("health", "metrics", "process")}
        """Set once each question was answered, or is not asked at all."""

    def works(self, ready: Callable[[], Awaitable[None]]) -> list[Coroutine[None, None, None]]:
        """What runs until it is cancelled."""
        works = [repeat(self._ask_health, ready)]
        if self._settings.server.metrics:
            works.append(repeat(self._ask_metrics, ready))
        else:
            self.asked["metrics"].set()
        if self._look is None:
            self.asked["process"].set()
        else:
            works.append(repeat(self._look_at_process, ready, self.look_now))
        return works

    async def ping(self) -> HealthProbe:
        """Ask the server's health now; who asks again before the answer waits for the same one.

        Raises:
            LinkLost: When there is no connection.
        """
        if self._pinging is None or self._pinging.done():
            self._pinging = asyncio.create_task(self._server.health(by_hand=True))
        probe = await asyncio.shield(self._pinging)
        self._note(probe)
        return probe

    async def close(self) -> None:
        """End a question that is still asked by hand."""
        if self._pinging is not None:
            self._pinging.cancel()
            await asyncio.gather(self._pinging, return_exceptions=True)

    async def _ask_health(self) -> float:
        try:
            self._note(await self._server.health())
        except LinkLost:
            return LINK_PAUSE_S
        self.asked["health"].set()
        return self._settings.server.health_every_s

    async def _ask_metrics(self) -> float:
        try:
            page = await self._server.metrics()
        except LinkLost:
            return LINK_PAUSE_S
        self.asked["metrics"].set()
        if isinstance(page, str):
            self._page(page)
            return self._settings.server.metrics_every_s
        self._note(page)
        # A server that is not up yet, or busy, may well have the page: only its own "no" counts for longer.
        return NO_METRICS_S if page.answered else self._settings.server.metrics_every_s

    async def _look_at_process(self) -> float:
        if self._look is None:
            return NO_METRICS_S
        try:
            self._note(await self._look())
        except LinkLost:
            return LINK_PAUSE_S
        except RemoteError as error:
            # The old look is left to age on the screen; why there is no newer one is told once.
            self._tell(error.message)
        self.asked["process"].set()
        return self._settings.job.look_every_s
