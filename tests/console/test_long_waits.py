"""Whatever takes long says how far it is, since when, and what it waits for."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from console.act_run import stop_words
from console.acts import START_STEP, STOP_STEP, Step
from console.config import DatasetSettings, JobSettings, ServerSettings, Settings
from console.feed import Feed
from console.feed_outbox import Outbox
from console.feed_progress import reading_of
from console.feed_sources import SourceFollower
from console.job.events import Source
from console.job.plan import Plan
from console.job.snapshot import LinkView, LogView
from console.job.tracker import Tracker
from console.job.transfer import Transfer
from console.panels.log_words import state_note
from console.panels.status import link
from console.screens.act import ActScreen
from remote.link import Link
from remote.local import LocalHost
from remote.process import StopStep
from tests import samples
from tests.console.fakes_ui import FakeControl, FakeFeed, asked, main_screen, make_app, screen_text, shown, until
from tests.console.test_feed import DECODE, watching
from widgets.steps import Steps

if TYPE_CHECKING:
    from pathlib import Path

NOW = samples.NOW
MB = 1_000_000


def utc_now() -> datetime:
    return datetime.now(UTC)


def seconds_ago(seconds: float) -> datetime:
    return NOW - timedelta(seconds=seconds)


# ---------------------------------------------------------------- figures and words


def test_a_rate_is_of_what_came_since_it_began() -> None:
    read_on = Transfer(60 * MB, 100 * MB, seconds_ago(10), NOW, begun=40 * MB)
    assert read_on.rate == 2 * MB
    assert read_on.left_s == 20
    assert Transfer(60 * MB, 100 * MB, seconds_ago(0.5), NOW).rate is None
    assert Transfer(0, 100 * MB, seconds_ago(10), NOW).left_s is None
    assert Transfer(101 * MB, 100 * MB, seconds_ago(10), NOW).left_s == 0


@pytest.mark.parametrize(
    ("log", "note"),
    [
        (
            {"reading": Transfer(12 * MB, 64 * MB, seconds_ago(3), NOW)},
            "reading 12 of 64 MB, 4.0 MB/s, 13 s left",
        ),
        (
            {"filling": Transfer(120 * MB, 980 * MB, seconds_ago(6), NOW)},
            "filling in the past: 120 of 980 MB, 20.0 MB/s, 43 s left",
        ),
        ({"reading": Transfer(0, 64 * MB, seconds_ago(8), NOW)}, "reading 0 of 64 MB, for 8 s"),
        # While it is being read, what is old is no news.
        (
            {"reading": Transfer(MB, 2 * MB, seconds_ago(0.1), NOW), "updated_at": seconds_ago(900)},
            "reading 1 of 2 MB, for 0 s",
        ),
        ({"updated_at": seconds_ago(1)}, ""),
    ],
)
def test_the_title_of_a_log_says_how_far_it_is(log: dict[str, object], note: str) -> None:
    state = replace(LogView("server", state="following", understood=1.0, lines=9), **log)  # type: ignore[arg-type]
    assert state_note(state, NOW) == note


def test_connecting_says_which_try_since_when_and_why() -> None:
    view = LinkView("connecting", seconds_ago(95), "gpu01 does not answer", attempt=3, host="gpu01")
    assert link(view, NOW) == ("busy", "connecting", "try 3 · for 2 min · gpu01 does not answer")


def test_a_stop_says_until_when_it_waits() -> None:
    assert stop_words(StopStep("waiting", 2, 12.0), 600.0) == "waiting: 2 processes left after 12 s, KILL in 10 min"
    assert stop_words(StopStep("waiting", 2, 601.0), 600.0) == "waiting: 2 processes left after 10 min"


# ---------------------------------------------------------------- the feed


async def test_a_log_that_is_caught_up_is_counted(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    path.write_text(DECODE * 30_000, encoding="utf-8")
    size = path.stat().st_size
    host, seen = LocalHost(), list[Transfer | None]()
    tracker = Tracker(Plan(host="local"))
    follower: SourceFollower

    def took(_: object) -> None:
        seen.append(reading_of([follower], utc_now()))
        outbox.take()  # as a screen does; else reading waits for it

    follower = SourceFollower(
        Source.SERVER,
        str(path),
        host=host,
        link=(link_ := Link(host, lambda _: None)),
        outbox=(outbox := Outbox()),
        clock=utc_now,
        took=took,
        last_bytes=3 * 1_048_576,
    )
    tasks = [asyncio.create_task(link_.run()), asyncio.create_task(follower.run(tracker))]
    async with asyncio.timeout(20):
        await follower.caught_up.wait()
    for task in tasks:
        task.cancel()
    with suppress(asyncio.CancelledError):
        await asyncio.gather(*tasks)
    told = [each for each in seen if each is not None]
    assert len(told) > 3
    assert {each.total for each in told} == {size}
    assert {each.begun for each in told} == {told[0].begun}
    assert 0 <= told[0].begun - (size - 3 * 1_048_576) < 400  # a whole line begins there
    assert [each.done for each in told] == sorted({each.done for each in told})
    assert told[-1].done == size
    assert reading_of([follower], utc_now()) is None  # it is there


async def test_a_small_log_is_not_worth_a_word(tmp_path: Path) -> None:
    (tmp_path / "job.log").write_text("x\n", encoding="utf-8")
    follower = SourceFollower(
        Source.JOB,
        str(tmp_path / "job.log"),
        host=(host := LocalHost()),
        link=Link(host, lambda _: None),
        outbox=Outbox(),
        clock=utc_now,
        took=lambda _: None,
    )
    follower.size, follower.behind_from = 2, 0
    assert reading_of([follower], utc_now()) is None


async def test_the_past_that_is_filled_in_is_counted(tmp_path: Path) -> None:
    (tmp_path / "server.log").write_text(DECODE * 30_000, encoding="utf-8")

    def filling_at(mib_s: float) -> Settings:
        return Settings(
            host="local",
            server=ServerSettings(
                url="http://127.0.0.1:9",
                log=(str(tmp_path / "server.log"),),
                metrics=False,
                log_last_mib=1,
                fill_mib_s=mib_s,
            ),
            job=JobSettings(log=str(tmp_path / "job.log")),
            datasets=(DatasetSettings(name="B1"),),
            timezone="UTC",
        )

    async with watching(Feed(LocalHost(), filling_at(0.05), clock=utc_now)) as watcher:
        seen = await watcher.until(lambda now: now.logs[0].filling is not None and now.logs[0].filling.done > 0)
        filling = seen.logs[0].filling
        assert filling is not None
        assert filling.done < filling.total
        assert filling.total >= (tmp_path / "server.log").stat().st_size - 2 * 1_048_576
        assert seen.logs[1].filling is None
    async with watching(Feed(LocalHost(), filling_at(500.0), clock=utc_now)) as watcher:
        await watcher.until(lambda now: now.logs[0].lines == 30_000 and now.logs[0].filling is None)


# ---------------------------------------------------------------- the screen


async def test_the_log_pane_says_how_far_it_is() -> None:
    feed = FakeFeed()
    app = make_app(feed)
    async with app.run_test(size=(120, 36)) as pilot:
        healthy = samples.healthy()
        log = replace(healthy.logs[0], reading=Transfer(12 * MB, 64 * MB, seconds_ago(3), NOW))
        await shown(pilot, feed, replace(healthy, logs=(log, healthy.logs[1])))
        assert "reading 12 of 64 MB, 4.0 MB/s, 13 s left" in screen_text(app)


async def test_a_step_that_goes_on_says_for_how_long_and_what_the_server_still_does() -> None:
    passed = [0.0]
    control = FakeControl(
        steps=(
            Step(STOP_STEP, "running", "waiting: 2 processes left after 12 s, KILL in 10 min"),
            Step(STOP_STEP, "done", "gone after 30 s", 30.0),
            Step(START_STEP, "running"),
            Step(START_STEP, "done", "process 50001", 0.4),
        )
    )
    feed = FakeFeed()
    app = make_app(feed, control, clock=lambda: NOW + timedelta(seconds=passed[0]))
    async with app.run_test(size=(120, 36)) as pilot:
        healthy = samples.healthy()
        await shown(pilot, feed, healthy)
        await pilot.press("K")
        await asked(pilot)
        await pilot.press("y")
        await until(pilot, lambda: isinstance(app.screen, ActScreen), "the steps")
        passed[0] = 13.0
        await shown(pilot, feed, replace(healthy, server=replace(healthy.server, running=41)))
        app.screen._draw_steps()  # type: ignore[attr-defined]  # the board's own timer does it each second
        await pilot.pause()
        assert "running  13.0 s  waiting: 2 processes left after 12 s, KILL in 10 min" in screen_text(app)
        row = app.screen.query_one(Steps).rows[0]
        assert row.detail.endswith("; the server works on 41 requests")
        control.gate.set()
        await until(pilot, lambda: bool(main_screen(app).act and main_screen(app).act.ended), "the end")  # type: ignore[union-attr]
        assert "41 requests" not in screen_text(app)
