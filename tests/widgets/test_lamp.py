"""A lamp says its state by sign and word; what has no room is cut from the right."""

from __future__ import annotations

import pytest
from rich.cells import cell_len

from tests.waits import until
from tests.widgets.stage import NASTY, WIDTHS, Stage, line, safe
from widgets.lamp import SIGNS, Lamp, LampState


def test_every_state_has_its_own_sign() -> None:
    assert len(set(SIGNS.values())) == len(SIGNS)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("state", SIGNS)
async def test_sign_word_and_class(state: LampState, width: int) -> None:
    lamp = Lamp("link", detail="12 ms, seen 3 s ago")
    async with Stage(lamp).run_test(size=(width, 3)) as pilot:
        lamp.state = state
        await pilot.pause()
        assert line(lamp).startswith(f"{SIGNS[state]} link {state}")
        assert cell_len(line(lamp)) <= width
        assert ("seen 3 s ago" in line(lamp)) is (width > 20)
        assert set(lamp.classes) == {f"-{state}"}


async def test_own_word_and_text_that_is_no_markup() -> None:
    lamp = Lamp("link", "busy", NASTY, word="reconnecting")
    async with Stage(lamp).run_test(size=(200, 3)) as pilot:
        assert line(lamp).startswith("… link reconnecting  [b]bold[/b]")
        assert safe(line(lamp))
        await pilot.resize_terminal(5, 3)
        await until(lambda: lamp.size.width == 5)
        assert line(lamp) == "… li…"
