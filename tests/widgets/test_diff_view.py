"""A diff's lines are told apart, and only those in sight are drawn."""

from __future__ import annotations

import pytest

from tests.widgets.stage import NASTY, WIDTHS, Stage, rows, safe
from widgets.diff_view import DiffView, part_of


@pytest.mark.parametrize(
    ("line", "part"),
    [
        ("--- a/run.py", "file"),
        ("+++ b/run.py", "file"),
        ("@@ -1,2 +1,3 @@", "place"),
        ("+added", "added"),
        ("+++x", "added"),
        ("-removed", "removed"),
        (" context", ""),
        ("", ""),
    ],
)
def test_kinds_of_lines(line: str, part: str) -> None:
    assert part_of(line) == (f"diff-view--{part}" if part else "")


@pytest.mark.parametrize("width", WIDTHS)
async def test_it_is_as_high_as_its_lines_up_to_the_screen(width: int) -> None:
    diff = DiffView(("+a", "-b", " " + "c" * 300, "+" + NASTY))
    diff.styles.max_height = 6
    async with Stage(diff).run_test(size=(width, 8)) as pilot:
        shown = rows(diff)
        assert len(shown) == 4
        assert shown[0].rstrip() == "+a"
        assert shown[2].endswith("…")
        assert all(safe(row) for row in shown)
        diff.focus()
        await pilot.press("right")
        assert diff.scroll_x > 0
        diff.lines = tuple(f"+{number}" for number in range(10_000))
        await pilot.pause()
        await pilot.press("end")
        assert rows(diff)[-1].rstrip() == "+9999"
