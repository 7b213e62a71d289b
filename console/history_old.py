"""Histories of runs that nobody has looked at for long: removed as a console starts, so that the folder stays small."""

from __future__ import annotations

import os
import re
import stat
from collections import defaultdict
from typing import TYPE_CHECKING

from console.history_file import Unusable, lock

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

KEPT_DAYS = 90
"""Days without a console after which a run's history goes. A run lasts days, and who comes back to it does so in weeks;
a history is some megabytes."""

_OURS = re.compile(
    r"(?P<run>[a-z0-9-]+-[0-9a-f]{12})\.(?:sqlite3(?:-wal|-shm|-journal)?|damaged|lock|looked|screen\.(?:json|damaged))"
)
"""What ``history_file``, ``looked`` and ``kept`` make for a run."""

_DAY_S = 86_400.0


def remove_old(present: Path, now: datetime) -> tuple[str, ...]:
    """Remove the histories of other runs that no console has opened for ``KEPT_DAYS``.

    The newest change of a run's files counts, and opening a history changes its lock file. One that another console has
    open now is left, and so is all that does not bear the name of a history; nothing here raises because of a file.

    Args:
        present: The history of the present run; those in its folder are looked at.
        now: The time now.

    Returns:
        The names of the runs whose history was removed.
    """
    runs: dict[str, list[Path]] = defaultdict(list)
    newest: dict[str, float] = {}
    try:
        with os.scandir(present.parent) as found:
            for entry in found:
                named, facts = _OURS.fullmatch(entry.name), entry.stat(follow_symlinks=False)
                if named and stat.S_ISREG(facts.st_mode):
                    runs[named["run"]].append(present.with_name(entry.name))
                    newest[named["run"]] = max(facts.st_mtime, newest.get(named["run"], 0.0))
    except OSError:
        return ()
    oldest_kept = now.timestamp() - KEPT_DAYS * _DAY_S
    old = sorted(run for run, at in newest.items() if at < oldest_kept and run != present.stem)
    return tuple(run for run in old if _removed(present.with_name(f"{run}.sqlite3"), runs[run], oldest_kept))


def _removed(history: Path, files: list[Path], oldest_kept: float) -> bool:
    """Remove one run's files; False when somebody has it open, or opened it just now."""
    mine = history.with_suffix(".lock")
    try:
        opened = mine.stat().st_mtime if mine.exists() else 0.0
        if opened >= oldest_kept:
            return False
        held = lock(history)
    except (OSError, Unusable):
        return False
    try:
        for path in [each for each in files if each != mine]:
            path.unlink(missing_ok=True)
        # Last, while it is still held: who waits for it finds that it is no more, and makes another.
        mine.unlink(missing_ok=True)
    except OSError:
        return False
    finally:
        os.close(held)
    return True
