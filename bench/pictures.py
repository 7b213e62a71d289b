"""Makes the pictures of the README and the docs by running the demo: ``python -m bench.pictures [FOLDER]``."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from console.screen_runs import demo_app
from console.themes import SHIPPED
from remote.demo import DemoHost

SIZES = {"console-80x24": (80, 24), "console-120x36": (120, 36), "console-200x50": (200, 50)}
SPEED = 20.0
SETTLED_S = 60.0
"""Seconds of the demo until the run is in full swing: two datasets skipped, one resumed and well on."""

MADE_S = 8.0
"""Seconds in which the old script shows how fast it is, to compare with."""

PATIENCE_S = 300.0
"""Seconds that anything may take until it is seen."""


async def picture(folder: Path) -> None:
    """Run the demo once and draw it at each size."""
    app = demo_app(DemoHost(scenario="kv-limited", speed=SPEED))
    async with app.run_test(size=(120, 36)) as pilot:
        await pilot.pause(SETTLED_S)
        for name, size in SIZES.items():
            await pilot.resize_terminal(*size)
            await pilot.pause(1.0)
            (folder / f"{name}.svg").write_text(app.export_screenshot(title="longwait demo"), encoding="utf-8")


async def theme_pictures(folder: Path) -> None:
    """Run the demo once and draw it in each theme."""
    app = demo_app(DemoHost(scenario="kv-limited", speed=SPEED))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause(SETTLED_S)
        for name in SHIPPED:
            app.theme = name
            await pilot.pause(1.0)
            picture = app.export_screenshot(title=name)
            (folder / f"theme-{name.removeprefix('longwait-')}-80x24.svg").write_text(picture, encoding="utf-8")


async def dataset_picture(folder: Path) -> None:
    """Run the demo once and draw the dataset at work, seen closely."""
    app = demo_app(DemoHost(scenario="kv-limited", speed=SPEED))
    async with app.run_test(size=(120, 36)) as pilot:
        await pilot.pause(SETTLED_S)
        await pilot.press("enter")
        await pilot.pause(2.0)
        (folder / "dataset-120x36.svg").write_text(app.export_screenshot(title="longwait demo"), encoding="utf-8")


async def timeline_picture(folder: Path) -> None:
    """Run the demo once and draw its timeline over the whole screen, at an earlier moment."""
    app = demo_app(DemoHost(scenario="kv-limited", speed=SPEED))
    async with app.run_test(size=(120, 36)) as pilot:
        await pilot.pause(SETTLED_S)
        await pilot.press("5", "5", *["left"] * 12)
        await pilot.pause(2.0)
        (folder / "timeline-120x36.svg").write_text(app.export_screenshot(title="longwait demo"), encoding="utf-8")


async def proof_picture(folder: Path) -> None:
    """Run the demo with the old script; draw the call for a restart, and the proof when it is whole."""
    app = demo_app(DemoHost(scenario="old-script", speed=SPEED))
    async with app.run_test(size=(120, 36)) as pilot:

        async def until(word: str) -> None:
            async with asyncio.timeout(PATIENCE_S):
                while word.replace(" ", "&#160;") not in app.export_screenshot():
                    await pilot.pause(0.5)

        for word in ("INTERVENE:", "tok/s", "pid"):
            await until(word)
        await pilot.pause(MADE_S)
        (folder / "intervene-120x36.svg").write_text(app.export_screenshot(title="longwait demo"), encoding="utf-8")
        await pilot.press("R")
        await until("Enter or y")  # before it says so, the dialog takes no Enter
        await pilot.press("enter")  # the plan itself is no picture: it names this machine's folders
        await until("Proven:")
        (folder / "restart-120x36.svg").write_text(app.export_screenshot(title="longwait demo"), encoding="utf-8")


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[1] / "docs"
    asyncio.run(picture(target))
    asyncio.run(theme_pictures(target))
    asyncio.run(dataset_picture(target))
    asyncio.run(timeline_picture(target))
    asyncio.run(proof_picture(target))
