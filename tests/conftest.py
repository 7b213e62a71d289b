"""What all tests share."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from types import ModuleType

JOBS = ("box", "other", "tmux_server")
"""Fixtures that start jobs, or look through all processes for them."""


def pytest_configure() -> None:
    """Undo what the runner hands down: an ignored Ctrl-C, which no shell of a test could trap, and a size."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:  # under nohup; what the tests start would inherit it
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
    for name in ("COLUMNS", "LINES"):  # a worker has the size of no terminal; programs in one would believe it
        os.environ.pop(name, None)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep a file's tests on one worker, and all that start jobs on the same: they would find one another's."""
    for item in items:
        module: ModuleType | None = getattr(item, "module", None)
        starts_jobs = any(name in JOBS for name in getattr(item, "fixturenames", ())) or _looks_for_jobs(module)
        item.add_marker(pytest.mark.xdist_group("jobs" if starts_jobs else str(item.path)))


def _looks_for_jobs(module: ModuleType | None) -> bool:
    """Whether a module uses what finds processes by how they look."""
    return module is not None and any(
        getattr(each, "__module__", "") in {"tests.jobbox", "remote.discover", "console.attach", "remote.demo.box"}
        for each in vars(module).values()
    )
