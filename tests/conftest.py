"""What all tests share."""

from __future__ import annotations

import signal


def pytest_configure() -> None:
    """Undo an ignored Ctrl-C: a runner in the background hands it down, and then no shell of a test could trap it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:  # under nohup; what the tests start would inherit it
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
