"""A gauge shows its share, warns in words and signs, and says what it does not know."""

from __future__ import annotations

import math

import pytest
from rich.cells import cell_len

from tests.widgets.stage import NASTY, WIDTHS, Stage, line, safe
from widgets.gauge import Gauge


@pytest.mark.parametrize("width", WIDTHS)
async def test_it_fills_its_width_and_shows_the_figure(width: int) -> None:
    gauge = Gauge("KV", 0.82, "114k of 139k tokens", form="share")
    async with Stage(gauge).run_test(size=(width, 3)):
        text = line(gauge)
        assert gauge.size.height == 1
        assert cell_len(text) == width
        assert text.startswith("KV ")
        assert "0.82" in text
        assert ("114k of 139k tokens" in text) is (width >= 80)
        assert text.count("━") / (text.count("━") + text.count("─")) == pytest.approx(0.82, abs=0.1)


@pytest.mark.parametrize(
    ("value", "level", "sign"),
    [
        (0.5, "", "50%"),
        (0.7, "warn", "70% !"),
        (0.95, "danger", "95% !!"),
        (None, "unknown", "--"),
        (math.nan, "unknown", "--"),
    ],
)
async def test_limits_are_told_by_class_sign_and_word(value: float | None, level: str, sign: str) -> None:
    gauge = Gauge("disk", warn=0.7, danger=0.9)
    async with Stage(gauge).run_test(size=(80, 3)) as pilot:
        gauge.value = value
        await pilot.pause()
        assert gauge.level == level
        assert set(gauge.classes) == ({f"-{level}"} if level else set())
        assert sign in line(gauge)
        assert ("high" in line(gauge)) is (level in {"warn", "danger"})


async def test_full_is_fine_when_calm() -> None:
    gauge = Gauge("KV", 0.99, warn=0.7, danger=0.9)
    async with Stage(gauge).run_test(size=(40, 3)) as pilot:
        assert gauge.has_class("-danger")
        gauge.calm = True
        await pilot.pause()
        assert not gauge.classes
        assert "!" not in line(gauge)


@pytest.mark.parametrize("width", [*WIDTHS, 1])
async def test_the_sign_of_danger_survives_a_narrow_line(width: int) -> None:
    gauge = Gauge("disk of the host", 0.95, danger=0.9)
    async with Stage(gauge).run_test(size=(width, 3)):
        assert cell_len(line(gauge)) <= width
        assert "95% !!" in line(gauge) or width == 1


async def test_text_is_never_markup() -> None:
    gauge = Gauge(NASTY, 1.5, NASTY)
    async with Stage(gauge).run_test(size=(200, 3)):
        assert "[b]bold[/b]" in line(gauge)
        assert "150%" in line(gauge)
        assert safe(line(gauge))
