"""The model of a decode step, fitted to what the first hours of the run showed at each load.

The prior is broad, so that an answer can be given from the first minutes on. Loads that were first seen late, and those
of the server process before, tell how step times differ between loads, but not how fast the server should be: it may
have been slow then already. So all late cells share a level of their own, a coefficient beside the four shares, and
likewise all of the former process:

    1 = (a + b R + c H + d p) / s + level      for a cell with the mean step time s; level = 0 for early cells
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from math import exp, hypot, log, sqrt
from typing import TYPE_CHECKING, NamedTuple

from console.job.minutes_bin import steps_of
from console.job.step_cells import KNOWN, Cell, Key, Reference
from console.job.step_fit import ROUNDS, Row, fit
from console.job.step_model import MISFIT, StepModel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from console.job.minutes import Minutes

_LATE, _FORMER = 1, 2
"""Groups of cells besides the early ones, 0: late or doubted, and those of the former process."""

_LEVELS = (0.15, 0.1)
"""Standard deviations of the level of late cells, and of the former process's, as shares of the step time."""

_YOUNG = 32
"""Bins in the reference below which the bins not yet in it count too: a quarter of an hour."""

_LEAST = 4
"""Bins below which nothing is expected: two minutes."""

_BATCH = 30
"""Bins at work, a quarter of an hour: loads that were first seen in one are compared with those seen before it."""

_SLOWER = 0.12
_SLOWER_SD = 2.5
"""New loads that take longer than foretold by this (log), and by so many standard deviations, are doubted."""

_NOISE, _LAG = 0.06, 0.7
"""Log-standard deviation of half a minute's throughput and its correlation with the next, while too little is known."""

_NOISE_FROM = 40
"""Residuals from which on they are measured."""

_LAG_MOST = 0.92
"""A correlation of a minute's noise is not believed to be higher: that would be a change of level."""

_HALF = 25.0
"""Running requests at which, before anything is known, half of a step's time is taken to be its fixed part: a step
reads all weights once for however many requests, and becomes work per request at some tens of them (10 to 100)."""

_REST = (0.55, 0.27, 0.18)
"""How the other part is then shared out: per request, per token held, prefill."""

_SIZE = 1 + len(_REST)

_PROMPTS = 0.4
"""Prompt tokens per made token while no prefill has been seen: 800 to an answer of 2,000."""


def step_model(minutes: Minutes) -> StepModel | None:
    """The model of the present server process; None before two minutes of work were seen.

    Args:
        minutes: Its history; what was learned of the process before counts as well, but softly.
    """
    reference = minutes.learned
    if reference.bins < _YOUNG:
        reference = reference.after(steps_of(minutes.tail))
    return _fitted(reference, minutes.former)


@lru_cache(maxsize=64)
def _fitted(reference: Reference, former: Reference | None) -> StepModel | None:
    """The model of a reference; cached, since what is learned from changes some dozens of times in a run."""
    if reference.bins < _LEAST and former is None:
        return None
    noise, lag = _noise(reference if reference.count >= _NOISE_FROM or former is None else former)
    points = [_point(cell, _LATE if cell.late else 0, noise, lag) for cell in reference.cells]
    if former is not None:
        points += [_point(cell, _FORMER, noise, lag) for cell in former.cells if not cell.late]
    points = _doubted(points)
    plain = _plain(points, ROUNDS)
    known = frozenset(point.key for point in points if point.group == 0 and point.bins >= KNOWN)
    return replace(plain, cells=_effects(plain, points), known=known, noise=noise, lag=lag, bins=reference.bins)


def _doubted(points: list[_Point]) -> list[_Point]:
    """The points, with early loads that were slower than the loads before them foretold counted among the late ones.

    Quarter of an hour after quarter of an hour: the first is believed; of a later one's new loads those are not that
    took clearly longer than the model of those believed so far foretells.
    """
    early = sorted((point for point in points if point.group == 0), key=lambda point: point.born)
    if not early:
        return points
    others = [point for point in points if point.group != 0]
    former = [point for point in others if point.group == _FORMER]
    first, *later = _batches(early)
    believed, doubted = first, []
    for batch in later:
        model = _plain([*believed, *former], 1)
        slow = [_slower(model, point) for point in batch]
        doubted += [point._replace(group=_LATE) for point, is_slow in zip(batch, slow, strict=True) if is_slow]
        believed = [*believed, *(point for point, is_slow in zip(batch, slow, strict=True) if not is_slow)]
    return [*believed, *doubted, *others]


