"""One verdict after another, so that none flutters: what was seen a moment ago is not given up at once.

A graver verdict is taken at once, for each rule has its own duration. A lesser one, or another of the same gravity, is
taken when the former was not seen for a while (``Limits.hold_...``), or at once when it is a plain fact that is plainly
over: a server that is ready again, a job that was started. All is reckoned in time, not in calls: a replay that asks
each minute and a console that asks each second come to the same.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from console.job.snapshot import Judgement
from console.job.units import duration

if TYPE_CHECKING:
    from datetime import datetime

    from console.job.limits import Limits
    from console.job.snapshot import Verdict

_GRAVITY = {Judgement.WAIT: 0, Judgement.WATCH: 1, Judgement.INTERVENE: 2}

NOISY = frozenset(
    {
        "throughput_low",
        "throughput_collapsed",
        "retractions",
        "retraction_thrash",
        "errors_rising",
        "error_storm",
        "health_flapping",
        "under_utilised",
        "concurrency_too_low",
        "eta_slipping",
        "runaway_completions",
    }
)
"""Causes that are told by figures which waver about a threshold; the others are facts, and over when they are over."""

WAVERING = frozenset({"kv_limited", "compute_limited", "concurrency_limited", "completions_growing", "steady"})
"""Reasons to wait that waver likewise: a queue that is empty for a moment is no news; ``steady`` is what is said when
there is none, and gives way at once."""


@dataclass(frozen=True, slots=True)
class VerdictMemory:
    """What was said last.

    Attributes:
        shown: The verdict, as it was when its rule last held.
        since: Since when it holds.
        seen_at: When its rule last held.
    """

    shown: Verdict | None = None
    since: datetime | None = None
    seen_at: datetime | None = None

    def after(self, found: Verdict, now: datetime, limits: Limits) -> VerdictMemory:
        """With what the rules say now.

        Args:
            found: The first rule's answer.
            now: The moment.
            limits: How long a verdict is held.
        """
        shown, since, seen_at = self.shown, self.since, self.seen_at
        if shown is None or since is None or seen_at is None:
            return VerdictMemory(found, _begin(found, now), now)
        if (found.verdict, found.cause) == (shown.verdict, shown.cause):
            return VerdictMemory(found, min(since, now), now)
        if self._stays(shown, found, (now - seen_at).total_seconds(), limits):
            return self
        return VerdictMemory(found, _begin(found, now), now)

    def verdict(self, found: Verdict, now: datetime) -> Verdict:
        """What is said now, by ``found``, the rules' answer that was taken in last.

        A verdict that is held says when it was last seen, and what is seen now.
        """
        if self.shown is None or (found.verdict, found.cause) == (self.shown.verdict, self.shown.cause):
            return replace(found, since=self.since)
        if self.shown.verdict is Judgement.WAIT:
            return replace(self.shown, evidence=found.evidence, next_look=found.next_look, since=self.since)
        ago = duration((now - self.seen_at).total_seconds()) if self.seen_at else "a while"
        evidence = (f"Last seen {ago} ago; it is given up when it stays away.", *found.evidence)
        return replace(self.shown, evidence=evidence, since=self.since)

    @staticmethod
    def _stays(shown: Verdict, found: Verdict, unseen_s: float, limits: Limits) -> bool:
        """Whether the former verdict is held although another rule answers now."""
        if Judgement.BLIND in {shown.verdict, found.verdict}:
            return False
        if found.verdict is Judgement.WAIT and shown.verdict is Judgement.WAIT:
            known = shown.cause in WAVERING - {"steady"} and found.cause in WAVERING
            return known and unseen_s < limits.hold_wait_s
        graver = _GRAVITY[found.verdict] - _GRAVITY[shown.verdict]
        if graver > 0 or found.cause == "finished" or shown.cause not in NOISY:
            return False
        if graver == 0 and found.cause not in NOISY:
            return False
        hold_s = limits.hold_intervene_s if shown.verdict is Judgement.INTERVENE else limits.hold_watch_s
        return unseen_s < hold_s


def _begin(found: Verdict, now: datetime) -> datetime:
    return now if found.since is None else min(now, found.since)
