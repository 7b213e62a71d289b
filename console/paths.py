"""Paths of the config as the host's commands must be given them.

``~`` is the login's home; a relative path of the job begins in ``job.dir`` when there is one, and in the login's home
otherwise; the server's begin in the login's home. A command over SSH starts in that home; on this machine, relative
paths begin where longwait was started, and ``~`` is spelt out.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, overload

if TYPE_CHECKING:
    from console.config import Settings


@overload
def followed_path(settings: Settings, path: str) -> str: ...
@overload
def followed_path(settings: Settings, path: None) -> None: ...
def followed_path(settings: Settings, path: str | None) -> str | None:
    """A path of the config as a command of the host finds it; None stays None."""
    if path is None:
        return None
    of_job = path in {settings.job.log, settings.job.progress, settings.job.script}
    base = settings.job.dir if of_job and settings.job.dir and not path.startswith(("/", "~")) else ""
    whole = f"{base.rstrip('/')}/{path}" if base else path
    if settings.host == "local":
        return str(Path(whole).expanduser())
    return whole.removeprefix("~/") or "."
