"""Readings of the past, wherever they are kept: in the console's own memory, or in the run's history."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from console.history_past import reading_beside, reading_near

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

    from console.chronicle import Chronicle
    from console.job.snapshot import Snapshot


class Moments:
    """Finds what was known at a moment.

    Args:
        chronicle: What this console saw itself.
        path: The run's history; None when there is none.
    """

    def __init__(self, chronicle: Chronicle, path: Path | None) -> None:
        self._chronicle = chronicle
        self._path = path

    async def near(self, at: datetime) -> Snapshot | None:
        """The reading kept last at or before a moment, else the first one after it; None when there is none."""
        own = self._chronicle.reading_near(at)
        kept = None if self._path is None else await asyncio.to_thread(reading_near, self._path, at)
        found = [each for each in (own, kept) if each is not None]
        before = [each for each in found if each.at <= at]
        if before:
            return max(before, key=lambda each: each.at)
        found += [each for each in (self._chronicle.reading_beside(at, back=False),) if each is not None]
        return min(found, key=lambda each: each.at, default=None)

    async def beside(self, at: datetime, *, back: bool) -> Snapshot | None:
        """The reading before the one of a moment, or after it; None when there is none."""
        own = self._chronicle.reading_beside(at, back=back)
        kept = None if self._path is None else await asyncio.to_thread(reading_beside, self._path, at, back=back)
        found = [each for each in (own, kept) if each is not None]
        return (max if back else min)(found, key=lambda each: each.at, default=None)
