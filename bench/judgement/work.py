"""What all processes of the job together have done of a dataset, and the prompts that are left."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bench.judgement.laws import dice_of
from bench.judgement.rank import Request

if TYPE_CHECKING:
    from random import Random

    from bench.judgement.spec import DatasetSpec
    from bench.judgement.truth import DatasetTruth

_LONGEST_PROMPT = 8000
_BLOCK = 64
_BURST = 6.0


@dataclass(slots=True)
class Work:
    """A dataset's state over all processes of the job.

    Attributes:
        spec: The dataset.
        truth: What is noted of it.
        dice: Its chance.
        done: Completions.
        tokens: Their tokens.
        failed: Prompts given up.
        place: The next prompt of the file.
        again: Requests that were cut off, to be sent anew.
    """

    spec: DatasetSpec
    truth: DatasetTruth
    dice: Random
    done: int = 0
    tokens: int = 0
    failed: int = 0
    place: int = 0
    again: deque[Request] = field(default_factory=deque)

    @property
    def left(self) -> int:
        """Prompts that are not done and not in flight."""
        return self.spec.prompts - self.place + len(self.again)

    def take(self, index: int, *, runaway: bool) -> Request:
        """The next request; to be called only while some are left."""
        if self.again:
            former = self.again.popleft()
            return Request(index, former.place, former.prompt, former.target, cap=former.cap, cached=former.cached)
        spec, dice, place = self.spec, self.dice, self.place
        self.place += 1
        length = round(spec.law.draw(dice, place / spec.prompts))
        mean = spec.prompt_mean
        if spec.bursts and dice_of(spec.name, place // _BLOCK).random() < spec.bursts:
            mean *= _BURST
        prompt = round(dice.lognormvariate(0.0, spec.prompt_sigma) * mean)
        prompt = spec.prefix + max(8, min(_LONGEST_PROMPT, prompt))
        target = spec.max_tokens if runaway else max(1, length)
        return Request(index, place, prompt, target, cap=spec.max_tokens, cached=spec.prefix)
