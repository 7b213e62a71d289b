"""How much may be written to a terminal on a quiet screen, and when one is slow; pure: the time is an argument."""

from __future__ import annotations

ORDINARY, ORDINARY_RATE = 1_000, 1_000.0
"""Bytes that can be written at once, and that are earned a second, for what changes by itself."""

ANSWERS, ANSWERS_RATE = 5_000, 400.0
"""Likewise for what answers a key, beside the ordinary. A whole screen of 80 x 24 costs 4,000 to 7,000 bytes, one of
120 x 36 some 12,000.

Within any 10 s no more than both buckets hold and earn can be written: 1,000 + 10,000 + 5,000 + 4,000 = 20,000 bytes,
which is 2 kB/s, as the top line says.
"""

WAIT_S = 0.2
"""Seconds for which a write must wait to count: less is a machine that is busy."""

COUNTS_S = 1.0
"""Seconds that one wait counts at most: a single long one is a laptop that slept, or a terminal that was stopped."""

WAITED_S = 3.0
"""Seconds of waiting that make a slow terminal..."""

WAITED_SHARE = 0.3
"""...when they are this share of the time, or more: the waits of a whole day make none."""


class Credit:
    """Two buckets that fill with time: an answer to a key may empty both, the rest of the screen only its own.

    So the clock goes on while a large answer is paid off, and a key is answered while much changes.

    Args:
        now: The time, seconds; all times are by the same clock.
    """

    MOST = ORDINARY + ANSWERS
    """Bytes that an answer may have at once."""

    def __init__(self, now: float) -> None:
        self._ordinary = float(ORDINARY)
        self._answers = float(ANSWERS)
        self._at = now

    def room(self, now: float, *, answers: bool) -> int:
        """Give the bytes that may be written now.

        Args:
            now: The time, seconds.
            answers: A key was pressed just before.
        """
        self._earn(now)
        return int(self._ordinary + (self._answers if answers else 0))

    def draw(self, count: int, now: float) -> None:
        """Take off what was written, bytes: no more than there was room for."""
        self._earn(now)
        ordinary = min(float(count), self._ordinary)
        self._ordinary -= ordinary
        self._answers -= count - ordinary

    def wait_s(self, count: int, now: float, *, answers: bool) -> float:
        """Give the seconds until so many bytes may be written, which are no more than may be had at once."""
        self._earn(now)
        if not answers:
            return max(0.0, (count - self._ordinary) / ORDINARY_RATE)
        lacks = count - self._ordinary - self._answers
        together = lacks / (ORDINARY_RATE + ANSWERS_RATE)
        # A full bucket earns nothing: then the other has to earn it alone.
        full_in = (ORDINARY - self._ordinary) / ORDINARY_RATE
        if together <= full_in:
            return max(0.0, together)
        return max(0.0, full_in + (lacks - full_in * (ORDINARY_RATE + ANSWERS_RATE)) / ANSWERS_RATE)

    def _earn(self, now: float) -> None:
        passed = max(0.0, now - self._at)
        self._ordinary = min(float(ORDINARY), self._ordinary + passed * ORDINARY_RATE)
        self._answers = min(float(ANSWERS), self._answers + passed * ANSWERS_RATE)
        self._at = max(self._at, now)


class Waits:
    """How long writes had to wait for the terminal lately.

    Attributes:
        began: When the present row of waits began; None while there is none.
        counted: Seconds of waiting in it, as they count.
        waited: Seconds of waiting in it.
        bytes: What was written meanwhile.
    """

    def __init__(self) -> None:
        self.began: float | None = None
        self.counted = self.waited = 0.0
        self.bytes = 0

    def took(self, seconds: float, count: int, now: float) -> None:
        """Take in one write: how long it took, of how many bytes, and when it ended."""
        if seconds >= WAIT_S:
            if self.began is None:
                self.began = now - seconds
            self.counted += min(seconds, COUNTS_S)
            self.waited += seconds
        if self.began is None:
            return
        self.bytes += count
        if self.counted + COUNTS_S < WAITED_SHARE * (now - self.began - self.waited):
            self.began, self.counted, self.waited, self.bytes = None, 0.0, 0.0, 0

    @property
    def rate(self) -> float | None:
        """Bytes a second that a slow terminal takes; None while it is not slow."""
        return self.bytes / self.waited if self.counted >= WAITED_S else None
