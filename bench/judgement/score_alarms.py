"""Alarms: false ones in healthy hours, and how late true ones are."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bench.judgement.families_faulty import FAULTS
from console.job.snapshot import Judgement

if TYPE_CHECKING:
    from bench.judgement.following import Step
    from bench.judgement.spec import RunSpec
    from bench.judgement.truth import SimRun
    from console.job.snapshot import Verdict

_RANK = {Judgement.WAIT: 0, Judgement.WATCH: 1, Judgement.INTERVENE: 2, Judgement.BLIND: 0}


@dataclass(slots=True)
class Alarm:
    """A stretch of one verdict and cause.

    Attributes:
        family: Of the run.
        seed: Of the run.
        at_s: Seconds after the run's start at which it began.
        lasted_s: How long it held.
        verdict: The word.
        cause: The cause.
        headline: What was said first.
    """

    family: str
    seed: int
    at_s: float
    lasted_s: float
    verdict: str
    cause: str
    headline: str


@dataclass(slots=True)
class AlarmScore:
    """What was judged of one run.

    Attributes:
        family: Of the run.
        seed: Of the run.
        healthy_h: Hours in which nothing was wrong, and that were looked at.
        false: Alarms in them.
        changes: Changes of verdict or cause in them.
        flips: Changes of the verdict alone.
        kind: The fault's; empty for a healthy run, or when it did not come about.
        delay_s: From when the logs could show it to the first right alarm; None when missed.
        named: Whether the first alarm of the needed weight named the right cause.
        first: The first alarm of that weight after the fault began, as ``verdict cause``.
        said: The causes that held after it, and for how many minutes.
    """

    family: str
    seed: int
    healthy_h: float = 0.0
    false: list[Alarm] = field(default_factory=list)
    changes: int = 0
    flips: int = 0
    kind: str = ""
    delay_s: float | None = None
    named: bool = False
    first: str = ""
    said: dict[str, int] = field(default_factory=dict)


class AlarmScorer:
    """Judges the verdicts of a run.

    Args:
        spec: The run.
        run: As it was recorded.
    """

    def __init__(self, spec: RunSpec, run: SimRun) -> None:
        self.score = AlarmScore(spec.family, spec.seed)
        self._truth = truth = run.truth
        self._healthy_until = truth.onset if truth.onset is not None else truth.watch_until
        kind = spec.family.removeprefix("fault:") if spec.family.startswith("fault:") else ""
        self.score.kind = kind if truth.visible is not None else ""
        self._former: Verdict | None = None

    def take(self, step: Step) -> None:
        """The next step."""
        now, truth = step.now, self._truth
        if now < truth.start:
            return
        if now >= self._healthy_until:
            if self.score.kind:
                _after(self.score, step, truth.visible)
        elif any(begin <= now <= end for begin, end in truth.outages):
            self._former = None
        else:
            self.score.healthy_h += 1 / 60
            _before(self.score, step.verdict, self._former, now - truth.start)
            self._former = step.verdict


def _before(score: AlarmScore, verdict: Verdict, former: Verdict | None, at_s: float) -> None:
    same = former is not None and former.verdict is verdict.verdict and former.cause == verdict.cause
    if former is not None and not same:
        score.changes += 1
        score.flips += former.verdict is not verdict.verdict
    if not _RANK[verdict.verdict]:
        return
    if same and score.false:
        score.false[-1].lasted_s += 60.0
        return
    word, cause = verdict.verdict.value, verdict.cause
    score.false.append(Alarm(score.family, score.seed, at_s, 60.0, word, cause, verdict.headline))


def _after(score: AlarmScore, step: Step, visible: float | None) -> None:
    fault, verdict = FAULTS[score.kind], step.verdict
    said = f"{verdict.verdict.value} {verdict.cause}"
    score.said[said] = score.said.get(said, 0) + 1
    if _RANK[verdict.verdict] < _RANK[Judgement(fault.least)]:
        return
    right = verdict.cause in fault.right
    if not score.first:
        score.first, score.named = said, right or verdict.cause in fault.also
    if score.delay_s is None and right and visible is not None:
        score.delay_s = step.now - visible
