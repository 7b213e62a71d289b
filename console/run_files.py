"""Where what is kept of a run lies on this machine: files of one name, each with its own ending."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from console.history_name import history_path
from console.job.host_events import Source
from console.paths import followed_path

if TYPE_CHECKING:
    from pathlib import Path

    from console.config import Settings


def path_of(settings: Settings) -> Path:
    """Where the history of the run lies that these settings are of; named as ``feed_memory`` names it."""
    server, job = settings.server, settings.job
    logs: list[tuple[Source, str | tuple[str, ...] | None]] = [
        (Source.JOB, job.log_command or followed_path(settings, job.log)),
        (Source.PROGRESS, followed_path(settings, job.progress)),
        (Source.SERVER, server.log_command),
        *((Source.SERVER, followed_path(settings, path)) for path in server.log_paths),
    ]
    named = [(source, where if isinstance(where, str) else shlex.join(where)) for source, where in logs if where]
    return history_path(settings.host, [f"{source}:{name}" for source, name in named])


def journal_path(settings: Settings) -> Path:
    """Where the run's journal lies: who did what, when, and what came of it."""
    return path_of(settings).with_suffix(".journal.jsonl")
