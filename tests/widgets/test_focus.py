"""What has the focus looks as it would if every style were looked up anew."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from textual.widget import Widget

from tests.widgets.stage import Stage
from widgets.card import Card
from widgets.diff_view import DiffView
from widgets.focus import FocusedAlone
from widgets.log_buffer import LogText
from widgets.log_view import LogView

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.app import App
    from textual.dom import DOMNode
    from textual.strip import Strip


def log() -> LogView:
    view = LogView("server")
    view.append(LogText(f"line {number} " * 9, "error" if number % 3 == 0 else "info") for number in range(40))
    return view


def picture(app: App[None]) -> list[Strip]:
    return app.screen._compositor.render_strips()


WIDGETS: dict[str, Callable[[], Widget]] = {
    "card": lambda: Card("wait", "good", "KV-limited.", ("a fact", "another"), "Next look 03:40."),
    "log": log,
    "diff": lambda: DiffView(("-old", "+new")),
}


@pytest.mark.parametrize("name", WIDGETS)
async def test_it_looks_as_if_all_styles_had_been_looked_up(name: str) -> None:
    one, other = WIDGETS[name](), WIDGETS[name]()
    one.styles.height = other.styles.height = 8
    app = Stage(one, other)
    async with app.run_test(size=(60, 20)) as pilot:
        for focused in (one, other, None, other, one):
            app.screen.set_focus(focused)
            await pilot.pause()
            quick = picture(app)
            app.stylesheet.update(app.screen)
            for node in app.screen.walk_children(with_self=True):
                if isinstance(node, Widget):
                    node.refresh()
            await pilot.pause()
            assert quick == picture(app)
        assert isinstance(one, FocusedAlone)


async def test_no_part_of_it_is_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    view = log()
    app = Stage(view)
    async with app.run_test(size=(60, 20)) as pilot:
        app.screen.set_focus(None)
        await pilot.pause()
        looked_up: list[object] = []
        apply = app.stylesheet.apply

        def noted(node: DOMNode, **how: Any) -> None:
            looked_up.append(node)
            apply(node, **how)

        monkeypatch.setattr(app.stylesheet, "apply", noted)
        view.focus()
        await pilot.pause()
        assert view in looked_up
        assert {type(node).__name__ for node in looked_up} <= {"LogView", "StillBar", "ScrollBarCorner", "ScrollBar"}
        assert view.get_component_styles("log-view--error") is not None
