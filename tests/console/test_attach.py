"""Attaching without a config: what is chosen, what is said of it, and a config that loads."""

from __future__ import annotations

import asyncio
import sys
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from console import attach_commands, screen_runs
from console.attach import NothingToAttach, choose, settings_values, words, written
from console.cli import cli
from console.config import Settings
from console.config_file import load
from console.config_model import built
from remote.discover import Clue, Discovered, FoundJob, FoundServer, Leftover, LogPlace, Surroundings
from remote.process import FoundProcess, ProcessIdentity
from tests.remote.test_discover import Stage
from tests.waits import until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from click.testing import Result

NOWHERE = Surroundings(None, None, None, user_unit=False, slurm_job=None)


def process(pid: int, *argv: str) -> FoundProcess:
    identity = ProcessIdentity("boot", pid, 100, argv, 0)
    return FoundProcess(identity, pid, pid, datetime(2026, 2, 24, tzinfo=UTC), 7_200.0, "/data", "op")


def log(path: str | None, *command: str, kind: str = "file", stream: int = 1) -> LogPlace:
    return LogPlace(stream, kind, path, command or None, "certain", "its stdout")


def server(pid: int, port: int, *logs: LogPlace, router: bool = False) -> FoundServer:
    return FoundServer(
        process(pid, "python3", "-m", "sglang.launch_server"),
        (pid,),
        "sglang-router" if router else "sglang",
        router,
        Clue(port, "certain", "it listens there"),
        True,
        (),
        f"http://127.0.0.1:{port}",
        Clue("org/model-7b", "likely", "--model-path"),
        logs,
        NOWHERE,
    )


def job(pid: int, port: int, connections: int, *logs: LogPlace) -> FoundJob:
    return FoundJob(
        process(pid, "python3", "run.py", "--note", "it's $(x)"),
        port,
        connections,
        "certain",
        f"{connections} connections",
        Clue("/data/run/run.py", "certain", "its command"),
        Clue("/usr/bin/python3", "certain", "its executable"),
        Clue("/data/run", "certain", "its working folder"),
        logs,
        ("/data/run/out/progress.jsonl",),
        None,
        NOWHERE,
    )


def found(*, servers: tuple[FoundServer, ...] = (), jobs: tuple[FoundJob, ...] = ()) -> Discovered:
    return Discovered(servers, jobs, (), (), ("connections of other users (root would see them).",), 300, "op", 0.1)


SERVER, JOB = server(1, 30_000, log("/data/server.log")), job(2, 30_000, 150, log("/data/run/job.log"))


def test_the_job_with_most_connections_and_its_server_are_meant() -> None:
    other = server(3, 30_001)
    few = job(4, 30_001, 2)
    chosen = choose(found(servers=(other, SERVER), jobs=(few, JOB)))
    assert (chosen.server, chosen.job) == (SERVER, JOB)
    assert [text.partition(":")[0] for text in chosen.others] == ["another server", "another job"]


def test_a_port_says_which_server_is_meant() -> None:
    other, few = server(3, 30_001), job(4, 30_001, 2)
    chosen = choose(found(servers=(other, SERVER), jobs=(few, JOB)), 30_001)
    assert (chosen.server, chosen.job) == (other, few)
    with pytest.raises(NothingToAttach, match="on port 9"):
        choose(found(servers=(SERVER,)), 9)


def test_without_a_job_a_router_stands_for_the_servers_behind_it() -> None:
    router = server(5, 30_100, log(None, kind="pipe"), router=True)
    assert choose(found(servers=(SERVER, router))).server is router


def test_what_was_found_is_said_with_how_sure_it_is() -> None:
    seen = replace(found(servers=(SERVER,), jobs=(JOB,)), leftovers=(Leftover(process(9, "x"), "sglang::scheduler"),))
    text = "\n".join(words(seen, choose(seen)))
    assert "Server: sglang, process 1 of user op, for 2 h" in text
    assert "  port    30000 (certain: it listens there)" in text
    assert "  model   org/model-7b (likely: --model-path)" in text
    assert "  sends   to port 30000 over 150 connections (certain: 150 connections)" in text
    assert "  log     /data/run/job.log (certain: its stdout)" in text
    assert "Left over: process 9 (sglang::scheduler)" in text
    assert "Not seen: connections of other users" in text


def test_what_is_missing_is_said() -> None:
    alone = found(servers=(server(1, 30_000, log(None, kind="pipe")),))
    text = "\n".join(words(alone, choose(alone)))
    assert "Job: none was found" in text
    assert "  log     pipe (certain: its stdout); it can not be followed" in text
    assert "Server: none was found." in "\n".join(words(found(jobs=(JOB,)), choose(found(jobs=(JOB,)))))


def test_the_config_that_was_found_loads_as_it_is(tmp_path: Path) -> None:
    seen = found(servers=(SERVER,), jobs=(JOB,))
    values = settings_values("gpu01", choose(seen), "python3.12")
    path = tmp_path / "longwait.yaml"
    path.write_text(written("gpu01", values, tuple(words(seen, choose(seen)))), encoding="utf-8")
    loaded = load(path)
    assert loaded == built(Settings, values)
    assert (loaded.server.url, loaded.server.engine, loaded.server.log) == (
        "http://127.0.0.1:30000",
        "sglang",
        "/data/server.log",
    )
    assert loaded.job.command == ("python3", "run.py", "--note", "it's $(x)")
    assert (loaded.job.script, loaded.job.dir, loaded.job.python) == ("/data/run/run.py", "/data/run", "python3.12")
    assert loaded.job.progress == "/data/run/out/progress.jsonl"
    assert "certain: it listens there" in path.read_text(encoding="utf-8")


