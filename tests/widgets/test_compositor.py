"""The compositor that asks only what has changed draws what Textual's own draws."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from textual._compositor import Compositor
from textual.app import App
from textual.containers import Horizontal
from textual.geometry import Region
from textual.screen import Screen
from textual.widgets import Static

from widgets.compositor import ExactCompositor

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.strip import Strip

SIZE = (40, 12)


class Exact(Screen[None]):
    """A screen with it: rows, columns, and a layer over both."""

    CSS = """
    Exact { layers: below above; }
    Static { height: 3; }
    Horizontal { height: 3; & Static { width: 1fr; } }
    #over { layer: above; offset: 5 2; width: 9; height: 4; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._compositor = ExactCompositor()
        self.rows: list[tuple[str, int, int]] = []

    def compose(self) -> ComposeResult:
        yield Told(self.rows, "top")
        with Horizontal():
            yield Told(self.rows, "left")
            yield Told(self.rows, "right")
        yield Told(self.rows, "bottom")
        yield Told(self.rows, "over")


class Told(Static):
    """Notes which rows it was asked for."""

    def __init__(self, asked: list[tuple[str, int, int]], name: str) -> None:
        super().__init__(f"{name} " * 9, id=name)
        self._asked, self._name_told = asked, name

    def render_lines(self, crop: Region) -> list[Strip]:
        self._asked.append((self._name_told, crop.y, crop.bottom))
        return super().render_lines(crop)


def drawn(update: Any, app: App[None]) -> str:
    """Give what an update writes to the terminal, without moves of the cursor behind which nothing is written."""
    written = "" if update is None else str(update.render_segments(app.console))
    return re.sub(r"\x1b\[\d+;\d+H(?=\n|\x1b\[\d+;\d+H|$)", "", written)


REGIONS = st.lists(
    st.builds(
        lambda x, y, w, h: Region(x, y, w, h).intersection(Region(0, 0, *SIZE)),
        st.integers(0, SIZE[0] - 1),
        st.integers(0, SIZE[1] - 1),
        st.integers(1, SIZE[0]),
        st.integers(1, SIZE[1]),
    ),
    min_size=1,
    max_size=5,
)


async def test_any_regions_are_drawn_as_textual_draws_them() -> None:
    app, screen = App[None](), Exact()
    async with app.run_test(size=SIZE) as pilot:
        await app.push_screen(screen)
        await pilot.pause()
        exact = screen._compositor

        @settings(max_examples=200, deadline=None)
        @given(REGIONS)
        def same(regions: list[Region]) -> None:
            exact._dirty_regions.update(regions)
            ours = drawn(exact.render_partial_update(), app)
            exact._dirty_regions.update(regions)
            theirs = drawn(Compositor.render_partial_update(exact), app)
            assert ours == theirs
            assert ours

        same()


async def asked_for(regions: list[Region]) -> list[tuple[str, int, int]]:
    """The rows that are asked for while some regions are drawn: of which widget, the first, the one behind the last."""
    app, screen = App[None](), Exact()
    async with app.run_test(size=SIZE) as pilot:
        await app.push_screen(screen)
        await pilot.pause()
        screen.rows.clear()
        screen._compositor._dirty_regions.update(regions)
        screen._compositor.render_partial_update()
        return screen.rows


@pytest.mark.parametrize(
    ("regions", "expected"),
    [
        ([Region(0, 0, 40, 1)], {"top"}),
        ([Region(0, 0, 40, 1), Region(0, 8, 40, 1)], {"top", "bottom"}),  # what lies between is left alone
        ([Region(25, 4, 3, 1)], {"right"}),
        ([Region(2, 4, 5, 1)], {"left", "over"}),
        ([Region(6, 4, 2, 1)], {"over"}),  # what is covered is not asked
        ([Region(0, 4, 40, 1)], {"left", "over", "right"}),
        ([Region(-5, -5, 9, 6), Region(38, 11, 9, 9)], {"top"}),  # what lies off the screen is none
    ],
)
async def test_only_what_is_drawn_is_asked(regions: list[Region], expected: set[str]) -> None:
    assert {name for name, _, _ in await asked_for(regions)} == expected


@pytest.mark.parametrize(
    ("regions", "expected"),
    [
        ([Region(0, 1, 40, 1)], [("top", 1, 2)]),
        ([Region(0, 0, 4, 1), Region(0, 2, 4, 1)], [("top", 0, 1), ("top", 2, 3)]),
        ([Region(0, 2, 20, 2)], [("over", 0, 2), ("left", 0, 1), ("top", 2, 3)]),
    ],
)
async def test_only_rows_that_are_drawn_are_asked_for(
    regions: list[Region], expected: list[tuple[str, int, int]]
) -> None:
    assert await asked_for(regions) == expected


async def test_all_widgets_are_visible_again_afterwards() -> None:
    app, screen = App[None](), Exact()
    async with app.run_test(size=SIZE) as pilot:
        await app.push_screen(screen)
        await pilot.pause()
        before = set(screen._compositor.visible_widgets)
        screen._compositor._dirty_regions.add(Region(0, 0, 1, 1))
        screen._compositor.render_partial_update()
        assert set(screen._compositor.visible_widgets) == before
