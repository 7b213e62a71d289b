"""Times and states as the panels word them; pure, so that every panel says the same thing in the same way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len

from console.job import units

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime, tzinfo

    from console.job.snapshot import DatasetView, Eta, LinkView

STALE_S = 60.0
"""Seconds after which a figure says how old it is: ten times the slowest ordinary report of a server under load."""

_WEEK_S = 6 * 86_400
"""Seconds within which a weekday names a day without doubt."""


LATE = 1.5
"""Times its usual interval after which a figure is old: one that comes each minute takes a moment to come."""


def is_stale(at: datetime | None, now: datetime, usual_s: float = 0.0) -> bool:
    """Tell whether a figure is so old that it must say so; one without a time is unknown, not old.

    Args:
        at: When it was true.
        now: The present.
        usual_s: Seconds between two of its kind, where that is more than a few.
    """
    return at is not None and (now - at).total_seconds() > max(STALE_S, LATE * usual_s)


def old(at: datetime | None, now: datetime, usual_s: float = 0.0) -> str:
    """Give ``4 min old`` for a stale figure, else nothing; ``usual_s`` as for ``is_stale``."""
    return f"{units.duration((now - at).total_seconds())} old" if at is not None and is_stale(at, now, usual_s) else ""


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


def as_of(at: datetime | None, now: datetime, zone: tzinfo | None, stale_s: float = STALE_S) -> str:
    """Give ``as of 03:15, 4 min old`` for a figure that is older than ``stale_s`` seconds, else nothing."""
    if at is None or (now - at).total_seconds() <= stale_s:
        return ""
    return f"as of {clock(at, now, zone)}, {units.duration((now - at).total_seconds())} old"


def share_done(views: Sequence[DatasetView], eta: Eta) -> float | None:
    """Give how far the whole run is, 0 to 1: the tokens made, of these and those that are still to be made.

    Budgets are no measure of the whole: what ends with its last prompt never meets its own.

    Args:
        views: The datasets.
        eta: The run's end, with the tokens left.

    Returns:
        The share; None while the tokens left, or made, are unknown.
    """
    made = sum(view.tokens or 0 for view in views)
    if eta.tokens_left is None or made + eta.tokens_left <= 0:
        return None
    return made / (made + eta.tokens_left)


def far(views: Sequence[DatasetView], eta: Eta) -> str:
    """Give how far the whole run is: ``41 % done``; nothing while unknown, and all only when nothing is left."""
    share = share_done(views, eta)
    return "" if share is None else f"{int(share * 100 + 1e-9)} % done"


def ending(eta: Eta, now: datetime, zone: tzinfo | None, done: str = "") -> tuple[str, ...]:
    """Give the run's end on one line, in ever fewer words: clock time, time left, both with their range; or why none.

    Args:
        eta: The run's end.
        now: The present.
        zone: The operator's zone; None is this machine's.
        done: How far the run is, as ``far`` says it; stands before the rest while it has not ended.
    """
    if eta.at is None:
        return (f"Ends {units.UNKNOWN}  {eta.basis}".rstrip(),)
    if has_ended(eta, now):
        return (f"Ended {clock(eta.at, now, zone)}, {units.age(eta.at, now)}",)
    when, left = clock(eta.at, now, zone), units.duration((eta.at - now).total_seconds())
    if eta.low is None or eta.high is None:
        return (joined(done, f"Ends {when}, {left} left"), f"Ends {when}")
    sure = f"{units.percent(eta.coverage)} sure"
    low, high = clock(eta.low, now, zone), clock(eta.high, now, zone)
    return (
        joined(done, f"{left} left ({span_left(eta, now)})", f"Ends {when} ({low} to {high}), {sure}"),
        joined(done, f"{left} left", f"Ends {when} ({low} to {high}), {sure}"),
        f"{left} left · Ends {when} ({low} to {high}), {sure}",
        f"{left} left · Ends {when} ({low} to {high})",
        f"{left} left, ends {low} to {high}",
        f"{left} left",
    )


def has_ended(eta: Eta, now: datetime) -> bool:
    """Tell whether the run's end is a fact, no forecast."""
    return eta.at is not None and eta.at <= now and eta.low == eta.high


def span_left(eta: Eta, now: datetime) -> str:
    """Give the time left as a range: ``15 h 10 min to 20 h 5 min``; nothing without one."""
    if eta.low is None or eta.high is None:
        return ""
    low, high = (units.duration((at - now).total_seconds()) for at in (eta.low, eta.high))
    return low if low == high else f"{low} to {high}"


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


def first_fitting(width: int, *phrases: str) -> str:
    """Give the first of several phrases that fits into a width; the last one where none does."""
    return next((phrase for phrase in phrases if cell_len(phrase) <= width), phrases[-1] if phrases else "")


def joined(*parts: str) -> str:
    """Put the parts that say something side by side."""
    return " · ".join(part for part in parts if part)
