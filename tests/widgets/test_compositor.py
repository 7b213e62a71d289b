"""The compositor that asks only what has changed draws what Textual's own draws."""

from __future__ import annotations

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
        self.asked: list[str] = []

    def compose(self) -> ComposeResult:
        yield Told(self.asked, "top")
        with Horizontal():
            yield Told(self.asked, "left")
            yield Told(self.asked, "right")
        yield Told(self.asked, "bottom")
        yield Told(self.asked, "over")


class Told(Static):
    """Notes that it was asked for its rows."""

    def __init__(self, asked: list[str], name: str) -> None:
        super().__init__(f"{name} " * 9, id=name)
        self._asked, self._name_told = asked, name

    def render_lines(self, crop: Region) -> list[Strip]:
        self._asked.append(self._name_told)
        return super().render_lines(crop)


def drawn(update: Any, app: App[None]) -> str:
    """Give what an update writes to the terminal."""
    return "" if update is None else str(update.render_segments(app.console))


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


@pytest.mark.parametrize(
    ("regions", "expected"),
    [
        ([Region(0, 0, 40, 1)], {"top"}),
        ([Region(0, 0, 40, 1), Region(0, 8, 40, 1)], {"top", "bottom"}),  # what lies between is left alone
        ([Region(25, 4, 3, 1)], {"right"}),
        ([Region(6, 4, 2, 1)], {"left", "over"}),
    ],
)
async def test_only_what_is_drawn_is_asked(regions: list[Region], expected: set[str]) -> None:
    app, screen = App[None](), Exact()
    async with app.run_test(size=SIZE) as pilot:
        await app.push_screen(screen)
        await pilot.pause()
        screen.asked.clear()
        screen._compositor._dirty_regions.update(regions)
        screen._compositor.render_partial_update()
        assert set(screen.asked) == expected


async def test_all_widgets_are_visible_again_afterwards() -> None:
    app, screen = App[None](), Exact()
    async with app.run_test(size=SIZE) as pilot:
        await app.push_screen(screen)
        await pilot.pause()
        before = set(screen._compositor.visible_widgets)
        screen._compositor._dirty_regions.add(Region(0, 0, 1, 1))
        screen._compositor.render_partial_update()
        assert set(screen._compositor.visible_widgets) == before
