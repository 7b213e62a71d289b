"""Python's collector of garbage cycles, set so that no key waits for it.

Its full passes look at every object there is: with the libraries of a console a tenth of a second on a slow core, and
while many lines come, several times a minute.
"""

from __future__ import annotations

import gc
from itertools import count

THRESHOLDS = (20_000, 10, 10)
"""Objects that come before a first pass, and such passes before a deeper one; Python's own are 700, 10, 10. They are
for what comes at once, a log that is caught up with; the rest is swept in quiet moments."""

SWEEP_S = 1.0
"""Seconds between two sweeps. One takes a few milliseconds, as the first pass that falls on a key does."""

ANSWERED_S = 0.06
"""Seconds after a key within which it is answered."""

_FULL = 300
"""Sweeps of which one looks at all there is but what was there at the start: what a screen leaves behind until then is
some MB at most."""

AT_START = (200_000, 10, 10)
"""The same while the program is read from disk: nearly all that comes then stays, and passes over it take a twentieth
of the time until the first frame."""


_sweeps = count(1)


def sweep() -> None:
    """Look for garbage among what is young, now and then among all; call it when nobody waits."""
    gc.collect(2 if next(_sweeps) % _FULL == 0 else 1)


def begin() -> None:
    """Let the program come up before it is looked at."""
    gc.set_threshold(*AT_START)


def calm() -> None:
    """Leave out of all later passes what is there now, which is what stays: modules, classes, the screen.

    A second time, once the program has come up, what is garbage by then goes first: what came before the first time,
    classes that a decorator made anew among it, would else stay for good, and make each later page of memory fuller.
    """
    if gc.get_freeze_count():
        gc.unfreeze()
        gc.collect()
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)
