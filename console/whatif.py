"""``longwait whatif``: what another concurrency would bring, on the run as it is now, or on recorded logs."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from console.job.job_merge import merged
from console.job.units import UNKNOWN, count, duration, percent, rate, tokens
from console.job.what_if import what_if
from console.planned import limits_of, plan_of
from console.replay import tell_guesses, why
from console.replay_files import load
from console.replay_moments import BadMoment, moment_of, span_of
from console.replay_walk import Replay
from console.session import now

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from console.config import Settings
    from console.job.limits import Limits
    from console.job.plan import Plan
    from console.job.snapshot import Snapshot
    from console.job.state import State
    from console.job.what_if import WhatIf
    from console.replay_files import Given

CANNOT = 1
USAGE = 2

NO_CHANGE = 0.005
"""Share of the time below which it is called none."""

LIMITS = {
    "concurrency": "all that are sent",
    "kv": "the KV cache holds no more",
    "server": "the server's own limit of running requests",
}
"""What limits the running requests, in words."""


def run_recorded(given: Given, settings: Settings | None, moment: str, concurrency: int, *, as_json: bool) -> int:
    """Answer for a moment of recorded logs."""
    try:
        recording = load(given, settings)
        at = moment_of(moment, *span_of(recording.logs), "--moment")
        tell_guesses(recording)
        replay = Replay(recording.logs, recording.fresh)
        for _ in replay.towards(at):
            pass
        known = replay.read_all(at)
    except (OSError, BadMoment) as error:
        click.echo(f"The question can't be answered: {why(error)}", err=True)
        return USAGE
    what = asked(known.state, recording.plan, recording.limits, at, concurrency)
    return tell(what, known.snapshot, as_json=as_json)


def run_live(settings: Settings, concurrency: int, timeout_s: float, *, as_json: bool) -> int:
    """Answer for the run as it is now."""
    # Imported when it runs: recorded logs need no host.
    from console.oneshot import consumed, run  # noqa: PLC0415
    from console.session import open_session  # noqa: PLC0415

    async def ask() -> int:
        feed = open_session(settings).feed
        async with consumed(feed.facts()):
            await feed.settle(timeout_s)
            at = now()
            snapshot, state = feed.snapshot(at), feed.state
        what = asked(state, plan_of(settings), limits_of(settings), at, concurrency)
        return tell(what, snapshot, as_json=as_json)

    return run(ask())


def asked(state: State, plan: Plan, limits: Limits, at: datetime, concurrency: int) -> WhatIf:
    """The answer for what was known at a moment."""
    return what_if(state, merged(state.log, state.progress, plan), at, concurrency, limits)


def tell(what: WhatIf, snapshot: Snapshot, *, as_json: bool) -> int:
    """Print an answer. Exit code: 0, or 1 when there is none."""
    click.echo(json.dumps(values(what, snapshot)) if as_json else "\n".join(words(what, snapshot)))
    return CANNOT if what.unknown else 0


def values(what: WhatIf, snapshot: Snapshot) -> dict[str, Any]:
    """The answer as plain values, ready for ``json.dumps``; shares of time below 0 are gained."""
    rounded = {name: round(value, 4) if isinstance(value, float) else value for name, value in asdict(what).items()}
    return {
        "at": snapshot.at.isoformat(timespec="seconds"),
        **rounded,
        "minutes_saved": _rounded(saved_s(what, snapshot)),
    }


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds / 60, 1)


def saved_s(what: WhatIf, snapshot: Snapshot) -> float | None:
    """Seconds by which the end would come earlier, the restart not counted; None when not known.

    The time left times its share that is gained: ``-time_share x (eta - at)``. The middle; the time left is that of
    the whole run, as if every dataset ran with the new concurrency.
    """
    if what.time_share is None or snapshot.eta.at is None:
        return None
    return -what.time_share * max(0.0, (snapshot.eta.at - snapshot.at).total_seconds())


def words(what: WhatIf, snapshot: Snapshot) -> Iterator[str]:
    """The answer for people, a sentence a line."""
    if what.unknown or what.made is None or what.running is None:
        yield f"No answer for a concurrency of {count(what.concurrency)}: {what.unknown or 'too little was seen.'}"
        return
    sent = f"{count(what.present)} requests are in flight" if what.present is not None else "Requests are in flight"
    yield f"Now: {sent} and {count(what.running_now)} run, which makes {rate(what.made_now)}."
    limit = LIMITS.get(what.limit, what.limit)
    yield (
        f"With a concurrency of {count(what.concurrency)}: {count(what.running)} would run ({limit}), which makes "
        f"{rate(what.made)}{_between(what)}."
    )
    yield from _worth(what, snapshot)


def _between(what: WhatIf) -> str:
    if what.made_low is None or what.made_high is None or what.made_low == what.made_high:
        return ""
    return f" ({rate(what.made_low)} to {rate(what.made_high)}, four times out of five)"


def _worth(what: WhatIf, snapshot: Snapshot) -> Iterator[str]:
    """Gain and cost, side by side."""
    saved, lost = saved_s(what, snapshot), what.minutes_lost
    price = f"The restart would cost {UNKNOWN if lost is None else duration(lost * 60)}"
    made = "" if what.tokens_lost is None else f": {tokens(what.tokens_lost)} tokens in flight are made again"
    share = what.time_share or 0.0
    if abs(share) < NO_CHANGE:
        yield f"Nothing is gained: as many requests would run as now. {price}{made}."
        return
    left = "" if saved is None else f", {duration(abs(saved))} of what is left"
    yield f"It would take {percent(abs(share))} {'less' if share < 0 else 'more'} time{left}. {price}{made}."
    if saved is not None and lost is not None:
        net = saved - lost * 60
        yield f"In all the end would come {duration(abs(net))} {'earlier' if net > 0 else 'later'}."
