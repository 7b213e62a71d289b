"""Which runs were opened, and how to open them again: told to who starts longwait without a config.

It is remembered in the file of how a run was looked at, for that file is there for every run.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from console.kept import SUFFIX, values_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from console.kept import Kept

HOST, CONFIG, OPENED_AT = "host", "config", "opened_at"
"""Which run it is, the config it was opened with (a path of this machine), and when: seconds since the epoch."""

MOST_FILES = 200
"""Files that are looked at for the run that was opened last: the newest, by their names' times."""


@dataclass(frozen=True, slots=True)
class Opened:
    """A run that was opened.

    Attributes:
        host: Its host.
        config: The config's path; empty where there was none: it was attached to.
        at: When, aware.
    """

    host: str
    config: str
    at: datetime


def note_opened(kept: Kept, host: str, config: str, at: datetime) -> None:
    """Remember that a run is opened, for who starts longwait without a config."""
    kept.put(HOST, host)
    kept.put(CONFIG, config)
    kept.put(OPENED_AT, at.timestamp())


def opened_runs(folder: Path, zone: Any) -> list[Opened]:  # noqa: ANN401 - a tzinfo, which needs no import to be passed on
    """Give the runs that were opened, the newest first; a file that can't be read is left out.

    Args:
        folder: Where the files are.
        zone: Of the times.
    """
    found = [run for path in _newest(folder) if (run := _opened(path, zone)) is not None]
    return sorted(found, key=lambda run: run.at, reverse=True)


def _newest(folder: Path) -> Iterable[Path]:
    def changed(path: Path) -> float:
        try:
            return path.stat().st_mtime
        except OSError:
            return 0.0

    return sorted(folder.glob(f"*{SUFFIX}"), key=changed, reverse=True)[:MOST_FILES]


def _opened(path: Path, zone: Any) -> Opened | None:  # noqa: ANN401 - as above
    try:
        values = values_in(path)
        host, config, at = (values.get(name) for name in (HOST, CONFIG, OPENED_AT))
        if isinstance(host, str) and isinstance(config, str) and isinstance(at, (int, float)):
            return Opened(host, config, datetime.fromtimestamp(at, zone))
    except (OSError, ValueError, OverflowError):
        return None
    return None


TOLD_RUNS = 3
"""Runs that are told of; more would be a list that nobody reads."""


def opened_words(runs: Sequence[Opened], now: datetime) -> str:
    """Say which runs were opened last, and how to open them again; empty when none were.

    Args:
        runs: The newest first.
        now: The present, aware.
    """
    from console.job.units import age  # noqa: PLC0415 - only who has no config is told

    there = [run for run in runs if not run.config or Path(run.config).exists()][:TOLD_RUNS]
    lines = [f"  {command_of(run)}   {run.host}, {age(run.at, now)}" for run in there]
    return "\n".join(["", "Opened last:", "", *lines, ""]) if lines else ""


def command_of(run: Opened) -> str:
    """Give the command that opens a run again."""
    return shlex.join(["longwait", "--config", run.config] if run.config else ["longwait", "attach", run.host])
