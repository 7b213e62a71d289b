"""Makes the pictures of the README and the docs by running the demo: ``python -m bench.pictures [FOLDER]``."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from console.screen_runs import demo_app
from remote.demo import DemoHost

SIZES = {"console-80x24": (80, 24), "console-120x36": (120, 36), "console-200x50": (200, 50)}
SPEED = 20.0
SETTLED_S = 60.0
"""Seconds of the demo until the run is in full swing: two datasets skipped, one resumed and well on."""


async def picture(folder: Path) -> None:
    """Run the demo once and draw it at each size."""
    app = demo_app(DemoHost(scenario="kv-limited", speed=SPEED))
    async with app.run_test(size=(120, 36)) as pilot:
        await pilot.pause(SETTLED_S)
        for name, size in SIZES.items():
            await pilot.resize_terminal(*size)
            await pilot.pause(1.0)
            (folder / f"{name}.svg").write_text(app.export_screenshot(title="longwait demo"), encoding="utf-8")


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[1] / "docs"
    asyncio.run(picture(target))
