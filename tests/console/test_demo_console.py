"""The whole product on the demo host: nothing on the console's side is faked."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from console.screen_runs import demo_app
from remote.demo import DemoHost
from tests.console.fakes_ui import asked, main_screen, notices, screen_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.pilot import Pilot

    from console.job.snapshot import Snapshot

ROOT = Path(__file__).parents[2]


async def until(pilot: Pilot[None], holds: Callable[[], bool], what: str, patience_s: float = 60.0) -> None:
    """Let the real parts work until something holds."""
    deadline = time.monotonic() + patience_s
    while not holds():
        assert time.monotonic() < deadline, f"never came: {what}\n{screen_text(pilot.app)}"  # type: ignore[arg-type]
        await pilot.pause(0.1)


async def test_the_demo_is_watched_pinged_and_restarted() -> None:
    app = demo_app(DemoHost(speed=40.0, options=("--startup-s", "1")))
    async with app.run_test(size=(120, 36)) as pilot:

        def seen() -> Snapshot:
            snapshot = main_screen(app).snapshot
            assert snapshot is not None
            return snapshot

        def at_work() -> bool:
            now_ = seen()
            going = any(0 < view.done < (view.total or 0) for view in now_.datasets)
            full = (now_.server.token_usage or 0.0) > 0.7
            return now_.verdict.cause == "kv_limited" and full and going and now_.eta.at is not None

        await until(pilot, at_work, "a KV-limited run")
        snapshot = seen()
        assert [view.state.value for view in snapshot.datasets[:2]] == ["skipped", "skipped"]
        assert snapshot.datasets[2].done_before > 0
        assert snapshot.server.running is not None
        assert 30 <= snapshot.server.running <= 80
        assert "the server is simulated" in screen_text(app)
        await pilot.press("h")
        await until(pilot, lambda: any(note.startswith("health: 200") for note in notices(app)), "the answer to h")
        await until(pilot, lambda: "✓ health" in screen_text(app), "the signs of life")
        await pilot.press("escape")
        await until(pilot, lambda: seen().job.pid is not None, "the job's pid")
        old = seen().job.pid
        await pilot.press("R")
        await asked(pilot)
        await pilot.press("y")
        await until(pilot, lambda: seen().job.pid not in {None, old}, "another process")
        await until(pilot, lambda: "The job is restarted." in screen_text(app), "the last step")


async def test_the_old_script_is_replaced_by_one_key_and_proven() -> None:
    app = demo_app(DemoHost(scenario="old-script", speed=40.0, options=("--startup-s", "1")))
    async with app.run_test(size=(120, 44)) as pilot:

        def seen() -> Snapshot:
            snapshot = main_screen(app).snapshot
            assert snapshot is not None
            return snapshot

        def called_for() -> bool:
            asks = seen().verdict.cause in {"over_budget", "wrong_script"}
            return asks and seen().job.pid is not None and (seen().server.gen_throughput or 0) > 0

        await until(pilot, called_for, "the call for a restart")
        old = seen().job.pid
        assert seen().job.adopted
        await pilot.press("R")
        await asked(pilot)
        plan = screen_text(app)
        assert f"process {old} of user" in plan
        assert "requests in flight" in plan
        assert "Kept: B1_glaive" in plan
        assert "token_budget" in plan or "+#!/usr/bin/env python3" in plan
        await pilot.press("y")
        await until(pilot, lambda: "Proven: " in screen_text(app), "the whole proof")
        shown = screen_text(app)
        for line in (
            "✓ the process lives",
            "✓ the script is the one sent",
            "✓ budgets are honoured",
            "✓ counts go on",
            "✓ first progress line",
            "✓ throughput as before",
            "✓ no errors",
        ):
            assert line in shown, shown
        assert re.search(r"GPU memory is freed +(done|unknown)", shown)
        assert "B1_glaive" in next(line for line in shown.splitlines() if "budgets are honoured" in line)
        assert seen().verdict.verdict.value == "wait"
        assert seen().job.pid != old
        await pilot.press("escape", "J")
        await until(pilot, lambda: "Proof of: restart the job on longwait-demo" in screen_text(app), "the journal")
        assert "The job is restarted." in screen_text(app)


async def test_a_demo_that_cannot_start_is_a_sentence_on_the_screen() -> None:
    app = demo_app(DemoHost(options=("--no-such-option",)))
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: any("demo host did not start" in note for note in notices(app)), "the reason")
        snapshot = main_screen(app).snapshot
        assert snapshot is not None
        assert snapshot.link.state == "refused"


def test_headless_gives_a_reading_and_leaves_nothing() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "console", "demo", "--headless", "--for", "14", "--speed", "40", "--json"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    reading = json.loads(done.stdout)
    assert reading["verdict"] == "wait"
    assert reading["link"]["state"] == "up"
    assert [dataset["name"][:2] for dataset in reading["datasets"]] == [f"B{n}" for n in range(1, 9)]
    assert reading["server"]["engine"] == "sglang"
    assert re.search("longwait-demo", done.stderr) is None


async def test_closing_while_it_opens_leaves_nothing() -> None:
    host = DemoHost()
    app = demo_app(host)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause(0.2)
    assert host._process is None
    assert host._folder is None
    assert [task for task in asyncio.all_tasks() if task.get_name() == "feed"] == []
