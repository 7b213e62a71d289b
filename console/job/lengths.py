"""How long completions are: the mean, and how sure it is.

The first completions of a batch are its shortest, since the long ones still run; a plain mean of them is far too
small. The total time on test mends this: what the running requests have made so far counts too,

    mean = (completed tokens + tokens in flight) / completions

(exact for exponential lengths, and close enough for others; the bias of the plain mean is the inspection paradox,
Rauwolf & Kamps, Stats 2024 7(2):24).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, log, sqrt
from statistics import fmean
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from console.job.dataset_run import DatasetRun
    from console.job.server_state import ServerState

Z_80 = 1.2816
"""Half of a central 80 % interval of a normal distribution, in standard deviations."""

_LEAST_COMPLETIONS = 5
"""Fewer say too little without a mean from other datasets."""

_PRIOR_WEIGHT = 4.0
"""The mean of other datasets counts like this many completions: it soon gives way to the dataset's own."""

_WELL_KNOWN = 20
"""Completions from which on a dataset's mean says something of others."""

_DEFAULT_SPREAD = 0.5
"""Log-standard deviation of means between datasets while fewer than three are known: means of two datasets of one
benchmark mix commonly differ by a factor of 1.5 to 2."""


@dataclass(frozen=True, slots=True)
class MeanLength:
    """A mean length of completions.

    Attributes:
        tokens: The mean.
        low: Low end of its 80 % range.
        high: High end.
    """

    tokens: float
    low: float
    high: float


def tokens_in_flight(server: ServerState, run: DatasetRun) -> float | None:
    """Tokens that the running requests have made so far; None when it can't be known.

    ``pool tokens - running x mean prompt``: the KV pool holds prompts and what was made after them. The mean prompt is
    that of the completions in ``progress.jsonl``, else of the server's prefill lines.
    """
    prompt = _mean_prompt(server, run)
    held = [_held(server, report.load.tokens, report.load.token_usage) for _, report in server.fresh_ranks()]
    known = [tokens for tokens in held if tokens is not None]
    if prompt is None or not known or len(known) < len(held):
        return None
    return max(0.0, sum(known) - (server.log_running() or 0) * prompt)


def _held(server: ServerState, tokens: int | None, usage: float | None) -> float | None:
    if tokens is not None:
        return tokens
    return usage * server.capacity.max_total_tokens if usage is not None and server.capacity else None


def _mean_prompt(server: ServerState, run: DatasetRun) -> float | None:
    if len(run.completed):
        return run.prompt_tokens / len(run.completed)
    return server.prompt_tokens / server.prompts if server.prompts else None


def own_mean(run: DatasetRun, in_flight: float | None, prior: MeanLength | None) -> MeanLength | None:
    """A dataset's mean completion, by its own completions, those of former processes included.

        mean = (w m0 + tokens + in flight) / (w + n)      w = 4 with a prior mean m0, else 0

    Its relative error is ``1.28 / sqrt(w + n)`` (a coefficient of variation of 1), and 25 % more, up or down, while
    fewer than 100 completions are known without the tokens in flight.

    Args:
        run: The dataset.
        in_flight: See ``tokens_in_flight``.
        prior: The mean by other datasets.

    Returns:
        None with fewer than five completions and no prior.
    """
    weight = _PRIOR_WEIGHT if prior else 0.0
    count = run.done + weight
    if run.tokens is None or count < min(_LEAST_COMPLETIONS, weight or _LEAST_COMPLETIONS) or run.tokens + weight == 0:
        return prior
    total = (prior.tokens * weight if prior else 0.0) + run.tokens + (in_flight or 0.0)
    error = Z_80 / sqrt(count)
    if in_flight is None and run.done < 100:  # noqa: PLR2004 -- given in the formula above
        error += 0.25
    mean = total / count
    return MeanLength(mean, mean * max(0.1, 1 - error), mean * (1 + error))


def pooled_mean(runs: Iterable[DatasetRun], kind: str) -> MeanLength | None:
    """The mean to expect of a dataset not begun, by those known: of its kind where there are any, else of all.

    Every known dataset counts once, however large: between datasets means differ far more than their own errors.
    With log-means of spread ``s``: ``exp(mean of logs -+ 1.28 s sqrt(1 + 1/k))``, ``s`` being 0.5 for fewer than three.
    """
    known = [run for run in runs if run.tokens and run.done >= _WELL_KNOWN]
    alike = [run for run in known if run.kind == kind] or known
    if not alike:
        return None
    logs = [log((run.tokens or 0) / run.done) for run in alike]
    count, middle, spread = len(logs), fmean(logs), _DEFAULT_SPREAD
    if count > 2:  # noqa: PLR2004 -- given in the formula above
        # In floats: ``statistics.stdev`` reckons in fractions, a third of a whole snapshot's time.
        spread = sqrt(sum([(each - middle) ** 2 for each in logs]) / (count - 1))
    reach = Z_80 * spread * sqrt(1 + 1 / count)
    return MeanLength(exp(middle), exp(middle - reach), exp(middle + reach))
