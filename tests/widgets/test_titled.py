"""A title that is written anew without the rest of its widget."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from textual._compositor import Compositor
from textual.app import App
from textual.containers import Vertical
from textual.content import Content
from textual.geometry import Region
from textual.widgets import Static

from tests.widgets.stage import screen_text
from widgets.titled import Titled

if TYPE_CHECKING:
    import pytest
    from textual.app import ComposeResult


class Box(Titled, Vertical):
    """A pane."""

    DEFAULT_CSS = "Box { border-top: solid white; padding: 0 1; }"


class BoxApp(App[None]):
    """A pane with two rows."""

    def compose(self) -> ComposeResult:
        with Box():
            yield Static("first")
            yield Static("second")


async def test_a_new_title_draws_its_row_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[set[Region]] = []
    partial = Compositor.render_partial_update

    def noted(self: Compositor, *args: Any) -> object:
        drawn.append(set(self._dirty_regions))
        return partial(self, *args)

    app = BoxApp()
    async with app.run_test(size=(40, 8)) as pilot:
        box = app.query_one(Box)
        box.retitle(Content("before"))
        await pilot.pause()
        monkeypatch.setattr(Compositor, "render_partial_update", noted)
        box.retitle(Content("after [b]all[/b]"))
        await pilot.pause()
        assert drawn == [{Region(0, 0, 40, 1)}]
        assert "after [b]all[/b]" in screen_text(app)
