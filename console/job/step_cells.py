"""What a decode step took in the first hours at each load: the reference that later steps are judged by.

It is kept early and fixed, so that a server that slows down over a day does not train it away. A *cell* of like load
takes the first hour that is spent in it within the first two hours of work, while steps do not take clearly longer than
at first. Other loads, and slow times, have late cells: these tell how step times differ between loads, but their level
counts softly.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log, log1p
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from console.job.minutes_bin import Step

_FULL = 120
"""Bins that a cell takes: an hour, over which a throughput that wanders for minutes averages out."""

_CELLS = 48
"""Early cells at most, and late ones; a run visits a few dozen."""

_ROUGH = 8
"""Bins from which on a cell's mean says what is usual in it."""

_CLIP = 0.25
"""A log step time this far from its cell's mean counts as this far: one bad bin does not move the reference."""

EARLY = 240
"""Bins at work since the server's start (two hours) up to which cells are early."""

KNOWN = 10
"""Bins from which on an early cell is known, so that its load needs no late one."""

_SLOW = 0.15
"""Log step time, against the early mean of the same cell, above which the server counts as slow ..."""

_TRUST = 0.15
"""... in a mean that forgets exponentially, each half minute counting with this: six of them settle it."""

_FAR = 0.5
"""A log step time this far from its cell's mean counts as this far in it."""

_RUNNING_STEP = 1 / log(1.3)
_HELD_STEP = 1 / log(1.6)
_PROMPT_STEP = 1 / log(2.5)
"""Loads within a factor of 1.3 in running requests and 1.6 in tokens held per request are alike; prompt tokens per
made token in classes: below 0.3, 1, 3, 9."""

Key = tuple[int, int, int]
"""A cell's place: running requests, tokens held per request, prompt tokens per made token."""


class Cell(NamedTuple):
    """Steps of like load.

    Attributes:
        key: Its place.
        late: Whether it is a late one.
        born: Bins at work before its first one, since the server's start.
        bins: Bins taken.
        log_s: Sum of the log of the step time.
        running: Sum of running requests.
        held: Sum of tokens held.
        prompt: Sum of prompt tokens per step.
    """

    key: Key
    late: bool
    born: int
    bins: int
    log_s: float
    running: float
    held: float
    prompt: float

    def with_one(self, log_s: float, step: Step) -> Cell:
        """With one more bin, whose log step time counts as ``log_s``."""
        return Cell(
            self.key,
            self.late,
            self.born,
            self.bins + 1,
            self.log_s + log_s,
            self.running + step.running,
            self.held + step.held,
            self.prompt + step.prompt,
        )


@dataclass(frozen=True, slots=True)
class Reference:
    """The cells of one server process.

    Attributes:
        cells: In the order in which they were first seen.
        bins: Bins at work so far, taken or not.
        count: Residuals within cells so far.
        square: Sum of their squares.
        pairs: Pairs of neighbours in time among them.
        lagged: Sum of their products: the correlation over half a minute.
        level: Log step time now, against the early means of the same loads.
    """

    cells: tuple[Cell, ...] = ()
    bins: int = 0
    count: int = 0
    square: float = 0.0
    pairs: int = 0
    lagged: float = 0.0
    level: float = 0.0

    @property
    def taken(self) -> int:
        """Bins in its cells."""
        return sum([cell.bins for cell in self.cells])

    def after(self, steps: Sequence[Step]) -> Reference:
        """With more steps, in the order of time."""
        draft = _Draft(self)
        for step in steps:
            draft.take(step)
        return draft.freeze()


class _Draft:
    """A reference that grows in place."""

    def __init__(self, reference: Reference) -> None:
        self._cells = {(cell.key, cell.late): cell for cell in reference.cells}
        self._room = [_CELLS - sum(cell.late is late for cell in reference.cells) for late in (False, True)]
        self._bins, self._level = reference.bins, reference.level
        self._count, self._square = reference.count, reference.square
        self._pairs, self._lagged = reference.pairs, reference.lagged
        self._before: float | None = None

    def take(self, step: Step) -> None:
        """One more bin."""
        key, taken = key_of(step.running, step.held, step.prompt), log(step.seconds)
        early = self._cells.get((key, False))
        if early is not None and early.bins >= _ROUGH:
            off = max(-_FAR, min(_FAR, taken - early.log_s / early.bins))
            self._level += _TRUST * (off - self._level)
        late = self._bins >= EARLY or self._level > _SLOW
        known = late and early is not None and early.bins >= KNOWN
        self._bins += 1
        self._before = None if known else self._into(self._cells.get((key, late)), (key, late), step, taken)

    def _into(self, cell: Cell | None, place: tuple[Key, bool], step: Step, taken: float) -> float | None:
        """Put it into a cell; gives its residual there, None while the cell's mean is rough."""
        if cell is None:
            if self._room[place[1]]:
                self._room[place[1]] -= 1
                self._cells[place] = Cell(*place, self._bins - 1, 1, taken, step.running, step.held, step.prompt)
            return None
        if cell.bins >= _FULL:
            return None
        residual = None
        if cell.bins >= _ROUGH:
            usual = cell.log_s / cell.bins
            residual = max(-_CLIP, min(_CLIP, taken - usual))
            taken = usual + residual
            self._count, self._square = self._count + 1, self._square + residual * residual
            if self._before is not None:
                self._pairs, self._lagged = self._pairs + 1, self._lagged + self._before * residual
        self._cells[place] = cell.with_one(taken, step)
        return residual

    def freeze(self) -> Reference:
        """The reference as it stands."""
        return Reference(
            tuple(self._cells.values()),
            self._bins,
            self._count,
            self._square,
            self._pairs,
            self._lagged,
            self._level,
        )


def key_of(running: float, held: float, prompt: float) -> Key:
    """The cell of a load.

    Args:
        running: Requests running, above 0.
        held: Tokens held.
        prompt: Prompt tokens computed per step.
    """
    share = prompt / running
    return (
        round(log(running) * _RUNNING_STEP),
        round(log1p(held / running) * _HELD_STEP),
        0 if share < 0.3 else 1 + int(log(share / 0.3) * _PROMPT_STEP),  # noqa: PLR2004  the classes' first edge, see above
    )
