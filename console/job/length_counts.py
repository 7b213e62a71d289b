"""How long single completions were, counted in bins: what ``progress.jsonl`` tells exactly, in bounded space."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, log

_STEP = log(1.05)
"""Width of a bin in log-tokens; the exact sum is kept elsewhere, so this moves no mean."""

_BINS = 244
"""Up to some 140,000 tokens; a longer answer counts in the last bin."""


@dataclass(frozen=True, slots=True)
class LengthCounts:
    """Completions by length.

    Attributes:
        bins: How many in each bin; empty while there is none.
        cut: How many more were cut at the limit.
    """

    bins: tuple[int, ...] = ()
    cut: int = 0

    @property
    def size(self) -> int:
        """Completions counted."""
        return sum(self.bins) + self.cut

    def add(self, tokens: int, finish_reason: str) -> LengthCounts:
        """With one completion more."""
        draft = LengthCountsDraft(self)
        draft.add(tokens, finish_reason)
        return draft.freeze()

    def lengths(self) -> list[tuple[float, int]]:
        """The middle of each bin that is not empty, tokens, and its count; those cut are left out."""
        return [(exp((place + 0.5) * _STEP), count) for place, count in enumerate(self.bins) if count]


class LengthCountsDraft:
    """Counts that grow in place.

    Args:
        counts: What they begin with.
    """

    __slots__ = ("_bins", "_cut")

    def __init__(self, counts: LengthCounts) -> None:
        self._bins = list(counts.bins)
        self._cut = counts.cut

    def add(self, tokens: int, finish_reason: str) -> None:
        """One completion more."""
        if finish_reason == "length":
            self._cut += 1
            return
        if not self._bins:
            self._bins = [0] * _BINS
        self._bins[min(_BINS - 1, int(log(tokens) / _STEP)) if tokens > 1 else 0] += 1

    def freeze(self) -> LengthCounts:
        """The counts as they stand."""
        return LengthCounts(tuple(self._bins), self._cut)
