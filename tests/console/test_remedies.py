"""The key that does what the verdict asks for stands beside it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from console.command import Situation
from console.screens.remedies import REMEDIES, remedy
from tests import samples
from tests.console.fakes_ui import FakeControl, FakeFeed, make_app, screen_text, shown

if TYPE_CHECKING:
    from console.app import LongwaitApp

FREE = Situation()


@pytest.mark.parametrize("cause", [*REMEDIES])
def test_a_cause_has_a_key_that_works(cause: str) -> None:
    assert remedy(cause, {}, FREE, has_script=True)
    assert remedy(cause, {}, Situation(read_only=True), has_script=True) == ""


def test_a_restart_without_another_script_mends_no_script() -> None:
    assert remedy("over_budget", {}, FREE, has_script=False) == ""
    assert remedy("job_stalled", {}, FREE, has_script=False) == "R"


def test_the_operator_s_own_key_is_named_and_causes_without_a_remedy_have_none() -> None:
    assert remedy("job_dead", {"start": "f7"}, FREE, has_script=False) == "f7"
    assert remedy("disk_full", {}, FREE, has_script=True) == ""
    assert remedy("server_stalled", {}, Situation(can_serve=False), has_script=True) == ""


async def test_the_key_stands_before_what_is_to_be_done() -> None:
    snapshot = samples.intervene()
    key = remedy(snapshot.verdict.cause, {}, FREE, has_script=True)
    feed = FakeFeed()
    app: LongwaitApp = make_app(feed, FakeControl(), new_script=Path("new.py"))
    async with app.run_test(size=(120, 36)) as pilot:
        await shown(pilot, feed, snapshot)
        assert f"Do: [{key}] " in screen_text(app) if key else "Do: [" not in screen_text(app)
