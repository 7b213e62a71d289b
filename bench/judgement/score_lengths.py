"""How far the expected mean length is off, after so many completions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bench.judgement.following import Step
    from bench.judgement.spec import RunSpec
    from bench.judgement.truth import SimRun
    from console.job.snapshot import DatasetView

AFTER = (50, 100, 200, 500)
"""Completions after which it is asked."""


@dataclass(slots=True)
class Length:
    """A mean length as it was taken to be.

    Attributes:
        after: Completions so far.
        true: The mean of all of the dataset's, in the end.
        expected: By the estimator; None when it said nothing.
        printed: The job's own ``avg_comp``, the mean of what is done.
        where: Seed and dataset.
    """

    after: int
    true: float
    expected: float | None
    printed: float | None
    where: str

    def error(self, value: float | None) -> float | None:
        """``|value - true| / true``."""
        return None if value is None else abs(value - self.true) / self.true


class LengthScorer:
    """Asks when the progress line of 50, 100, ... completions has come; resumed datasets are left out.

    Args:
        spec: The run.
        run: As it was recorded.
    """

    def __init__(self, spec: RunSpec, run: SimRun) -> None:
        self.found: list[Length] = []
        self._family, self._seed = spec.family, spec.seed
        due = [
            (each.completed[after - 1][0], after, each)
            for each in run.truth.datasets
            if each.end is not None and not each.resumed
            for after in AFTER
            if after <= each.count / 2
        ]
        self._due = sorted(due, key=lambda entry: entry[0])

    def take(self, step: Step) -> None:
        """The next step."""
        while self._due and self._due[0][0] <= step.now:
            _, after, dataset = self._due.pop(0)
            view = next((view for view in step.snapshot.datasets if view.name == dataset.name), None)
            where = f"{self._family} seed {self._seed} {dataset.name}"
            expected, printed = (None, None) if view is None else (_expected(view), view.mean_completion_tokens)
            self.found.append(Length(after, dataset.mean or 1.0, expected, printed, where))


def _expected(view: DatasetView) -> float | None:
    value = getattr(view, "expected_completion_tokens", view.mean_completion_tokens)
    return None if value is None else float(value)
