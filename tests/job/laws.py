"""Laws of lengths that are simple enough to reckon by hand, for tests of what is built on laws."""

from __future__ import annotations

from math import exp

from console.job.length_law import LengthLaw, edges_up_to, law_of

CAP = 16_384


def exponential(mean: float, cap: int = CAP) -> LengthLaw:
    """Memoryless: what is left is always the mean, as long as the limit is far."""
    return law_of("gamma", [exp(-edge / mean) for edge in edges_up_to(cap)], cap)


def fixed(length: int) -> LengthLaw:
    """Every answer has the same length: that of the limit."""
    return law_of("gamma", [1.0] * len(edges_up_to(length)), length)


def with_endless(law: LengthLaw, share: float) -> LengthLaw:
    """The same, with a share of answers that only the limit ends."""
    return law_of(law.family, [share + (1 - share) * alive for alive in law.params], law.cap)
