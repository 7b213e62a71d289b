"""The doctor and the logs: commands are run for a moment, bounded in time and bytes, and what came is parsed."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

import pytest

from console import doctor_logs
from console.config import JobSettings, PatternSettings, ServerSettings, Settings
from console.doctor_logs import SAMPLE_BYTES, check_logs, try_command
from console.session import now
from remote.errors import LinkLost
from remote.local import LocalHost
from tests.console.test_feed import JOB_LINES
from tests.fakes import FakeHost
from tests.log_tools import BEGIN, KINDS, LogTool

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from console.doctor_host import Check


def commanded(argv: Sequence[str], *patterns: PatternSettings, host: str = "local") -> Settings:
    return Settings(host=host, job=JobSettings(log_command=tuple(argv), patterns=patterns), timezone="UTC")


def told(checks: list[Check]) -> list[tuple[str, str]]:
    return [(check.name, check.state) for check in checks]


@pytest.mark.parametrize("kind", KINDS)
async def test_a_tool_that_gives_lines(kind: str, tmp_path: Path) -> None:
    tool = LogTool(tmp_path, kind)
    for nth, line in enumerate(JOB_LINES.splitlines()):
        tool.write(line.encode(), BEGIN + nth)
    checks = await check_logs(LocalHost(), commanded(tool.argv), now)
    assert told(checks) == [("job log", "ok"), ("job lines", "ok")]
    assert f"gave {JOB_LINES.count(chr(10))} lines in" in checks[0].detail
    assert checks[1].detail == "100% of 9 lines understood"


@pytest.mark.parametrize("kind", KINDS)
async def test_a_tool_that_refuses_says_why(kind: str, tmp_path: Path) -> None:
    tool = LogTool(tmp_path, kind)
    tool.end(1)
    (check,) = await check_logs(LocalHost(), commanded(tool.argv), now)
    assert (check.name, check.state) == ("job log", "fail")
    assert "ended with status 1. It said: " in check.detail
    assert ("Failed to follow" if kind == "journalctl" else "the container is gone") in check.detail


async def test_a_tool_that_is_not_there() -> None:
    (check,) = await check_logs(LocalHost(), commanded(["no-such-tool", "logs", "a b"]), now)
    assert check.state == "fail"
    assert "was not found; is it installed" in check.detail
    assert check.remedies == ("By hand: no-such-tool logs 'a b'",)


async def test_lines_that_nobody_understands_are_shown() -> None:
    program = "for n in 1 2 3; do echo new report v$n; done; echo 'step 7 of 9'; exec sleep 60"
    pattern = PatternSettings(name="steps", regex=r"step (?P<done>\d+) of (?P<total>\d+)")
    checks = await check_logs(LocalHost(), commanded(["sh", "-c", program], pattern), now)
    assert told(checks) == [("job log", "ok"), ("job lines", "warn")]
    assert checks[1].detail == "25% of 4 lines understood; pattern steps found 1"
    assert checks[1].remedies == ("not understood 3 times: new report v#",)


async def test_a_command_that_does_not_stay(tmp_path: Path) -> None:
    (tmp_path / "job.log").write_text(JOB_LINES, encoding="utf-8")
    checks = await check_logs(LocalHost(), commanded(["cat", str(tmp_path / "job.log")]), now)
    assert told(checks) == [("job log", "warn"), ("job lines", "ok")]
    assert checks[0].detail.endswith("job.log` gave 9 lines and ended by itself")
    assert "must stay" in checks[0].remedies[0]


async def test_a_command_that_prints_its_complaint_where_its_lines_go() -> None:
    (check,) = await check_logs(LocalHost(), commanded(["tail", "-f", "/no/such/log"]), now)
    assert check.state == "fail"
    assert "No such file" in check.detail or "no files remaining" in check.detail


async def test_a_silent_one_is_given_up_and_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor_logs, "try_command", lambda host, argv: try_command(host, argv, 1.5))
    pid = tmp_path / "pid"
    (check,) = await check_logs(LocalHost(), commanded(["sh", "-c", f"echo $$ >{pid}; exec sleep 600"]), now)
    assert (check.name, check.state) == ("job log", "warn")
    assert "runs, but printed nothing in 2 s" in check.detail
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)


async def test_one_that_prints_without_end_is_read_for_a_bounded_amount(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    async with asyncio.timeout(9):
        tried = await try_command(LocalHost(), ["sh", "-c", f"echo $$ >{pid}; exec yes a line"])
    assert SAMPLE_BYTES - 10 < len(tried.data) <= SAMPLE_BYTES
    assert tried.data.endswith(b"a line\n")
    assert tried.ended == ""
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)


async def test_a_link_that_breaks_is_told() -> None:
    host = FakeHost()
    host.expect_stream(["sh", "-c", ...], LinkLost("The connection to gpu01 was lost."))
    (check,) = await check_logs(host, commanded(["docker", "logs", "-f", "c"], host="gpu01"), now)
    assert (check.state, check.detail) == ("fail", "The connection to gpu01 was lost.")
    assert check.remedies == ("By hand: ssh gpu01 docker logs -f c",)


async def test_files_are_read_from_their_end(tmp_path: Path) -> None:
    (tmp_path / "job.log").write_text("x" * SAMPLE_BYTES + "\n" + JOB_LINES, encoding="utf-8")
    settings = Settings(
        host="local",
        server=ServerSettings(log=(str(tmp_path / "a.log"), str(tmp_path / "b.log"))),
        job=JobSettings(log=str(tmp_path / "job.log")),
    )
    (tmp_path / "b.log").touch()
    checks = await check_logs(LocalHost(), settings, now)
    assert [(check.name, check.detail) for check in checks] == [
        ("server lines", "nothing to read yet"),
        ("server lines", "the log is empty"),
        ("job lines", "100% of 9 lines understood"),
    ]
