"""One scheduler's requests in flight, told from its log without their ids: a working copy that changes in place.

Every running request makes one token a decode step (more with speculative decoding), so a *step clock* counts what each
has made since the log began, and a request's age is the clock less the clock at its admission. Prefill lines date the
admissions and give prompt lengths. Between two decode lines

    departures    d = running before + admitted - running after
    tokens freed  f = held before + made + prompts admitted - held after,    made = steps x running

A request that leaves takes with it what it holds, ``prompt + age = clock + key``, where ``key = prompt - clock at its
admission`` never changes: so those left whose keys add up to ``f - d x clock`` (``console.job.flight_match``). How many
steps an interval has: ``console.job.flight_pace``.

Some hundred departures of a data set are told apart; then only their number is followed, which costs next to nothing,
until the server idles or a burst of admissions shows that another data set has begun.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.job.flight_batch import BatchDraft
from console.job.flight_crowd import Crowd, CrowdDraft, crowd_of
from console.job.flight_pace import PaceDraft
from console.job.flight_rank import CLOSELY, Ended, Joining, RankFlight

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from console.job.server_events import Retraction, ServerLoad, ServerPrefill

_CHUNK, _KNOWN_CHUNK = 1_024, 256
"""A prefill of a multiple of the first, or of the second and as large as any before, ends with a prompt's cut chunk."""

_MASS, _MASS_SHARE, _ALIKE = 8, 0.6, 0.2
"""That so many, and such a share of all, leave within one interval while few come is an abort, unless their ages differ
by no more than this share."""

_TAIL = 3
"""So many may end by themselves between the last decode line and the server's idling."""

_LOST = 4.0
"""When so many times the usual steps were made between two lines, lines are missing, prefills among them."""

_NEAR = 0.75
"""One that left is of known age when its key fits to this many intervals."""

_BURST = 8
"""So many admissions in one interval, and two thirds of what runs then: another data set has begun."""

_ASTRAY = 160
"""Where sums do not fit, telling requests apart is given up so many departures sooner each time."""

_AT_ONCE_S = 3.0
"""Prefills of one batch follow one another within this time, and the first ones may not be counted as running yet."""

_STAMP_S = 1.0
"""Stamps are whole seconds."""

_STATS_S = 30.0
"""A stats line tells of no longer time than this: after a pause it tells of the last interval only."""


