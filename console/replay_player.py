"""The hand on a recording: which moment is wanted now, by play, pause, step and jump. No I/O; ticks are given."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from console.replay_transport import DEFAULT_SPEED, paced
from console.replay_walk import STEP

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

FRAME_S = 0.25
"""Seconds between two pictures while it plays."""

LAG_S = 1.0
"""Seconds by which the picture may be late before the clock is set back to it: a slow machine plays slower, and never
leaps to make up for it."""


class Player:
    """Says which moment is to be shown.

    Args:
        first: When the first line was written.
        last: When the last one was.
        speed: Seconds of the log in one of ours.
        ticks: A clock that only runs onward, seconds.
    """

    def __init__(
        self, first: datetime, last: datetime, *, speed: float = DEFAULT_SPEED, ticks: Callable[[], float]
    ) -> None:
        self.first, self.last = first, last
        self.speed = speed
        """Seconds of the log in one of ours."""
        self.playing = True
        """Whether time goes on."""
        self.at = first
        """The moment shown."""
        self.target: datetime | None = first
        """On the way to this moment; None when there is none."""
        self._ticks = ticks
        self._base = (first, ticks())

    def wanted(self) -> datetime:
        """The moment to be shown now.

        While a picture covers more than a step of the grid, moments lie on it: such a picture costs no copy.
        """
        if self.target is not None:
            return self.target
        if not self.playing:
            return self.at
        began, tick = self._base
        moment = began + timedelta(seconds=self.speed * (self._ticks() - tick))
        if moment >= self.last:
            return self.last
        if self.speed * FRAME_S >= STEP.total_seconds():
            moment = self.first + (moment - self.first) // STEP * STEP
        return max(self.at, moment)

    def passed(self, moment: datetime) -> None:
        """A moment on the way to the wanted one is shown."""
        self.at = moment

    def arrived(self, moment: datetime) -> bool:
        """The moment is shown; whether the play has just come to its end."""
        came = self.target is not None
        self.at = moment
        if self.target == moment:
            self.target = None
        began, tick = self._base
        late = began + timedelta(seconds=self.speed * (self._ticks() - tick - LAG_S)) > moment
        if came or late:
            self._begin_here()
        ended = self.playing and moment == self.last
        self.playing = self.playing and not ended
        return ended

    def turn_play(self) -> None:
        """Pause, or go on; at the end, begin again."""
        self.playing = not self.playing
        if self.playing and self.at == self.last:
            self.target = self.first
        self._begin_here()

    def change_pace(self, *, faster: bool) -> None:
        """Play faster or slower."""
        self.speed = paced(self.speed, faster=faster)
        self._begin_here()

    def go_to(self, moment: datetime) -> None:
        """Go to a moment; one outside of the recording is its nearest end."""
        self.target = min(self.last, max(self.first, moment))

    def go_by(self, by: timedelta) -> None:
        """Go on or back by some log time."""
        self.go_to((self.target or self.at) + by)

    def step(self, by: timedelta) -> None:
        """Pause, and go on or back by some log time."""
        self.playing = False
        self.go_by(by)

    def _begin_here(self) -> None:
        """Let time go on from the moment shown."""
        self._base = (self.at, self._ticks())
