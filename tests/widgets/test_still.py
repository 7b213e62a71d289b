"""A text that is laid out anew only when its height changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from textual.content import Content

from tests.widgets.stage import Stage
from widgets.still import Still

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.mark.parametrize(
    ("former", "text", "laid_out"),
    [
        ("health answered 9 s ago", "health answered 10 s ago", False),
        ("one line", "two lines " * 4, True),
        ("two lines " * 4, "one line", True),
        ("the same", "the same", False),
    ],
)
async def test_only_another_height_lays_the_screen_out(former: str, text: str, laid_out: bool) -> None:
    still = Still(Content(former))
    async with Stage(still).run_test(size=(30, 10)) as pilot:
        asked: list[bool] = []
        refresh: Callable[..., object] = still.refresh

        def watched(*args: object, **options: object) -> object:
            asked.append(bool(options.get("layout")))
            return refresh(*args, **options)

        still.refresh = watched  # type: ignore[method-assign, assignment]
        still.write(Content(text))
        await pilot.pause()
        assert any(asked) is laid_out
        assert still.size.height == (2 if len(text) > 30 else 1)


async def test_a_change_of_style_alone_is_drawn() -> None:
    still = Still(Content("word"))
    async with Stage(still).run_test(size=(30, 10)):
        still.write(Content.styled("word", "reverse"))
        assert isinstance(still.content, Content)
        assert still.content.spans
