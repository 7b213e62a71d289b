"""Small robust least squares with a prior and bounded coefficients, for the model of a decode step."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

Row = tuple[tuple[float, ...], float]
"""What a point says: its regressors, and its weight (one over its variance). Its target is 1."""

ROUNDS = 4
"""Reweightings: the weights of a few dozen points have settled by then."""

_HUBER = 1.5
"""Standard deviations from which on a point's pull no longer grows (Huber 1964)."""

_FLOOR = 1e-12


def fit(
    rows: Sequence[Row],
    prior: Sequence[float],
    spread: Sequence[float],
    bounds: Sequence[float],
    rounds: int = ROUNDS,
) -> tuple[list[float], list[list[float]]]:
    """Coefficients and their covariance.

        minimise  sum_i w_i h_i (1 - x_i u)^2 + sum_k ((u_k - m_k) / s_k)^2   over u >= its bounds

    with ``h_i = min(1, 1.5 / |r_i|)`` of the standardised residual ``r_i = (1 - x_i u) sqrt(w_i)``, by iteratively
    reweighted least squares; a coefficient that would lie below its bound is held there, and the others solved again.

    Args:
        rows: The points.
        prior: ``m``, what to expect of each coefficient.
        spread: ``s``, its standard deviation; 0 holds the coefficient at what is expected.
        bounds: The least that each may be.
        rounds: Reweightings.

    Returns:
        The coefficients, and the inverse of half of the curvature at them (their covariance when weights are one over
        variances), as if none were bounded.
    """
    size = len(prior)
    found = list(prior)
    ease = [1.0] * len(rows)
    curve: list[list[float]] = []
    for _ in range(rounds):
        curve, pull = _normal(rows, ease, prior, spread)
        found = _solve(curve, pull, bounds)
        for place, (row, weight) in enumerate(rows):
            off = abs(1.0 - sum([row[k] * found[k] for k in range(size)])) * weight**0.5
            ease[place] = 1.0 if off <= _HUBER else _HUBER / off
    return found, inverse(curve)


def _normal(
    rows: Sequence[Row], ease: Sequence[float], prior: Sequence[float], spread: Sequence[float]
) -> tuple[list[list[float]], list[float]]:
    """The normal equations, the prior in them."""
    size = len(prior)
    precision = [1.0 / max(each * each, _FLOOR) for each in spread]
    curve = [[precision[j] if j == k else 0.0 for k in range(size)] for j in range(size)]
    pull = [precision[k] * prior[k] for k in range(size)]
    for (row, weight), eased in zip(rows, ease, strict=True):
        for j, part in enumerate(row):
            if part:
                scaled, line = weight * eased * part, curve[j]
                pull[j] += scaled
                for k in range(j, size):
                    line[k] += scaled * row[k]
    for j in range(size):
        for k in range(j):
            curve[j][k] = curve[k][j]
    return curve, pull


def _solve(curve: list[list[float]], pull: list[float], bounds: Sequence[float]) -> list[float]:
    """The least squares within the bounds, up to which of them hold: the coefficient furthest below its own is held."""
    found = list(bounds)
    free = list(range(len(pull)))
    while free:
        rests = [pull[j] - sum([curve[j][k] * found[k] for k in range(len(pull)) if k not in free]) for j in free]
        turned = inverse([[curve[j][k] for k in free] for j in free])
        for place, k in enumerate(free):
            found[k] = sum([part * rest for part, rest in zip(turned[place], rests, strict=True)])
        lowest = min(free, key=lambda k: found[k] - bounds[k])
        if found[lowest] >= bounds[lowest]:
            break
        found[lowest] = bounds[lowest]
        free.remove(lowest)
    return found


def inverse(matrix: Sequence[Sequence[float]]) -> list[list[float]]:
    """The inverse of a positive definite matrix, by Gauss and Jordan."""
    size = len(matrix)
    work = [[*row, *(1.0 if j == k else 0.0 for k in range(size))] for j, row in enumerate(matrix)]
    for k in range(size):
        pivot = work[k][k]
        work[k] = [each / pivot for each in work[k]]
        for j in range(size):
            factor = work[j][k]
            if j != k and factor:
                work[j] = [mine - factor * other for mine, other in zip(work[j], work[k], strict=True)]
    return [row[size:] for row in work]
