"""Lines that no format understands, counted by their shape: a changed log format shows as such."""

from __future__ import annotations

import re

_DIGITS = re.compile(r"0[xX][0-9a-fA-F]+|[0-9]+")
_LONGEST = 160
"""Characters of a shape: beyond them lines differ by their data."""

_KEPT = 20
"""Shapes that are told; the tail is noise."""

_HELD = 400
"""Shapes that are counted at a time; then the rarer half goes, so that any log can be read in bounded memory."""


class Shapes:
    """Counts of lines by shape: the line with its digits masked as ``#``."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}

    def add(self, text: str) -> None:
        """Count one line."""
        shape = _DIGITS.sub("#", text.strip()[:_LONGEST])
        self._counts[shape] = self._counts.get(shape, 0) + 1
        if len(self._counts) > _HELD:
            self._counts = dict(self._ranked()[: _HELD // 2])

    def top(self) -> tuple[tuple[str, int], ...]:
        """The most frequent shapes and their counts, most frequent first, at most 20."""
        return tuple(self._ranked()[:_KEPT])

    def _ranked(self) -> list[tuple[str, int]]:
        return sorted(self._counts.items(), key=lambda entry: (-entry[1], entry[0]))
