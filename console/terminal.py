"""The terminal, which can go away while the console runs: its window is closed, the connection to it is lost.

Textual writes from a thread of its own. When the terminal is gone that thread dies, its queue fills up, and the program
waits for it forever instead of ending, while another thread reads the end of the input as fast as it can.
"""

from __future__ import annotations

import termios
from contextlib import suppress
from typing import TYPE_CHECKING, TextIO, cast

from textual.drivers.linux_driver import LinuxDriver

if TYPE_CHECKING:
    from collections.abc import Callable
    from io import TextIOWrapper
    from typing import Any


class Outlet:
    """A file that is written to for as long as it takes anything; what comes after that is dropped.

    Args:
        file: The terminal.
        gone: Called once, in the writer's thread, when it is found to be gone.
    """

    def __init__(self, file: TextIO, gone: Callable[[], None]) -> None:
        self._file = file
        self._gone = gone
        self._open = True

    def write(self, text: str) -> None:
        """Write, if there is still something to write to."""
        self._try(lambda: self._file.write(text))

    def flush(self) -> None:
        """Bring what was written to the terminal."""
        self._try(self._file.flush)

    def isatty(self) -> bool:
        """Whether it is a terminal."""
        return self._file.isatty()

    def fileno(self) -> int:
        """Give the file's number."""
        return self._file.fileno()

    def _try(self, act: Callable[[], object]) -> None:
        if not self._open:
            return
        try:
            act()
        except (OSError, ValueError):  # ValueError: the file was closed
            self._open = False
            self._gone()


class LastingDriver(LinuxDriver):
    """Textual's driver for a terminal; the app ends in order when that is gone."""

    def __init__(self, *given: Any, **options: Any) -> None:  # noqa: ANN401 -- Textual's, passed on as they are
        super().__init__(*given, **options)
        # Textual's writer and its own methods only write, flush and ask for the number.
        self._file = cast("TextIOWrapper", Outlet(cast("TextIO", self._file), self._end))

    _mouse_ours = True

    def turn_mouse(self, *, ours: bool) -> None:
        """Have the terminal report the mouse to the console, or keep it for selecting text."""
        self._mouse_ours = ours
        if ours:
            self._enable_mouse_support()
        else:
            self._disable_mouse_support()

    def _enable_mouse_support(self) -> None:
        """Ask for the mouse, unless it was given back: Textual asks again after a suspension."""
        if self._mouse_ours:
            super()._enable_mouse_support()

    _suspended = False

    def suspend_application_mode(self) -> None:
        """Give the terminal back for a while."""
        self._suspended = True
        super().suspend_application_mode()

    def resume_application_mode(self) -> None:
        """Take the terminal over again, after a suspension.

        A CONT also comes without one: with the HUP of a closed terminal, or after a STOP. Textual would then start a
        second thread that reads the keys and lose the first, and the program would never end; nor would it when the
        terminal has been given back for good, while the console still puts its things away.
        """
        if not self._suspended:
            if self._key_thread is None or not self._key_thread.is_alive():
                return
            if not self._terminal_is_there():
                self._end()
                return
            self.suspend_application_mode()
        self._suspended = False
        super().resume_application_mode()

    def _terminal_is_there(self) -> bool:
        try:
            termios.tcgetattr(self.fileno)
        except termios.error:
            return False
        return True

    def _end(self) -> None:
        with suppress(RuntimeError):  # the loop has ended already
            self._loop.call_soon_threadsafe(self._app.exit)
