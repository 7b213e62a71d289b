"""When somebody last looked at a run: a small file beside its history, so that any console and command knows."""

from __future__ import annotations

import os
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def looked_path(history: Path) -> Path:
    """Where it is kept, beside a run's history."""
    return history.with_suffix(".looked")


def last_look(history: Path) -> datetime | None:
    """When a console of this run was last looked at; None when that is not known."""
    try:
        at = datetime.fromisoformat(looked_path(history).read_text(encoding="ascii").strip())
    except (OSError, ValueError):
        return None
    return at.astimezone(UTC) if at.tzinfo is not None else None


def keep_look(history: Path, at: datetime) -> None:
    """Remember that somebody looked; what can't be written is not remembered, and harms nothing."""
    path = looked_path(history)
    beside = path.with_name(f"{path.name}.{os.getpid()}.new")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        beside.touch(mode=0o600)
        beside.write_text(f"{at.isoformat()}\n", encoding="ascii")
        beside.replace(path)
    except OSError:
        with suppress(OSError):  # the folder itself may be what is missing
            beside.unlink(missing_ok=True)
