"""Whether what was delivered is what was written, or a gap was told where lines were destroyed."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.fault_writer import numbered_line

if TYPE_CHECKING:
    from tests.fault_reader import Ledger

DESTRUCTIVE = ("truncate_behind", "truncate_caught_up", "delete")
"""Faults after which a gap may be told."""


@dataclass
class Outcome:
    """How one seed went.

    Attributes:
        seed: Which.
        faults: Kinds of faults and how often each was.
        lines: Lines written.
        missing: Lines that were destroyed before they could be read, as told.
        gaps: Gaps that were told.
        problems: What is wrong; empty when all is well.
    """

    seed: int
    faults: Counter[str] = field(default_factory=Counter)
    lines: int = 0
    missing: int = 0
    gaps: int = 0
    problems: list[str] = field(default_factory=list)


def judge(ledger: Ledger, lossy: list[int], outcome: Outcome) -> None:
    """Compare what was delivered with what was written, and add what is wrong to the outcome.

    Args:
        ledger: What was delivered.
        lossy: The last numbers that were written before each act that may destroy lines.
        outcome: Where the result goes.
    """
    outcome.problems += [f"a damaged line: {line!r}" for line in ledger.bad]
    expected, losses = 1, []
    for kind, *what in ledger.told:
        if kind == "reset":
            losses += [] if what[1] == 0 else [what[1]]
            continue
        first, last = int(str(what[0])), int(str(what[1]))
        if first < expected:
            outcome.problems.append(f"lines from {first} came again after {expected - 1}")
        elif first > expected and not _is_told(expected, first, losses, lossy):
            outcome.problems.append(
                f"lines {expected} to {first - 1} are missing; losses told here: {losses}; {ledger.told}; {lossy}"
            )
        outcome.missing += max(0, first - expected)
        outcome.gaps += len(losses)
        expected, losses = last + 1, []
    if outcome.gaps > sum(outcome.faults[kind] for kind in DESTRUCTIVE):
        outcome.problems.append(f"{outcome.gaps} gaps were told, more than could be: {outcome.faults}")


def _is_told(expected: int, first: int, losses: list[object], lossy: list[int]) -> bool:
    """Whether it is right and told that lines ``expected`` to ``first - 1`` are missing: a size is exact or unknown."""
    size = sum(len(numbered_line(n)) for n in range(expected, first))
    return bool(losses) and first - 1 in lossy and (None in losses or sum(int(str(lost)) for lost in losses) == size)
