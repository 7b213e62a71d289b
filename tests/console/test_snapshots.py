"""The screens as they were last looked at: whatever changes on one of them is told by row and column.

To renew them, set ``LONGWAIT_RENEW=1``; to look at them, set ``LONGWAIT_PICTURES=FOLDER``, where they are left as SVG:

    LONGWAIT_RENEW=1 LONGWAIT_PICTURES=/tmp/pictures .venv/bin/python -m pytest tests/console/test_snapshots.py
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from console.looks import Looks
from console.themes import SHIPPED
from tests.console import drawn
from tests.console.scenes import SCENES, played

if TYPE_CHECKING:
    from console.app import LongwaitApp

KEPT = Path(__file__).parent / "snapshots"
SIZES = ((80, 24), (120, 36), (200, 50))
PHONE = (60, 30)
"""Where the two screens that are looked at in the street are kept as well."""

MOST_BYTES = 2_000_000
"""All of them together: what a clone can bear."""

SIZED = [(name, size) for name in SCENES for size in SIZES] + [(name, PHONE) for name in ("healthy", "intervene")]


def compare(app: LongwaitApp, name: str) -> None:
    """Hold the screen against what was kept of it; keep it instead when that is asked for."""
    path, now = KEPT / f"{name}.txt", drawn.drawn(app)
    if folder := os.environ.get("LONGWAIT_PICTURES"):
        Path(folder).mkdir(parents=True, exist_ok=True)
        Path(folder, f"{name}.svg").write_text(app.export_screenshot(title=name), encoding="utf-8")
    if os.environ.get("LONGWAIT_RENEW"):
        KEPT.mkdir(exist_ok=True)
        path.write_text(now.text(), encoding="utf-8")
        return
    assert path.exists(), f"{name} is not kept yet: set LONGWAIT_RENEW=1"
    changes = drawn.differences(drawn.read(path), now)
    assert not changes, "\n".join([f"{name} has changed (LONGWAIT_RENEW=1 keeps it as it is now):", *changes])


@pytest.mark.parametrize(("name", "size"), SIZED, ids=[f"{name}-{size[0]}x{size[1]}" for name, size in SIZED])
async def test_a_screen_is_as_it_was(name: str, size: tuple[int, int]) -> None:
    async with played(name, size) as app:
        compare(app, f"{name}-{size[0]}x{size[1]}")


@pytest.mark.parametrize("theme", SHIPPED)
async def test_a_theme_is_as_it_was(theme: str) -> None:
    async with played("watch", (80, 24), looks=Looks(theme=theme)) as app:
        assert app.theme == theme
        compare(app, f"{theme}-80x24")


async def test_what_is_written_down_reads_the_same_and_a_change_is_told_by_its_place(tmp_path: Path) -> None:
    async with played("intervene", (80, 24)) as app:
        kept = drawn.drawn(app)
    path = tmp_path / "kept.txt"
    path.write_text(kept.text(), encoding="utf-8")
    assert drawn.read(path) == kept
    assert drawn.differences(kept, kept) == []
    async with played("watch", (80, 24)) as app:
        told = drawn.differences(kept, drawn.drawn(app))
    assert any(line.startswith("row ") and "INTERVENE" in line for line in told)
    assert any(": style was " in line for line in told)
    async with played("watch", (80, 25)) as app:
        assert drawn.differences(kept, drawn.drawn(app)) == ["24 rows were kept, 25 are drawn"]


def test_nothing_is_kept_that_is_not_compared_and_all_of_it_is_small() -> None:
    wanted = {f"{name}-{size[0]}x{size[1]}" for name, size in SIZED} | {f"{theme}-80x24" for theme in SHIPPED}
    assert {path.stem for path in KEPT.iterdir()} == wanted
    assert sum(path.stat().st_size for path in KEPT.iterdir()) < MOST_BYTES
