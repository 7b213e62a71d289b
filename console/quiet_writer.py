"""Writes a screen to a terminal within a limit: whole pictures, one after the other, the newest each time.

A picture that was begun is finished before the next is begun, so that no half of the screen is of another moment than
the other for longer than it takes to send; a key breaks it off, and its answer comes first.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Protocol

from console.quiet_budget import ORDINARY, Credit
from console.quiet_cells import PLAIN, Cells, changes, pieces, written

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from console.quiet_cells import Pen, Span

PICTURE_S = 1.0
"""Seconds between two pictures at least, while no key is pressed: nobody reads faster."""

ANSWER_S = 1.0
"""Seconds after a key within which what changes is taken for its answer."""

START = "\x1b[0m"
"""Sets the terminal's pen, of which nothing is known when a screen is begun."""


class Timer(Protocol):
    """Something that was put off, and can be called off."""

    def cancel(self) -> None:
        """Do not do it."""


class QuietWriter:
    """Stands between a program that draws as it likes and its terminal.

    Args:
        put: Writes to the terminal.
        later: Calls a function after so many seconds.
        clock: Seconds, by a clock that does not go back.
        left_out: Told of the bytes of something that is no picture and was too long to be passed on.
    """

    def __init__(
        self,
        put: Callable[[str], object],
        later: Callable[[float, Callable[[], None]], Timer],
        clock: Callable[[], float],
        left_out: Callable[[int], object] = lambda _: None,
    ) -> None:
        self._put = put
        self._later = later
        self._clock = clock
        self._left_out = left_out
        self._credit = Credit(clock())
        self._wanted = Cells(0, 0)
        self._shown = Cells(0, 0)
        self._pen: Pen = PLAIN
        self._other: deque[str] = deque()
        self._picture: Iterator[Span] | None = None
        self._span: Span | None = None
        self._next_s = clock()
        self._key_s = clock()  # whoever opens a screen waits for it, as for an answer
        self._broken_off = False
        self._timer: Timer | None = None

    def write(self, text: str, width: int, height: int) -> None:
        """Take what the program writes to a screen of so many columns and rows."""
        if (width, height) != (self._wanted.width, self._wanted.height):
            self._wanted, self._shown = Cells(width, height), Cells(width, height)
            self._picture = self._span = None
            self._other.append(START)
        for other in self._wanted.feed(text):
            if len(other.encode()) > Credit.MOST:
                self._left_out(len(other.encode()))
            else:
                self._other.append(other)
        self._go_on()

    def press(self) -> None:
        """A key was pressed: what changes now is its answer. May be called from another thread."""
        self._key_s = self._clock()
        self._broken_off = True

    def close(self) -> None:
        """Pass on what is no picture, and leave the terminal's pen as it is usual."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._put("".join(self._other) + START)
        self._other.clear()

    def _go_on(self) -> None:
        """Write what may be written now, and see that it goes on when more may be."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._broken_off:
            self._broken_off = False
            self._picture = self._span = None
        wait_s = self._write_on()
        if wait_s is not None:
            self._timer = self._later(max(wait_s, 0.01), self._wake)

    def _wake(self) -> None:
        self._timer = None
        self._go_on()

    def _write_on(self) -> float | None:
        """Write; gives the seconds until more may be, or None when there is nothing to write."""
        while True:
            now = self._clock()
            answers = now - self._key_s < ANSWER_S
            text = self._due(now, answers=answers)
            if text is None:
                return max(0.0, self._next_s - now) if self._is_behind else None
            size = len(text.encode())
            if size > self._credit.room(now, answers=answers or bool(self._other)):
                return self._credit.wait_s(size, now, answers=answers or bool(self._other))
            self._credit.draw(size, now)
            self._put(text)
            self._done()

    def _due(self, now: float, *, answers: bool) -> str | None:
        """Give what is to be written next; None when nothing is now."""
        if self._other:
            return self._other[0]
        if self._span is None:
            if self._picture is None:
                if not answers and now < self._next_s:
                    return None
                self._picture = self._spans(self._wanted.copy())
                self._next_s = now + PICTURE_S
            self._span = next(self._picture, None)
            if self._span is None:
                self._picture = None
                return None
        return written(self._span, self._pen)[0]

    def _done(self) -> None:
        """Note what the terminal shows now."""
        if self._other:
            if self._other.popleft() == START:
                self._pen = PLAIN
        elif self._span is not None:
            self._shown.put(self._span)
            self._pen = written(self._span, self._pen)[1]
            self._span = None

    def _spans(self, picture: Cells) -> Iterator[Span]:
        """Give what a picture needs, from the top: the verdict stands there, the logs at the bottom."""
        for y, row in enumerate(picture.rows):
            for span in changes(row, self._shown.rows[y], y):
                yield from pieces(span, ORDINARY)

    @property
    def _is_behind(self) -> bool:
        """Whether the terminal shows something else than it should."""
        return any(
            cell is not None and cell != shown
            for wanted, known in zip(self._wanted.rows, self._shown.rows, strict=True)
            if wanted != known
            for cell, shown in zip(wanted, known, strict=True)
        )
