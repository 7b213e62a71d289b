"""Times and states as the panels word them; pure, so that every panel says the same thing in the same way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len

from console.job import units

if TYPE_CHECKING:
    from datetime import datetime, tzinfo

    from console.job.snapshot import Eta, LinkView

STALE_S = 60.0
"""Seconds after which a figure says how old it is: ten times the slowest ordinary report of a server under load."""

_WEEK_S = 6 * 86_400
"""Seconds within which a weekday names a day without doubt."""


def is_stale(at: datetime | None, now: datetime) -> bool:
    """Tell whether a figure is so old that it must say so; one without a time is unknown, not old."""
    return at is not None and (now - at).total_seconds() > STALE_S


def old(at: datetime | None, now: datetime) -> str:
    """Give ``4 min old`` for a stale figure, else nothing."""
    return f"{units.duration((now - at).total_seconds())} old" if at is not None and is_stale(at, now) else ""


def clock(at: datetime | None, now: datetime, zone: tzinfo | None) -> str:
    """Give a time of day in the operator's zone, with the day when it is not today: ``14:20``, ``Thu 14:20``.

    Args:
        at: The time; None is ``--``.
        now: The present.
        zone: The operator's zone; None is this machine's.
    """
    if at is None:
        return units.UNKNOWN
    here, today = at.astimezone(zone), now.astimezone(zone)
    if here.date() == today.date():
        return f"{here:%H:%M}"
    near = abs((at - now).total_seconds()) < _WEEK_S
    return f"{here:%a %H:%M}" if near else f"{here.day} {here:%b %H:%M}"


def seen_until(at: datetime | None, link: LinkView) -> datetime | None:
    """Give when a figure was last known to hold: its own time, but not later than the link's loss.

    Args:
        at: The figure's time; None when there is none.
        link: The connection.
    """
    if at is None or not link_broken(link) or link.since is None:
        return at
    return min(at, link.since)


def as_of(at: datetime | None, now: datetime, zone: tzinfo | None) -> str:
    """Give ``as of 03:15, 4 min old`` for a stale figure, else nothing."""
    return f"as of {clock(at, now, zone)}, {old(at, now)}" if is_stale(at, now) else ""


def ending(eta: Eta, now: datetime, zone: tzinfo | None) -> str:
    """Give the run's end: clock time, time left and range; or why there is none."""
    if eta.at is None:
        return f"Ends {units.UNKNOWN}  {eta.basis}".rstrip()
    if eta.at <= now and eta.low == eta.high:
        return f"Ended {clock(eta.at, now, zone)}, {units.age(eta.at, now)}"
    left = units.duration((eta.at - now).total_seconds())
    middle = f"Ends {clock(eta.at, now, zone)}, {left} left"
    if eta.low is None or eta.high is None:
        return middle
    return f"{middle}; {units.percent(eta.coverage)} sure: {clock(eta.low, now, zone)} to {clock(eta.high, now, zone)}"


def link_broken(link: LinkView) -> bool:
    """Tell whether what is shown may be out of date because the host can't be seen; a recording has no host."""
    return link.state not in {"up", ""}


def fitting(width: int, *parts: str) -> str:
    """Put side by side as many parts as fit, from the first on; the first always stands.

    Args:
        width: Cells there are.
        parts: From the most to the least important; empty ones are left out.
    """
    said = [part for part in parts if part]
    fits = (count for count in range(len(said), 1, -1) if cell_len(joined(*said[:count])) <= width)
    return joined(*said[: next(fits, 1)])


def joined(*parts: str) -> str:
    """Put the parts that say something side by side."""
    return " · ".join(part for part in parts if part)
