"""A feed and a control for tests of the screen: they say what the test tells them to, and remember what was asked."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from datetime import UTC
from typing import TYPE_CHECKING, Any, Self

import textual.app
from textual.notifications import Notification, Notifications

from console.app import LongwaitApp
from console.control import ActionPlan, LeftOver, Step, Verb
from console.feed import Fact, LinesArrived, SnapshotTaken
from console.job.events import HealthProbe, LogLine
from console.screens.main import MainScreen
from remote.control_checks import GpuMemory
from tests import samples
from widgets.confirm import Confirm
from widgets.log_view import LogView

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping, Sequence
    from pathlib import Path

    from textual.pilot import Pilot

    from console.job.dataset_detail import DatasetDetail
    from console.job.events import Source
    from console.job.snapshot import Snapshot
    from console.journal import Entry


@dataclass
class FakeFeed:
    """Gives the facts that were put into it, until it is closed or told to end."""

    pong: HealthProbe | Exception = field(default_factory=lambda: HealthProbe("/health", True, 200, 1.02, by_hand=True))
    failure: Exception | None = None
    begun: Callable[[], None] = lambda: None
    closed: bool = False
    reconnects: int = 0
    looks: int = 0
    details: dict[str, DatasetDetail] = field(default_factory=dict)
    detailed: list[str] = field(default_factory=list)
    pings: int = 0
    _queue: asyncio.Queue[Fact | None] = field(default_factory=asyncio.Queue)

    def put(self, *facts: Fact | None) -> None:
        """Have these facts told next; None ends the feed."""
        for fact in facts:
            self._queue.put_nowait(fact)

    async def facts(self) -> AsyncIterator[Fact]:
        """Tell what was put."""
        self.begun()
        try:
            while (fact := await self._queue.get()) is not None:
                yield fact
            if self.failure is not None:
                raise self.failure
        finally:
            self.closed = True

    async def ping(self) -> HealthProbe:
        """Give the answer set, or raise it."""
        self.pings += 1
        if isinstance(self.pong, Exception):
            raise self.pong
        return self.pong

    def reconnect(self) -> None:
        """Count it."""
        self.reconnects += 1

    def look(self) -> None:
        """Count it."""
        self.looks += 1

    def detail(self, name: str) -> DatasetDetail | None:
        """Give what was set, and remember that it was asked for."""
        self.detailed.append(name)
        return self.details.get(name)


@dataclass
class FakeControl:
    """Plans at once; carries out step by step, each when the test lets it."""

    refusal: str | None = None
    failure: Exception | None = None
    broken: Exception | None = None
    steps: tuple[Step, ...] = (
        Step("stop the process group", "running"),
        Step("stop the process group", "done", "pid 48213 ended", 2.1),
        Step("start the job", "running"),
        Step("start the job", "done", "pid 50001", 0.4),
    )
    diff: tuple[str, ...] = ()
    back: ActionPlan | None = None
    left: LeftOver | None = None
    planned: list[tuple[Verb, Path | None]] = field(default_factory=list)
    backs: int = 0
    carried: list[ActionPlan] = field(default_factory=list)
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    before: Mapping[str, Any] | None = None
    there: tuple[Entry, ...] | Exception = ()
    shared: list[Entry | None] = field(default_factory=list)

    async def plan(self, verb: Verb, script: Path | None = None) -> ActionPlan:
        """Remember what was asked."""
        self.planned.append((verb, script))
        if self.failure is not None:
            raise self.failure
        title = f"{verb.value.capitalize()} run_inference.py on {samples.HOST}"
        lines = (
            "Process group 48213 has run for 3 h 18 min and ends.",
            "150 requests in flight are lost and made again.",
        )
        return ActionPlan(verb, title, lines, refusal=self.refusal, script=script, diff=self.diff)

    async def plan_back(self) -> ActionPlan:
        """Give the plan set, or a plain one."""
        self.backs += 1
        return self.back or ActionPlan(Verb.RESTART, f"Roll the job on {samples.HOST} back", (), rolls_back=True)

    async def left_over(self) -> LeftOver | None:
        """Give what was set, once."""
        left, self.left = self.left, None
        return left

    async def gpu_memory(self, pids: Sequence[int]) -> GpuMemory | None:
        """Say that all is free."""
        del pids
        return GpuMemory()

    async def journal_there(self, size: int = 0) -> tuple[Entry, ...]:
        """Give what was set, or raise it."""
        del size
        if isinstance(self.there, Exception):
            raise self.there
        return self.there

    async def share(self, entry: Entry | None) -> None:
        """Remember it."""
        self.shared.append(entry)

    async def carry_out(self, plan: ActionPlan, before: Mapping[str, Any] | None = None) -> AsyncIterator[Step]:
        """Tell the first step, then the others once the gate is open."""
        self.carried.append(plan)
        self.before = before
        yield self.steps[0]
        await self.gate.wait()
        if self.broken is not None:
            raise self.broken
        for step in self.steps[1:]:
            yield step


def make_app(feed: FakeFeed, control: FakeControl | None = None, **settings: object) -> LongwaitApp:
    """Make the real app over fakes, with a clock that stands still and times in UTC."""
    fixed: dict[str, object] = {"host": samples.HOST, "clock": lambda: samples.NOW, "zone": UTC}
    return LongwaitApp(feed, control, **{**fixed, **settings})  # type: ignore[arg-type]


async def until(pilot: Pilot[None], condition: Callable[[], bool], what: str = "condition") -> None:
    """Let the app work until a condition holds; fails when it has not come for a minute.

    Bounded by time and not by rounds: what another thread or process does may take long on a busy machine, while an
    idle app goes round quickly.
    """
    end = time.monotonic() + 60.0
    while not condition():
        assert time.monotonic() < end, f"never came: {what}"
        await pilot.pause()


async def shown(pilot: Pilot[None], feed: FakeFeed, snapshot: Snapshot) -> None:
    """Have a snapshot drawn."""
    feed.put(SnapshotTaken(snapshot))
    await until(pilot, lambda: getattr(pilot.app.screen_stack[0], "snapshot", None) is snapshot, "the snapshot")
    await pilot.pause()


def lines(source: Source, *texts: str, level: str = "info") -> LinesArrived:
    """Make a batch of log lines."""
    return LinesArrived(tuple(LogLine(source, text, samples.NOW, level) for text in texts))


def screen_text(app: LongwaitApp) -> str:
    """Give what is on the screen now, as plain text, a line for each row."""
    height = app.size.height
    rows = app.screen._compositor.render_strips()
    return "\n".join("".join(segment.text for segment in strip) for strip in rows[:height])


class Told(Notifications):
    """Notices that stay known when their time on the screen is over: a busy machine looks later than that."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[Notification] = []

    def add(self, notification: Notification) -> Self:
        """Show it, and keep it."""
        self.told.append(notification)
        return super().add(notification)

    def clear(self) -> Self:
        """Forget all."""
        self.told.clear()
        return super().clear()


textual.app.Notifications = Told  # type: ignore[attr-defined]  # every app of these tests has them


def notices(app: LongwaitApp) -> list[str]:
    """Give what the operator was told, oldest first."""
    told = app._notifications
    assert isinstance(told, Told)
    return [notice.message for notice in told.told]


def was_told(app: LongwaitApp, text: str) -> bool:
    """Tell whether a notice began so."""
    return any(note.startswith(text) for note in notices(app))


def main_screen(app: LongwaitApp) -> MainScreen:
    """Give the screen below whatever lies over it."""
    screen = app.screen_stack[0]
    assert isinstance(screen, MainScreen)
    return screen


def log_of(app: LongwaitApp, source: Source) -> LogView:
    """Give a log's pane."""
    return main_screen(app).query_one(f"#log-{source.value}", LogView)


async def asked(pilot: Pilot[None]) -> None:
    """Wait for the question, until it takes every answer."""
    await until(pilot, lambda: isinstance(pilot.app.screen, Confirm) and pilot.app.screen.is_seen, "the question")
    if isinstance(pilot.app.screen, Confirm):
        pilot.app.screen.heed_enter()
    await pilot.pause()
