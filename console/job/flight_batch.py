"""The requests that one scheduler runs, each with its age: who joins, who is thrown out, who left.

``Batch`` is what is kept between chunks of a log, ``BatchDraft`` changes in place. Times are readings of the step clock
(``console.job.flight_draft``): tokens that a request running since the beginning has made.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from itertools import accumulate
from typing import NamedTuple

from console.job.flight_crowd import SHARES
from console.job.flight_hazard import BINS, EVEN, bin_of, bins_of, rates
from console.job.flight_match import GOLDEN, Flying, leaving

_MOST = 4_096
"""Requests that are told apart; more than a scheduler runs at once."""

_BLUR = 0.4
"""Standard deviation of what a request holds, by its admission and its end, in intervals between decode lines."""

_VARIED = 0.5
"""Standard deviation of a prompt that is known only as a mean of several, as a share of a usual one."""

_CLOSE = 0.75
"""Departures fit when their keys do to this many intervals each: requests join and leave somewhere within one."""

_UNSURE = 0.15
"""What a departure that is not sure counts for in the hazard: it was drawn by that hazard, and counted in full it would
only confirm what chance began."""

_AT_LAST = 0.01
"""A request that joined at an interval's end may have ended in it all the same: it had this share of it at least."""

_FADE = 400
"""Departures in the hazard, at most; then all are halved."""

_KEPT = 0.1
"""Share of the departures that still count when other lengths must be expected."""

_MOST_DEBT = 8.0
"""What departures lack of the tokens freed is made up by later ones; more than so many requests hold is an error."""

_WORTH = 0.3
"""A request that is thrown out is told apart when it returns if it had made this share of a usual prompt."""

_LEARN, _LEARN_MOST = 0.02, 0.5
"""How much one admission changes the usual prompt, and one line at most."""

_FORGET = 256
"""Admissions after which a request that was thrown out is no longer waited for."""


class Batch(NamedTuple):
    """The requests of one scheduler.

    Attributes:
        flying: Those of known age, by key.
        thrown: Those thrown out and waiting: tokens made, prompt.
        waited: Admissions since the newest of them was thrown out.
        deaths: Ended requests by age, the newest some hundreds; the sure ones count more.
        hazard: How likely a request is to end, by age.
        due: Departures until the hazard is to be reckoned anew.
        number: Intervals with departures so far.
        prompt: Usual prompt of a request, tokens.
        debt: Tokens that were freed and that those taken to have left did not hold.
        order: How many left from each part of the order of ages, the oldest first.
    """

    flying: tuple[Flying, ...] = ()
    thrown: tuple[tuple[float, float], ...] = ()
    waited: int = 0
    deaths: tuple[float, ...] = (0.0,) * BINS
    hazard: tuple[float, ...] = EVEN
    due: int = 0
    number: int = 0
    prompt: float = 0.0
    debt: float = 0.0
    order: tuple[int, ...] = (0,) * SHARES

    def ages(self, clock: float) -> list[float]:
        """Tokens made by each, those included that were thrown out and wait."""
        return [max(0.0, clock + key - prompt) for key, prompt, _ in self.flying] + [made for made, _ in self.thrown]


