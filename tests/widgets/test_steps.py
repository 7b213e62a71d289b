"""Steps change in place and keep their order."""

from __future__ import annotations

import pytest
from rich.cells import cell_len

from tests.widgets.stage import NASTY, WIDTHS, Stage, rows, safe
from widgets.steps import SIGNS, StepRow, Steps, StepState

ROWS = (StepRow("stop the job"), StepRow("put the script in place"), StepRow("start"))


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("state", SIGNS)
async def test_a_step_changes_in_place(width: int, state: StepState) -> None:
    steps = Steps(ROWS)
    async with Stage(steps).run_test(size=(width, 20)) as pilot:
        steps.mark("put the script in place", state, "sha256 agrees", 1.25)
        await pilot.pause()
        text = " ".join(" ".join(rows(steps)).split())
        assert [row.name for row in steps.rows] == [row.name for row in ROWS]
        assert f"{SIGNS[state]} put the script in place {state} 1.2 s sha256 agrees" in text
        assert all(cell_len(row) <= width for row in rows(steps))
        assert len(rows(steps)) == len(ROWS) or width == 20


async def test_an_unknown_step_is_added_by_put_and_refused_by_mark() -> None:
    steps = Steps(ROWS)
    async with Stage(steps).run_test(size=(80, 20)) as pilot:
        steps.put(StepRow("check", "failed", "the server answered 503"))
        await pilot.pause()
        assert len(rows(steps)) == 4
        with pytest.raises(KeyError):
            steps.mark("no such step", "done")


async def test_names_are_a_column_and_text_is_no_markup() -> None:
    steps = Steps((*ROWS, StepRow(NASTY * 3, "running", NASTY)))
    async with Stage(steps).run_test(size=(120, 20)):
        shown = rows(steps)
        assert len({row.index(word) for row, word in zip(shown, ["waiting"] * 3, strict=False)}) == 1
        assert "[b]bold[/b]" in shown[3]
        assert all(safe(row) for row in shown)


async def test_no_steps() -> None:
    steps = Steps()
    async with Stage(steps).run_test(size=(40, 5)):
        assert not any(rows(steps))
