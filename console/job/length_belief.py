"""What is believed of the lengths of a dataset's completions, by all that its job and the server have said."""

from __future__ import annotations

from dataclasses import dataclass
from math import hypot
from typing import TYPE_CHECKING

from console.job.deck import quantile
from console.job.length_drift import drift_of
from console.job.length_evidence import evidence
from console.job.length_fit import blurred, draws, moved, shifted
from console.job.snapshot import DatasetState
from console.job.work_left import prompts_left

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from console.job.dataset_run import DatasetRun
    from console.job.length_data import LengthData
    from console.job.length_law import LengthLaw
    from console.job.length_prior import LengthPrior
    from console.job.server_state import ServerState


_UNLIKE = 0.035
"""Log-spread between the law of what was seen and of what is to come: prompts are not in a random order."""


_BY_COUNTS = 0.1
"""The same where only counts tell: what the batch's clock says of the first minutes is rough."""


_SHAPED = {"progress", "flight", "counts"}
"""Sources that tell of single lengths."""

_UNSEEN = 0.35
"""Log-spread of what rests on the form of a law alone: which form holds beyond the longest age, nothing that was seen
tells, and answers that run on to the limit (a model that repeats itself) come last."""


@dataclass(frozen=True, slots=True)
class LengthBelief:
    """How long the completions of a dataset are, as far as known.

    Attributes:
        mean: Mean length of one whose request has not been sent, tokens.
        low: Low end of its 80 % range.
        high: High end.
        draws: 48 laws, each as likely as the others, by which to reckon what is left: of requests in flight by
            ``mean_left(age)``, of others by ``mean``. The same input gives the same laws, in no order that matters.
        source: What it rests on: ``progress`` (exact lengths), ``flight`` (reconstructed from the server's log),
            ``counts`` (how the job's counts grew while the batch was young), ``totals`` (sums alone) or ``prior``
            (other datasets, or the limit of its answers).
    """

    mean: float
    low: float
    high: float
    draws: tuple[LengthLaw, ...]
    source: str


def belief(run: DatasetRun, server: ServerState, prior: LengthPrior | None, now: datetime) -> LengthBelief | None:
    """The belief in a dataset's lengths.

    Finished requests count with their lengths, those in flight with what they have made so far (censored). It takes
    some milliseconds; nothing in it changes but by ``belief_key``.

    Args:
        run: The dataset.
        server: The server, with what it has in flight.
        prior: What other datasets lead to expect (``console.job.length_prior.prior_of``); None where there is none.
        now: The time; nothing that came later is known.

    Returns:
        None when neither a completion nor a prior nor a limit is known.
    """
    seen = evidence(run, server, prior, now)
    if seen is None:
        return None
    laws = draws(seen.data, seen.prior, weight=seen.weight, shape_known=seen.source in _SHAPED)
    if seen.later is not None:
        laws = moved(laws, seen.data.ended, seen.later)
    unlike = _BY_COUNTS if seen.source == "counts" else _UNLIKE
    laws = _drifting(blurred(laws, hypot(unlike, _UNSEEN * _unseen(seen.data, laws))), run, server)
    means = sorted(law.mean for law in laws)
    return LengthBelief(sum(means) / len(means), quantile(means, 0.1), quantile(means, 0.9), laws, seen.source)


def _unseen(data: LengthData, laws: Sequence[LengthLaw]) -> float:
    """The share of the mean length that lies beyond what anybody has reached, 0 to 1; 0 while nobody has ended."""
    if data.ended < 1:
        return 0.0  # the prior is as wide as it must be
    reached = max((place for place, count in enumerate(data.at_risk) if count >= 1), default=0) + 1
    law = laws[len(laws) // 2]
    return 1 - law.areas[min(reached, len(law.areas) - 1)] / (law.mean or 1.0)


def _drifting(laws: tuple[LengthLaw, ...], run: DatasetRun, server: ServerState) -> tuple[LengthLaw, ...]:
    """The laws of those to come, where answers grow or shrink along the file."""
    left = prompts_left(run)
    if run.state is not DatasetState.RUNNING or run.started_at is None or left is None or not run.done_run:
        return laws
    if run.budget is not None and run.tokens:
        left = min(left, max(0, run.budget - run.tokens) * run.done // run.tokens)
    typical = laws[len(laws) // 2]
    variance = max(0.0, 2 * typical.residual_mean_equilibrium / (typical.mean or 1.0) - 1)
    found = drift_of(server.flight.departed(run.started_at), run.concurrency or 0, left, variance)
    return shifted(laws, found.log_factor, found.sd) if found.log_factor else laws


def belief_key(run: DatasetRun, server: ServerState) -> tuple[object, ...]:
    """What a belief depends on, besides its prior: while this stays the same, so does the belief."""
    flight = server.flight
    return (
        run.name, run.state, run.started_at, run.done, run.tokens, run.errors, run.max_tokens, run.lengths.size,
        flight.count, flight.made,
    )  # fmt: skip
