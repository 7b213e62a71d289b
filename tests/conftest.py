"""What all tests share."""

from __future__ import annotations

import signal


def pytest_configure() -> None:
    """Undo an ignored Ctrl-C: a runner in the background hands it down, and then no shell of a test could trap it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
