"""What luck alone leaves of an error: the same run from a moment on, with other draws of all that has not happened yet.

At each stage the simulated host is forked. Each fork knows everything that can be known of that moment: what each
request has made, the law that its dataset draws from, the server's speed, the budget's rule. Lengths of what is not
done (of what runs: among those longer than what it has made), prompts, pauses and load times are drawn anew. The middle
of the forks' ends is then the best that could be said at that moment, and the width that holds four in five of them the
narrowest honest range.
"""

from __future__ import annotations

import os
import struct
from functools import partial
from statistics import median
from typing import TYPE_CHECKING

from bench.judgement.faults import arrange
from bench.judgement.laws import dice_of
from bench.judgement.score_eta import EtaScore, Said, stages_of
from bench.judgement.scored import spec_of
from bench.judgement.simulate import simulate
from bench.judgement.tables import quantile
from bench.judgement.world import World

if TYPE_CHECKING:
    from random import Random

    from bench.judgement.rank import Request
    from bench.judgement.spec import RunSpec
    from bench.judgement.truth import Truth

FORKS = 11
"""Other futures of each moment."""
_TAIL = (0.1 * (FORKS + 1) - 1) / (FORKS - 1)
"""Where among the forks' ends, 0 to 1, one in ten lies below: of ``n`` draws the ``k``-th leaves ``k / (n + 1)``."""
_FROM = {"whole": 0.25, "dataset": 0.10}
"""The first stage: before it the forks cost most, and what is unknown is not luck."""
_TRIES = 1_000
_SLICE_S = 20.0
_LONGEST_S = 1_000 * 3600.0
_SECONDS = struct.Struct("d")


def luck(task: tuple[str, int]) -> EtaScore:
    """What could be said at best of one run, by family and seed."""
    return luck_of(spec_of(*task))


def luck_of(spec: RunSpec) -> EtaScore:
    """What could be said at best of a healthy run."""
    asked = _Asked(World(spec), simulate(spec).truth, f"{spec.family} seed {spec.seed}")
    asked.world.run(arrange(asked.world))
    return asked.score


class _Asked:
    """A run that is forked at each of its stages."""

    def __init__(self, world: World, truth: Truth, where: str) -> None:
        self.world = world
        self.score = EtaScore()
        self._forked = False
        for at, share, end, dataset in stages_of(truth):
            said = Said(share, end - at, where=where if dataset is None else f"{where} {dataset.name}")
            if share >= _FROM["whole" if dataset is None else "dataset"]:
                (self.score.whole if dataset is None else self.score.datasets).append(said)
                number = None if dataset is None else truth.datasets.index(dataset)
                world.at(at, partial(self._note, said, number))

    def _note(self, said: Said, number: int | None, now: float) -> None:
        if self._forked:
            return
        left = [end - now for end in (self._fork(number, fork, now) for fork in range(FORKS))]
        said.said_s, said.low_s, said.high_s = median(left), quantile(left, _TAIL), quantile(left, 1 - _TAIL)

    def _fork(self, number: int | None, fork: int, now: float) -> float:
        """When another future of this moment ends: of the run, or of one dataset."""
        reader, writer = os.pipe()
        pid = os.fork()
        if pid == 0:
            # The child has its own copy of the world; nothing of what it does may reach the parent's files.
            try:
                self._forked = True
                dice = dice_of("luck", self.world.spec.seed, number, now, fork)
                self.world.redraw(dice, partial(_longer, self.world, dice))
                os.write(writer, _SECONDS.pack(_end(self.world, number, now)))
            finally:
                os._exit(0)
        os.close(writer)
        with os.fdopen(reader, "rb") as pipe:
            packed = pipe.read()
        os.waitpid(pid, 0)
        return float(_SECONDS.unpack(packed)[0])


def _end(world: World, number: int | None, now: float) -> float:
    schedule, truth = world.schedule, world.truth if number is None else world.works[number].truth
    while truth.end is None and now < world.truth.start + _LONGEST_S:
        now += _SLICE_S
        schedule.run(now)
    if truth.end is None:
        raise RuntimeError("The fork of a healthy run did not end")
    return truth.end


def _longer(world: World, dice: Random, request: Request, made: int) -> int:
    """A length of the request's own law, longer than what is made; its true one where the law has hardly any."""
    spec = world.spec.datasets[request.dataset]
    for _ in range(_TRIES):
        length = max(1, round(spec.law.draw(dice, (request.place + 1) / spec.prompts)))
        if min(length, request.cap) > made or made >= request.cap:
            return length
    return request.target
