"""How far the time left is off, and whether the range holds what it promises."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bench.judgement.naive import Naive

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from bench.judgement.following import Step
    from bench.judgement.spec import RunSpec
    from bench.judgement.truth import DatasetTruth, SimRun, Truth
    from console.job.snapshot import Snapshot

WHOLE = (0.01, 0.05, 0.10, 0.25, 0.50, 0.75, 0.90)
"""Stages of the whole run, shares of its duration."""
DATASET = (0.025, 0.10, 0.25, 0.50, 0.75, 0.90)
"""Stages of a dataset."""
_SHORTEST_S = 600.0
"""Datasets shorter than this are not scored: a minute of the grid is a stage of theirs."""


@dataclass(slots=True)
class Said:
    """What was said at one stage.

    Attributes:
        stage: Share of the duration.
        left_s: True seconds left.
        said_s: Estimated seconds left; None when nothing was said.
        low_s: Low end of the range.
        high_s: High end.
        naive: By the simpler estimators.
        where: Seed and dataset, for looking it up.
    """

    stage: float
    left_s: float
    said_s: float | None = None
    low_s: float | None = None
    high_s: float | None = None
    naive: dict[str, float | None] = field(default_factory=dict)
    where: str = ""

    @property
    def error(self) -> float | None:
        """``|said - true| / true``; None when nothing was said."""
        return None if self.said_s is None else abs(self.said_s - self.left_s) / self.left_s

    @property
    def holds(self) -> bool | None:
        """Whether the truth lies in the range; None without one."""
        if self.low_s is None or self.high_s is None:
            return None
        return self.low_s <= self.left_s <= self.high_s

    @property
    def width(self) -> float | None:
        """Width of the range over the true time left."""
        return None if self.low_s is None or self.high_s is None else (self.high_s - self.low_s) / self.left_s


@dataclass(slots=True)
class EtaScore:
    """All that was said of one run, of the whole and of its datasets."""

    whole: list[Said] = field(default_factory=list)
    datasets: list[Said] = field(default_factory=list)


class EtaScorer:
    """Notes what is said at each stage; a run that never ends gives nothing.

    Args:
        spec: The run.
        run: As it was recorded.
    """

    def __init__(self, spec: RunSpec, run: SimRun) -> None:
        self.score = EtaScore()
        self._where = f"{spec.family} seed {spec.seed}"
        self._naive = Naive(run, spec.datasets)
        self._due = stages_of(run.truth)

    def take(self, step: Step) -> None:
        """The next step."""
        now = step.now
        while self._due and self._due[0][0] <= now:
            _, share, end, dataset = self._due.pop(0)
            if end <= now:
                continue
            name = "" if dataset is None else dataset.name
            said = Said(share, end - now, where=f"{self._where} {name}".rstrip())
            said.naive = {key: whole if dataset is None else own for key, (own, whole) in self._naive.left(now).items()}
            if dataset is None:
                self.score.whole.append(_whole(step.snapshot, said))
            else:
                self.score.datasets.append(_dataset(step.snapshot, name, said))


_Stage = tuple[float, float, float, "DatasetTruth | None"]
"""When it is, its share, when the run or the dataset ends, and the dataset; None for the whole run."""


def stages_of(truth: Truth) -> list[_Stage]:
    """The moments at which a run is asked for its time left, in order; none when it never ends."""
    if truth.end is None:
        return []
    due = _due(truth.start, truth.end, WHOLE, None)
    for dataset in truth.datasets:
        begin, end = dataset.begin, dataset.end
        if begin is not None and end is not None and end - begin >= _SHORTEST_S:
            due += _due(begin, end, DATASET, dataset)
    return sorted(due, key=lambda stage: stage[0])


def _due(begin: float, end: float, shares: Sequence[float], dataset: DatasetTruth | None) -> list[_Stage]:
    return [(begin + share * (end - begin), share, end, dataset) for share in shares]


def _whole(snapshot: Snapshot, said: Said) -> Said:
    eta, now = snapshot.eta, snapshot.at
    said.said_s, said.low_s, said.high_s = (_from(now, at) for at in (eta.at, eta.low, eta.high))
    return said


def _dataset(snapshot: Snapshot, name: str, said: Said) -> Said:
    view = next((view for view in snapshot.datasets if view.name == name), None)
    ends = (getattr(view, field, None) for field in ("eta", "eta_low", "eta_high"))
    said.said_s, said.low_s, said.high_s = (_from(snapshot.at, at) for at in ends)
    return said


def _from(now: datetime, at: datetime | None) -> float | None:
    return None if at is None else (at - now).total_seconds()
