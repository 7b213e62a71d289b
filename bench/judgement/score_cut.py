"""Whether a reading changes when the files end at its moment."""

from __future__ import annotations

import json
from bisect import bisect_right
from typing import TYPE_CHECKING

from bench.judgement.following import fresh, moment, recordings
from bench.judgement.truth import SimRun, Written
from console.job.reading import reading
from console.replay_walk import Replay

if TYPE_CHECKING:
    from collections.abc import Sequence


def cut(run: SimRun, at: float) -> SimRun:
    """The run's files as they were at a moment."""
    return SimRun(_until(run.server, at), _until(run.job, at), _until(run.events, at), run.config, run.truth)


def _until(log: Written, at: float) -> Written:
    # By the log's own clock, as a replay dates its lines: whole seconds, and never falling.
    newest, steady = 0.0, []
    for time in log.times:
        newest = max(newest, float(int(time)))
        steady.append(newest)
    count = bisect_right(steady, at)
    return Written(log.lines[:count], log.times[:count])


def changed_by_cutting(run: SimRun, times: Sequence[float], which: Sequence[str]) -> list[float]:
    """The moments whose reading is another when the files end there; should be none."""
    whole = Replay(recordings(run, which), lambda: fresh(run))
    changed = []
    for at in sorted(times):
        full = json.dumps(reading(whole.at(moment(at))))
        short = Replay(recordings(cut(run, at), which), lambda: fresh(run)).at(moment(at))
        if json.dumps(reading(short)) != full:
            changed.append(at)
    return changed