class BatchDraft:
    """The requests of one scheduler, changing in place.

    Args:
        batch: What is known.

    Attributes:
        doubted: The newest departures did not fit at all.
    """

    __slots__ = (
        "_deaths", "_debt", "_due", "_hazard", "_number", "_waited", "doubted", "flying", "order", "prompt", "thrown",
    )  # fmt: skip

    def __init__(self, batch: Batch) -> None:
        (
            flying, thrown, self._waited, deaths, self._hazard, self._due, self._number, self.prompt, self._debt, order,
        ) = batch  # fmt: skip
        self.doubted = False
        self.flying, self.thrown, self._deaths, self.order = list(flying), list(thrown), list(deaths), list(order)

    def freeze(self) -> Batch:
        """The requests as they stand."""
        return Batch(
            tuple(self.flying), tuple(self.thrown), self._waited, tuple(self._deaths), self._hazard, self._due,
            self._number, self.prompt, self._debt, tuple(self.order),
        )  # fmt: skip

    def usual(self, prompt: float, count: int) -> None:
        """Requests came with prompts of so many tokens on average."""
        self.prompt += (prompt - self.prompt) * (min(_LEARN_MOST, count * _LEARN) if self.prompt else 1.0)

    def join(self, birth: float, count: int, prompt: float) -> None:
        """Requests joined at a reading of the clock, less what they had made before."""
        one = Flying(prompt - birth, prompt, count > 1)
        for _ in range(min(count, _MOST - len(self.flying))):
            insort(self.flying, one)

    def leave(self, gone: int, freed: float | None, clock: float, end: float, steps: float) -> list[tuple[float, bool]]:
        """Requests left.

        Args:
            gone: How many.
            freed: Tokens that they held together; None when not known.
            clock: When, on average.
            end: When the interval ended in which they did.
            steps: Steps in it: how sure the moment is.

        Returns:
            Tokens that each had made, and whether it is known which one it was.
        """
        flying, hazard = self.flying, self._hazard
        if freed is None:
            total = gone * sum([one[0] for one in flying]) / len(flying)
        else:
            total = freed - gone * clock + self._debt
        hazards = [hazard[place] for place in bins_of(flying, clock)]
        for place, (key, prompt, _) in enumerate(flying):
            # Those that joined within the interval could end in a part of it only.
            if (made := end + key - prompt) < steps:
                hazards[place] *= max(_AT_LAST, made / steps)
        self._number += 1
        self.doubted = False
        blur = _BLUR * steps
        places, off, sure = leaving(
            flying, hazards, (gone, total), (blur, max(blur, _VARIED * self.prompt)), self._number
        )
        loose = any([flying[place][2] for place in places])  # noqa: C419 -- a list is faster than a generator
        close = freed is not None and not loose and abs(off) <= _CLOSE * steps * gone
        # What is left over of a good fit is the moment within the interval at which each left.
        clock += off / gone if close else 0.0
        self._debt = 0.0 if close or freed is None else off
        self._order(places)
        ended = []
        for place in reversed(places):
            key, prompt, _ = flying.pop(place)
            ended.append((max(1.0, clock + key - prompt), sure and freed is not None))
        self._learn(ended, clock)
        return ended

    def _order(self, places: list[int]) -> None:
        """Note where in the order of ages they stood."""
        births = [one[1] - one[0] for one in self.flying]
        rising, part = sorted(births), SHARES / len(births)
        for place in places:
            # Of several of one age any one may have left.
            low, high = bisect_left(rising, births[place]), bisect_right(rising, births[place])
            self.order[int((low + (high - low - 1) * (self._number * GOLDEN % 1.0)) * part)] += 1

    def _learn(self, ended: list[tuple[float, bool]], clock: float) -> None:
        deaths = self._deaths
        for made, sure in ended:
            deaths[bin_of(made)] += 1.0 if sure else _UNSURE
        if abs(self._debt) > _MOST_DEBT * (self.prompt + sum([made for made, _ in ended]) / len(ended)):
            self.doubt(clock)  # what was taken for the hazard has led astray
            self.doubted = True
        self._due -= len(ended)
        if self._due <= 0:
            self._reckon(clock)

    def doubt(self, clock: float) -> None:
        """Other lengths must be expected now."""
        self._debt, self._deaths = 0.0, [count * _KEPT for count in self._deaths]
        self._reckon(clock)

    def _reckon(self, clock: float) -> None:
        known = sum(self._deaths)
        self._due = min(_FADE // 8, 8 + int(known) // 4)
        if known > _FADE:
            self._deaths = [count / 2 for count in self._deaths]
        self._hazard = rates(self._deaths, bins_of(self.flying, clock))

    def throw_out(self, count: int, clock: float) -> float:
        """Those that have made least are thrown out, of these the longest prompts; gives the tokens freed."""
        freed = 0.0
        for _ in range(min(count, len(self.flying))):
            one = min(self.flying, key=lambda one: (one.key - one.prompt, -one.prompt))
            self.flying.remove(one)
            made = max(0.0, clock + one.key - one.prompt)
            if made > _WORTH * self.prompt:  # else it comes back much like a new one
                self.thrown.append((made, one.prompt))
            freed += one.prompt + made
        self._waited = 0
        return freed

    def back(self, count: int, tokens: float) -> tuple[list[tuple[float, float]], float]:
        """Find among those admitted the ones that had been thrown out, by their tokens.

        How many they are follows from the tokens: each brings what it held, the others a usual prompt.

        Args:
            count: Requests admitted.
            tokens: Their prompts together, what they had made before included.

        Returns:
            Those that came back (tokens made, prompt), and the tokens of the others.
        """
        usual = self.prompt or tokens / count
        held = [made + prompt for made, prompt in self.thrown]
        mean = sum(held) / len(held)
        size = min(count, len(held), max(0, round((tokens - count * usual) / max(1.0, mean - usual))))
        self._waited += count - size
        found: list[tuple[float, float]] = []
        if size:
            called = tokens - (count - size) * usual
            heap = [*accumulate(held, initial=0.0)]
            start = min(range(len(held) - size + 1), key=lambda at: abs(heap[at + size] - heap[at] - called))
            found = self.thrown[start : start + size]
            del self.thrown[start : start + size]
            tokens = max(0.0, tokens - (heap[start + size] - heap[start]))
        if self._waited > _FORGET:
            self.thrown.clear()
        return found, tokens

    def alike(self, clock: float, spread: float) -> bool:
        """Whether their ages differ by no more than a share of the highest; false of none."""
        ages = self.ages(clock)
        return bool(ages) and max(ages) - min(ages) <= spread * max(ages)

    def ages(self, clock: float) -> list[float]:
        """Tokens made by each that runs."""
        return [max(0.0, clock + key - prompt) for key, prompt, _ in self.flying]

    def clear(self) -> None:
        """Nothing is known any more of who runs."""
        self.flying, self.thrown, self._debt, self.order = [], [], 0.0, [0] * SHARES
