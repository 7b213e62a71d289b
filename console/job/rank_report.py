"""The newest report of one of the server's schedulers."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from datetime import datetime

    from console.job.server_events import ServerLoad

STALE_RANK = timedelta(seconds=30)
"""A DP rank that is idle stops printing: its figures no longer count when another has printed this much later."""


class RankReport(NamedTuple):
    """The newest report of one scheduler; a tuple, for one is made for every report.

    Attributes:
        load: What it said.
        at: The line's own time.
        throughput: Its newest throughput that is not suspect, tok/s; None before the first.
        throughput_at: The time of that.
    """

    load: ServerLoad
    at: datetime
    throughput: float | None = None
    throughput_at: datetime | None = None


_STANDS_IN = 2 * STALE_RANK


def reported(former: RankReport | None, event: ServerLoad, at: datetime) -> RankReport:
    """A rank's report after a former one: a suspect throughput is left out, the one before stands in for a minute."""
    if event.gen_throughput is not None and not event.suspect_throughput:
        return RankReport(event, at, event.gen_throughput, at)
    if former is None or former.throughput_at is None or at - former.throughput_at > _STANDS_IN:
        return RankReport(event, at)
    return RankReport(event, at, former.throughput, former.throughput_at)
