"""A list to choose from: two rows each, the marked one always in sight."""

from __future__ import annotations

import pytest

from tests.widgets.stage import NASTY, Stage, rows, safe, screen_text
from widgets.choices import Choice, Choices
from widgets.plain import clean

MANY = tuple(Choice(f"name {number}", f"help {number}") for number in range(50))


async def test_names_and_help_in_order() -> None:
    choices = Choices("nothing")
    async with Stage(choices).run_test(size=(40, 10)) as pilot:
        choices.show(MANY[:3])
        await pilot.pause()
        assert [row.rstrip() for row in rows(choices)[:6]] == [
            " name 0",
            " help 0",
            " name 1",
            " help 1",
            " name 2",
            " help 2",
        ]
        assert choices.here == 0


async def test_an_empty_list_says_so() -> None:
    choices = Choices("There is none.")
    async with Stage(choices).run_test(size=(40, 10)) as pilot:
        choices.show(())
        choices.step(1)
        await pilot.pause()
        assert choices.here == -1
        assert "There is none." in screen_text(pilot.app)


@pytest.mark.parametrize("steps", [(1, 1, 1), (49,), (9999, -1), (30, -30), (12, -3, 40, -20)])
async def test_the_marked_one_is_in_sight_after_any_steps(steps: tuple[int, ...]) -> None:
    choices = Choices()
    async with Stage(choices).run_test(size=(40, 11)) as pilot:
        choices.show(MANY)
        await pilot.pause()
        expected = 0
        for step in steps:
            choices.step(step)
            expected = min(49, max(0, expected + step))
            await pilot.pause()
            assert choices.here == expected
            shown = screen_text(pilot.app).splitlines()
            assert any(row.startswith(f" name {expected} ") for row in shown)
            assert any(row.startswith(f" help {expected} ") for row in shown)


async def test_a_new_list_is_shown_from_its_top() -> None:
    choices = Choices()
    async with Stage(choices).run_test(size=(40, 10)) as pilot:
        choices.show(MANY)
        await pilot.pause()
        choices.step(40)
        await pilot.pause()
        choices.show(MANY[10:])
        await pilot.pause()
        assert (choices.here, choices.scroll_y) == (0, 0)
        assert rows(choices)[0].startswith(" name 10 ")


async def test_the_letters_that_were_looked_for_are_marked() -> None:
    choices = Choices()
    async with Stage(choices).run_test(size=(40, 10)) as pilot:
        choices.show([Choice("abcd", "help", (1, 3)), Choice("efgh")])
        await pilot.pause()
        marked = choices.get_component_rich_style("choices--found")
        letters = {s.text: s.style for s in choices.render_line(0) if s.text in set("abcd") and s.style}
        assert [letter for letter, style in letters.items() if style.underline] == ["b", "d"]
        assert marked.underline


async def test_text_from_outside_is_harmless() -> None:
    choices = Choices()
    async with Stage(choices).run_test(size=(80, 10)) as pilot:
        choices.show([Choice(clean(NASTY), clean(NASTY))])
        await pilot.pause()
        assert safe(screen_text(pilot.app))
