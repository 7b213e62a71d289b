"""A scrollbar that looks the same is not drawn again, and one that looks otherwise is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st
from textual.scrollbar import ScrollBar, ScrollBarRender

from tests.widgets.stage import Stage
from widgets.log_buffer import LogText
from widgets.log_view import LogView
from widgets.still_bar import StillBar, thumb

if TYPE_CHECKING:
    import pytest
    from textual.geometry import Region
    from textual.strip import Strip


@st.composite
def bars(draw: st.DrawFn) -> tuple[int, int, int, float]:
    """Length, virtual size, window size, position; the window is smaller than what is scrolled, or 0."""
    length, virtual = draw(st.integers(0, 60)), draw(st.integers(0, 3_000))
    window = draw(st.sampled_from([0, min(length, max(0, virtual - 1))]))
    return length, virtual, window, draw(st.integers(0, 8 * max(0, virtual - window))) / 8


def drawn(bar: tuple[int, int, int, float]) -> list[object]:
    length, virtual, window, position = bar
    return list(ScrollBarRender.render_bar(length, virtual, window, position).segments)


@given(bars(), st.integers(-80, 80), st.integers(-80, 80))
def test_two_bars_with_their_thumbs_in_the_same_place_are_drawn_alike(
    one: tuple[int, int, int, float], more: int, further: int
) -> None:
    length, virtual, window, position = one
    grown = max(window + 1, virtual + more)
    other = (length, grown, window, min(max(0.0, position + further / 8), grown - window))
    if thumb(*one) == thumb(*other):
        assert drawn(one) == drawn(other)


async def test_lines_that_come_leave_it_alone_until_it_looks_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    count = 0
    render_lines = ScrollBar.render_lines

    def counted(self: ScrollBar, crop: Region) -> list[Strip]:
        nonlocal count
        count += 1
        return render_lines(self, crop)

    monkeypatch.setattr(ScrollBar, "render_lines", counted)
    view = LogView()
    async with Stage(view).run_test(size=(60, 12)) as pilot:
        view.append(LogText(f"line {number}") for number in range(2_000))
        await pilot.pause()
        assert isinstance(view.vertical_scrollbar, StillBar)
        before = count
        for number in range(5):
            view.append([LogText(f"more {number}")])
            view.draw_growth()
            await pilot.pause()
        assert count == before
        view.scroll_home(animate=False)
        await pilot.pause()
        assert count > before
