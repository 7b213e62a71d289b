"""The dialog acts for one word alone, whatever it is, and its field is in sight on small screens."""

from __future__ import annotations

import pytest
from textual.widgets import Input

from tests.widgets.stage import NASTY, Stage, safe, screen_text
from widgets.typed_confirm import TypedConfirm


@pytest.mark.parametrize(
    ("keys", "answers"),
    [
        ((*"gpu01", "enter"), [True]),
        (("space", *"gpu01", "space", "enter"), [True]),
        ((*"gpu0", "enter"), []),
        (("y", "enter"), []),
        (("enter",), []),
        (("escape",), [False]),
        ((*"gpu01", "escape"), [False]),
        ((*"gpu", "enter", *"01", "enter"), [True]),
    ],
)
async def test_only_the_word_is_a_yes(keys: tuple[str, ...], answers: list[bool]) -> None:
    app, given = Stage(), list[bool | None]()
    async with app.run_test() as pilot:
        app.push_screen(TypedConfirm("Restart it", ["It is slow."], word="gpu01", act="restart it"), given.append)
        await pilot.pause()
        await pilot.press(*keys)
        await pilot.pause()
    assert given == answers


@pytest.mark.parametrize("size", [(80, 24), (60, 24), (40, 14)])
async def test_the_field_is_in_sight_below_whatever_is_told(size: tuple[int, int]) -> None:
    app = Stage()
    async with app.run_test(size=size) as pilot:
        lines = [f"Line {number}: {NASTY}" for number in range(40)]
        app.push_screen(TypedConfirm(f"Restart {NASTY}", lines, word="gpu01", act="restart it"))
        await pilot.pause()
        region = app.screen.query_one(Input).region
        assert app.screen.region.contains_region(region)
        assert safe(screen_text(app))
