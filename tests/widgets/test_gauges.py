"""Rows of shares: bars and figures in columns, what gives way first, and nothing runs over."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from tests.widgets.stage import NASTY, WIDTHS, Stage, rows, safe
from widgets.gauges import BAR_MOST, GaugeRow, Gauges, beside, ragged, shape

GPUS = tuple(
    GaugeRow(f"GPU{number}", 0.9, ("90 %", "74.2 of 79.6 GiB", f"{60 + number} °C", "640 of 700 W"))
    for number in range(8)
)


@pytest.mark.parametrize("width", WIDTHS)
async def test_figures_stand_in_columns(width: int) -> None:
    gauges = Gauges()
    async with Stage(gauges).run_test(size=(width, 20)) as pilot:
        gauges.rows = GPUS
        await pilot.pause()
        lines = rows(gauges)
        assert len(lines) == 8
        assert all(cell_len(line) <= width for line in lines)
        assert len({line.index("90 %") for line in lines}) == 1
        assert ("640 of 700 W" in lines[0]) is (width >= 80)
        assert all(0 < line.count("━") <= BAR_MOST for line in lines)


async def test_many_rows_stand_side_by_side_where_there_is_room() -> None:
    many = tuple(GaugeRow(f"DP{number}", number / 64, (f"{number / 64:.2f}",)) for number in range(64))
    gauges = Gauges()
    async with Stage(gauges).run_test(size=(180, 70)) as pilot:
        gauges.rows = many
        await pilot.pause()
        assert gauges.size.height == 16
        assert all(f"DP{number} " in "\n".join(rows(gauges)) for number in range(64))
        gauges.rows = many[:3]
        await pilot.pause()
        assert gauges.size.height == 3
    assert beside(64, 60) == 1


async def test_rows_of_different_kinds_take_what_fits() -> None:
    gauges = Gauges(aligned=False)
    async with Stage(gauges).run_test(size=(46, 6)) as pilot:
        gauges.rows = (
            GaugeRow("8 GPUs", 0.94, ("94 %", "75 °C", "594 of 637 GiB", "5,148 W")),
            GaugeRow("disk", 0.93, ("! full in 10 h", "512 GiB free", "/data"), "warn"),
            GaugeRow("load", None, ("--",)),
        )
        await pilot.pause()
        first, second, third = (line.rstrip() for line in rows(gauges))
        assert first.endswith("594 of 637 GiB")
        assert second.endswith("! full in 10 h  512 GiB free")
        assert third.endswith("--")
        assert "┄" in third
        assert first.count("━") + first.count("─") == second.count("━") + second.count("─")


async def test_words_from_outside_stay_words() -> None:
    gauges = Gauges()
    async with Stage(gauges).run_test(size=(60, 6)) as pilot:
        gauges.rows = (GaugeRow(NASTY, math.nan, (NASTY, NASTY)),)
        await pilot.pause()
        assert safe("\n".join(rows(gauges)))
        assert all(cell_len(line) <= 60 for line in rows(gauges))


TEXT = st.text("aé漢 %°", max_size=12)
ROW = st.builds(GaugeRow, TEXT, st.one_of(st.none(), st.floats()), st.lists(TEXT, max_size=5).map(tuple))


@given(st.lists(ROW, max_size=9), st.integers(0, 130))
def test_any_rows_fit_into_any_width(found: list[GaugeRow], width: int) -> None:
    for fitted in (shape(found, width), ragged(found, width)):
        figures = sum(2 + wide for wide in fitted.figures)
        assert fitted.label + (fitted.bar + 1 if fitted.bar else 0) + figures <= max(width, 0)
