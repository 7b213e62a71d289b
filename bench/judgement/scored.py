"""One run, simulated and scored in every way at once; what the processes of a pool do."""

from __future__ import annotations

import gc
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bench.judgement.families import healthy
from bench.judgement.families_calm import CALM, calm
from bench.judgement.families_faulty import FAULTS, faulty
from bench.judgement.following import ALL, LOGS, play
from bench.judgement.score_alarms import AlarmScore, AlarmScorer
from bench.judgement.score_eta import EtaScore, EtaScorer
from bench.judgement.score_lengths import Length, LengthScorer
from bench.judgement.simulate import simulate

if TYPE_CHECKING:
    from bench.judgement.spec import RunSpec

WAYS = {"logs": LOGS, "all": ALL}
"""By logs alone, and with ``progress.jsonl``."""


@dataclass(slots=True)
class Scored:
    """What was said of one run, by one way of reading it.

    Attributes:
        family: Of the run.
        seed: Of the run.
        way: A key of ``WAYS``.
        hours: Of the run.
        lines: In all its logs.
        eta: Times left.
        lengths: Mean lengths.
        alarms: Verdicts.
        simulate_s: Seconds that its simulation took.
        play_s: Seconds that the tracker took.
    """

    family: str
    seed: int
    way: str
    hours: float
    lines: int
    eta: EtaScore
    alarms: AlarmScore
    lengths: list[Length] = field(default_factory=list)
    simulate_s: float = 0.0
    play_s: float = 0.0


def spec_of(family: str, seed: int) -> RunSpec:
    """A run by name: ``healthy``, ``calm:KIND`` or ``fault:KIND``; the kind alone will do.

    Raises:
        KeyError: There is no such family.
    """
    group, _, kind = family.rpartition(":")
    if kind in FAULTS and group != "calm":
        return faulty(kind, seed)
    if kind in CALM:
        return calm(kind, seed)
    if family == "healthy":
        return healthy(seed)
    raise KeyError(f"No family {family!r}: healthy, {', '.join([*CALM, *FAULTS])}.")


def score(task: tuple[str, int, tuple[str, ...]]) -> list[Scored]:
    """Simulate and score one run.

    Args:
        task: Family, seed, and keys of ``WAYS``.
    """
    family, seed, ways = task
    # Nothing here is cyclic for long, and a collection of these many small objects takes a fifth of the time.
    gc.disable()
    try:
        began = time.perf_counter()
        spec = spec_of(family, seed)
        run = simulate(spec)
        took = time.perf_counter() - began
        truth = run.truth
        hours = (truth.watch_until - truth.start) / 3600
        lines = len(run.server.lines) + len(run.job.lines) + len(run.events.lines)
        scored = []
        for way in ways:
            eta, lengths, alarms = EtaScorer(spec, run), LengthScorer(spec, run), AlarmScorer(spec, run)
            began = time.perf_counter()
            play(run, WAYS[way], eta, lengths, alarms)
            played = time.perf_counter() - began
            scored.append(
                Scored(spec.family, seed, way, hours, lines, eta.score, alarms.score, lengths.found, took, played)
            )
        return scored
    finally:
        gc.enable()