def test_logs_that_are_commands_and_containers() -> None:
    followed = log(None, "docker", "logs", "-f", "sg lang", kind="container")
    inside = replace(SERVER, logs=(log(None, kind="pipe"), followed))
    boxed = replace(JOB, within=replace(NOWHERE, container="batch", runtime="podman"))
    values = settings_values("gpu01", choose(found(servers=(inside,), jobs=(boxed,))))
    assert values["server"]["log_command"] == ["docker", "logs", "-f", "sg lang"]
    assert (values["job"]["container"], values["job"]["container_runtime"]) == ("batch", "podman")


def test_without_any_log_there_is_nothing_to_follow() -> None:
    mute = found(servers=(server(1, 30_000, log(None, kind="pipe")),))
    with pytest.raises(NothingToAttach, match="can be followed"):
        settings_values("gpu01", choose(mute))


# -- real processes


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    folder = tmp_path / "run 'x' $(y)"
    folder.mkdir()
    with ExitStack() as stack:
        yield Stage(folder, stack)


def longwait(*args: str) -> Result:
    return CliRunner().invoke(cli, list(args))


async def run(*args: str) -> Any:
    """Run a command beside the event loop of the test."""
    return await asyncio.to_thread(longwait, *args)


async def test_attach_finds_a_server_and_its_job_and_writes_a_config(stage: Stage, tmp_path: Path) -> None:

    port, running = await stage.server()
    work = stage.run(sys.executable, "job.py", str(port), out=stage.file("job.log"))
    await until(lambda: "ready" in (stage.folder / "job.log").read_text())
    config = tmp_path / "longwait.yaml"
    args = ("attach", "local", "--port", str(port), "--python", sys.executable)
    done = await run(*args, "--write", str(config))
    assert done.exit_code == 0, done.output
    assert f"process {running.pid}" in done.output
    assert f"process {work.pid}" in done.output
    loaded = load(config)
    assert loaded.server.url.endswith(f":{port}")
    assert loaded.server.log_paths == (str(stage.folder / "server.log"),)
    assert (loaded.job.log, loaded.job.dir) == (str(stage.folder / "job.log"), str(stage.folder))
    again = await run(*args, "--write", str(config))
    assert (again.exit_code, "was left as it is" in again.output) == (1, True)
    shown = await run(*args)
    assert (shown.exit_code, "Without a terminal" in shown.output) == (0, True)
    plan = await run("--config", str(config), "restart", "--dry-run")
    assert plan.exit_code == 0, plan.output
    assert f"process {work.pid}" in plan.output
    assert "longwait did not start it" in plan.output


async def test_a_host_that_can_not_be_reached_and_one_with_nothing() -> None:

    lost = await run("attach", "nobody@127.0.0.1:9")
    assert (lost.exit_code, "127.0.0.1" in lost.output) == (30, True)
    none = await run("attach", "local", "--port", "9", "--python", sys.executable)
    assert (none.exit_code, "on port 9" in none.output) == (1, True)
    assert "Looked at" in none.output


@pytest.mark.parametrize("flags", [(), ("--quiet-screen",), ("--read-only",)])
def test_the_console_that_opens_is_as_quiet_and_may_do_as_much_as_was_asked(
    monkeypatch: pytest.MonkeyPatch, flags: tuple[str, ...]
) -> None:
    opened: list[dict[str, bool]] = []

    async def look(_host: str, _python: str, out: list[Discovered]) -> int:
        out.append(found(servers=(SERVER,), jobs=(JOB,)))
        return 0

    monkeypatch.setattr(attach_commands, "_look", look)
    monkeypatch.setattr(screen_runs, "run_console", lambda _settings, **how: opened.append(how))
    monkeypatch.setattr(attach_commands, "sys", SimpleNamespace(stdout=SimpleNamespace(isatty=lambda: True)))
    done = longwait(*flags, "attach", "gpu01")
    assert done.exit_code == 0, done.output
    assert opened == [{"read_only": "--read-only" in flags, "quiet_screen": "--quiet-screen" in flags}]


@pytest.mark.parametrize("kind", ["venv", "conda"])
def test_the_environment_that_a_job_was_started_in_is_told_and_given_again(kind: str, tmp_path: Path) -> None:
    where: dict[str, Any] = {kind: "/data/it's an env"}
    inside = replace(JOB, **where)
    seen = found(servers=(SERVER,), jobs=(inside,))
    assert any("env" in line and "/data/it's an env (certain" in line for line in words(seen, choose(seen)))
    values = settings_values("gpu01", choose(seen))
    assert values["job"][kind] == "/data/it's an env"
    (tmp_path / "c.yaml").write_text(written("gpu01", values, ()), encoding="utf-8")
    assert getattr(load(tmp_path / "c.yaml").job, kind) == "/data/it's an env"
    plain = settings_values("gpu01", choose(found(servers=(SERVER,), jobs=(JOB,))))
    assert not {"venv", "conda"} & set(plain["job"])