class RankDraft:
    """One scheduler, changing in place.

    Args:
        flight: What is known.

    Attributes:
        ended: Requests that left since the draft was made.
        made: Tokens made since then.
    """

    __slots__ = (
        "_at", "_batch", "_cached", "_carried", "_chunk", "_clock", "_crowd", "_dated", "_entered", "_held", "_joining",
        "_last_ages", "_left", "_loaded_at", "_pace", "_since", "_told", "_unknown", "ended", "made",
    )  # fmt: skip

    def __init__(self, flight: RankFlight) -> None:
        (
            self._at, told, self._loaded_at, self._held, self._clock, pace, batch, crowd, self._unknown, joining,
            self._entered, self._cached, self._carried, self._chunk, self._dated, self._left, self._since,
            self._last_ages,
        ) = flight  # fmt: skip
        self._pace = PaceDraft(pace)
        self._told, self._joining, self._batch = list(told), list(joining), BatchDraft(batch)
        self._crowd = CrowdDraft(crowd)
        self.ended: list[Ended] = []
        self.made = 0.0

    def freeze(self) -> RankFlight:
        """The scheduler as it stands."""
        return RankFlight(
            self._at, tuple(self._told), self._loaded_at, self._held, self._clock, self._pace.freeze(),
            self._batch.freeze(), self._crowd.freeze(), self._unknown, tuple(self._joining), self._entered,
            self._cached, self._carried, self._chunk, self._dated, self._left, self._since, self._last_ages,
        )  # fmt: skip

    def prefill(self, event: ServerPrefill, at: datetime) -> None:
        """Requests are admitted, or a chunk of one."""
        former = self._at
        if self._is_old(event, at):
            return
        self._dated = True
        if event.running == 0 and (not self._entered or former is None or (at - former).total_seconds() > _AT_ONCE_S):
            self._idled(at)
        count = event.new_requests
        self._entered += count
        if self._left <= 0:
            return
        fresh = event.new_tokens
        tokens = fresh + self._pace.alone * event.cached_tokens + self._carried
        self._carried = 0.0
        cut = fresh and fresh % _KNOWN_CHUNK == 0 and (fresh == self._chunk or fresh % _CHUNK == 0)
        self._chunk = max(self._chunk, fresh)
        if cut and count:
            # The last request goes on in the next chunk, and is counted there again.
            self._carried = tokens / count
            self._entered -= 1
            count, tokens = count - 1, tokens - self._carried
        self._cached += event.cached_tokens
        if self._batch.thrown and count:
            found, tokens = self._batch.back(count, tokens)
            self._joining += [Joining(at, 1, prompt, made) for made, prompt in found]
            count -= len(found)
        if count:
            self._joining.append(Joining(at, count, tokens / count))
            self._batch.usual(tokens / count, count)

    def load(self, event: ServerLoad, at: datetime) -> None:
        """A decode line."""
        if self._is_old(event, at):
            return
        former, self._loaded_at = self._loaded_at, at
        entered, self._entered = self._entered, 0
        if self._left <= 0:
            self._follow(event.running, entered, at)
            return
        apart = 0.0 if former is None else (at - former).total_seconds()
        if not self._dated:
            self._undated(event, apart)
            return
        before = len(self._batch.flying) + self._unknown
        speed = event.gen_throughput
        if speed and (apart - _STAMP_S) * speed > _LOST * self._pace.steps * max(before, event.running):
            self._lost(event, apart)
            return
        if former is None and event.running > entered:
            self._unknown = before = event.running - entered
            self._held = None
        self._interval(event, at, entered, (before, apart if before else 0.0))

    def _follow(self, running: int, entered: int, at: datetime) -> None:
        """A decode line while requests are not told apart."""
        births, clock, steps = self._crowd.births, self._clock, self._pace.steps
        half = clock + steps / 2
        births += [half] * entered
        gone = len(births) - running
        self._clock = clock + steps
        self.made += steps * running
        if gone > 0:
            left, time_s = self._crowd.leave(gone), at.timestamp()
            if gone < _MASS or gone < _MASS_SHARE * (running + gone) or 4 * entered >= gone:
                self.ended.append(Ended(time_s, max(1.0, half - sum(left) / gone), False, False, gone))
        elif gone:
            births += [half] * -gone
        if entered >= _BURST and 3 * entered >= 2 * running:
            self._watch(at)

    def retracted(self, event: Retraction, at: datetime) -> None:
        """Requests are thrown out for want of room."""
        if self._is_old(event, at):
            return
        freed = self._batch.throw_out(event.count, self._clock)
        if self._held is not None:
            self._held -= round(freed)

    def _is_old(self, event: ServerLoad | ServerPrefill | Retraction, at: datetime) -> bool:
        """Whether a line was read before, or stands out of its order."""
        if self._at is None or at > self._at:
            self._at, self._told = at, [event]
            return False
        if at < self._at or event in self._told:
            return True
        self._told.append(event)
        return False

    def _interval(self, event: ServerLoad, at: datetime, entered: int, known: tuple[int, float]) -> None:
        """The time between two decode lines: who came, who left, and how long it was in steps."""
        before, apart = known
        joining, self._joining = self._joining, []
        begin_s = at.timestamp() - apart
        places = [min(1.0, max(0.0, (group.at.timestamp() - begin_s) / apart)) if apart else 0.0 for group in joining]
        place = _weighted(joining, places) if before else 0.0
        held = event.tokens
        balance = None
        if held is not None and self._held is not None:
            balance = held - self._held - sum([group.requests * (group.prompt + group.made) for group in joining])
        gone, working, steps = before + entered - event.running, before + entered * (1 - place), self._pace.steps
        if gone == 0 and balance is not None and working:
            steps = self._pace.measure(balance, working, self._cached, fresh=not before)
        for group, where in zip(joining, places, strict=True):
            self._batch.join(self._clock + steps * where - group.made, group.requests, group.prompt)
        if gone > 0:
            working -= gone * (1 - place)
            freed = None if balance is None else steps * working - balance
            self._depart(gone, freed, self._clock + steps * place, at, mass=entered * 4 < gone)
        elif gone:
            self._unknown -= gone
        self._clock += steps
        self._held, self._cached = held, 0
        self.made += steps * working

    def _depart(self, gone: int, freed: float | None, clock: float, at: datetime, *, mass: bool) -> None:
        """Requests left, at a clock that they had reached on average, freeing so many tokens together."""
        batch, size = self._batch, len(self._batch.flying)
        if mass and gone >= _MASS and gone >= _MASS_SHARE * (size + self._unknown) and not batch.alike(clock, _ALIKE):
            # Aborted: they tell nothing of lengths, and which of them is not known.
            self._unknown = max(0, size + self._unknown - gone)
            batch.clear()
            return
        if self._unknown:
            gone, freed = self._of_unknown(gone, freed, clock)
        gone = min(gone, size)
        if gone > 0:
            time_s = at.timestamp()
            self.ended += [
                Ended(time_s, made, sure)
                for made, sure in batch.leave(gone, freed, clock, self._clock + self._pace.steps, self._pace.steps)
            ]
            self._left -= gone + _ASTRAY * batch.doubted
            if self._left <= 0:
                self._unwatch(clock)

    def _of_unknown(self, gone: int, freed: float | None, clock: float) -> tuple[int, float | None]:
        """Take those of unknown age out of what left; gives what is left of it."""
        flying, unknown = self._batch.flying, self._unknown
        if gone == 1 and freed is not None and flying:
            nearest = min([abs(one[0] + clock - freed) for one in flying])
            others = int(nearest > _NEAR * self._pace.steps)
        else:
            others = round(gone * unknown / (len(flying) + unknown))
        others = min(unknown, max(gone - len(flying), others))
        self._unknown -= others
        return gone - others, None if freed is None else freed * (gone - others) / gone

    def _idled(self, at: datetime) -> None:
        """All that ran has ended since the newest decode line, within its interval."""
        batch = self._batch
        running = len(batch.flying) + self._unknown + len(self._crowd.births) + self._entered
        if not running:
            self._held = 0
            self._watch(at)
            return
        clock, time_s = self._clock + self._pace.steps / 2, at.timestamp()
        if running <= _TAIL or batch.alike(clock, _ALIKE):
            time_s = self._loaded_at.timestamp() if self._loaded_at else time_s
            self.ended += [Ended(time_s, max(1.0, made), sure=True) for made in batch.ages(clock)]
            self.ended += [
                Ended(time_s, max(1.0, clock - birth), sure=False, apart=False) for birth in self._crowd.births
            ]
            self.made += running * self._pace.steps / 2
        self._crowd = CrowdDraft(Crowd())
        batch.clear()
        batch.doubt(self._clock)
        self._unknown, self._held, self._joining, self._entered = 0, 0, [], 0
        self._watch(at)

    def _watch(self, at: datetime) -> None:
        """From here on departures are told apart again."""
        if self._left <= 0 or self._since is None:
            self._since, self._last_ages = at, ()
            self._joining, self._cached, self._carried = [], 0, 0.0
            self._unknown += len(self._crowd.births)
            self._crowd = CrowdDraft(Crowd())
            self._held = None if self._unknown else 0
        self._left = CLOSELY

    def _unwatch(self, clock: float) -> None:
        """Enough departures were told apart."""
        batch = self._batch
        self._last_ages = tuple(batch.freeze().ages(clock))
        births = [prompt - key for key, prompt, _ in batch.flying]
        # Those of unknown age are taken to be as old as the middle of the others.
        births += [sorted(births)[len(births) // 2] if births else clock] * self._unknown
        self._crowd = CrowdDraft(crowd_of(births, batch.order))
        self._unknown = 0
        batch.clear()

    def _undated(self, event: ServerLoad, apart: float) -> None:
        """A line of a server that prints no admissions: only what is made is known."""
        self._unknown, self._held = event.running, event.tokens
        if event.gen_throughput and not event.suspect_throughput:
            self.made += event.gen_throughput * min(apart, _STATS_S)

    def _lost(self, event: ServerLoad, apart: float) -> None:
        """Lines are missing: who runs now is not known."""
        self.made += (event.gen_throughput or 0.0) * apart
        self._batch.clear()
        self._joining, self._unknown, self._held, self._cached = [], event.running, event.tokens, 0


def _weighted(joining: Sequence[Joining], places: Sequence[float]) -> float:
    """Where in the interval requests came on average, 0 to 1; the middle when none did."""
    count = sum([group.requests for group in joining])
    return sum([group.requests * place for group, place in zip(joining, places, strict=True)]) / count if count else 0.5
