"""Keys while lines pour in: 10,000 lines a second into a log pane, and how long each key takes.

    python -m bench.logpane [--seconds N] [--rate LINES] [--batch LINES] [--rounds N]

The real app without a terminal: lines are given to it as the feed does, all of half a second at once, and keys are sent
to it between them. A key's time is from its sending until its action was done and the screen was drawn anew. Beside the
time by the clock stands the CPU time that the program took meanwhile: on a machine that others use, that is what it
would take alone.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from textual import events

from console import collector
from console.app import LongwaitApp
from console.facts import LinesArrived
from console.job.events import HealthProbe, LogLine, Source

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from textual.dom import DOMNode

    from console.facts import Fact

MADE = 50_000
"""Lines made beforehand; they are given again and again."""

BEGAN = datetime(2026, 2, 24, 3, 19, 40, tzinfo=UTC)
KEYS = ("l", "k", "k", "pageup", "j", "f", "t", "t", "t", "d", "e", "E", "n", "N", "w", "w", "end", "home", "f")
"""Pressed over and over: moving, following, choosing, searching, wrapping."""

SEARCH = ("s", *"8[3-5]", "enter")
"""Typed first, so that each line is also searched."""


def line(number: int) -> LogLine:
    """One line of a busy server of two ranks."""
    at = BEGAN + timedelta(milliseconds=number // 10)
    stamp = f"[{at:%Y-%m-%d %H:%M:%S} DP{number % 2} TP0]"
    if number % 5_000 == 1:
        return LogLine(Source.SERVER, f"{stamp} ERROR Scheduler hit an exception: CUDA error", at, "error")
    text = f"{stamp} Decode batch, #running-req: {number % 50}, #token: {number}, token usage: 0.82, cuda graph: True"
    return LogLine(Source.SERVER, f"{text}, gen throughput (token/s): {800 + number % 97}.31, #queue-req: 98", at)


class Pour:
    """A feed of lines, at a rate."""

    def __init__(self, rate: int, batch: int) -> None:
        self.given = 0
        self.begin = asyncio.Event()
        self._batch = batch
        self._pause_s = batch / rate

    async def facts(self) -> AsyncIterator[Fact]:
        """Give a batch each time one is due; made before, since a real feed reads them while it waits for the host."""
        starts = range(0, MADE, self._batch)
        batches = [tuple(line(number) for number in range(start, start + self._batch)) for start in starts]
        collector.calm()  # as the console does in a terminal; the lines made beforehand are then left out as well
        await self.begin.wait()
        due = time.perf_counter()
        while True:
            yield LinesArrived(batches[self.given // self._batch % len(batches)])
            self.given += self._batch
            due += self._pause_s
            await asyncio.sleep(max(0.0, due - time.perf_counter()))

    async def ping(self) -> HealthProbe:
        """Say that all is well."""
        return HealthProbe("/health", ok=True, status=200, latency_s=0.01)

    def reconnect(self) -> None:
        """There is nothing to connect."""

    def look(self) -> None:
        """There is no job."""

    def detail(self, name: str) -> None:
        """There is no dataset."""


class TimedApp(LongwaitApp):
    """Tells when an action was done and drawn."""

    def __init__(self, feed: Pour) -> None:
        super().__init__(feed, host="bench", clock=lambda: BEGAN, zone=UTC)
        self.drawn = asyncio.Event()

    async def run_action(
        self,
        action: str | tuple[str, str, tuple[object, ...]],
        default_namespace: DOMNode | None = None,
        namespaces: Mapping[str, DOMNode] | None = None,
    ) -> bool:
        """Do it, then wait for the screen."""
        done = await super().run_action(action, default_namespace, namespaces)
        self.screen.call_after_refresh(self.drawn.set)
        return done

    async def pressed_ms(self, key: str) -> tuple[float, float]:
        """Send a key as a terminal does; gives the milliseconds until it is on the screen, by the clock and of CPU."""
        self.drawn.clear()
        began, worked = time.perf_counter(), time.process_time()
        self.post_message(events.Key(key, key if len(key) == 1 else None))
        await asyncio.wait_for(self.drawn.wait(), 30)
        return (time.perf_counter() - began) * 1000, (time.process_time() - worked) * 1000


async def measured(seconds: float, rate: int, batch: int) -> tuple[list[tuple[str, float, float]], int]:
    """Press keys for so long; gives each with its milliseconds, and the lines given."""
    feed = Pour(rate, batch)
    app = TimedApp(feed)
    times: list[tuple[str, float, float]] = []
    async with app.run_test(size=(120, 36)) as pilot:
        await pilot.press(*SEARCH)
        feed.begin.set()
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            key = KEYS[len(times) % len(KEYS)]
            times.append((key, *await app.pressed_ms(key)))
            await asyncio.sleep(0.05)  # a fast typist
    return times, feed.given


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seconds", type=float, default=60.0)
    options.add_argument("--rate", type=int, default=10_000, metavar="LINES")
    options.add_argument("--batch", type=int, default=5_000, metavar="LINES")
    options.add_argument("--rounds", type=int, default=1)
    chosen = options.parse_args()
    for _ in range(chosen.rounds):
        pressed, given = asyncio.run(measured(chosen.seconds, chosen.rate, chosen.batch))
        print(f"{given:,} lines in {chosen.seconds:g} s, {len(pressed)} keys")
        show("by the clock", [(key, took) for key, took, _ in pressed])
        show("CPU", [(key, worked) for key, _, worked in pressed])


def show(name: str, pressed: list[tuple[str, float]]) -> None:
    """Print one kind of time."""
    times = sorted(took for _, took in pressed)
    p99 = times[int(len(times) * 0.99)]
    worst = ", ".join(f"{key} {took:.0f}" for key, took in sorted(pressed, key=lambda entry: -entry[1])[:5])
    print(f"  {name}: median {statistics.median(times):.1f} ms, p99 {p99:.1f} ms, most {times[-1]:.1f} ms ({worst})")


if __name__ == "__main__":
    main()
