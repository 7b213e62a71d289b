"""The whole demo: host, server and job as processes of their own, reached with a real SSH client; nothing is left."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import asyncssh
import pytest

from remote.demo import DemoHost, DemoInfo, scratch
from remote.demo.host_settings import OLD_SCRIPT
from remote.demo.processes import demo_pids, sweep
from remote.errors import RemoteError
from tests.demo.conftest import WAIT_S, until

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

STUB = """\
import json, sys, time, urllib.request
config = json.load(open(sys.argv[2]))
rows = [json.loads(line) for line in open(config["datasets"][2]["prompts"])]
print("stub runs", len(rows), flush=True)
body = json.dumps({"input_ids": rows[0]["input_ids"], "sampling_params": {"max_new_tokens": 30}}).encode()
head = {"Content-Type": "application/json"}
answer = urllib.request.urlopen(urllib.request.Request(config["server"] + "/generate", body, head)).read()
print("answered", len(json.loads(answer)["output_ids"]), flush=True)
time.sleep(600)
"""


@pytest.fixture
def stub(tmp_path: Path) -> Path:
    path = tmp_path / "stub_runner.py"
    path.write_text(STUB)
    return path


@asynccontextmanager
async def client_of(info: DemoInfo) -> AsyncIterator[asyncssh.SSHClientConnection]:
    # What the written ssh_config says must be enough.
    async with asyncssh.connect("longwait-demo", config=info.ssh_config, agent_path=None) as client:
        yield client


def text(path: str) -> str:
    return Path(path).read_text(encoding="utf-8") if Path(path).exists() else ""


def folder_of(info: DemoInfo) -> Path:
    return Path(info.job_dir).parent


async def test_up_restart_and_down_without_leftovers(stub: Path) -> None:
    host = DemoHost(speed=20.0, options=("--startup-s", "0.5", "--script", str(stub)))
    info = await host.open()
    folder = folder_of(info)
    try:
        assert "simulated" in info.simulated
        assert [d.name[:2] for d in info.datasets] == [f"B{n}" for n in range(1, 9)]
        await until(lambda: "answered 30" in text(info.job_log), "the job has its answer")
        assert "simulated" in text(info.server_log).splitlines()[0]
        async with client_of(info) as client:
            seen = await client.run(f"cat {info.job_log}")
            assert "stub runs 460" in str(seen.stdout)
            health = await client.run(f"curl -s -o /dev/null -w '%{{http_code}}' {info.server_url}/health")
            assert health.stdout in {"200", ""}, "curl may be missing, but a health check must not fail"
            # The operator's restart: the same script, in a session of its own.
            command = " ".join(info.command)
            await client.run(f"cd {info.job_dir} && setsid {command} >> job.log 2>&1 < /dev/null &")
            await until(lambda: text(info.job_log).count("answered 30") == 2, "the second job has its answer")
        assert len(demo_pids(folder)) == 3, "the server and two jobs"
    finally:
        await host.close()
    assert demo_pids(folder) == []
    assert not folder.exists()
    await host.close()


async def test_an_old_script_is_what_runs_in_its_scenario(stub: Path) -> None:
    host = DemoHost("old-script", 20.0, options=("--startup-s", "0.2", "--script", str(stub)))
    async with host as info:
        await until(lambda: "Running " in text(info.job_log), "the old script works on a data set")
        assert "Processing: B1_glaive (SHORT)" in text(info.job_log)
        assert "budget" not in text(info.job_log)
        assert info.new_script == str(stub)
        assert text(info.script) == OLD_SCRIPT.read_text(encoding="utf-8")


async def test_a_cut_link_comes_back(stub: Path) -> None:
    options = ("--startup-s", "0.2", "--script", str(stub), "--trouble-after-s", "0.8", "--cut-s", "0.7")
    async with DemoHost("link-cut", 20.0, options=options) as info:
        async with client_of(info) as client:
            await asyncio.wait_for(client.wait_closed(), WAIT_S)
        with pytest.raises(OSError, match=r"[Cc]onnect"):
            async with client_of(info):
                pass
        async with asyncio.timeout(WAIT_S):
            while True:
                try:
                    async with client_of(info) as client:
                        assert (await client.run("echo back")).stdout == "back\n"
                        return
                except OSError:
                    await asyncio.sleep(0.1)


def start(folder: Path, *more: str) -> subprocess.Popen[bytes]:
    argv = [
        sys.executable,
        "-m",
        "remote.demo.host",
        "--dir",
        str(folder),
        "--speed",
        "20",
        "--startup-s",
        "0.2",
        *more,
    ]
    return subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)


@pytest.mark.parametrize("way", ["stdin", "term"])
async def test_the_host_ends_all_when_told(tmp_path: Path, stub: Path, way: str) -> None:
    folder = tmp_path / "demo"
    with await asyncio.to_thread(start, folder, "--script", str(stub)) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        info = json.loads(await asyncio.to_thread(process.stdout.readline))
        await until(lambda: "stub runs" in text(info["job_log"]), "the job runs")
        if way == "stdin":
            process.stdin.close()
        else:
            process.send_signal(signal.SIGTERM)
        assert await asyncio.to_thread(process.wait, WAIT_S) == 0
    assert demo_pids(folder) == []
    assert "Finished server process" in text(info["server_log"]), "the server ended in order"


async def test_a_killed_host_takes_server_and_job_with_it(tmp_path: Path, stub: Path) -> None:
    folder = tmp_path / "demo"
    with await asyncio.to_thread(start, folder, "--script", str(stub)) as process:
        assert process.stdout is not None
        info = json.loads(await asyncio.to_thread(process.stdout.readline))
        await until(lambda: "stub runs" in text(info["job_log"]), "the job runs")
        process.kill()
        await until(lambda: not demo_pids(folder), "server and job have ended")


async def test_a_host_without_its_parent_ends(tmp_path: Path, stub: Path) -> None:
    folder = tmp_path / "demo"
    # The shell is the parent; it ends at once, and the host's stdin stays open.
    command = 'exec 3<&0; "$@" --parent-pid $$ <&3 & sleep 0.7'
    argv = [sys.executable, "-m", "remote.demo.host", "--dir", str(folder), "--script", str(stub), "--startup-s", "0.2"]
    process = await asyncio.create_subprocess_exec(
        "sh", "-c", command, "sh", *argv, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    json.loads(await process.stdout.readline())
    await process.stdout.read()
    await process.wait()
    await until(lambda: not demo_pids(folder), "nothing is left")


CONSOLE = """\
import asyncio, sys
from remote.demo import DemoHost

