"""Python's collector of garbage cycles, set so that no key waits for it.

Its full passes look at every object there is: with the libraries of a console a tenth of a second on a slow core, and
while many lines come, several times a minute.
"""

from __future__ import annotations

import gc

THRESHOLDS = (5_000, 10, 10)
"""Objects that come before a first pass, and such passes before a deeper one; Python's own are 700, 10, 10. What a
screen leaves behind between two full passes is then some MB at most."""

AT_START = (200_000, 10, 10)
"""The same while the program is read from disk: nearly all that comes then stays, and passes over it take a twentieth
of the time until the first frame."""


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
