"""The verdict over time: from when on which one held."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import TYPE_CHECKING

from console.job.snapshot import Judgement

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from console.job.snapshot import Snapshot

LASTS = timedelta(seconds=10)
"""How long a verdict must hold to count: while logs are read at the start it is another every moment."""

MOST = 2_000
"""Changes that are kept, the newest: a verdict is held for minutes, so these are days."""

_GRAVITY = {Judgement.WAIT: 0, Judgement.BLIND: 1, Judgement.WATCH: 2, Judgement.INTERVENE: 3}


@dataclass(frozen=True, slots=True)
class Change:
    """From here on another verdict or cause held.

    Attributes:
        at: Since when.
        verdict: The one word.
        cause: Why.
        headline: The sentence that it was told in at first; empty where it was not kept.
    """

    at: datetime
    verdict: Judgement
    cause: str
    headline: str

    @property
    def word(self) -> str:
        """It in a few words: ``WAIT kv limited``."""
        return f"{self.verdict.value.upper()} {self.cause.replace('_', ' ')}"


def told_once(changes: Iterable[Change]) -> tuple[Change, ...]:
    """Changes of any source in the order of time, without those that change nothing; the newest ``MOST``."""
    kept: list[Change] = []
    for change in sorted(changes, key=lambda each: each.at):
        if not kept or (kept[-1].verdict, kept[-1].cause) != (change.verdict, change.cause):
            kept.append(change)
        elif not kept[-1].headline:  # the same, told by a source that keeps more of it
            kept[-1] = replace(kept[-1], headline=change.headline)
    return tuple(kept[-MOST:])


def gravest(changes: Iterable[Change]) -> Change | None:
    """The most urgent of them, of several the newest; None when there is none."""
    return max(changes, key=lambda each: (_GRAVITY[each.verdict], each.at), default=None)


@dataclass(slots=True)
class ChangeLog:
    """Collects the verdict's changes from snapshots as they come; those that last."""

    told: list[Change] = field(default_factory=list)
    """Oldest first."""
    _seen: Change | None = None

    def take(self, snapshot: Snapshot) -> Change | None:
        """Take in what is shown; gives the change once it has held for ``LASTS``, most often None."""
        if snapshot.link.state == "connecting":
            return None
        verdict = snapshot.verdict
        seen = self._seen
        put_back = seen is not None and snapshot.at < seen.at  # the console's clock: a wait for then would be long
        if seen is None or put_back or (seen.verdict, seen.cause) != (verdict.verdict, verdict.cause):
            self._seen = seen = Change(snapshot.at, verdict.verdict, verdict.cause, verdict.headline)
        newest = self.told[-1] if self.told else None
        if snapshot.at - seen.at < LASTS:
            return None
        if newest is not None and (newest.verdict, newest.cause) == (seen.verdict, seen.cause):
            return None
        self.told.append(seen)
        del self.told[:-MOST]
        return seen
