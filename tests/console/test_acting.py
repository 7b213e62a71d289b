"""Start, stop and restart from the screen: plan, question, steps, outcome; and why not."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from console.control import Verb
from console.screens.act import ActScreen
from console.screens.main import MainScreen
from remote.errors import LinkLost
from tests import samples
from tests.console.fakes_ui import (
    FakeControl,
    FakeFeed,
    asked,
    make_app,
    notices,
    screen_text,
    shown,
    until,
    was_told,
)
from widgets.steps import Steps

if TYPE_CHECKING:
    from console.acts import ActionPlan


async def test_restart_takes_the_new_script_asks_and_shows_its_steps() -> None:
    control = FakeControl(diff=("--- a", "+++ b", "-old", "+new"))
    app = make_app(FakeFeed(), control, new_script=Path("run.py"))
    async with app.run_test(size=(120, 36)) as pilot:
        await pilot.press("R")
        await asked(pilot)
        assert control.planned == [(Verb.RESTART, Path("run.py"))]
        assert "+new" in screen_text(app)
        await pilot.press("y")
        await until(pilot, lambda: isinstance(app.screen, ActScreen), "the steps")
        await until(pilot, lambda: "stop the process group" in screen_text(app), "the first step")
        control.gate.set()
        await until(pilot, lambda: "The job is restarted." in notices(app), "the outcome")
        rows = app.screen.query_one(Steps).rows
        assert [(row.name, row.state) for row in rows] == [
            ("stop the process group", "done"),
            ("start the job", "done"),
        ]
        await pilot.pause()
        assert "The job is restarted." in screen_text(app)


@pytest.mark.parametrize(("key", "verb"), [("S", Verb.START), ("K", Verb.STOP)])
async def test_start_and_stop_keep_the_host_s_script(key: str, verb: Verb) -> None:
    control = FakeControl()
    app = make_app(FakeFeed(), control, new_script=Path("run.py"))
    async with app.run_test() as pilot:
        await pilot.press(key)
        await asked(pilot)
        assert control.planned == [(verb, None)]
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, MainScreen), "the main screen")
        assert control.carried == []


@pytest.mark.parametrize(("key", "verb"), [("R", Verb.RESTART), ("S", Verb.START)])
async def test_enter_carries_out_a_plan_that_loses_nothing_for_good(key: str, verb: Verb) -> None:
    control = FakeControl()
    app = make_app(FakeFeed(), control)
    async with app.run_test() as pilot:
        await pilot.press(key)
        await asked(pilot)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, ActScreen), "the steps")
        assert [plan.verb for plan in control.carried] == [verb]
        control.gate.set()
        done = {Verb.RESTART: "The job is restarted.", Verb.START: "The job is started."}[verb]
        await until(pilot, lambda: done in notices(app), "the outcome")


async def test_enter_typed_too_much_stops_nothing() -> None:
    control = FakeControl()
    app = make_app(FakeFeed(), control)
    async with app.run_test() as pilot:
        await pilot.press("K")
        await asked(pilot)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, MainScreen), "the main screen")
        assert control.carried == []


async def test_an_act_goes_on_behind_a_closed_board_and_can_be_shown_again() -> None:
    control = FakeControl()
    app = make_app(FakeFeed(), control, confirm=False)
    async with app.run_test() as pilot:
        await pilot.press("K")
        await until(pilot, lambda: isinstance(app.screen, ActScreen), "the steps")
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, MainScreen), "the main screen")
        await pilot.press("R")
        await until(pilot, lambda: isinstance(app.screen, ActScreen), "the steps again")
        assert control.planned == [(Verb.STOP, None)]
        await pilot.press("escape")
        control.gate.set()
        await until(pilot, lambda: "The job is stopped." in notices(app), "the outcome")


async def test_quitting_during_an_act_asks_first() -> None:
    control = FakeControl()
    app = make_app(FakeFeed(), control, confirm=False)
    async with app.run_test() as pilot:
        await pilot.press("K")
        await until(pilot, lambda: isinstance(app.screen, ActScreen), "the steps")
        await pilot.press("ctrl+q")
        await asked(pilot)
        await pilot.press("n")
        await until(pilot, lambda: isinstance(app.screen, ActScreen), "the steps again")
        control.gate.set()
        await until(pilot, lambda: "The job is stopped." in notices(app), "the outcome")


async def test_a_failed_step_is_told_with_its_reason() -> None:
    steps = (
        *FakeControl().steps[:1],
        replace(FakeControl().steps[1], state="failed", detail="pid 48213 is another's now."),
    )
    control = FakeControl(steps=steps)
    control.gate.set()
    app = make_app(FakeFeed(), control, confirm=False)
    async with app.run_test() as pilot:
        await pilot.press("K")
        told = "Stop failed at 'stop the process group': pid 48213 is another's now."
        await until(pilot, lambda: told in notices(app), told)


async def test_an_act_that_breaks_off_is_told_and_the_next_one_is_free() -> None:
    control = FakeControl(broken=ValueError("a defect"))
    control.gate.set()
    app = make_app(FakeFeed(), control, confirm=False)
    async with app.run_test(size=(120, 36)) as pilot:
        await pilot.press("K")
        await until(pilot, lambda: any("a defect" in note for note in notices(app)), "the notice")
        await until(pilot, lambda: "The act stopped half way" in screen_text(app), "the board's last line")
        await pilot.press("escape", "S")
        await until(pilot, lambda: len(control.planned) == 2, "the next act")


async def test_a_refusal_is_shown_even_without_questions() -> None:
    control = FakeControl(refusal="A job runs already: pid 48213.")
    app = make_app(FakeFeed(), control, confirm=False)
    async with app.run_test() as pilot:
        await pilot.press("S")
        await asked(pilot)
        assert "A job runs already" in screen_text(app)
        await pilot.press("y")
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, MainScreen), "the main screen")
        assert control.carried == []


async def test_what_the_host_refuses_becomes_a_notice_and_the_next_act_is_free() -> None:
    control = FakeControl(failure=LinkLost("Could not look at the host: the link is down."))
    app = make_app(FakeFeed(), control)
    async with app.run_test() as pilot:
        await pilot.press("K")
        await until(pilot, lambda: len(notices(app)) == 1, "the notice")
        await pilot.press("K")
        await until(pilot, lambda: len(notices(app)) == 2, "the second notice")
        assert notices(app)[0] == "Stop failed: Could not look at the host: the link is down."


@pytest.mark.parametrize(
    ("control", "read_only", "why"),
    [(FakeControl(), True, "read-only"), (None, False, "Nothing can be started or stopped from here")],
)
async def test_acts_are_hidden_and_say_why_when_tried(control: FakeControl | None, read_only: bool, why: str) -> None:
    app = make_app(FakeFeed(), control, read_only=read_only)
    async with app.run_test() as pilot:
        await pilot.pause()
        assert "Restart" not in screen_text(app)
        for key in "RSK":
            await pilot.press(key)
        await until(pilot, lambda: len(notices(app)) == 3, "the reasons")
        assert all(why in told for told in notices(app))
        assert control is None or control.planned == []


async def test_while_the_plan_is_waited_for_the_top_line_says_so_and_a_second_press_is_answered() -> None:
    answered = asyncio.Event()

    class SlowControl(FakeControl):
        async def plan(self, verb: Verb, script: Path | None = None) -> ActionPlan:
            await answered.wait()
            return await super().plan(verb, script)

    feed, control = FakeFeed(), SlowControl()
    app = make_app(feed, control)
    async with app.run_test(size=(120, 36)) as pilot:
        await shown(pilot, feed, samples.healthy())
        await pilot.press("R")
        await until(pilot, lambda: "Restart: looking at the host since" in screen_text(app).split("\n")[0])
        await pilot.press("R")
        await until(pilot, lambda: was_told(app, "Restart: its plan comes"))
        assert control.planned == []
        answered.set()
        await asked(pilot)
        assert "looking at the host" not in screen_text(app)
