"""What the server makes against what it should make at its present load, and whether that has changed for good.

    r = log(made / expected)     of each half minute, expected by ``console.job.step_model``

A dataset's switch, its tail, a prefill burst or longer prompts change the load, and with it what is expected: they are
no drop. Windows must agree before anything is concluded: five minutes for freshness and quick reset, a quarter of an
hour for weight (the medians of their half minutes), half an hour and more for lesser changes (SRE Workbook: multiwindow
alerts).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp
from statistics import fmean, median
from typing import TYPE_CHECKING

from console.job.limits import Limits
from console.job.minutes_bin import STEP_S
from console.job.pace_change import FAST_S, QUARTER_S, SLOW_S, SUSPECT, Looked, fall, long_share
from console.job.pace_rests import clipped_mean, judged
from console.job.pace_retractions import Retractions, retractions, usual_prompt, wasted
from console.job.step_learn import step_model

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from console.job.change import Change
    from console.job.minutes import Minutes
    from console.job.pace_rests import Judged
    from console.job.server_state import ServerState
    from console.job.source_clock import SourceClock
    from console.job.step_model import StepModel

_LEAST_FAST, _LEAST_QUARTER, _LEAST_SLOW = 5, 15, 30
"""Half minutes at work that a window takes to say anything: half of it."""


@dataclass(frozen=True, slots=True)
class Pace:
    """The server's speed now, judged by its load.

    Attributes:
        made: Tokens a second over the last five minutes.
        expected: Tokens a second to expect at the same loads.
        ratio_fast: Share of what is expected, over five minutes.
        ratio_quarter: Likewise over a quarter of an hour; None with too little work in it.
        ratio_slow: Likewise over half an hour.
        ratio_long: Likewise over an hour and a half; None unless the half hour is low.
        ratio_net: As ``ratio_quarter``, with the prefills that retracted requests cost counted as loss; None without
            retractions.
        ratio_net_fast: Likewise over five minutes.
        ratio_net_slow: Likewise over half an hour.
        retractions: Requests taken out of the running batch lately; None when there were none.
        sd: How unsure ``expected`` is, as a share of it (one standard deviation).
        familiar: The present load was seen early in the run, so that it is judged by its like.
        change: A lasting fall; None when there is none.
    """

    made: float
    expected: float
    ratio_fast: float
    ratio_quarter: float | None
    ratio_slow: float | None
    ratio_long: float | None
    ratio_net: float | None
    ratio_net_fast: float | None
    ratio_net_slow: float | None
    sd: float
    familiar: bool
    retractions: Retractions | None = None
    change: Change | None = None


def pace_at(server: ServerState, clock: SourceClock, now: datetime, limits: Limits | None = None) -> Pace | None:
    """As ``pace``, at a time of the console.

    Args:
        server: The server.
        clock: The clock of its log; a metrics page has the console's.
        now: The console's time.
        limits: Thresholds.
    """
    return pace(server.minutes, server_seconds(server, clock, now), limits)


def server_seconds(server: ServerState, clock: SourceClock, now: datetime) -> float:
    """A time of the console on the clock of the server's history, seconds since the epoch."""
    return (now - clock.offset if server.ranks else now).timestamp()


def pace(minutes: Minutes, now_s: float, limits: Limits | None = None) -> Pace | None:
    """The pace at a moment.

    Args:
        minutes: The server's history.
        now_s: Now on the clock of the server's log, seconds since the epoch.
        limits: Thresholds.

    Returns:
        None before two minutes of work were seen, and while the newest work is older than the fast window.
    """
    model = step_model(minutes)
    if model is None:
        return None
    half = judged(minutes, model, now_s - SLOW_S - STEP_S)
    window = _since(half, now_s - FAST_S - STEP_S)
    if len(window) < _LEAST_FAST:
        return None
    last = _since(half, now_s - QUARTER_S)
    fast = exp(median([each.rest for each in window]))
    quarter = exp(median([each.rest for each in last])) if len(last) >= _LEAST_QUARTER else None
    slow = exp(clipped_mean([each.rest for each in half])) if len(half) >= _LEAST_SLOW else None
    made = fmean([each.step.made for each in window])
    middle = window[len(window) // 2].step
    sd = model.relative_sd(middle.running, middle.held, middle.prompt)
    looked = Looked(minutes, model, now_s, sd, limits or Limits())
    low = quarter is not None and quarter < 1.0 and (slow or quarter) < SUSPECT
    long_ = long_share(looked) if low else None
    lost = any(each.step.spare for each in half)
    windows = ((QUARTER_S, quarter), (FAST_S, fast), (SLOW_S, slow))
    net, net_fast, net_slow = _nets(minutes, model, now_s, windows) if lost else (None, None, None)
    return Pace(
        made=made,
        expected=made / fast,
        ratio_fast=fast,
        ratio_quarter=quarter,
        ratio_slow=slow,
        ratio_long=None if long_ is None else exp(long_),
        ratio_net=net,
        ratio_net_fast=net_fast,
        ratio_net_slow=net_slow,
        sd=sd,
        familiar=model.familiar(middle.running, middle.held, middle.prompt),
        retractions=retractions(minutes, now_s),
        change=fall(looked, fast, quarter or 1.0, slow or 1.0) if low else None,
    )


def _since(half: Sequence[Judged], since_s: float) -> list[Judged]:
    return [each for each in half if each.step.time_s >= since_s]


def _nets(
    minutes: Minutes, model: StepModel, now_s: float, ratios: Sequence[tuple[float, float | None]]
) -> list[float | None]:
    """Windows' shares of what is expected when retracted requests' second prefills are no excuse.

    Args:
        minutes: The server's history.
        model: What a prompt token costs.
        now_s: Now on its clock, seconds since the epoch.
        ratios: Length of each window, seconds, and its share of what is expected.
    """
    usual = usual_prompt(minutes, now_s)
    return [
        None if ratio is None else ratio * (1.0 - wasted(minutes, model, now_s, span_s, usual))
        for span_s, ratio in ratios
    ]
