"""The feed: real files on this machine, and a scripted host for what a machine does not do on demand."""

from __future__ import annotations

import asyncio
import os
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from msgspec import structs

from console.config import DatasetSettings, JobSettings, ServerSettings, Settings
from console.feed import Feed, LinesArrived, SnapshotTaken
from console.feed_gaps import gap_line
from console.job.events import ProcessFact, Source
from remote.errors import CannotConnect, HostKeyRejected, HttpUnavailable
from remote.frames import Reset
from remote.local import LocalHost
from tests.fakes import FakeHost

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from console.job.events import LogLine
    from console.job.snapshot import Snapshot
    from remote.frames import ResetKind
    from remote.host import Answer

JOB_LINES = """\
============================================================
Processing: B3_magicoder (SHORT)
============================================================
Loading and tokenizing prompts for B3_magicoder...
  B3_magicoder: 10000 prompts tokenized
  Resuming: 2 already done (1,012 tokens)
  Running 9998 requests (concurrency=150, max_tokens=10240, token_budget=10,000,000)...
  Existing tokens: 1,012, remaining budget: 9,998,988
  50/9998 (0 err) 0.3 req/s avg_comp=1232tok tot=0.1M ETA=1.9h
"""
DECODE = (
    "[2026-02-24 03:19:40] Decode batch, #running-req: 50, #token: 114822, token usage: 0.82, cuda graph: True, "
    "gen throughput (token/s): 846.33, #queue-req: 98\n"
)


def utc_now() -> datetime:
    return datetime.now(UTC)


class Watcher:
    """Consumes a feed and lets a test wait for what it says."""

    def __init__(self, feed: Feed) -> None:
        self.lines: list[LogLine] = []
        self.snapshots: list[Snapshot] = []
        self._news = asyncio.Condition()
        self._facts = feed.facts()
        self._given = 0

    async def consume(self) -> None:
        try:
            async for fact in self._facts:
                async with self._news:
                    if isinstance(fact, LinesArrived):
                        self.lines += fact.lines
                    elif isinstance(fact, SnapshotTaken):
                        self.snapshots.append(fact.snapshot)
                    self._news.notify_all()
        finally:
            await self._facts.aclose()

    async def until(self, holds: Callable[[Snapshot], bool]) -> Snapshot:
        """The newest snapshot for which it holds, of those since the one given before.

        Not only the last is looked at: on a busy machine several come before a test has its turn, and what passes (a
        file being filled in) would be over.
        """

        def newest() -> int | None:
            return next(
                (i for i in reversed(range(self._given, len(self.snapshots))) if holds(self.snapshots[i])), None
            )

        async with asyncio.timeout(20), self._news:
            await self._news.wait_for(lambda: newest() is not None)
            self._given = newest() or 0
        return self.snapshots[self._given]


@asynccontextmanager
async def watching(feed: Feed) -> AsyncIterator[Watcher]:
    watcher = Watcher(feed)
    task = asyncio.create_task(watcher.consume())
    try:
        yield watcher
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def settings_for(folder: Path, **job: object) -> Settings:
    return Settings(
        host="local",
        server=ServerSettings(url="http://127.0.0.1:9", log=(str(folder / "server.log"),), metrics=False),
        job=JobSettings(log=str(folder / "job.log"), **job),  # type: ignore[arg-type]
        datasets=(DatasetSettings(name="B1_glaive", prompts=10_000), DatasetSettings(name="B3_magicoder")),
        timezone="UTC",
    )


async def test_both_logs_become_one_state(tmp_path: Path) -> None:
    (tmp_path / "job.log").write_text(JOB_LINES, encoding="utf-8")
    (tmp_path / "server.log").write_text(DECODE, encoding="utf-8")
    async with watching(Feed(LocalHost(), settings_for(tmp_path), clock=utc_now)) as watcher:
        seen = await watcher.until(
            lambda now: now.server.running == 50 and len(now.datasets) == 2 and now.datasets[1].done > 0
        )
    running = seen.datasets[1]
    assert (running.name, running.done, running.total, running.done_before) == ("B3_magicoder", 52, 10_000, 2)
    assert (seen.server.queue, seen.server.token_usage) == (98, 0.82)
    assert {line.source for line in watcher.lines} == {Source.JOB, Source.SERVER}


