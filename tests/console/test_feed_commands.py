"""A run whose logs are commands' output, over several consoles: each line once, or it is said that it may not be so."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from msgspec import structs

from console.feed import Feed
from console.history import History
from console.job.events import Source
from remote.local import LocalHost
from tests.console.test_feed import JOB_LINES, settings_for, utc_now, watching
from tests.log_tools import BEGIN, KINDS, LogTool

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from console.config import Settings
    from tests.console.test_feed import Watcher

SECOND = 1_000_000_000
LINES = JOB_LINES.splitlines()
LATER = "  100/9998 (0 err) 0.3 req/s avg_comp=1500tok tot=0.2M ETA=1.9h"


@pytest.fixture(autouse=True)
def _own_data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


def commanded(folder: Path, argv: Sequence[str]) -> Settings:
    settings = settings_for(folder)
    job = structs.replace(settings.job, log=None, log_command=tuple(argv))
    server = structs.replace(settings.server, log=None)
    return structs.replace(settings, job=job, server=server)


def write(tool: LogTool, lines: Sequence[str], at_s: int) -> None:
    for nth, line in enumerate(lines):
        tool.write(line.encode(), BEGIN + at_s * SECOND + nth)


def told(watcher: Watcher) -> list[str]:
    return [line.text for line in watcher.lines if line.source is Source.JOB]


def gaps(watcher: Watcher) -> list[str]:
    return [line.text for line in watcher.lines if line.level == "gap"]


@pytest.mark.parametrize("kind", KINDS)
async def test_a_restarted_console_goes_on_where_it_stopped(kind: str, tmp_path: Path) -> None:
    tool = LogTool(tmp_path, kind)
    settings = commanded(tmp_path, tool.argv)
    write(tool, LINES, 0)
    async with watching(Feed(LocalHost(), settings, clock=utc_now, remember=True)) as first:
        await first.until(lambda now: now.logs[1].lines == len(LINES))
    write(tool, [LATER, "one more"], 1)  # within the seconds of which the tool gives all lines again
    async with watching(Feed(LocalHost(), settings, clock=utc_now, remember=True)) as second:
        seen = await second.until(lambda now: now.logs[1].lines == len(LINES) + 2)
    assert told(second) == [*LINES, LATER, "one more"]
    assert next(view.done for view in seen.datasets if view.name == "B3_magicoder") == 102


@pytest.mark.parametrize("kind", KINDS)
async def test_what_the_tool_has_no_more_is_told_in_its_place(kind: str, tmp_path: Path) -> None:
    tool = LogTool(tmp_path, kind)
    settings = commanded(tmp_path, tool.argv)
    write(tool, LINES, 0)
    async with watching(Feed(LocalHost(), settings, clock=utc_now, remember=True)) as first:
        await first.until(lambda now: now.logs[1].lines == len(LINES))
    tool.begin_anew()
    write(tool, [LATER], 3_600)
    async with watching(Feed(LocalHost(), settings, clock=utc_now, remember=True)) as second:
        await second.until(lambda now: any(view.done == 102 for view in now.datasets))
    assert len(gaps(second)) == 1
    assert "some may be missing" in gaps(second)[0]
    assert told(second) == [*LINES, *gaps(second), LATER]


async def test_a_command_that_starts_anew_says_so_and_what_was_known_stays(tmp_path: Path) -> None:
    (tmp_path / "old.log").write_text(JOB_LINES, encoding="utf-8")
    settings = commanded(tmp_path, ("tail", "-n", "1", "-f", str(tmp_path / "old.log")))
    whole = commanded(tmp_path, ("tail", "-n", "+1", "-f", str(tmp_path / "old.log")))
    for each in (whole, settings):
        async with watching(Feed(LocalHost(), each, clock=utc_now, remember=True)) as first:
            await first.until(lambda now: now.logs[1].lines > 0)
            assert gaps(first) == []  # two commands, two histories
    async with watching(Feed(LocalHost(), whole, clock=utc_now, remember=True)) as again:
        seen = await again.until(lambda now: now.logs[1].lines == 2 * len(LINES))
    assert gaps(again) == ["-- the log's command was started anew: lines may be missing or doubled --"]
    assert next(view.done for view in seen.datasets if view.name == "B3_magicoder") == 52


async def test_a_place_and_what_was_read_until_there_are_kept_together(tmp_path: Path) -> None:
    """A save that fails in its last step leaves the former place, and the lines after it come again."""
    tool = LogTool(tmp_path, "docker")
    settings = commanded(tmp_path, tool.argv)
    write(tool, LINES, 0)
    async with watching(Feed(LocalHost(), settings, clock=utc_now, remember=True)) as first:
        await first.until(lambda now: now.logs[1].lines == len(LINES))
    (path,) = (tmp_path / "data").rglob("*.sqlite3")
    with closing(sqlite3.connect(path)) as base:
        base.execute("CREATE TRIGGER full BEFORE INSERT ON lines BEGIN SELECT RAISE(ABORT, 'disk full'); END")
        base.commit()
    write(tool, [LATER], 1)
    async with watching(Feed(LocalHost(), settings, clock=utc_now, remember=True)) as second:
        await second.until(lambda now: now.logs[1].lines == len(LINES) + 1)
    with closing(sqlite3.connect(path)) as base:
        base.execute("DROP TRIGGER full")
        base.commit()
    async with watching(Feed(LocalHost(), settings, clock=utc_now, remember=True)) as third:
        await third.until(lambda now: now.logs[1].lines == len(LINES) + 1)
    assert told(third) == [*LINES, LATER]


SINCE_3 = "DROP TABLE changes; DROP TABLE marks; DROP TABLE readings;"


@pytest.mark.parametrize(("version", "gone"), [(1, f"DROP TABLE commands; {SINCE_3}"), (2, SINCE_3)])
def test_a_former_versions_file_is_taken_up(tmp_path: Path, version: int, gone: str) -> None:
    path = tmp_path / "runs" / "run.sqlite3"
    with closing(History.open(path)) as history:
        assert history.save({}, b"state", [], utc_now())
    with closing(sqlite3.connect(path)) as base:
        base.executescript(f"{gone} PRAGMA user_version = {version};")
    with closing(History.open(path)) as history:
        left = history.load()
        assert history.notices == []
    assert left is not None
    assert left.state == b"state"
