"""How far a key has come that was typed: what it changes is drawn before anything else is.

Textual draws what has changed sixty times a second, and whatever came first; where a screen draws for ten milliseconds
ten times a second, every tenth key would wait for that, and then for its own turn.
"""

from __future__ import annotations

from math import inf
from time import monotonic

HELD_S = 0.05
"""Seconds for which a key that has not been looked at keeps other things from being drawn, at most."""


class Answering:
    """What is known of the newest key."""

    def __init__(self) -> None:
        self._came_s = -inf
        self.last_s = -inf
        """When a key was looked at last, ``time.monotonic``."""
        self._is_due = False

    def came(self) -> None:
        """A key came and waits for its turn; from any thread."""
        self._came_s = monotonic()

    def looked_at(self) -> None:
        """Its turn has come."""
        self._came_s, self.last_s = -inf, monotonic()

    def took_effect(self) -> None:
        """What it asks for was done."""
        self._is_due = True

    @property
    def holds(self) -> bool:
        """Whether a key waits for its turn: drawing anything now would keep it waiting for as long again."""
        return monotonic() - self._came_s < HELD_S

    def is_due(self) -> bool:
        """Whether a key has taken effect and nothing was drawn since; who asks draws it."""
        due, self._is_due = self._is_due, False
        return due
