"""Where a run's history lies. Apart from the history itself, so that who only asks for the place needs no database."""

from __future__ import annotations

import hashlib
import json
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


def run_key(host: str, logs: Iterable[str]) -> str:
    """A name for a run's file: the host, readable, and a hash of the host and the logs' paths."""
    readable = re.sub(r"[^a-z0-9]+", "-", host.lower()).strip("-")[:40] or "host"
    digest = hashlib.sha256(json.dumps([host, sorted(logs)]).encode()).hexdigest()
    return f"{readable}-{digest[:12]}"


def history_path(host: str, logs: Iterable[str]) -> Path:
    """Where the history of a run is kept on this machine."""
    from platformdirs import user_data_path  # noqa: PLC0415  (only who keeps a history pays)

    return user_data_path("longwait") / "runs" / f"{run_key(host, logs)}.sqlite3"
