"""Tokens a second by the job's own counts, where no server is seen."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from console.job.series import Series

_WINDOW = timedelta(hours=1)
"""Progress lines come minutes apart, and each sums whole completions: a shorter window would jump."""

_LEAST_APART_S = 60.0
"""Two progress figures closer than this say nothing of speed."""


def by_progress(progress: Series) -> float | None:
    """Tokens a second over the last hour; None of too few counts.

    Args:
        progress: Completion tokens of the whole run against time.
    """
    if progress.last is None:
        return None
    points = progress.points(since=datetime.fromtimestamp(progress.last.time_s, UTC) - _WINDOW)
    first, last = points[0], points[-1]
    apart_s = last.time_s - first.time_s
    if apart_s < _LEAST_APART_S or last.value <= first.value:
        return None
    return (last.value - first.value) / apart_s
