"""What all tests share."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

HERE = Path(__file__).parent

STARTS_JOBS = re.compile(r"\bbox\b|jobbox|acts_done|remote\.discover|console\.attach|real_systemd")
"""What a file says that starts jobs, or looks through all processes for them."""


def pytest_configure() -> None:
    """Undo what the runner hands down: an ignored Ctrl-C, which no shell of a test could trap, and a size."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:  # under nohup; what the tests start would inherit it
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
    for name in ("COLUMNS", "LINES"):  # a worker has the size of no terminal; programs in one would believe it
        os.environ.pop(name, None)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> LoadScopeScheduling:
    """Keep all that start jobs on one worker, where they come one after the other: they would find one another's."""
    from xdist.scheduler import LoadScopeScheduling  # noqa: PLC0415 -- not there without workers

    together = {
        path.relative_to(HERE.parent).as_posix()
        for path in HERE.rglob("test_*.py")
        if STARTS_JOBS.search(path.read_text(encoding="utf-8"))
    }

    class JobsTogether(LoadScopeScheduling):  # type: ignore[misc]  # xdist is not typed
        """Tests one by one, but for these; those of a file that shares costly runs stay together, too."""

        def _split_scope(self, nodeid: str) -> str:
            path = nodeid.partition("::")[0]
            if path in together:
                return "jobs"
            return path if path.startswith("tests/judgement/") else nodeid

    return JobsTogether(config, log)
