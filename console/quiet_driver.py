"""Textual's driver for a terminal that may be slow: it finds that out, and writes little when it is to."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Any, TextIO, cast

from textual import events

from console.attended import AttendedApp
from console.quiet_budget import Waits
from console.quiet_cells import Cells
from console.quiet_writer import QuietWriter
from console.terminal import LastingDriver

if TYPE_CHECKING:
    from collections.abc import Callable
    from io import TextIOWrapper

    from textual.message import Message

    from console.quiet import QuietScreen


SLICE = 2_048
"""Characters that are written at once, so that a large picture on a bad line is many waits and not one."""

FROM_HERE = "\x1b[m"
"""Ends what is left out; to the terminal it means nothing new, and Textual never writes it."""


class TimedOutlet:
    """A file whose writes are timed; they happen in Textual's writer thread, one after the other.

    Args:
        file: The terminal.
        took: Told the seconds and the bytes of each write. When it gives True, the pictures that wait to be written
            are left out until ``FROM_HERE``: a slow terminal would show one old one after the other, for a minute.
        clock: Seconds.
    """

    def __init__(
        self, file: TextIO, took: Callable[[float, int], bool], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._file = file
        self._took = took
        self._clock = clock
        self._leaves_out = False

    def write(self, text: str) -> None:
        """Write, and tell how long that took."""
        if self._leaves_out:
            self._leaves_out = text != FROM_HERE
            text = "".join(Cells(0, 0).feed(text))
        for at in range(0, len(text), SLICE):
            part = text[at : at + SLICE]
            began = self._clock()
            self._file.write(part)
            if at + SLICE < len(text):
                self._file.flush()
            self._tell(began, len(part.encode()))

    def flush(self) -> None:
        """Bring what was written to the terminal; Textual does so only when nothing more waits."""
        began = self._clock()
        self._file.flush()
        self._tell(began, 0)

    def _tell(self, began: float, count: int) -> None:
        if self._took(self._clock() - began, count):
            self._leaves_out = True

    def isatty(self) -> bool:
        """Whether it is a terminal."""
        return self._file.isatty()

    def fileno(self) -> int:
        """Give the file's number."""
        return self._file.fileno()


class QuietDriver(LastingDriver):
    """The driver of a console: loud or quiet, as its app's ``quiet`` says."""

    def __init__(self, *given: Any, **options: Any) -> None:  # noqa: ANN401 - Textual's, passed on as they are
        super().__init__(*given, **options)
        self._file = cast("TextIOWrapper", TimedOutlet(cast("TextIO", self._file), self._note_wait))
        self._waits = Waits()
        self._found = False
        self._quiet: QuietScreen | None = getattr(self._app, "quiet", None)
        self._writer: QuietWriter | None = None
        if self._quiet is not None:
            self._quiet.tell(self._turn)

    def start_application_mode(self) -> None:
        """Take the terminal over."""
        if self._quiet is not None and self._quiet.on:
            self._writer = self._new_writer()
        super().start_application_mode()  # type: ignore[no-untyped-call]  # Textual's own

    def stop_application_mode(self) -> None:
        """Give the terminal back: what belongs to that is written at once."""
        self._end_writer()
        super().stop_application_mode()

    def write(self, data: str) -> None:
        """Write what the app draws, or as much of it as a quiet screen may."""
        if self._writer is None:
            super().write(data)
        else:
            width, height = self._app.size
            self._writer.write(data, width, height)

    def process_message(self, message: Message) -> None:
        """Note that something was asked for; runs in the thread that reads the keys."""
        if isinstance(message, events.Key) and isinstance(self._app, AttendedApp):
            self._app.answering.came()
        writer = self._writer
        if writer is not None and isinstance(
            message, events.Key | events.Paste | events.MouseDown | events.MouseScrollUp | events.MouseScrollDown
        ):
            writer.press()
        super().process_message(message)

    def _new_writer(self) -> QuietWriter:
        return QuietWriter(super().write, self._loop.call_later, self._loop.time, self._tell_left_out)

    def _end_writer(self) -> None:
        writer, self._writer = self._writer, None
        if writer is not None and self._writer_thread is not None:
            writer.close()

    def _turn(self, on: bool, _: str) -> None:
        """Change over: the app draws all of its screen anew, which is then written the new way."""
        if self._writer_thread is None:
            return
        if on:
            super().write(FROM_HERE)
            self._writer = self._new_writer()
        else:
            self._end_writer()
        self._app.refresh(layout=True)

    def _tell_left_out(self, count: int) -> None:
        self._app.notify(
            f"Not sent to the terminal: {count:,} bytes are more than a quiet screen takes. A copy is in its file.",
            severity="warning",
            markup=False,
        )

    def _note_wait(self, seconds: float, count: int) -> bool:
        """Take in how long the terminal took; runs in the writer's thread. True when it was just found to be slow."""
        quiet = self._quiet
        self._waits.took(seconds, count, time.monotonic())
        rate = self._waits.rate
        if rate is None or quiet is None or quiet.on or quiet.is_settled or self._found:
            return False
        try:
            self._loop.call_soon_threadsafe(partial(quiet.find_slow, rate))
        except RuntimeError:
            return False  # the loop has ended: there is nothing to write any more
        self._found = True
        return True
