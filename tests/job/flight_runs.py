"""Runs of a simulated server whose requests' lengths are known: what the tests of flight and lengths compare with.

The scheduler is the demo's (``remote.demo.batching``); the console reads its log through the ordinary parser.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from remote.demo.batching import Engine
from remote.demo.happenings import DecodeReport, Finished, PrefillDone, Request, Retracted
from remote.demo.server_log import decode_line, prefill_line, retraction_line

if TYPE_CHECKING:
    from collections.abc import Callable

T0 = datetime(2026, 2, 24, tzinfo=UTC)
CAP = 10_240
IN_FLIGHT = 150

LAWS: dict[str, Callable[[random.Random], float]] = {
    "lognormal": lambda dice: dice.lognormvariate(math.log(2_000) - 0.32, 0.8),
    "gamma": lambda dice: dice.gammavariate(2, 1_000),
    "weibull": lambda dice: dice.weibullvariate(2_000 / math.gamma(1 + 1 / 1.5), 1.5),
    "capped": lambda dice: dice.lognormvariate(math.log(7_000), 0.9),
    "constant": lambda dice: dice.gauss(1_500, 75),
}


def drawn(law: str, dice: random.Random) -> int:
    """One length, tokens, cut at the cap."""
    return max(1, min(CAP, int(LAWS[law](dice))))


def mean_of(law: str) -> float:
    """The law's mean, tokens."""
    dice = random.Random(law)
    return sum(drawn(law, dice) for _ in range(20_000)) / 20_000


@dataclass
class FlightRun:
    """What happened until so many requests were finished.

    Attributes:
        lines: The server's log.
        ended: Lengths of the finished requests, tokens.
        ages: Tokens made by the others, those thrown out included.
        until: The time of the last one finished.
    """

    lines: list[str] = field(default_factory=list)
    ended: list[int] = field(default_factory=list)
    ages: list[int] = field(default_factory=list)
    until: datetime = T0

    @property
    def log(self) -> bytes:
        return "".join(f"{line}\n" for line in self.lines).encode()


def stamped(seconds: float, text: str) -> str:
    at = (T0 + timedelta(seconds=seconds)).replace(microsecond=0)
    return f"[{at:%Y-%m-%d %H:%M:%S}] {text}"


def run_until(law: str, seed: int, finished: int, *, pool: int = 140_000) -> FlightRun:
    """A server of one scheduler to which 150 requests are sent at once, and one for each that ends."""
    dice = random.Random(f"{law}:{seed}")
    words = lambda: max(20, int(dice.lognormvariate(math.log(700), 0.6)))  # noqa: E731
    return run_of(lambda: max(1, int(LAWS[law](dice))), words, finished, pool=pool)


def run_of(lengths: Callable[[], int], prompts: Callable[[], int], finished: int, *, pool: int = 140_000) -> FlightRun:
    """The same of any answers and prompts."""
    engine, run, sent = Engine(pool_tokens=pool), FlightRun(), 0
    heads = ("server_args=ServerArgs(model_path='m')", f"max_total_num_tokens={pool}, context_len=40960", "The server is fired up and ready to roll!")  # fmt: skip
    run.lines += [stamped(-1, text) for text in heads]

    def send() -> None:
        nonlocal sent
        engine.submit(Request(str(sent), prompts(), CAP, lengths()))
        sent += 1

    for _ in range(IN_FLIGHT):
        send()
    while len(run.ended) < finished:
        for happened in engine.advance(0.05):
            if isinstance(happened, Finished):
                run.ended.append(happened.tokens)
                run.until = T0 + timedelta(seconds=happened.at)
                send()
            else:
                run.lines.append(stamped(happened.at, written(happened)))
    running, waiting = engine._batch, engine._queue  # the truth is nowhere else
    run.ages = [slot.tokens_at(engine._step) for slot in running] + [slot.made for slot in waiting if slot.made]
    return run


def written(happened: DecodeReport | PrefillDone | Retracted) -> str:
    """The server's line on it."""
    if isinstance(happened, DecodeReport):
        return decode_line(happened)
    return prefill_line([happened]) if isinstance(happened, PrefillDone) else retraction_line(happened)