async def test_what_is_not_understood_and_what_is_gone_reach_the_screen(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_text(DECODE + "a new report v1 of 2 things\n" * 3, encoding="utf-8")
    (tmp_path / "job.log").touch()
    async with watching(Feed(LocalHost(), settings_for(tmp_path), clock=utc_now)) as watcher:
        seen = await watcher.until(lambda now: now.logs[0].lines == 4)
        assert seen.logs[0].shapes == (("a new report v# of # things", 3),)
        log.write_text(DECODE, encoding="utf-8")
        await watcher.until(lambda now: now.logs[0].lines == 5)
    texts = [line.text for line in watcher.lines]
    gap = next(line for line in watcher.lines if line.level == "gap")
    assert gap.text.startswith("-- ")
    assert "the file was truncated" in gap.text
    assert texts.index(gap.text) == len(texts) - 2


@pytest.mark.parametrize(
    ("kind", "lost", "text"),
    [
        ("rotated", 0, "-- the file was rotated: nothing is lost --"),
        ("truncated", 1_234, "-- 1,234 bytes are gone: the file was truncated --"),
        ("restarted", None, "-- the log's command was started anew: lines may be missing or doubled --"),
        ("replaced", None, "-- an unknown number of bytes are gone: the file was replaced --"),
    ],
)
def test_a_gap_says_what_is_gone(kind: ResetKind, lost: int | None, text: str) -> None:
    assert gap_line(Source.JOB, Reset(kind, lost), utc_now()).text == text


async def test_lines_written_later_arrive_once_and_a_late_file_is_picked_up(tmp_path: Path) -> None:
    (tmp_path / "job.log").write_text("", encoding="utf-8")
    async with watching(Feed(LocalHost(), settings_for(tmp_path), clock=utc_now)) as watcher:
        await watcher.until(lambda now: any(log.state == "missing" for log in now.logs))
        (tmp_path / "server.log").write_text(DECODE, encoding="utf-8")
        with (tmp_path / "job.log").open("a", encoding="utf-8") as log:
            log.write(JOB_LINES)
        await watcher.until(
            lambda now: now.server.running == 50 and len(now.datasets) > 1 and now.datasets[1].done == 52
        )
    told = [line.text for line in watcher.lines if line.source is Source.JOB and "Resuming" in line.text]
    assert len(told) == 1


async def test_a_log_that_is_a_folder_is_said_and_the_rest_goes_on(tmp_path: Path) -> None:
    (tmp_path / "server.log").mkdir()
    (tmp_path / "job.log").write_text(JOB_LINES, encoding="utf-8")
    async with watching(Feed(LocalHost(), settings_for(tmp_path), clock=utc_now)) as watcher:
        seen = await watcher.until(
            lambda now: any(log.state == "unreadable" for log in now.logs) and now.datasets[1].done == 52
        )
    assert "folder" in next(log.reason for log in seen.logs if log.state == "unreadable")


async def test_settle_ends_when_all_was_seen_once(tmp_path: Path) -> None:
    (tmp_path / "job.log").write_text(JOB_LINES, encoding="utf-8")
    looks = 0

    async def look() -> ProcessFact:
        nonlocal looks
        looks += 1
        return ProcessFact(alive=True, pid=4711)

    feed = Feed(LocalHost(), settings_for(tmp_path), look=look, clock=utc_now)
    async with watching(feed):
        assert await feed.settle(20.0)
        seen = feed.snapshot(utc_now())
    assert looks >= 1
    assert (seen.job.alive, seen.job.pid, seen.health.state) == (True, 4711, "failing")


async def test_an_unreachable_host_settles_as_unseen_and_is_tried_again(tmp_path: Path) -> None:
    host = FakeHost()
    host.refuse(*(CannotConnect("gpu01 did not answer within 10 s.") for _ in range(50)))
    feed = Feed(host, settings_for(tmp_path), clock=utc_now)
    async with watching(feed) as watcher:
        assert not await feed.settle(20.0)
        seen = await watcher.until(lambda now: now.link.state == "lost" and now.link.attempt >= 1)
    assert "did not answer" in seen.link.reason
    assert seen.verdict.verdict == "blind"


async def test_a_refused_host_key_is_a_state_and_no_crash(tmp_path: Path) -> None:
    host = FakeHost()
    host.refuse(HostKeyRejected("The key of gpu01 is not the known one."))
    async with watching(Feed(host, settings_for(tmp_path), clock=utc_now)) as watcher:
        seen = await watcher.until(lambda now: now.link.state == "refused")
    assert "not the known one" in seen.link.reason


async def test_ping_shows_in_the_next_snapshot(tmp_path: Path) -> None:
    feed = Feed(LocalHost(), settings_for(tmp_path), clock=utc_now)
    async with watching(feed) as watcher:
        await watcher.until(lambda now: now.link.state == "up")
        probe = await feed.ping()
        seen = await watcher.until(lambda now: now.health.checked_at is not None)
    assert not probe.ok
    assert probe.by_hand
    assert seen.health.error == probe.error != ""


async def test_a_server_without_an_answer_is_no_exception(tmp_path: Path) -> None:
    host = FakeHost()
    host.expect_run(["sh", "-c", ...], stdout=b"longwait-clock 1771903180 +0000\n/usr/share/zoneinfo/UTC\n", times=None)
    host.expect_stream(["sh", "-c", ...], then="hang", times=None)
    host.expect_fetch("http://127.0.0.1:9/health", error=HttpUnavailable("Nothing listens on port 9."), times=None)
    async with watching(Feed(host, settings_for(tmp_path), clock=utc_now)) as watcher:
        seen = await watcher.until(lambda now: now.health.state == "failing")
    assert "Nothing listens" in seen.health.error
    assert host.closed


@pytest.mark.parametrize("zone", ["Europe/Berlin", None])
async def test_the_hosts_zone_is_measured_unless_the_config_names_one(tmp_path: Path, zone: str | None) -> None:
    host = FakeHost()
    host.expect_run(
        ["sh", "-c", ...], stdout=b"longwait-clock 1771903180 +0900\n/usr/share/zoneinfo/Asia/Tokyo\n", times=None
    )
    host.expect_stream(["sh", "-c", ...], then="hang", times=None)
    host.expect_fetch("http://127.0.0.1:9/health", times=None)
    settings = structs.replace(settings_for(tmp_path), timezone=zone)
    feed = Feed(host, settings, clock=utc_now)
    async with watching(feed) as watcher:
        await watcher.until(lambda now: now.health.state == "ok")
    assert feed.host_clock is not None
    assert str(feed.host_clock.zone) == "Asia/Tokyo"
    assert str(feed._plan.zone) == (zone or "Asia/Tokyo")


async def test_questions_come_behind_the_logs_at_first(tmp_path: Path) -> None:
    (tmp_path / "job.log").write_text(JOB_LINES, encoding="utf-8")
    (tmp_path / "server.log").write_text(DECODE, encoding="utf-8")
    known: list[bool] = []

    class Noting(LocalHost):
        async def fetch(self, url: str, **more: Any) -> Answer:
            known.append(feed.snapshot(utc_now()).server.running == 50)
            return await super().fetch(url, **more)

    feed = Feed(Noting(), settings_for(tmp_path), clock=utc_now, logs_first=True)
    async with watching(feed) as watcher:
        await watcher.until(lambda now: now.health.checked_at is not None)
    assert known
    assert known[0]


async def test_a_log_that_does_not_come_keeps_no_question_off(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "server.log")  # nobody writes: it neither ends nor has anything
    feed = Feed(LocalHost(), settings_for(tmp_path), clock=utc_now, logs_first=True)
    async with watching(feed) as watcher:
        await watcher.until(lambda now: now.health.checked_at is not None)
