"""The quiet screen: whether little is written to the terminal, and who decided that.

Over a slow line every byte that is on its way is waited for: a screen that writes as it likes is minutes old, and its
keys are answered as late. A quiet one writes at most so much (``console.quiet_budget``), and the newest picture each
time (``console.quiet_writer``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

NOTE = "quiet: at most 2 kB/s"
"""What the top line says while it is quiet."""


class QuietScreen:
    """Whether the screen is quiet; whoever writes to the terminal asks, whoever shows it is told.

    Args:
        on: It is from the start: the operator wants it so.
    """

    def __init__(self, *, on: bool = False) -> None:
        self._on = on
        self._settled = on
        self._told: list[Callable[[bool, str], None]] = []

    @property
    def on(self) -> bool:
        """Whether little is written."""
        return self._on

    @property
    def is_settled(self) -> bool:
        """Whether the operator has decided: then a slow terminal changes nothing by itself."""
        return self._settled

    def tell(self, told: Callable[[bool, str], None]) -> None:
        """Call ``told`` at each change from now on, with what it is now and why, as a sentence."""
        self._told.append(told)

    def turn(self) -> None:
        """The operator wants the other."""
        self._settled = True
        why = "The screen is as usual again." if self._on else "Quiet screen: at most 2 kB/s to the terminal."
        self._change(not self._on, why)

    def find_slow(self, rate: float) -> None:
        """The terminal takes no more than so many bytes a second."""
        if not self._settled and not self._on:
            self._change(
                True, f"The terminal takes only {max(0.1, rate / 1000):.1f} kB/s: quiet screen from now on. Q ends it."
            )

    def _change(self, on: bool, why: str) -> None:
        self._on = on
        for told in self._told:
            told(on, why)
