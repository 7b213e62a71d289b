"""Logs whose stamps have no date, longer than one piece: their days are reckoned from the end, live and in the fill."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from msgspec import structs

from console.config import JobSettings
from console.feed import Feed, Noticed
from console.job import unread
from remote.local import LocalHost
from tests.console.test_feed import settings_for, utc_now, watching
from tests.job.server_lines import DECODE

if TYPE_CHECKING:
    from pathlib import Path

    from console.config import Settings

LINES = 6_000
STEP = timedelta(seconds=40)
"""Between lines; they span nearly three days and a megabyte."""


def written(path: Path, text: str, stamp: str) -> tuple[datetime, datetime]:
    """Write a log that ends now; give the times of its first and its last line."""
    last = utc_now().replace(microsecond=0)
    times = [last - STEP * (LINES - 1 - nth) for nth in range(LINES)]
    path.write_text("".join(f"{at.strftime(stamp)} {text}\n" for at in times), encoding="utf-8")
    return times[0], times[-1]


def only_server(folder: Path, *, last_mib: float, fill_mib_s: float = 500.0) -> Settings:
    settings = settings_for(folder)
    server = structs.replace(settings.server, log_last_mib=last_mib, fill_mib_s=fill_mib_s)
    return structs.replace(settings, server=server, job=JobSettings())


async def test_a_job_log_of_three_days(tmp_path: Path) -> None:
    first, last = written(
        tmp_path / "job.log", "a line of the job, of some length, so that there are several pieces" * 2, "[%H:%M:%S]"
    )
    feed = Feed(LocalHost(), settings_for(tmp_path), clock=utc_now, every_line=True)
    async with watching(feed) as watcher:
        await watcher.until(lambda _: len(watcher.lines) >= LINES)
    times = [line.at for line in watcher.lines]
    assert (times[0], times[-1], len(times)) == (first, last, LINES)
    assert times == sorted(times)


@pytest.mark.parametrize("last_mib", [0.3, 64.0])
async def test_the_past_of_a_server_log(last_mib: float, tmp_path: Path) -> None:
    first, last = written(tmp_path / "server.log", DECODE, "[%H:%M:%S TP0]")
    feed = Feed(LocalHost(), only_server(tmp_path, last_mib=last_mib), clock=utc_now)
    async with watching(feed) as watcher:
        seen = await watcher.until(lambda now: now.logs[0].lines == LINES and not feed._tracker.past_missing)
        assert seen.server.updated_at == last
        points = feed._tracker.state.server.throughput
    assert points.first is not None
    # The oldest points of a long series go; what is kept has its true place.
    newest = last.timestamp()
    assert all((newest - point.time_s) % STEP.total_seconds() == 0 for point in points.points())
    assert newest - points.first.time_s > timedelta(days=1).total_seconds()
    assert first < last


async def test_a_past_that_is_too_long_to_be_dated_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unread, "MOST_CHARS", 600_000)
    _, last = written(tmp_path / "server.log", DECODE, "[%H:%M:%S TP0]")
    feed = Feed(LocalHost(), only_server(tmp_path, last_mib=0.3), clock=utc_now)
    told: list[str] = []
    async for fact in feed.facts():
        if isinstance(fact, Noticed):
            told.append(fact.text)
            break
    assert "have no dates, and there are too many of them" in told[0]
    seen = feed.snapshot(utc_now())
    assert seen.server.running == 50
    assert seen.server.updated_at == last
