"""How long to wait before the next attempt to reach the host (a pure function)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator

FIRST_S = 0.5
"""Upper limit of the first wait: most cuts are a switched network, over in a second."""
FACTOR = 2.0
"""Growth of the upper limit per attempt."""
EARLY_CAP_S = 1.5
"""Upper limit while the cut is young: the operator waits for the host's return, and sees it within 2 s."""
EARLY_S = 1_800.0
"""Seconds of waiting after which a cut is no longer young."""
CAP_S = 15.0
"""Upper limit of any wait: a host that comes back in the night is seen within 15 s."""
JITTER = 0.5
"""Share of a wait that is left to chance, so that several consoles don't knock at the same moment."""


def delays(
    rng: random.Random,
    *,
    first: float = FIRST_S,
    factor: float = FACTOR,
    early_cap: float = EARLY_CAP_S,
    cap: float = CAP_S,
    jitter: float = JITTER,
) -> Iterator[float]:
    """Seconds from the start of an attempt to attempt 2, 3, 4, ... without end.

    Exponential back-off with equal jitter: with ``u`` uniform in [0, 1),

        upper(n) = min(limit, first * factor ** n),   n = 0, 1, 2, ...
        delay(n) = upper(n) * (1 - jitter * u)

    where ``limit`` is ``early_cap`` until ``EARLY_S`` seconds have been waited in all, then ``cap``.

    Args:
        rng: Where chance comes from; a test gives a seeded one.
        first: Seconds, above 0.
        factor: At least 1.
        early_cap: Seconds; the limit of a young cut.
        cap: Seconds; the limit of an old one.
        jitter: 0 (none) to 1 (full jitter).
    """
    upper, waited = first, 0.0
    while True:
        limit = early_cap if waited < EARLY_S else cap
        delay = min(limit, upper) * (1.0 - jitter * rng.random())
        waited += delay
        upper = min(upper * factor, max(cap, early_cap))
        yield delay
