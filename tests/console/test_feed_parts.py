"""The past of a server that writes several logs: filled in behind the present, as if one process had written them."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest
from msgspec import structs

from bench.make_log import Mix, server_log
from console import feed_fill
from console.feed import Feed, Noticed
from console.job.events import Source
from console.job.plan import Plan
from console.job.tracker import Tracker
from remote.fill import read_range
from remote.local import LocalHost
from tests.console.test_feed import DECODE, JOB_LINES, settings_for, utc_now, watching
from tests.job.test_past import without_eyes

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from console.config import Settings
    from console.job.server_state import ServerState
    from remote.frames import Chunk

RANKS = (0, 1)


@pytest.fixture(autouse=True)
def _own_data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


def path_of(folder: Path, rank: int) -> Path:
    return folder / f"server-{rank}.log"


def written(rank: int, hours: float, seed: int) -> bytes:
    """One rank's log."""
    lines = server_log(hours, Mix(), seed).splitlines(keepends=True)
    return b"".join(line.replace(b"] ", b" DP%d] " % rank, 1) if line[:1] == b"[" else line for line in lines)


def write(folder: Path, hours: float = 2.0) -> None:
    (folder / "job.log").write_text(JOB_LINES, encoding="utf-8")
    for rank in RANKS:
        path_of(folder, rank).write_bytes(written(rank, hours, rank))


def parts_settings(folder: Path, *, fill_mib_s: float = 500.0, last_mib: float = 0.125) -> Settings:
    settings = settings_for(folder)
    server = structs.replace(
        settings.server,
        log=tuple(str(path_of(folder, rank)) for rank in RANKS),
        log_last_mib=last_mib,
        fill_mib_s=fill_mib_s,
    )
    return structs.replace(settings, server=server)


def as_written(folder: Path) -> ServerState:
    """What is known when each line comes as it is written: by its stamp, the ranks by turns within a second."""
    parts = tuple(str(path_of(folder, rank)) for rank in RANKS)
    tracker, lines = Tracker(Plan(), parts=parts), []
    for part, rank in zip(parts, RANKS, strict=True):
        stamp = b""
        for line in path_of(folder, rank).read_bytes().splitlines(keepends=True):
            stamp = line[:20] if line[:1] == b"[" else stamp
            lines.append((stamp, part, line))
    for _, part, line in sorted(lines, key=lambda each: each[:2]):
        tracker.feed(Source.SERVER, line, utc_now(), part=part)
    return without_eyes(tracker.state.server)


def lines_in(folder: Path) -> int:
    return sum(path_of(folder, rank).read_bytes().count(b"\n") for rank in RANKS)


async def test_the_past_of_all_files_is_filled_in_behind_the_present(tmp_path: Path) -> None:
    write(tmp_path)
    feed = Feed(LocalHost(), parts_settings(tmp_path), clock=utc_now)
    async with watching(feed) as watcher:
        seen = await watcher.until(lambda now: now.logs[0].lines == lines_in(tmp_path) and now.server.ranks == 2)
        assert not feed._tracker.past_missing
        assert without_eyes(feed._tracker.state.server) == as_written(tmp_path)
        with path_of(tmp_path, 1).open("ab") as log:
            log.write(DECODE.replace("03:19:40", "03:19:40 DP1").replace("running-req: 50", "running-req: 7").encode())
        seen = await watcher.until(lambda now: now.logs[0].lines == lines_in(tmp_path))
    assert seen.server.retractions


async def test_the_screen_is_right_while_the_past_is_read(tmp_path: Path) -> None:
    write(tmp_path)
    feed = Feed(LocalHost(), parts_settings(tmp_path, fill_mib_s=0.01), clock=utc_now)
    async with watching(feed):
        assert await feed.settle(20.0)
        seen = feed.snapshot(utc_now())
        assert feed._tracker.past_missing
    whole = as_written(tmp_path)
    assert (seen.server.ranks, seen.server.running) == (2, sum(report.load.running for _, report in whole.ranks))
    assert seen.server.capacity_tokens is None  # said at the start: not known yet, and not guessed


async def test_files_that_are_read_whole_at_once_are_put_in_order_too(tmp_path: Path) -> None:
    write(tmp_path, 0.5)
    feed = Feed(LocalHost(), parts_settings(tmp_path, last_mib=64), clock=utc_now)
    async with watching(feed) as watcher:
        await watcher.until(lambda now: now.server.ranks == 2 and not feed._tracker.past_missing)
        await watcher.until(lambda now: now.logs[0].lines == lines_in(tmp_path))
        assert without_eyes(feed._tracker.state.server) == as_written(tmp_path)


async def test_one_command_at_a_time_reads_the_past_of_all_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, 4.0)
    monkeypatch.setattr(feed_fill, "TURN_BYTES", 1)
    monkeypatch.setattr(feed_fill, "LEAST_TURN_BYTES", 30_000)
    turns: list[tuple[str, int]] = []
    open_now = 0

    async def counted(
        host: object, path: str, inode: int, start: int, end: int, **pace: object
    ) -> AsyncIterator[Chunk]:
        nonlocal open_now
        open_now += 1
        assert open_now == 1
        turns.append((path, end - start))
        try:
            async for chunk in read_range(host, path, inode, start, end, **pace):  # type: ignore[arg-type]
                yield chunk
        finally:
            open_now -= 1

    monkeypatch.setattr(feed_fill, "read_range", counted)
    feed = Feed(LocalHost(), parts_settings(tmp_path), clock=utc_now)
    async with watching(feed) as watcher:
        await watcher.until(lambda now: now.server.ranks == 2 and not feed._tracker.past_missing)
    assert {path for path, _ in turns} == {str(path_of(tmp_path, rank)) for rank in RANKS}
    assert max(size for _, size in turns) <= 30_000
    assert sum(size for _, size in turns) == sum(path_of(tmp_path, rank).stat().st_size for rank in RANKS)
    assert sum(one[0] != other[0] for one, other in itertools.pairwise(turns)) > len(turns) // 3


async def test_a_file_that_is_missing_holds_nobody_back(tmp_path: Path) -> None:
    write(tmp_path)
    path_of(tmp_path, 0).unlink()
    feed = Feed(LocalHost(), parts_settings(tmp_path), clock=utc_now)
    async with watching(feed) as watcher:
        await watcher.until(lambda now: now.server.capacity_tokens is not None and not feed._tracker.past_missing)
        path_of(tmp_path, 0).write_bytes(written(0, 0.05, 5))
        await watcher.until(lambda now: now.server.ranks == 2 or now.logs[0].lines == lines_in(tmp_path))
        assert not feed._tracker.past_missing


async def test_a_file_that_is_rotated_meanwhile_is_told(tmp_path: Path) -> None:
    write(tmp_path)
    feed = Feed(LocalHost(), parts_settings(tmp_path, fill_mib_s=0.25), clock=utc_now)
    told: list[str] = []
    async for fact in feed.facts():
        if isinstance(fact, Noticed):
            told.append(fact.text)
            break
        if (
            feed._tracker.past_missing
            and path_of(tmp_path, 1).exists()
            and all(each.caught_up.is_set() for each in feed._followers)
        ):
            path_of(tmp_path, 1).rename(tmp_path / "server-1.log.1")
            path_of(tmp_path, 1).write_bytes(written(1, 0.01, 6))
    assert "server-1.log was rotated or replaced while its older part was read." in told[0]
    assert "left out" in told[0]
