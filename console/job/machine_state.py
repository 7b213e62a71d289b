"""The host's own figures, folded: the newest answer, and how fast its disk fills."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import timedelta
from itertools import combinations, pairwise
from statistics import median
from typing import TYPE_CHECKING

from console.job.host_state import came_late
from console.job.machine_facts import MachineMissing, MachineSeen
from console.job.series import Series

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from console.job.machine_facts import GpuAnswer
    from console.job.series import Point

PAST = timedelta(hours=6)
"""How far back the disk's filling is looked at: a checkpoint each hour is then part of the slope, not a jump."""

LEAST_S = 600.0
LEAST_POINTS = 5
"""Less of a past tells no slope."""

POINTS = 40
"""Points that a slope is reckoned from, evenly taken: 780 pairs, once a minute."""

AGREED = 0.5
"""How far the pairs must agree that it falls (Kendall's tau, negated): a disk that wavers does not fill."""

_CLEANED = 0.01
"""Of the size, freed at once: somebody cleaned up, and what was before says nothing of the present."""


@dataclass(frozen=True, slots=True)
class MachineState:
    """What the host said of itself. All times are the console's.

    Attributes:
        seen: The newest answer; None before the first.
        at: When it came.
        gpus: The newest word of the GPUs.
        gpus_at: When that came.
        missing: Why the newest try gave no answer; empty when it did.
        missing_at: When that was.
        free: Bytes free on the disk.
        rate: Bytes a second by which that changes; None while it does not fall, or too little is known.
    """

    seen: MachineSeen | None = None
    at: datetime | None = None
    gpus: GpuAnswer | None = None
    gpus_at: datetime | None = None
    missing: str = ""
    missing_at: datetime | None = None
    free: Series = field(default_factory=lambda: Series(step_s=30.0, limit=1024))
    rate: float | None = None


def apply_machine(state: MachineState, event: MachineSeen | MachineMissing, at: datetime) -> MachineState:
    """Fold one answer; one that came late changes nothing."""
    last = max((known for known in (state.at, state.missing_at) if known is not None), default=None)
    if at == last or came_late(at, last):
        return state
    if isinstance(event, MachineMissing):
        return replace(state, missing=event.reason, missing_at=at)
    free = state.free
    if state.seen is not None and event.disk != state.seen.disk and event.disk and state.seen.disk:
        free = Series(step_s=free.step_s, limit=free.limit)
    if event.disk_free is not None:
        free = free.add(at, event.disk_free)
    known = event.gpus is not None
    return MachineState(
        seen=event,
        at=at,
        gpus=event.gpus if known else state.gpus,
        gpus_at=at if known else state.gpus_at,
        free=free,
        rate=fall_rate(free.points(since=at - PAST), event.disk_size),
    )


def fall_rate(points: Sequence[Point], size: float | None = None) -> float | None:
    """How fast a figure falls, per second, negative; None while it does not.

    The median of the slopes between all pairs of points (Theil and Sen's estimator), which a third of the points may
    lie about without moving it. It falls when the pairs agree on that: Kendall's tau of at most ``-AGREED``.

    Args:
        points: Oldest first.
        size: What the figure can be at most; a rise by a hundredth of it begins anew.
    """
    if size:
        risen = [
            place for place, (old, new) in enumerate(pairwise(points), 1) if new.value - old.value > _CLEANED * size
        ]
        points = points[risen[-1] :] if risen else points
    if len(points) < LEAST_POINTS or points[-1].time_s - points[0].time_s < LEAST_S:
        return None
    step = max(1, (len(points) + POINTS - 1) // POINTS)
    taken = points[::-1][::step][::-1]
    slopes = [
        (late.value - early.value) / (late.time_s - early.time_s)
        for early, late in combinations(taken, 2)
        if late.time_s > early.time_s
    ]
    falling = sum(slope < 0 for slope in slopes) - sum(slope > 0 for slope in slopes)
    if not slopes or falling < AGREED * len(slopes):
        return None
    slope = median(slopes)
    return slope if slope < 0 else None
