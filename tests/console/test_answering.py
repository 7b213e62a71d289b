"""What a key changes is drawn at once, and before what came with it."""

from __future__ import annotations

import pytest
from textual.events import Key

from console import answering
from console.answering import HELD_S, Answering
from tests import samples
from tests.console.fakes_ui import FakeFeed, main_screen, make_app, shown, until


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The present, to be set."""
    moment = [1_000.0]
    monkeypatch.setattr(answering, "monotonic", lambda: moment[0])
    return moment


def held(key: Answering) -> bool:
    """Whether others are."""
    return key.holds


def test_a_key_holds_others_back_until_its_turn_but_not_for_long(now: list[float]) -> None:
    key = Answering()
    assert not held(key)
    key.came()
    assert held(key)
    key.looked_at()
    assert (held(key), key.last_s) == (False, 1_000.0)
    key.came()
    now[0] += 2 * HELD_S
    assert not held(key)


def test_what_it_changed_is_due_once() -> None:
    key = Answering()
    assert not key.is_due()
    key.took_effect()
    assert key.is_due()
    assert not key.is_due()


async def test_an_answer_does_not_wait_for_the_next_frame(monkeypatch: pytest.MonkeyPatch) -> None:
    feed = FakeFeed()
    app = make_app(feed)
    async with app.run_test(size=(120, 36)) as pilot:
        await shown(pilot, feed, samples.healthy())
        screen = main_screen(app)
        drawn: list[int] = []
        monkeypatch.setattr(screen._update_timer, "resume", lambda: None)  # no frame comes any more
        display = app._display

        def noted(on: object, what: object) -> None:
            drawn.append(1)
            display(on, what)  # type: ignore[arg-type]

        monkeypatch.setattr(app, "_display", noted)
        await pilot.press("4")
        await until(pilot, lambda: bool(drawn), "the answer")
        assert screen.beside_logs


async def test_nothing_is_drawn_while_a_key_waits_for_its_turn(now: list[float]) -> None:
    feed = FakeFeed()
    app = make_app(feed)
    async with app.run_test(size=(120, 36)) as pilot:
        await shown(pilot, feed, samples.healthy())
        screen = main_screen(app)
        app.answering.came()
        screen._dirty_widgets.add(screen)
        screen._on_timer_update()
        assert screen._dirty_widgets
        now[0] += 2 * HELD_S
        screen._on_timer_update()
        assert not screen._dirty_widgets


async def test_a_key_counts_as_done_once_it_is_back_from_what_has_the_focus() -> None:
    feed = FakeFeed()
    app = make_app(feed)
    async with app.run_test(size=(120, 36)) as pilot:
        await shown(pilot, feed, samples.healthy())
        key = Key("x", "x")
        app.answering.is_due()
        await app.on_event(key)
        assert key.is_forwarded
        assert not app.answering.is_due()
        await app.on_event(key)
        assert app.answering.is_due()
