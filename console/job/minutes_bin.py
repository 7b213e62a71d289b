"""Half a minute of the server's work, as sums that any report can be added to, and what they say of a decode step."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

STEP_S = 30
"""Width of a bin, seconds: a dozen reports of a slow server, and two bins a minute."""

_POOL = 100_000
"""Stands in for a pool whose size no line told: any size will do, for it only scales what a held token costs."""

_LEAST_S = 8.0
"""A bin with less reported time than this says nothing of speed: stamps are whole seconds."""

_LEAST_MADE = 1.0
"""Nor does one in which not a token was made, whatever fraction of one is reported."""


class Bin(NamedTuple):
    """One bin. Every report counts with the seconds since its rank's report before, so that the mean is one over time.

    A report read twice, or two in one second, add no time and hence nothing.

    Attributes:
        time_s: Its beginning, seconds since the epoch, a multiple of ``STEP_S``.
        span_s: Seconds reported on, summed over ranks.
        good_s: Of these, seconds whose throughput is good.
        ranks: Ranks at work x seconds.
        running: Running requests of a rank x seconds.
        queue: Waiting requests of a rank x seconds.
        usage: Token usage of a rank x seconds.
        held: Tokens held by a rank x seconds; 0 where no report tells.
        made: Tokens made in the good seconds.
        prompt_tokens: Prompt tokens computed (not found in the prefix cache) within the good seconds.
        admitted: Requests admitted.
        retracted: Requests retracted or preempted, by the log.
        counted: The same by the metrics page's counter.
    """

    time_s: int
    span_s: float = 0.0
    good_s: float = 0.0
    ranks: float = 0.0
    running: float = 0.0
    queue: float = 0.0
    usage: float = 0.0
    held: float = 0.0
    made: float = 0.0
    prompt_tokens: int = 0
    admitted: int = 0
    retracted: int = 0
    counted: int = 0

    @property
    def retractions(self) -> int:
        """Requests retracted, by whichever knows more."""
        return max(self.retracted, self.counted)

    @property
    def wall_s(self) -> float:
        """Seconds of the clock that its reports cover."""
        return self.span_s * self.span_s / self.ranks if self.ranks else 0.0

    def mean(self, total: float) -> float | None:
        """A sum over ranks and seconds as a mean over time, summed over ranks; None while nothing was reported."""
        return total * self.ranks / (self.span_s * self.span_s) if self.span_s else None

    def mean_usage(self) -> float | None:
        """Token usage, 0 to 1, the mean of the ranks; None while nothing was reported."""
        return self.usage / self.span_s if self.span_s else None

    def throughput(self) -> float | None:
        """Tokens a second, summed over ranks; None without good seconds."""
        return self.made * self.ranks / (self.good_s * self.span_s) if self.good_s and self.span_s else None


class Totals(NamedTuple):
    """Sums of a full chunk of bins that are asked for again and again.

    Attributes:
        time_s: The beginning of its first bin, seconds since the epoch.
        bins: How many bins it holds.
        admitted: Requests admitted.
        prompt_tokens: Prompt tokens computed.
        retractions: Requests retracted.
    """

    time_s: int
    bins: int
    admitted: int
    prompt_tokens: int
    retractions: int


def totals_of(bins: Sequence[Bin]) -> Totals:
    """The sums of bins, one or more."""
    return Totals(
        bins[0].time_s,
        len(bins),
        sum([each.admitted for each in bins]),
        sum([each.prompt_tokens for each in bins]),
        sum([each.retractions for each in bins]),
    )


class Step(NamedTuple):
    """What a bin says of a decode step of the whole server.

    Attributes:
        time_s: The bin's beginning.
        seconds: Time per step, prefills in between included: running / throughput.
        running: Requests running.
        held: Tokens held in the KV pool; where only the share of the pool is known, that of a pool of 100,000; 0 where
            neither is.
        prompt: Prompt tokens computed per step.
        made: Tokens a second.
        spare: Prompt tokens per step that retracted requests cost: they are computed again.
    """

    time_s: int
    seconds: float
    running: float
    held: float
    prompt: float
    made: float
    spare: float = 0.0


def steps_of(bins: Iterable[Bin]) -> list[Step]:
    """The bins that tell of a step, oldest first."""
    found: list[Step] = []
    for each in bins:
        span_s, good_s, ranks = each.span_s, each.good_s, each.ranks
        if good_s < _LEAST_S or each.made < _LEAST_MADE or each.running <= 0.0:
            continue
        scale = ranks / (span_s * span_s)
        running = each.running * scale
        made = each.made * ranks / (good_s * span_s)
        seconds = running / made
        held = each.held * scale or each.usage / span_s * _POOL
        per_step = seconds * scale  # of a count in the bin: 1 / wall seconds x seconds per step
        prompt = each.prompt_tokens * per_step * span_s / good_s if each.prompt_tokens else 0.0
        spare = each.retractions * each.held / each.running * per_step if each.retracted or each.counted else 0.0
        if spare and not each.admitted:
            prompt += spare  # no prefill lines: vLLM's figure counts each prompt once, however often it is computed
        found.append(Step(each.time_s, seconds, running, held, prompt, made, min(prompt, spare)))
    return found
