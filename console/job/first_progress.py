"""When the first progress line of a dataset is due: an order statistic, not a rate.

A batch begins all at once, so its first ``n`` completions are the shortest of what runs, and none comes for minutes.
With ``R`` running at once and a new request for each one that ends, about ``R H(x)`` have ended when each has made
``x`` tokens, ``H(x) = -ln S(x)`` being the cumulative hazard (exact for memoryless lengths, where an answer's
successor is as likely to end as itself; close to it for others while ``n`` is below ``R``). So

    x = quantile of the lengths at 1 - e^(-n / R)        due = start + x step_s(R)
"""

from __future__ import annotations

from math import exp
from typing import TYPE_CHECKING

from console.job.deck import quantile
from console.job.simulate import Span

if TYPE_CHECKING:
    from console.job.outlook import Outlook
    from console.job.stage import Stage


def first_due(stage: Stage, outlook: Outlook, completions: int, coverage: float = 0.8) -> Span:
    """Seconds from a dataset's start until so many of its completions have ended.

    Args:
        stage: The dataset.
        outlook: How fast tokens are made.
        completions: Whose end the job tells of first.
        coverage: Of the range, 0 to 1.
    """
    seconds = []
    for law in stage.laws:
        running = round(outlook.batch(law, stage.concurrency, begun=stage.begun, prompt=stage.prompt))
        number = completions if stage.prompts is None else min(completions, stage.prompts)
        reached = law.quantile(1 - exp(-number / running))
        seconds.append(reached * outlook.step(law, prompt=stage.prompt).seconds(running))
    seconds.sort()
    tail = (1 - coverage) / 2
    return Span(quantile(seconds, tail), quantile(seconds, 0.5), quantile(seconds, 1 - tail))