async def main():
    host = DemoHost(speed=20.0, options=tuple(sys.argv[1:]))
    info = await host.open()
    print(info.job_dir, info.job_log, host._process.pid, sep="\\n", flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""
"""A console that only brings the demo up."""


def console(tmp_path: Path, *options: str) -> subprocess.Popen[bytes]:
    """It, in a process of its own, with its scratch folder in ``tmp_path``."""
    env = {**os.environ, "TMPDIR": str(tmp_path), "PYTHONPATH": str(Path(__file__).parents[2])}
    argv = [sys.executable, "-c", CONSOLE, "--startup-s", "0.2", *options]
    return subprocess.Popen(argv, stdout=subprocess.PIPE, env=env, start_new_session=True)


def is_there(pid: int) -> bool:
    """Whether a process runs; a zombie does not."""
    with contextlib.suppress(OSError):
        return bool((Path("/proc") / str(pid) / "cmdline").read_bytes())
    return False


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGHUP])
async def test_a_console_that_is_killed_leaves_no_keys(tmp_path: Path, stub: Path, number: signal.Signals) -> None:
    with await asyncio.to_thread(console, tmp_path, "--script", str(stub)) as process:
        assert process.stdout is not None
        job_dir, job_log, pid = [(await asyncio.to_thread(process.stdout.readline)).decode().strip() for _ in range(3)]
        folder = Path(job_dir).parent
        assert (folder / "ssh" / "id_ed25519").exists()
        await until(lambda: "stub runs" in text(job_log), "the job runs")
        process.send_signal(number)
        await until(lambda: not folder.exists(), "the folder is gone")
        await until(lambda: not demo_pids(folder) and not is_there(int(pid)), "the processes are gone")
    assert list(tmp_path.glob("longwait-demo-*")) == []


async def test_a_console_that_is_killed_at_once_leaves_nothing_either(tmp_path: Path) -> None:
    with await asyncio.to_thread(console, tmp_path) as process:
        # Before that there is no host to clean up; there is nothing in the folder either.
        await until(lambda: any(map(demo_pids, tmp_path.glob("longwait-demo-*"))), "the host is there")
        process.kill()
        await until(lambda: not list(tmp_path.glob("longwait-demo-*")), "the folder is gone")


async def test_a_folder_that_was_not_made_for_the_demo_stays(tmp_path: Path, stub: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "notes").write_text("mine")
    with await asyncio.to_thread(start, folder, "--remove-when-left", "--script", str(stub)) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        await asyncio.to_thread(process.stdout.readline)
        process.stdin.close()
        assert await asyncio.to_thread(process.wait, WAIT_S) == 0
    assert (folder / "notes").read_text() == "mine"


def test_only_a_scratch_folder_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    made = scratch.make()
    other = tmp_path / "other"
    other.mkdir()
    (other / "notes").write_text("mine")
    (made / "link").symlink_to(other)
    (made / "deep").mkdir()
    (made / "deep" / "key").touch()
    assert not scratch.remove(other)
    (tmp_path / "to it").symlink_to(made)
    assert not scratch.remove(tmp_path / "to it")
    assert scratch.remove(made)
    assert not made.exists()
    assert (other / "notes").read_text() == "mine"
    assert scratch.remove(made), "it is gone already"


async def test_a_host_that_can_not_start_says_why(tmp_path: Path) -> None:
    host = DemoHost(options=("--speed", "0"))
    with pytest.raises(RemoteError, match="must be more than 0"):
        await host.open()
    blocked = tmp_path / "file"
    blocked.touch()
    done = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-m", "remote.demo.host", "--dir", str(blocked / "demo")],
        capture_output=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 1
    assert b"Choose another --dir" in done.stderr
    assert b"Traceback" not in done.stderr


async def test_a_missing_script_is_said_and_the_host_lives(tmp_path: Path) -> None:
    host = DemoHost(options=("--script", str(tmp_path / "none.py"), "--startup-s", "0.2"))
    async with host as info:
        errors = str(folder_of(info) / "host.err")
        await until(lambda: "could not be brought up whole" in text(errors), "the fault is said")
        async with client_of(info) as client:
            assert (await client.run("echo alive")).stdout == "alive\n"


def test_the_consoles_half_is_light() -> None:
    code = "import sys, remote.demo; print([m for m in ('asyncssh', 'h11', 'httpx', 'textual') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, env=os.environ)
    assert done.stdout.strip() == b"[]"


def test_a_sweep_of_nothing_is_quick(tmp_path: Path) -> None:
    assert sweep(tmp_path) == []