def _batches(early: list[_Point]) -> list[list[_Point]]:
    """By the quarter of an hour at work in which they were first seen."""
    found: dict[int, list[_Point]] = {}
    for point in early:
        found.setdefault((point.born - early[0].born) // _BATCH, []).append(point)
    return list(found.values())


def _slower(model: StepModel, point: _Point) -> bool:
    """Whether a new load took longer than a model can explain."""
    _, running, held, prompt = point.load
    off = log(point.seconds * model.expected(running, held, prompt) / running)
    sd = hypot(model.relative_sd(running, held, prompt), sqrt(point.variance))
    return off > max(_SLOWER, _SLOWER_SD * sd)


def _plain(points: Sequence[_Point], rounds: int) -> StepModel:
    """The fit alone, without the effects of cells."""
    base = _base(points)
    found, covariance = fit([point.row(base.scales) for point in points], *_prior(base), rounds)
    fixed, request, token, prompt = (share * scale for share, scale in zip(found, base.scales, strict=False))
    return StepModel(
        fixed_s=fixed,
        request_s=request,
        token_s=token,
        prompt_s=prompt,
        scales=base.scales,
        spread=tuple(tuple(row[:_SIZE]) for row in covariance[:_SIZE]),
        cells={},
        known=frozenset(),
        lightest=min(point.load[1] for point in points),
        heaviest=max(point.load[1] for point in points),
        prompts=base.prompts,
        noise=_NOISE,
        lag=_LAG,
        bins=0,
    )


class _Point(NamedTuple):
    """A cell as the fit sees it: its mean load, its step time in seconds, that one's log variance, and its group."""

    key: Key
    load: tuple[float, float, float, float]
    seconds: float
    variance: float
    group: int
    born: int
    bins: int

    def row(self, scales: Sequence[float]) -> Row:
        """Its regressors, as shares of its own step time, and its weight."""
        parts = tuple(scale * each / self.seconds for scale, each in zip(scales, self.load, strict=True))
        levels = tuple(float(self.group == group) for group in (_LATE, _FORMER))
        return (*parts, *levels), 1.0 / (self.variance + MISFIT * MISFIT)


def _point(cell: Cell, group: int, noise: float, lag: float) -> _Point:
    count = cell.bins
    load = (1.0, cell.running / count, cell.held / count, cell.prompt / count)
    variance = noise * noise / effective(count, lag)
    return _Point(cell.key, load, exp(cell.log_s / count), variance, group, cell.born, count)


def _prior(base: _Base) -> tuple[list[float], list[float], list[float]]:
    """What to expect of the shares and levels, how unsure that is, and the least that each may be.

    The fixed share at R running requests is ``f = 1 / (1 + R / 25)``, with a standard deviation of ``f (1 - f)``, which
    is a factor of e in the 25.
    """
    fixed = 1.0 / (1.0 + base.running / _HALF)
    shares = [fixed, *((1.0 - fixed) * each for each in _REST)]
    spreads = [fixed * (1.0 - fixed), *shares[1:]]
    known = [bool(scale) for scale in base.scales]
    shares = [share * use for share, use in zip(shares, known, strict=True)]
    spreads = [spread * use for spread, use in zip(spreads, known, strict=True)]
    return [*shares, 0.0, 0.0], [*spreads, *_LEVELS], [0.0] * _SIZE + [float("-inf")] * 2


def effective(count: float, lag: float) -> float:
    """How many independent figures as many correlated ones are worth: ``n (1 - r) / (1 + r)``, at least 1.

    The large-sample form for a first-order autoregression with correlation ``r`` between neighbours.
    """
    return max(1.0, count * (1.0 - lag) / (1.0 + lag))


def _effects(model: StepModel, points: Sequence[_Point]) -> dict[Key, tuple[float, float]]:
    """Each cell's effect beside the fit, shrunk, and how unsure the log step time is there."""
    found: dict[Key, tuple[float, float]] = {}
    for point in sorted(points, key=lambda point: -point.group):  # of two with one key, the earlier group wins
        _, running, held, prompt = point.load
        fitted = model.fit_sd(running, held, prompt)
        prior = fitted * fitted + MISFIT * MISFIT
        level = _LEVELS[point.group - 1] if point.group else 0.0
        weight = prior / (prior + point.variance + level * level)
        off = log(point.seconds * model.expected(running, held, prompt) / running)
        found[point.key] = (weight * off, sqrt(prior * (1.0 - weight)))
    return found


class _Base(NamedTuple):
    """What the coefficients are scaled by."""

    scales: tuple[float, float, float, float]
    prompts: float
    running: float


def _base(points: Sequence[_Point]) -> _Base:
    early = [point for point in points if point.group == 0] or points
    count = sum(point.bins for point in early)
    seconds = exp(sum(point.bins * log(point.seconds) for point in early) / count)
    running, held, prompt = (sum(point.bins * point.load[k] for point in early) / count for k in (1, 2, 3))
    prompts = prompt / running
    usual = (prompts or _PROMPTS) * running
    scales = (seconds, seconds / running, seconds / held if held else 0.0, seconds / usual)
    return _Base(scales, prompts, running)


def _noise(reference: Reference) -> tuple[float, float]:
    if reference.count < _NOISE_FROM or not reference.pairs or not reference.square:
        return _NOISE, _LAG
    variance = reference.square / reference.count
    lag = reference.lagged / reference.pairs / variance
    return max(sqrt(variance), 0.01), min(_LAG_MOST, max(0.3, lag))
