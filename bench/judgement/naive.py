"""What simpler estimators would say: the job's own ETA, the mean rate of requests, tqdm's, tokens left by tok/s."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bench.judgement.spec import DatasetSpec
    from bench.judgement.truth import SimRun

NAMES = ("job's own ETA", "mean rate", "tqdm", "tokens / tok/s")
"""In the order of the tables."""
_PROGRESS = re.compile(r"(\d+)/(\d+) \((\d+) err\).* avg_comp=(\d+|\?)tok tot=([0-9.]+)M ETA=(?:([0-9.]+)([smh])|\?)$")
_ANNOUNCED = re.compile(r"Processing: (\S+) \(")
_SMOOTHING = 0.3
"""tqdm's weight of the newest rate."""
_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}


@dataclass(slots=True)
class _Line:
    """A progress line, its dataset's index, and what tqdm's smoothed rate was then, requests a second."""

    at: float
    dataset: int
    done: int
    todo: int
    mean: float | None
    tokens: float
    eta_s: float | None
    smooth: float | None


class Naive:
    """Reads a run's job log once, and answers for any moment by what stood in it then.

    Args:
        run: The run.
        datasets: Its datasets, as the operator knows them: prompts and budgets.
    """

    def __init__(self, run: SimRun, datasets: tuple[DatasetSpec, ...]) -> None:
        self._datasets = datasets
        self._start = run.truth.start
        self._begun: list[tuple[float, int]] = []
        self._lines = list(self._read(run))
        self._times = [line.at for line in self._lines]

    def _read(self, run: SimRun) -> Iterator[_Line]:
        dataset, names = -1, [each.name for each in self._datasets]
        former: _Line | None = None
        for at, text in zip(run.job.times, run.job.lines, strict=True):
            if announced := _ANNOUNCED.search(text):
                dataset, former = names.index(announced[1]), None
            elif " requests (" in text:
                self._begun.append((at, dataset))
            elif found := _PROGRESS.search(text):
                done, todo, _, mean, tokens, number, unit = found.groups()
                eta = float(number) * _UNITS[unit] if number else None
                begun = self._begun[-1][0] if self._begun else run.truth.start
                line = _Line(
                    at,
                    dataset,
                    int(done),
                    int(todo),
                    None if mean == "?" else float(mean),
                    float(tokens) * 1e6,
                    eta,
                    _smooth(former, at, int(done), begun),
                )
                former = line if former is None or line.done > former.done else former
                yield line

    def left(self, now: float) -> dict[str, tuple[float | None, float | None]]:
        """Seconds left of the current dataset and of the whole run, by each estimator; None where it says nothing."""
        place = bisect_right(self._times, now)
        if not place:
            return dict.fromkeys(NAMES, (None, None))
        line = self._lines[place - 1]
        later = self._datasets[line.dataset + 1 :]
        begun = max(at for at, _ in self._begun if at <= now)
        since, prompts = now - line.at, sum(each.prompts - each.done_before for each in later)
        rate = line.done / max(1.0, line.at - begun)
        said: dict[str, tuple[float | None, float | None]] = {}
        said[NAMES[0]] = self._both(line.eta_s, prompts, rate, since)
        said[NAMES[1]] = self._by_rate(line, prompts, rate, since)
        said[NAMES[2]] = self._by_rate(line, prompts, line.smooth, since)
        said[NAMES[3]] = self._by_tokens(line, later, rate, since)
        return said

    @staticmethod
    def _both(own: float | None, prompts: int, rate: float, since: float) -> tuple[float | None, float | None]:
        if own is None:
            return None, None
        return max(0.0, own - since), (max(0.0, own - since) + prompts / rate) if rate else None

    def _by_rate(
        self, line: _Line, prompts: int, rate: float | None, since: float
    ) -> tuple[float | None, float | None]:
        return self._both((line.todo - line.done) / rate if rate else None, prompts, rate or 0.0, since)

    def _by_tokens(
        self, line: _Line, later: tuple[DatasetSpec, ...], rate: float, since: float
    ) -> tuple[float | None, float | None]:
        speed = rate * (line.mean or 0.0)
        if not speed or line.mean is None:
            return None, None
        left = (line.todo - line.done) * line.mean
        budget = self._datasets[line.dataset].budget
        own = min(left, max(0.0, budget - line.tokens)) if budget else left
        rest = sum(min(each.prompts * line.mean, each.budget or each.prompts * line.mean) for each in later)
        return max(0.0, own / speed - since), max(0.0, (own + rest) / speed - since)


def _smooth(former: _Line | None, at: float, done: int, begun: float) -> float | None:
    """The exponentially smoothed rate after a line, as tqdm reckons it."""
    then, before = (begun, 0) if former is None else (former.at, former.done)
    if done <= before or at <= then:
        return former.smooth if former else None
    rate = (done - before) / (at - then)
    return rate if former is None or former.smooth is None else _SMOOTHING * rate + (1 - _SMOOTHING) * former.smooth
