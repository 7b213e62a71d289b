"""The feed over a whole life: the past filled in, the console restarted, several files, a host that answers slowly."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from msgspec import structs

from bench.make_log import Mix, server_log
from console.feed import Feed
from console.job.events import Source
from remote.errors import CommandFailed, HttpUnavailable
from remote.local import LocalHost
from tests.console.test_feed import DECODE, JOB_LINES, settings_for, utc_now, watching
from tests.fakes import FakeHost

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from console.config import Settings
    from console.job.snapshot import ServerView, Snapshot
    from remote.host import Completed


@pytest.fixture(autouse=True)
def _own_data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


def small_tail(settings: Settings, mib: float = 0.25) -> Settings:
    server = structs.replace(settings.server, log_last_mib=mib, fill_mib_s=500.0)
    return structs.replace(settings, server=server)


async def read_whole(settings: Settings) -> ServerView:
    """What a console that reads the log from its first byte knows of the server."""
    feed = Feed(LocalHost(), small_tail(settings, 1_000), clock=utc_now)
    async with watching(feed):
        assert await feed.settle(20.0)
        return feed.snapshot(utc_now()).server


def summary(server: ServerView) -> tuple[object, ...]:
    return server.engine, server.running, server.retractions, server.peak_throughput, server.capacity_tokens


async def test_the_past_of_a_long_log_is_filled_in_behind_the_present(tmp_path: Path) -> None:
    (tmp_path / "job.log").write_text(JOB_LINES, encoding="utf-8")
    (tmp_path / "server.log").write_bytes(server_log(3.0, Mix(), 7))
    settings = settings_for(tmp_path)
    whole = await read_whole(settings)
    feed = Feed(LocalHost(), small_tail(settings), clock=utc_now)
    async with watching(feed) as watcher:
        await watcher.until(lambda now: now.server.running is not None)
        with (tmp_path / "server.log").open("ab") as log:
            log.write(server_log(0.2, Mix(), 8))
        seen = await watcher.until(
            lambda now: now.server.capacity_tokens is not None and not feed._tracker.past_missing
        )
        await watcher.until(lambda now: now.logs[0].lines == (tmp_path / "server.log").read_bytes().count(b"\n"))
    assert seen.server.peak_throughput is not None
    assert whole.peak_throughput is not None
    assert seen.server.peak_throughput >= whole.peak_throughput
    assert summary(await read_whole(settings)) == summary(feed.snapshot(utc_now()).server)


async def test_a_restarted_console_goes_on_where_it_stopped(tmp_path: Path) -> None:
    (tmp_path / "job.log").write_text(JOB_LINES, encoding="utf-8")
    (tmp_path / "server.log").write_text(DECODE * 3, encoding="utf-8")
    settings = settings_for(tmp_path)
    first = Feed(LocalHost(), settings, clock=utc_now, remember=True)
    async with watching(first):
        assert await first.settle(20.0)
    with (tmp_path / "job.log").open("a", encoding="utf-8") as log:
        log.write("  100/9998 (0 err) 0.3 req/s avg_comp=1500tok tot=0.2M ETA=1.9h\n")
    second = Feed(LocalHost(), settings, clock=utc_now, remember=True)
    async with watching(second) as watcher:
        seen = await watcher.until(lambda now: any(view.done == 102 for view in now.datasets))
        counts = {log.source: log.lines for log in seen.logs}
    written = {"server": 3, "job": JOB_LINES.count("\n") + 1}
    assert {source: counts[source] for source in written} == written
    told = [line.text for line in watcher.lines if line.source is Source.JOB]
    assert told == (tmp_path / "job.log").read_text(encoding="utf-8").splitlines()


async def test_a_log_that_was_rotated_while_no_console_looked(tmp_path: Path) -> None:
    log = tmp_path / "job.log"
    log.write_text(JOB_LINES, encoding="utf-8")
    settings = settings_for(tmp_path)
    first = Feed(LocalHost(), settings, clock=utc_now, remember=True)
    async with watching(first):
        assert await first.settle(20.0)
    log.rename(tmp_path / "job.log.1")
    log.write_text("  100/9998 (0 err) 0.3 req/s avg_comp=1500tok tot=0.2M ETA=1.9h\n", encoding="utf-8")
    second = Feed(LocalHost(), settings, clock=utc_now, remember=True)
    async with watching(second) as watcher:
        seen = await watcher.until(lambda now: any(view.done == 102 for view in now.datasets))
    assert next(view.lines for view in seen.logs if view.source == "job") == JOB_LINES.count("\n") + 1


async def test_two_consoles_on_one_run_and_one_of_them_keeps_no_history(tmp_path: Path) -> None:
    (tmp_path / "job.log").write_text(JOB_LINES, encoding="utf-8")
    feeds = [Feed(LocalHost(), settings_for(tmp_path), clock=utc_now, remember=True) for _ in range(2)]
    async with watching(feeds[0]) as one, watching(feeds[1]) as two:
        for watcher in (one, two):
            await watcher.until(lambda now: any(view.done == 52 for view in now.datasets))
    kept = [feed._memory is not None and not feed._memory.trouble for feed in feeds]
    assert sorted(kept) == [False, True]


async def test_each_of_several_server_logs_keeps_its_own_half_line(tmp_path: Path) -> None:
    halves = {rank: DECODE.replace("]", f" DP{rank}]", 1) for rank in (0, 1)}
    paths = [tmp_path / f"server-{rank}.log" for rank in halves]
    for path, line in zip(paths, halves.values(), strict=True):
        path.write_text(line[:90], encoding="utf-8")
    settings = settings_for(tmp_path)
    server = structs.replace(settings.server, log=tuple(map(str, paths)))
    feed = Feed(LocalHost(), structs.replace(settings, server=server), clock=utc_now)
    async with watching(feed) as watcher:
        await watcher.until(lambda now: now.link.state == "up" and all(each.cursor for each in feed._followers[2:]))
        for path, line in zip(paths, halves.values(), strict=True):
            with path.open("a", encoding="utf-8") as log:
                log.write(line[90:])
        seen = await watcher.until(lambda now: now.server.ranks == 2)
    assert (seen.server.running, seen.server.queue) == (100, 196)


async def test_a_log_that_is_a_commands_output(tmp_path: Path) -> None:
    (tmp_path / "old.log").write_text(JOB_LINES, encoding="utf-8")
    settings = settings_for(tmp_path)
    job = structs.replace(settings.job, log=None, log_command=("tail", "-n", "+1", "-f", str(tmp_path / "old.log")))
    feed = Feed(LocalHost(), structs.replace(settings, job=job), clock=utc_now, remember=True)
    async with watching(feed) as watcher:
        await watcher.until(lambda now: any(view.done == 52 for view in now.datasets))
        await watcher.until(lambda now: any(log.path.startswith("tail -n +1") for log in now.logs))


class SlowClock(FakeHost):
    """Answers the question for its clock later than everything else."""

    async def run(
        self, argv: Sequence[str], *, stdin: bytes = b"", timeout_s: float = 30.0, check: bool = True
    ) -> Completed:
        for _ in range(20):
            await asyncio.sleep(0)
        return await super().run(argv, stdin=stdin, timeout_s=timeout_s, check=check)


async def test_no_answer_is_lost_when_the_clock_is_known_last(tmp_path: Path) -> None:
    host = SlowClock()
    host.expect_run(["sh", "-c", ...], stdout=b"longwait-clock 1771903180 +0900\n", times=None)
    host.expect_stream(["sh", "-c", ...], then="hang", times=None)
    host.expect_fetch("http://127.0.0.1:9/health")
    async with watching(Feed(host, settings_for(tmp_path), clock=utc_now)) as watcher:
        await watcher.until(lambda now: now.health.state == "ok")
    host.assert_done()


async def test_a_host_on_which_nothing_runs_is_blind_and_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("console.feed.RETRY_S", 0.01)
    host = FakeHost()
    refused = CommandFailed("sh ended with status 1 on gpu01. It said: This account is not available.", status=1)
    host.expect_run(["sh", "-c", ...], error=refused, times=None)
    host.expect_stream(["sh", "-c", ...], refused, times=None)
    host.expect_fetch("http://127.0.0.1:9/health", error=HttpUnavailable("No."), times=None)
    async with watching(Feed(host, settings_for(tmp_path), clock=utc_now)) as watcher:
        seen = await watcher.until(
            lambda now: now.verdict.verdict == "blind" and now.verdict.cause == "logs_unreadable"
        )
    assert "not available" in " ".join(seen.verdict.evidence)
    asked = [words for verb, words in host.asked if verb == "run"]
    assert len(asked) <= 5


async def test_a_metrics_page_that_was_not_there_yet_is_asked_for_again(tmp_path: Path) -> None:
    host = FakeHost()
    host.expect_run(["sh", "-c", ...], stdout=b"longwait-clock 1771903180 +0000\n", times=None)
    host.expect_stream(["sh", "-c", ...], then="hang", times=None)
    host.expect_fetch("http://127.0.0.1:9/health", times=None)
    host.expect_fetch("http://127.0.0.1:9/metrics", error=HttpUnavailable("Refused."))
    host.expect_fetch("http://127.0.0.1:9/metrics", body=b'sglang:num_running_reqs{model_name="m"} 41.0\n', times=None)
    settings = settings_for(tmp_path)
    server = structs.replace(settings.server, metrics=True, metrics_every_s=0.01)
    feed = Feed(host, structs.replace(settings, server=server), clock=utc_now)
    async with watching(feed) as watcher:
        await watcher.until(lambda now: now.server.running == 41)


def lines_of_server(snapshot: Snapshot) -> int:
    return next((view.lines for view in snapshot.logs if view.source == "server"), 0)


def slowly(settings: Settings) -> Settings:
    return structs.replace(settings, server=structs.replace(settings.server, fill_mib_s=0.01))


async def test_a_rotation_during_the_fill_does_not_cost_the_next_console_what_was_known(tmp_path: Path) -> None:
    log, newer = tmp_path / "server.log", server_log(0.05, Mix(), 9)
    log.write_bytes(server_log(3.0, Mix(), 7))
    settings = small_tail(settings_for(tmp_path))
    first = Feed(LocalHost(), slowly(settings), clock=utc_now, remember=True)
    async with watching(first) as watcher:
        assert await first.settle(20.0)
        assert first._tracker.past_missing
        before = lines_of_server(first.snapshot(utc_now()))
        log.rename(tmp_path / "server.log.1")
        log.write_bytes(newer)
        seen = await watcher.until(lambda now: lines_of_server(now) == before + newer.count(b"\n"))
    second = Feed(LocalHost(), settings, clock=utc_now, remember=True)
    async with watching(second):
        assert await second.settle(20.0)
        later = second.snapshot(utc_now())
    assert lines_of_server(later) == lines_of_server(seen)
    assert later.server.peak_throughput == seen.server.peak_throughput


async def test_after_a_long_absence_the_newest_part_comes_first_again(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_bytes(server_log(0.5, Mix(), 7))
    settings = small_tail(settings_for(tmp_path))
    first = Feed(LocalHost(), settings, clock=utc_now, remember=True)
    async with watching(first) as watcher:
        await watcher.until(lambda now: lines_of_server(now) == log.read_bytes().count(b"\n"))
    with log.open("ab") as grown:
        grown.write(server_log(4.0, Mix(), 8))
    second = Feed(LocalHost(), slowly(settings), clock=utc_now, remember=True)
    async with watching(second) as watcher:
        assert await second.settle(20.0)
        await watcher.until(lambda _: bool(watcher.lines))
        assert second._tracker.past_missing
        assert lines_of_server(second.snapshot(utc_now())) < log.read_bytes().count(b"\n")
        newest = log.read_text(encoding="utf-8").splitlines()[-1]
        await watcher.until(lambda _: watcher.lines[-1].text == newest)


async def test_a_missing_log_stays_missing_while_the_host_beats(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("remote.tail.BEAT_S", 0.5)
    (tmp_path / "job.log").write_text(JOB_LINES, encoding="utf-8")
    feed = Feed(LocalHost(), settings_for(tmp_path), clock=utc_now)
    async with watching(feed) as watcher:
        await watcher.until(lambda now: now.logs[0].state == "missing")
        begun = len(watcher.snapshots)
        await watcher.until(lambda _: len(watcher.snapshots) > begun + 4)
    assert {seen.logs[0].state for seen in watcher.snapshots[begun:]} == {"missing"}


async def test_of_several_server_logs_the_missing_one_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text(DECODE, encoding="utf-8")
    settings = settings_for(tmp_path)
    paths = (str(tmp_path / "none.log"), str(tmp_path / "a.log"))
    server = structs.replace(settings.server, log=paths)
    feed = Feed(LocalHost(), structs.replace(settings, server=server), clock=utc_now)
    async with watching(feed) as watcher:
        seen = await watcher.until(lambda now: now.server.running == 50 and now.logs[0].state == "missing")
    assert seen.logs[0].path == paths[0]
    assert seen.logs[0].reason.startswith("1 of 2 files")


async def test_a_command_that_never_pauses_settles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("remote.command_tail.BUSY_S", 0.5)
    settings = settings_for(tmp_path)
    chatty = ("sh", "-c", "while :; do echo busy; sleep 0.05; done")
    job = structs.replace(settings.job, log=None, log_command=chatty)
    server = structs.replace(settings.server, log=None)
    feed = Feed(LocalHost(), structs.replace(settings, job=job, server=server), clock=utc_now)
    async with watching(feed):
        assert await feed.settle(15.0)


async def test_every_line_of_a_backlog_is_given_to_who_prints_it(tmp_path: Path) -> None:
    (tmp_path / "job.log").write_text("".join(f"item {n}\n" for n in range(30_000)), encoding="utf-8")
    feed = Feed(LocalHost(), settings_for(tmp_path), clock=utc_now, every_line=True)
    async with watching(feed) as watcher:
        await watcher.until(lambda _: len(watcher.lines) >= 30_000)
    assert [line.text for line in watcher.lines] == [f"item {n}" for n in range(30_000)]
