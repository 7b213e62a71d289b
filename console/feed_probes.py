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
NOT_FOUND = 404

METRICS_PATHS = ("/metrics", "/prometheus/metrics")
"""Where servers have their metrics page. TensorRT-LLM has it at the second: its /metrics, where there is one, gives the
newest iterations as JSON."""


class ClockUnread(Exception):  # noqa: N818 - what happened, as the remote errors are named
    """The host's ``date`` said something that is no time."""


@dataclass(frozen=True, slots=True)
class HostClock:
    """The host's idea of time.

    Attributes:
        zone: Its local zone.
        offset_s: Seconds its clock is ahead of this machine's; good to half a round trip.
    """

    zone: tzinfo
    offset_s: float

    @classmethod
    def unknown(cls) -> HostClock:
        """UTC and this machine's time, for want of better."""
        return cls(UTC, 0.0)


MARK = "longwait-clock"
"""Stands before the answer: a login script may print something of its own first."""

# One remote step; `|| :` since a host without a zone link is no fault.
_CLOCK = f"date '+{MARK} %s %z'; readlink -f /etc/localtime || :"


async def host_clock(host: Host, clock: Callable[[], datetime]) -> HostClock:
    """Measure the host's zone and clock offset.

    Raises:
        RemoteError: When the host could not be asked.
        ClockUnread: When it answered something else.
    """
    before = clock()
    done = await host.run(["sh", "-c", _CLOCK], timeout_s=10.0)
    middle = before + (clock() - before) / 2
    return read_clock(done.text, middle)


def read_clock(text: str, middle: datetime) -> HostClock:
    """Read what ``date`` and the zone link say.

    The zone's name is preferred to its offset: a log of many days may cross a change of daylight saving.

    Raises:
        ClockUnread: When there is no time in it.
    """
    words, _, rest = text.partition(f"{MARK} ")[2].partition("\n")
    epoch, _, offset = words.partition(" ")
    try:
        at = datetime.fromtimestamp(int(epoch), UTC)
        fixed = timezone(timedelta(minutes=int(offset[0] + "1") * (int(offset[1:3]) * 60 + int(offset[3:5]))))
    except (ValueError, IndexError, OverflowError, OSError) as error:
        said = text.strip()[:80] or "nothing"
        raise ClockUnread(f"The host's clock was asked with date(1), and it said: {said!r}.") from error
    named = _named_zone(rest.strip())
    agrees = named is not None and named.utcoffset(at.astimezone(named).replace(tzinfo=None)) == fixed.utcoffset(None)
    return HostClock(named if named is not None and agrees else fixed, (at - middle).total_seconds())


def _named_zone(path: str) -> ZoneInfo | None:
    _, found, name = path.partition("/zoneinfo/")
    if not found:
        return None
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None


class ServerProbe:
    """Asks the server over the connection.

    Args:
        settings: Where it is and how often it is asked.
    """

    def __init__(self, host: Host, settings: ServerSettings) -> None:
        self._host = host
        self._settings = settings
        self._metrics_path = METRICS_PATHS[0]

    def _headers(self) -> dict[str, str]:
        key = api_key(self._settings)
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
        except (HttpUnavailable, KeyUnusable) as error:
            return HealthProbe(path, ok=False, status=None, latency_s=None, error=str(error), by_hand=by_hand)
        return HealthProbe(path, answer.status == OK, answer.status, answer.latency_s, by_hand=by_hand)

    async def metrics(self) -> str | MetricsMissing:
        """The metrics page as text, or why there is none.

        A server that says that it has no such page is asked at the other of ``METRICS_PATHS`` at once; where it was
        found, it is looked for first from then on.

        Raises:
            LinkLost: When there is no connection.
        """
        first = self._metrics_path
        for path in (first, *(other for other in METRICS_PATHS if other != first)):
            try:
                answer = await self._host.fetch(self._settings.url + path, headers=self._headers(), timeout_s=10.0)
            except (HttpUnavailable, KeyUnusable) as error:
                return MetricsMissing(str(error))
            if answer.status == OK:
                self._metrics_path = path
                return answer.text
            if answer.status != NOT_FOUND:
                return MetricsMissing(f"{path} answered {answer.status}", answered=True)
        reason = f"{' and '.join(METRICS_PATHS)} answered {NOT_FOUND}; SGLang has it with --enable-metrics"
        return MetricsMissing(reason, answered=True)


class KeyUnusable(Exception):  # noqa: N818 - what happened, as the remote errors are named
    """The environment variable of the API key holds something that can't be one; the text never shows it."""


def api_key(settings: ServerSettings) -> str | None:
    """The server's API key, from the environment; None when there is none.

    Raises:
        KeyUnusable: The variable holds what no header can carry.
    """
    name = settings.api_key_env
    key = os.environ.get(name, "").strip() if name else ""
    if not key:
        return None
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise KeyUnusable(f"The environment variable {name} holds no usable API key: blanks or control characters.")
    return key


async def repeat(
    act: Callable[[], Awaitable[float]], ready: Callable[[], Awaitable[None]], hurry: asyncio.Event | None = None
) -> None:
    """Do ``act`` whenever ``ready``, pausing for the seconds that it gives; ``hurry`` ends a pause."""
    hurry = hurry or asyncio.Event()
    while True:
        await ready()
        hurry.clear()
        pause_s = await act()
        try:
            async with asyncio.timeout(pause_s):
                await hurry.wait()
        except TimeoutError:
            continue
