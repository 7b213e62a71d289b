"""Lines on their way to the panes: in order, none left out, a bounded number at a time."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from console.feed import LinesArrived
from console.job.events import LogLine, Source
from console.panels.log_queue import TURN_LINES, LineQueue
from console.panels.logs import LogsPanel
from tests import samples
from tests.console.fakes_ui import FakeFeed, log_of, make_app, until

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from console.job.events import HealthProbe


def numbered(numbers: Sequence[int]) -> tuple[LogLine, ...]:
    return tuple(LogLine(Source.SERVER, str(number), samples.NOW) for number in numbers)


@given(st.lists(st.integers(0, 3_000), max_size=6))
def test_every_line_comes_once_in_order(sizes: list[int]) -> None:
    queue, put, taken = LineQueue(), 0, []
    for size in sizes:
        queue.put(numbered(range(put, put + size)))
        put += size
        turn = queue.take()
        assert len(turn) <= max(TURN_LINES, put // 16)
        taken += turn
    while queue:
        taken += queue.take()
    assert [line.text for line in taken] == [str(number) for number in range(put)]


def test_a_backlog_is_worked_off_faster_than_it_can_grow() -> None:
    queue = LineQueue()
    for _ in range(500):  # a hundred thousand lines a second, for five seconds of a hundred turns each
        queue.put(numbered(range(1_000)))
        queue.take()
    assert len(queue) <= 16 * 1_000


@dataclass
class WatchedFeed(FakeFeed):
    """Remembers how many lines there were when the key was answered."""

    lines: Callable[[], int] = lambda: 0
    lines_then: int = 0

    async def ping(self) -> HealthProbe:
        """Count what has come in."""
        self.lines_then = self.lines()
        return await super().ping()


async def test_a_key_is_answered_before_the_last_of_many_lines() -> None:
    feed = WatchedFeed()
    app = make_app(feed, None)
    async with app.run_test(size=(80, 24)) as pilot:
        view = log_of(app, Source.SERVER)
        feed.lines = lambda: view.kept
        feed.put(LinesArrived(numbered(range(5_000))))
        async with asyncio.timeout(10):
            while not view.kept:  # noqa: ASYNC110 -- a pause of the pilot would let all of them in
                await asyncio.sleep(0)
        assert view.kept < 500
        feed.put(LinesArrived(numbered(range(5_000, 5_010))))
        await pilot.press("h")
        await until(pilot, lambda: feed.pings == 1, "the answer")
        assert feed.lines_then < 5_000
        await until(pilot, lambda: view.lines[-1].text == "5009", "the last line")
        assert [line.text for line in view.lines] == [str(number) for number in range(10, 5_010)]
        assert view.in_sight[-1] == view.count - 1


async def test_lines_of_another_moment_take_the_place_of_those_that_wait() -> None:
    app = make_app(FakeFeed(), None)
    async with app.run_test(size=(80, 24)) as pilot:
        logs, view = app.screen.query_one(LogsPanel), log_of(app, Source.SERVER)
        logs.append(numbered(range(2_000)))
        assert 0 < view.kept < 2_000
        logs.replace(numbered(range(7_000, 7_900)))
        assert [line.text for line in view.lines] == [str(number) for number in range(7_000, 7_900)]
        logs.append(numbered(range(7_900, 7_910)))
        await pilot.pause()
        assert view.lines[-1].text == "7909"
        assert view.kept == 910
