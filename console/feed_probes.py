"""What is asked of the host now and then: its clock, the server's health and metrics, the job's process."""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from console.job.events import HealthProbe, MetricsMissing
from remote.errors import HttpUnavailable

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from console.config import ServerSettings
    from remote.host import Host

OK = 200
NO_METRICS_S = 600.0
"""Seconds before a server that has no metrics page is asked for it again."""


@dataclass(frozen=True, slots=True)
class HostClock:
    """The host's idea of time.

    Attributes:
        zone: Its local zone.
        offset_s: Seconds its clock is ahead of this machine's; good to half a round trip.
    """

    zone: tzinfo
    offset_s: float


# One remote step; `|| :` since a host without a zone link is no fault.
_CLOCK = "date '+%s %z'; readlink -f /etc/localtime || :"


async def host_clock(host: Host, clock: Callable[[], datetime]) -> HostClock:
    """Measure the host's zone and clock offset.

    Raises:
        RemoteError: When the host could not be asked.
    """
    before = clock()
    done = await host.run(["sh", "-c", _CLOCK], timeout_s=10.0)
    middle = before + (clock() - before) / 2
    return read_clock(done.text, middle)


def read_clock(text: str, middle: datetime) -> HostClock:
    """Read what ``date '+%s %z'`` and the zone link say.

    The zone's name is preferred to its offset: a log of many days may cross a change of daylight saving.
    """
    words, _, rest = text.partition("\n")
    epoch, _, offset = words.partition(" ")
    try:
        at = datetime.fromtimestamp(int(epoch), UTC)
        minutes = int(offset[0] + "1") * (int(offset[1:3]) * 60 + int(offset[3:5]))
    except (ValueError, IndexError, OverflowError):
        return HostClock(UTC, 0.0)
    fixed = timezone(timedelta(minutes=minutes))
    named = _named_zone(rest.strip())
    agrees = named is not None and named.utcoffset(at.astimezone(named).replace(tzinfo=None)) == fixed.utcoffset(None)
    return HostClock(named if named is not None and agrees else fixed, (at - middle).total_seconds())


def _named_zone(path: str) -> ZoneInfo | None:
    _, found, name = path.partition("/zoneinfo/")
    if not found:
        return None
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError):
        return None


class ServerProbe:
    """Asks the server over the connection.

    Args:
        settings: Where it is and how often it is asked.
    """

    def __init__(self, host: Host, settings: ServerSettings) -> None:
        self._host = host
        self._settings = settings

    def _headers(self) -> dict[str, str]:
        name = self._settings.api_key_env
        key = os.environ.get(name) if name else None
        return {"authorization": f"Bearer {key}"} if key else {}

    async def health(self, *, by_hand: bool = False) -> HealthProbe:
        """Ask once; whatever comes of it is an answer.

        Raises:
            LinkLost: When there is no connection: that says nothing of the server.
        """
        path, timeout_s = self._settings.health_path, self._settings.health_timeout_s
        try:
            answer = await self._host.fetch(
                self._settings.url + path, headers=self._headers(), timeout_s=timeout_s, max_bytes=65_536
            )
        except HttpUnavailable as error:
            return HealthProbe(path, ok=False, status=None, latency_s=None, error=error.message, by_hand=by_hand)
        return HealthProbe(path, answer.status == OK, answer.status, answer.latency_s, by_hand=by_hand)

    async def metrics(self) -> str | MetricsMissing:
        """The metrics page as text, or why there is none.

        Raises:
            LinkLost: When there is no connection.
        """
        try:
            answer = await self._host.fetch(self._settings.url + "/metrics", headers=self._headers(), timeout_s=10.0)
        except HttpUnavailable as error:
            return MetricsMissing(error.message)
        if answer.status != OK:
            return MetricsMissing(f"/metrics answered {answer.status}; SGLang has it with --enable-metrics")
        return answer.text


async def repeat(act: Callable[[], Awaitable[float]], wait_up: Callable[[], Awaitable[None]]) -> None:
    """Do ``act`` whenever the link is up, pausing for the seconds that it gives; ends when cancelled."""
    while True:
        await wait_up()
        await asyncio.sleep(await act())
