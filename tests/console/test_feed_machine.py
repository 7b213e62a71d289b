"""The host's own figures are asked once a minute; what hangs is left alone for a while; the rest is told as it is."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING
from unittest.mock import ANY

import pytest

from console.config import JobSettings, MachineSettings, ServerSettings, Settings
from console.config_model import UnfitError, built
from console.feed_machine import HANG_PAUSE_S, MachineAsker, output_folder
from console.job.machine import MARK
from console.job.machine_facts import MachineMissing, MachineSeen
from remote.errors import CommandFailed, RemoteError
from tests.fakes import FakeHost

if TYPE_CHECKING:
    from collections.abc import Callable

LOAD = f"{MARK} load 1.00 2.00 3.00 1/2 3\n".encode()
HANG = LOAD + f"{MARK} nvidia status 124\n".encode()


def asking(gpus: str = "auto") -> list[object]:
    """The command that is expected."""
    return ["sh", "-c", ANY, MARK, MARK, "/data/run/out", gpus]


def settings(**more: object) -> Settings:
    return Settings(
        host="gpu01",
        job=JobSettings(log="/data/run/job.log", progress="/data/run/out/progress.jsonl"),
        machine=MachineSettings(**more),  # type: ignore[arg-type]
    )


class Asked:
    """An asker at work: each answer lets the next question come once the test asks for it."""

    def __init__(self, host: FakeHost, **more: object) -> None:
        self.told: list[MachineSeen | MachineMissing] = []
        self.now_s = 0.0
        self.asker = MachineAsker(host, settings(**more), note=self.told.append, ticks=lambda: self.now_s)

    async def ask(self) -> float:
        """Ask once; the pause that follows."""
        return await self.asker._ask()


async def test_an_answer_is_told_and_the_next_comes_a_minute_later() -> None:
    host = FakeHost()
    host.expect_stream(asking(), LOAD)
    asked = Asked(host)
    assert await asked.ask() == 60.0
    (seen,) = asked.told
    assert isinstance(seen, MachineSeen)
    assert seen.load == (1.0, 2.0, 3.0)
    assert asked.asker.asked.is_set()
    host.assert_done()


async def test_gpus_whose_tool_hangs_are_left_alone_for_ten_minutes() -> None:
    host = FakeHost()
    host.expect_stream(asking(), HANG)
    host.expect_stream(asking("none"), LOAD, times=2)
    host.expect_stream(asking(), LOAD)
    asked = Asked(host)
    for now_s in (0.0, 60.0, HANG_PAUSE_S - 1.0, HANG_PAUSE_S):
        asked.now_s = now_s
        await asked.ask()
    gpus = [seen.gpus for seen in asked.told if isinstance(seen, MachineSeen)]
    assert [None if each is None else each.fault for each in gpus] == ["hang", None, None, "hang"]
    host.assert_done()


async def test_an_answer_that_never_ends_gives_what_came(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("console.feed_machine.PATIENCE_S", 0.05)
    host = FakeHost()
    host.expect_stream(asking(), LOAD, then="hang")
    asked = Asked(host)
    await asked.ask()
    assert isinstance(asked.told[0], MachineSeen)
    host.assert_done()


async def test_no_answer_at_all_is_told_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("console.feed_machine.PATIENCE_S", 0.05)
    host = FakeHost()
    host.expect_stream(asking(), then="hang")
    host.expect_stream(asking(), b"bash: not found\n")
    asked = Asked(host)
    await asked.ask()
    await asked.ask()
    assert [type(each) for each in asked.told] == [MachineMissing, MachineMissing]
    assert "did not come" in asked.told[0].reason  # type: ignore[union-attr]


@pytest.mark.parametrize("error", [CommandFailed("sh ended with status 127 on gpu01."), RemoteError("No session.")])
async def test_a_command_that_fails_is_told_with_its_reason(error: RemoteError) -> None:
    host = FakeHost()
    host.expect_stream(asking(), error)
    asked = Asked(host)
    assert await asked.ask() == 60.0
    assert asked.told == [MachineMissing(error.message)]


async def test_a_lost_link_says_nothing_of_the_host() -> None:
    host = FakeHost()
    host.expect_stream(asking(), LOAD, times=None)
    host.lose_link()
    asked = Asked(host)
    assert await asked.ask() < 1.0
    assert not asked.told
    assert not asked.asker.asked.is_set()


async def test_who_wants_none_of_it_is_not_asked_and_hears_why() -> None:
    asked = Asked(FakeHost(), ask=False)

    async def ready() -> None:
        await asyncio.sleep(0)

    (work,) = asked.asker.works(ready)
    assert asked.asker.asked.is_set()
    await work
    assert asked.told == [MachineMissing("not asked: machine.ask is false in the config")]


async def test_it_goes_on_until_it_is_cancelled() -> None:
    host, ready_calls = FakeHost(), 0
    host.expect_stream(asking(), LOAD)

    async def ready() -> None:
        nonlocal ready_calls
        ready_calls += 1

    asked = Asked(host)
    (work,) = asked.asker.works(ready)
    task = asyncio.create_task(work)
    await asked.asker.asked.wait()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert ready_calls == 1
    assert len(asked.told) == 1


def _of(job: JobSettings, server: ServerSettings | None = None, **more: object) -> Settings:
    return Settings(host="gpu01", job=job, server=server or ServerSettings(), **more)  # type: ignore[arg-type]


FOLDERS: list[tuple[Callable[[], Settings], str]] = [
    (lambda: _of(JobSettings(log="/a/job.log", progress="/b/out/progress.jsonl")), "/b/out"),
    (lambda: _of(JobSettings(log="/a/job.log")), "/a"),
    (lambda: _of(JobSettings(log="/job.log")), "/"),
    (lambda: _of(JobSettings(log="job.log")), "."),
    (lambda: _of(JobSettings(log="job.log", dir="/data/run")), "/data/run"),
    (lambda: _of(JobSettings(log="~/run/job.log")), "run"),
    (lambda: _of(JobSettings(dir="/data/run"), ServerSettings(log=("/logs/server.log",))), "/logs"),
    (lambda: _of(JobSettings(dir="/data/run"), ServerSettings(log_command=("journalctl", "-f"))), "/data/run"),
    (lambda: _of(JobSettings(log="/a/job.log"), machine=MachineSettings(disk="/big")), "/big"),
]


@pytest.mark.parametrize(("given", "folder"), FOLDERS)
def test_the_disk_that_must_not_fill_is_the_one_the_job_writes_to(given: Callable[[], Settings], folder: str) -> None:
    assert output_folder(given()) == folder


def test_nobody_asks_more_often_than_once_a_minute() -> None:
    with pytest.raises(UnfitError, match="at least 60"):
        built(MachineSettings, {"every_s": 30.0})
