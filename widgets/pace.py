"""Something that is done at once when it is asked for, yet not more often than makes sense."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.message_pump import MessagePump


class Pace:
    """Does it at the first call, then at most once in so many seconds as long as it is asked for.

    What is asked for meanwhile is done once at the end of the pause, so nothing that came last is left out.

    Args:
        node: A widget or a screen, on whose timer it waits; it ends with it.
        every_s: Seconds between two times.
        do: What is done.
    """

    def __init__(self, node: MessagePump, every_s: float, do: Callable[[], object]) -> None:
        self._node = node
        self._every_s = every_s
        self._do = do
        self._next_s = 0.0
        self._waits = False

    def ask(self) -> None:
        """Have it done now, or when the pause is over."""
        if self._waits:
            return
        if not self._node.is_running:  # nothing can be timed before, and nothing is drawn before
            self._do()
            return
        left_s = self._next_s - asyncio.get_running_loop().time()
        if left_s <= 0:
            self._now()
        else:
            self._waits = True
            self._node.set_timer(left_s, self._now)

    def _now(self) -> None:
        self._waits = False
        self._next_s = asyncio.get_running_loop().time() + self._every_s
        self._do()
