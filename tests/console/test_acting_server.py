"""Restarting the server from the screen: what it costs, the host's name typed, its phases; and why not."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from console.acts import Step
from console.screens.act import ActScreen
from console.screens.main import MainScreen
from console.screens.server_acting import ServerBoard
from console.server_control import SERVE_STEP, Order, ServerPlan
from remote.errors import LinkLost, RemoteError
from tests import samples
from tests.console.fakes_ui import FakeControl, FakeFeed, make_app, notices, screen_text, until
from widgets.steps import Steps
from widgets.typed_confirm import TypedConfirm

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from textual.pilot import Pilot

    from console.server_control import ServerControls


@dataclass
class FakeServer:
    """Plans at once; carries out step by step, each when the test lets it."""

    able: bool = True
    failure: RemoteError | None = None
    fails: str = ""
    carried: list[ServerPlan] = field(default_factory=list)
    gate: asyncio.Event = field(default_factory=asyncio.Event)

    def can(self, verb: str) -> bool:
        """As set."""
        return self.able and verb == "restart"

    async def plan(self, verb: str) -> ServerPlan:
        """A plan, or the failure set."""
        if self.failure is not None:
            raise self.failure
        lines = ("Run on the host: systemctl restart -- sglang", "Every request in flight fails, also those of others.")
        order = Order(verb, (("systemctl", verb, "--", "sglang"),))
        return ServerPlan(order, f"Restart the server on {samples.HOST}", lines, samples.HOST)

    async def carry_out(self, plan: ServerPlan) -> AsyncGenerator[Step]:
        """Run the command; wait in a phase for the gate."""
        self.carried.append(plan)
        yield Step("run systemctl", "running")
        yield Step("run systemctl", "done", "process 7 ended, 2 s", 2.0)
        yield Step(SERVE_STEP, "running")
        yield Step(SERVE_STEP, "running", "loading weights, 42 s")
        await self.gate.wait()
        if self.fails:
            yield Step(SERVE_STEP, "failed", self.fails, 60.0)
        else:
            yield Step(SERVE_STEP, "done", "ready, 1 s", 60.0)


if TYPE_CHECKING:
    _CHECKED: type[ServerControls] = FakeServer


async def asked(pilot: Pilot[None]) -> None:
    """Press the key, and wait for the question."""
    await pilot.press("ctrl+r")
    await until(pilot, lambda: isinstance(pilot.app.screen, TypedConfirm), "the question")
    await pilot.pause()


async def test_only_the_host_s_name_restarts_the_server_and_its_phases_are_shown() -> None:
    server, feed = FakeServer(), FakeFeed()
    app = make_app(feed, FakeControl(), server=lambda: server, confirm=False)
    async with app.run_test(size=(100, 30)) as pilot:
        await asked(pilot)
        text = screen_text(app)
        assert "Every request in flight fails" in text
        assert f"type {samples.HOST} and press Enter" in text
        await pilot.press("y", "enter")
        await pilot.pause()
        assert "That is another word" in screen_text(app)
        assert server.carried == []
        await pilot.press("backspace", *samples.HOST, "enter")
        await until(pilot, lambda: "loading weights, 42 s" in screen_text(app), "the phase")
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, MainScreen), "the main screen")
        await pilot.press("p")
        await until(pilot, lambda: isinstance(app.screen, ServerBoard), "the board again")
        server.gate.set()
        await until(pilot, lambda: "The server is restarted." in notices(app), "the outcome")
        await pilot.pause()
        assert [(row.name, row.state) for row in app.screen.query_one(Steps).rows] == [
            ("run systemctl", "done"),
            (SERVE_STEP, "done"),
        ]
        assert "The server is restarted." in screen_text(app)
    assert feed.looks == 1


async def test_leaving_the_question_does_nothing() -> None:
    server = FakeServer()
    app = make_app(FakeFeed(), FakeControl(), server=lambda: server)
    async with app.run_test() as pilot:
        await asked(pilot)
        await pilot.press(*samples.HOST, "escape")
        await until(pilot, lambda: isinstance(app.screen, MainScreen), "the main screen")
        await until(pilot, lambda: not any(worker.group == "act" for worker in app.workers), "the end of the act")
        assert server.carried == []


async def test_one_act_at_a_time() -> None:
    server, control = FakeServer(), FakeControl()
    app = make_app(FakeFeed(), control, server=lambda: server)
    async with app.run_test(size=(100, 30)) as pilot:
        await asked(pilot)
        await pilot.press(*samples.HOST, "enter")
        await until(pilot, lambda: isinstance(app.screen, ServerBoard), "the board")
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, MainScreen), "the main screen")
        await pilot.press("R")
        await until(pilot, lambda: isinstance(app.screen, ServerBoard), "the act under way in place of another")
        assert control.planned == []
        server.gate.set()
        await until(pilot, lambda: "The server is restarted." in notices(app), "the outcome")


async def test_the_newest_act_is_shown_whether_it_was_the_server_s_or_the_job_s() -> None:
    server, control = FakeServer(), FakeControl()
    server.gate.set()
    control.gate.set()
    app = make_app(FakeFeed(), control, server=lambda: server, confirm=False)
    async with app.run_test(size=(100, 30)) as pilot:
        for key, board in (("S", ActScreen), ("ctrl+r", ServerBoard), ("S", ActScreen)):
            if key == "ctrl+r":
                await asked(pilot)
                await pilot.press(*samples.HOST, "enter")
            else:
                await pilot.press(key)
            await until(pilot, lambda board=board: isinstance(app.screen, board), "its board")  # type: ignore[misc]
            await until(pilot, lambda: not any(worker.group == "act" for worker in app.workers), "its end")
            await pilot.press("escape")
            await until(pilot, lambda: isinstance(app.screen, MainScreen), "the main screen")
            await pilot.press("p")
            await until(pilot, lambda board=board: isinstance(app.screen, board), "the same board again")  # type: ignore[misc]
            await pilot.press("escape")
            await until(pilot, lambda: isinstance(app.screen, MainScreen), "the main screen")


async def test_the_steps_are_moved_by_the_keys_that_move_every_list() -> None:
    server = FakeServer()
    server.gate.set()
    app = make_app(FakeFeed(), FakeControl(), server=lambda: server)
    async with app.run_test(size=(60, 8)) as pilot:
        await asked(pilot)
        await pilot.press(*samples.HOST, "enter")
        await until(pilot, lambda: isinstance(app.screen, ServerBoard), "the board")
        await until(pilot, lambda: "The server is restarted." in notices(app), "the outcome")
        box = app.screen.query_one("#server-board")
        await until(pilot, lambda: box.max_scroll_y > 0, "something to scroll")
        box.focus()
        await pilot.press("G")
        await until(pilot, lambda: box.scroll_y == box.max_scroll_y, "the end")
        await pilot.press("g")
        await until(pilot, lambda: box.scroll_y == 0, "the top")


async def test_a_server_that_does_not_come_back_is_told() -> None:
    server = FakeServer(fails="The server has ended: out of memory.")
    server.gate.set()
    app = make_app(FakeFeed(), FakeControl(), server=lambda: server)
    async with app.run_test(size=(100, 30)) as pilot:
        await asked(pilot)
        await pilot.press(*samples.HOST, "enter")
        await until(pilot, lambda: "The server has ended: out of memory." in notices(app), "the failure")
        await pilot.pause()
        assert "out of memory" in screen_text(app)


@pytest.mark.parametrize(
    ("settings", "server", "words"),
    [
        ({"read_only": True}, FakeServer(), "This console is read-only"),
        ({}, FakeServer(able=False), "set server.control"),
        ({}, FakeServer(failure=LinkLost("The link is gone.")), "Restart of the server failed: The link is gone."),
        ({}, None, "the run is still being opened"),
    ],
    ids=["read-only", "no way", "no link", "no session"],
)
async def test_why_not(settings: dict[str, bool], server: FakeServer | None, words: str) -> None:
    app = make_app(FakeFeed(), FakeControl(), server=lambda: server, **settings)
    async with app.run_test() as pilot:
        await pilot.press("ctrl+r")
        await until(pilot, lambda: any(words in told for told in notices(app)), words)
        assert isinstance(app.screen, MainScreen)
