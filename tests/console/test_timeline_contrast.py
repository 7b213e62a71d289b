"""What the timeline, the reading of a time and the card draw can be read in each theme."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from console.screens.moment import MomentScreen
from console.screens.since import SinceScreen
from console.themes import SHIPPED
from tests.console.contrast import texts
from tests.console.fakes_ui import until
from tests.console.test_themes import LEAST
from tests.console.test_timeline_screen import Clocked
from tests.console.test_welcome import bad

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from textual.pilot import Pilot


async def scenes(pilot: Pilot[None], clocked: Clocked) -> AsyncIterator[str]:
    """Go through what of it can be on the screen, naming each."""
    await clocked.watch(pilot, 0, 1)
    for minutes in (4, 5):
        await clocked.show(pilot, bad(minutes))
    await clocked.watch(pilot, 9, 10)
    yield "the strip"
    await pilot.press("5", "5", "shift+left")
    await pilot.pause()
    yield "the list"
    await pilot.press("enter")
    await until(pilot, lambda: isinstance(clocked.app.screen, MomentScreen), "the reading")
    await pilot.pause()
    yield "the reading"
    await pilot.press("escape")
    await clocked.show(pilot, bad(40))
    await clocked.show(pilot, bad(41))
    await pilot.press("x")
    await until(pilot, lambda: isinstance(clocked.app.screen, SinceScreen), "the card")
    await pilot.pause()
    yield "the card"


@pytest.mark.parametrize("colours", [None, "256"])
async def test_what_looks_back_can_be_read(colours: str | None) -> None:
    clocked = Clocked()
    faint: dict[str, str] = {}
    seen = 0
    async with clocked.app.run_test(size=(120, 36)) as pilot:
        async for scene in scenes(pilot, clocked):
            for name in SHIPPED:
                clocked.app.theme = name
                await pilot.pause()
                for drawn in texts(clocked.app, colours):
                    if drawn.row == clocked.app.size.height - 1:
                        continue  # the row of the keys is every screen's
                    seen += 1
                    if drawn.ratio < LEAST[name]:
                        faint.setdefault(f"{name}: {scene}: {drawn.front} on {drawn.back}", str(drawn))
    assert faint == {}
    assert seen > 1_000
