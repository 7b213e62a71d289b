"""A picture of the screen and the reading behind it, side by side in two files of one name."""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING

from platformdirs import user_state_path

from console.clipboard import NotKept
from console.job.reading import reading

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

    from console.job.snapshot import Snapshot


def pictures_path() -> Path:
    """Give the folder that pictures go to."""
    return user_state_path("longwait") / "pictures"


def save(folder: Path, host: str, at: datetime, picture: str, snapshot: Snapshot | None) -> Path:
    """Write both files, for this user's eyes only; files of the same second are replaced.

    Args:
        folder: Where to; made when it is not there.
        host: The host as the operator wrote it; it is in the name.
        at: The moment, aware; it is in the name, in UTC.
        picture: An SVG.
        snapshot: What the picture shows, written as ``status --json`` writes it; None for the picture alone.

    Returns:
        The picture's path; the reading's ends with ``.json``.

    Raises:
        NotKept: They can't be written.
    """
    name = re.sub(r"[^a-z0-9]+", "-", host.lower()).strip("-")[:40] or "host"
    stamp = at.strftime("%Y%m%dT%H%M%SZ")
    path = folder / f"{name}-{stamp}.svg"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _write(path, picture)
        if snapshot is not None:
            _write(path.with_suffix(".json"), json.dumps(reading(snapshot), ensure_ascii=False, indent=2) + "\n")
    except OSError as error:
        raise NotKept(f"The picture could not be saved in {folder}: {error.strerror}.") from error
    return path


def _write(path: Path, text: str) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW
    with open(os.open(path, flags, 0o600), "w", encoding="utf-8", errors="replace") as file:  # noqa: PTH123 - a path can't be opened without following links
        file.write(text)
