"""A sparkline tells high from low and a gap from a zero."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from tests.waits import until
from tests.widgets.stage import NASTY, WIDTHS, Stage, line, safe
from widgets.trend import BLOCKS, Trend, spark

VALUES = st.lists(st.none() | st.floats(), max_size=120)


@pytest.mark.parametrize(
    ("values", "width", "floor", "expected"),
    [
        ([], 4, 0.0, "    "),
        ([1.0], 0, 0.0, ""),
        ([0, 50, 100], 3, 0.0, "▁▅█"),
        ([0, 100], 4, 0.0, "  ▁█"),
        ([0, None, 100], 3, 0.0, "▁ █"),
        ([0, math.nan, math.inf], 3, 0.0, "▁  "),
        ([0, 0, 0], 3, 0.0, "▁▁▁"),
        ([830, 865, 845], 3, 0.0, "███"),
        ([830, 865, 830], 3, None, "▁█▁"),
        ([7, 7], 2, None, "▄▄"),
        ([7, 7], 2, 0.0, "██"),
        ([-10, 10], 2, 0.0, "▁█"),
        ([0, 0, 100, 100], 2, 0.0, "▁█"),
        ([None, None, 100, None], 2, 0.0, " █"),
        ([-1e308, 1e308], 2, 0.0, "▁█"),
    ],
)
def test_spark(values: list[float | None], width: int, floor: float | None, expected: str) -> None:
    assert spark(values, width, floor) == expected


@given(VALUES, st.integers(0, 60), st.none() | st.just(0.0))
def test_any_values_give_exactly_the_width(values: list[float | None], width: int, floor: float | None) -> None:
    line_ = spark(values, width, floor)
    assert len(line_) == width
    assert set(line_) <= set(BLOCKS + " ")


@given(st.lists(st.floats(0, 1e9), min_size=1, max_size=60))
def test_a_greater_value_is_never_drawn_lower(values: list[float]) -> None:
    drawn = spark(values, len(values))
    heights = [BLOCKS.index(block) for block in drawn]
    ranked = sorted(zip(values, heights, strict=True))
    assert [height for _, height in ranked] == sorted(heights)


@pytest.mark.parametrize("width", WIDTHS)
async def test_the_newest_value_is_always_there(width: int) -> None:
    trend = Trend("made", (0.0, 500.0, None, 845.0), unit="tok/s", now="845")
    async with Stage(trend).run_test(size=(width, 3)):
        text = line(trend)
        assert cell_len(text) == width
        assert "845 tok/s" in text
        assert "█" in text
        assert ("0..845" in text) is (width >= 80)


async def test_unknown_and_tiny() -> None:
    trend = Trend("made", unit="tok/s")
    async with Stage(trend).run_test(size=(40, 3)) as pilot:
        assert line(trend).rstrip().endswith("-- tok/s")
        trend.now = NASTY
        trend.unit = NASTY
        trend.values = (1.0, None, 12_345_678.0)
        await pilot.pause()
        assert safe(line(trend))
        await pilot.resize_terminal(8, 3)
        await until(lambda: trend.size.width == 8)
        assert cell_len(line(trend)) == 8
