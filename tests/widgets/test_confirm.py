"""The dialog acts only when it is told to, and all of it is in sight on small screens."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest
from textual import events
from textual.widgets import Button

from tests.waits import until
from tests.widgets.stage import NASTY, Stage, safe, screen_text
from widgets.confirm import REACTION_S, Confirm

if TYPE_CHECKING:
    from textual.pilot import Pilot

LINES = ("The job is stopped with SIGTERM.", "47 running requests are lost.")
DIFF = ("--- a/run.py", "+++ b/run.py", "@@ -1,2 +1,2 @@", "-old", "+new")


async def seen(dialog: Confirm) -> None:
    """Wait until the dialog is drawn."""
    await until(lambda: dialog.is_seen, 30.0)


async def ask(pilot: Pilot[None], dialog: Confirm, *keys: str) -> list[bool | None]:
    """Show the dialog, press the keys when it has been in sight for long, and give the answers so far."""
    answers: list[bool | None] = []
    pilot.app.push_screen(dialog, answers.append)
    await seen(dialog)
    dialog.heed_enter()
    await pilot.pause()
    await pilot.press(*keys)
    await pilot.pause()
    return answers


@pytest.mark.parametrize(
    ("keys", "answer"),
    [
        (("y",), [True]),
        (("n",), [False]),
        (("escape",), [False]),
        (("enter",), [False]),
        (("tab", "enter"), [True]),
        (("right", "enter"), [True]),
        (("right", "left", "enter"), [False]),
        ((), []),
        (("x", "space"), []),
    ],
)
async def test_keys(keys: tuple[str, ...], answer: list[bool]) -> None:
    async with Stage().run_test(size=(80, 24)) as pilot:
        assert await ask(pilot, Confirm("Restart the job", LINES, danger=True), *keys) == answer


@pytest.mark.parametrize(("refusal", "answer"), [(None, True), ("It runs already.", False)])
async def test_enter_goes_where_the_dialog_was_asked_for(refusal: str | None, answer: bool) -> None:
    async with Stage().run_test(size=(80, 24)) as pilot:
        dialog = Confirm("Restart the job", LINES, enter_goes=True, refusal=refusal)
        assert await ask(pilot, dialog, "enter") == [answer]


def typed(key: str, at: float) -> events.Key:
    """A key that was typed at a time."""
    event = events.Key(key, key if len(key) == 1 else None)
    event.time = at
    return event


SEEN_AT = 1_000.0
"""When the dialog is drawn, by the clock of these tests."""


@pytest.mark.parametrize(
    ("key", "at", "answer"),
    [
        ("y", SEEN_AT - 0.01, []),
        ("n", SEEN_AT - 0.01, []),
        ("enter", SEEN_AT - 0.01, []),
        ("enter", SEEN_AT + 0.2, []),
        ("y", SEEN_AT, [True]),  # who waits for the dialog and then types is answered at once
        ("y", SEEN_AT + 0.2, [True]),
        ("n", SEEN_AT, [False]),
        ("escape", SEEN_AT, [False]),
    ],
)
@pytest.mark.parametrize("enter_goes", [False, True])
async def test_a_key_that_was_on_its_way_is_no_answer(
    key: str, at: float, answer: list[bool], enter_goes: bool
) -> None:
    dialog = Confirm("Stop the job", LINES, danger=True, enter_goes=enter_goes, clock=lambda: SEEN_AT)
    async with Stage().run_test(size=(80, 24)) as pilot:
        answers: list[bool | None] = []
        pilot.app.push_screen(dialog, answers.append)
        await seen(dialog)
        pilot.app.post_message(typed(key, at))
        await pilot.pause()
        assert answers == answer


async def test_what_is_typed_before_the_dialog_is_drawn_is_no_answer() -> None:
    dialog = Confirm("Stop the job", LINES, danger=True, enter_goes=True)
    async with Stage().run_test(size=(80, 24)) as pilot:
        answers: list[bool | None] = []
        pilot.app.push_screen(dialog, answers.append)
        for key in ("y", "enter"):
            pilot.app.post_message(typed(key, time.monotonic()))
        assert not dialog.is_seen
        await seen(dialog)
        await pilot.pause()
        assert answers == []
        await pilot.press("y")
        await pilot.pause()
        assert answers == [True]


async def test_enter_is_named_once_it_is_heeded_and_typing_keeps_it_from_that() -> None:
    now = [SEEN_AT]
    dialog = Confirm("Restart the job", LINES, enter_goes=True, clock=lambda: now[0])
    async with Stage().run_test(size=(80, 24)) as pilot:
        answers: list[bool | None] = []
        pilot.app.push_screen(dialog, answers.append)
        await seen(dialog)
        await pilot.pause()
        assert "y: Go   n or Esc: Cancel" in screen_text(pilot.app)
        assert "Enter" not in screen_text(pilot.app)
        pilot.app.post_message(typed("enter", SEEN_AT + 0.25))
        await pilot.pause()
        now[0] = SEEN_AT + REACTION_S + 0.1  # long enough from the first sight, but not from that Enter
        dialog._let_rest()
        pilot.app.post_message(typed("enter", now[0]))
        await pilot.pause()
        assert answers == []
        now[0] += REACTION_S + 0.01
        dialog._let_rest()
        await pilot.pause()
        assert "Enter or y: Go   n or Esc: Cancel" in screen_text(pilot.app)
        pilot.app.post_message(typed("enter", now[0]))
        await pilot.pause()
        assert answers == [True]


@pytest.mark.parametrize(("button", "answer"), [("#go", True), ("#cancel", False)])
async def test_buttons(button: str, answer: bool) -> None:
    async with Stage().run_test(size=(80, 24)) as pilot:
        answers = await ask(pilot, Confirm("Restart the job", LINES, diff=DIFF))
        await pilot.click(button)
        await pilot.pause()
        assert answers == [answer]


async def test_a_refusal_can_only_be_closed() -> None:
    dialog = Confirm("Start the job", LINES, refusal="It runs already; stop it first.")
    async with Stage().run_test(size=(80, 24)) as pilot:
        assert await ask(pilot, dialog, "y") == []
        assert [str(button.label) for button in dialog.query(Button)] == ["Close"]
        assert "Refused: It runs already; stop it first." in screen_text(pilot.app)
        dialog.action_go()
        assert pilot.app.screen is dialog
        await pilot.press("enter")
        await pilot.pause()
        assert pilot.app.screen is not dialog


@pytest.mark.parametrize("size", [(20, 20), (40, 24), (80, 12), (80, 24), (120, 36), (200, 50)])
async def test_buttons_are_in_sight_however_long_the_text(size: tuple[int, int]) -> None:
    dialog = Confirm("Restart the job on a host", LINES * 20, diff=DIFF * 50, danger=True, go="Restart")
    async with Stage().run_test(size=size) as pilot:
        assert await ask(pilot, dialog) == []
        for button in dialog.query(Button):
            assert dialog.find_widget(button).visible_region.height == button.region.height
            assert str(button.label) in screen_text(pilot.app)
        assert pilot.app.focused is dialog.query_one("#cancel")
        if size[0] >= 80:
            assert "y: Restart   n or Esc: Cancel" in screen_text(pilot.app)
            assert "Restart the job on a host" in screen_text(pilot.app)


async def test_text_is_never_markup() -> None:
    dialog = Confirm(NASTY, (NASTY, NASTY), diff=(f"+{NASTY}",), go="[b]go", cancel="[/]no")
    async with Stage().run_test(size=(200, 50)) as pilot:
        assert await ask(pilot, dialog) == []
        shown = screen_text(pilot.app)
        assert shown.count("[b]bold[/b]") == 4
        assert "[b]go" in shown
        assert safe(shown)


async def test_a_refusal_from_outside_is_no_markup() -> None:
    async with Stage().run_test(size=(200, 50)) as pilot:
        await ask(pilot, Confirm("Start", (), refusal=NASTY))
        assert "Refused: [b]bold[/b]" in screen_text(pilot.app)
