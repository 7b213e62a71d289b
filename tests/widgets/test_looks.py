"""What holds for all widgets together: themes, no colours of their own, no timers when idle."""

from __future__ import annotations

import re

import pytest

from tests.widgets.stage import Stage, line, screen_text
from widgets.card import Aside, Band, Card
from widgets.confirm import Confirm
from widgets.diff_view import DiffView
from widgets.gauge import Gauge
from widgets.lamp import Lamp
from widgets.large import Large
from widgets.line_view import LineView
from widgets.log_view import LogText, LogView
from widgets.meter import Meter
from widgets.page import Page
from widgets.steps import StepRow, Steps
from widgets.trend import Trend

ALL = (Aside, Band, Card, Confirm, DiffView, Gauge, Lamp, Large, LineView, LogView, Meter, Page, Steps, Trend)


def stage() -> Stage:
    return Stage(
        Card("wait", "good", "headline", ("fact",), "foot"),
        Gauge("disk", 0.95, warn=0.5, danger=0.9),
        Lamp("link", "bad", "refused"),
        Meter("B1", 0.5, "5/10", state="running", sign="▸", tone="busy", before=0.2, flight=0.1, mark=0.9),
        Steps((StepRow("stop", "failed", "why"),)),
        Trend("made", (1.0, 2.0), now="2"),
        DiffView(("+new",)),
        LogView("log"),
    )


@pytest.mark.parametrize("widget", ALL)
def test_colours_come_from_the_theme(widget: type[Gauge]) -> None:
    css = widget.DEFAULT_CSS
    assert css.lstrip().startswith(f"{widget.__name__} {{")
    assert not re.search(r"#[0-9a-f]{3,8}\b|rgb|hsl|blink", css)
    for colour in re.findall(r"(?:color|background|tint): ([^;]+);", css):
        assert colour.startswith("$")


async def test_every_theme_draws_the_same_text() -> None:
    app = stage()
    async with app.run_test(size=(80, 24)) as pilot:
        app.query_one(LogView).append([LogText("oh", "error", "03:19:40")])
        await pilot.pause()
        before = screen_text(app)
        assert "✗ oh" in before
        for theme in app.available_themes:
            app.theme = theme
            await pilot.pause()
            assert screen_text(app) == before


async def test_without_colour_the_states_are_still_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    app = stage()
    async with app.run_test(size=(80, 24)):
        assert "95% !!  too high" in line(app.query_one(Gauge))
        assert line(app.query_one(Lamp)).startswith("✗ link bad")


async def test_idle_no_widget_has_a_timer() -> None:
    app = stage()
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        assert not [widget for widget in app.screen.walk_children() if widget._timers]
