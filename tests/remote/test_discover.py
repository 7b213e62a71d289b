"""What is found on a host that nobody has described: real processes that look like servers and jobs, and texts of /proc."""

from __future__ import annotations

import os
import shlex
import shutil
import socket
import subprocess
import sys
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remote.discover import Discovered, FoundJob, FoundServer, clients_of, discover
from remote.local import LocalHost
from remote.payload import discover as payload
from tests.jobbox import begun
from tests.waits import until

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from remote.host import Completed

HOST = LocalHost()

SERVER = """
import socket, sys, threading, time
listener = socket.create_server(("127.0.0.1", int(sys.argv[sys.argv.index("--port") + 1])))
print("up", flush=True)
peers = []
while True:
    peers.append(listener.accept()[0])
"""
CLIENT = """
import socket, sys, time
print("begin", flush=True)
links = [socket.create_connection(("127.0.0.1", int(sys.argv[1]))) for _ in range(3)]
rows = open("progress.jsonl", "a")
print("ready", flush=True)
time.sleep(600)
"""


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port: int = sock.getsockname()[1]
        return port


class Stage:
    """A folder in which servers and jobs are started; all are ended."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.folder, self.stack = folder, stack
        (folder / "sglang").mkdir()
        (folder / "sglang_router").mkdir()
        (folder / "sglang" / "launch_server.py").write_text(SERVER)
        (folder / "srv.py").write_text(SERVER)
        (folder / "job.py").write_text(CLIENT)
        (folder / "sglang_router" / "launch_router.py").write_text(
            "import socket, sys\nlink = socket.create_connection(('127.0.0.1', int(sys.argv[-1])))\n"
            "import runpy; runpy.run_path('srv.py', run_name='__main__')\n"
        )

    def run(self, *argv: str, out: Any = subprocess.DEVNULL, **more: Any) -> subprocess.Popen[bytes]:
        """Start one."""
        process = subprocess.Popen(argv, cwd=self.folder, stdout=out, stderr=subprocess.STDOUT, stdin=-3, **more)
        self.stack.callback(end, process)
        return process

    def file(self, name: str) -> Any:
        """A log."""
        return self.stack.enter_context((self.folder / name).open("ab"))

    async def server(self, name: str = "server.log", *more: str) -> tuple[int, subprocess.Popen[bytes]]:
        """An SGLang server, which is none but looks like one."""
        port = free_port()
        argv = [
            sys.executable,
            "-m",
            "sglang.launch_server",
            "--model-path",
            "org/model-7b",
            "--port",
            str(port),
            *more,
        ]
        process = self.run(*argv, out=self.file(name))
        await until(lambda: "up" in (self.folder / name).read_text())
        return port, process


def end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    folder = tmp_path / "run 'x' $(y)"
    folder.mkdir()
    with ExitStack() as stack:
        yield Stage(folder, stack)


def server_at(found: Discovered, port: int) -> FoundServer:
    (server,) = [server for server in found.servers if server.port.value == port]
    return server


def job_at(found: Discovered, port: int) -> FoundJob:
    (job,) = [job for job in found.jobs if job.port == port]
    return job


# -- real processes


async def test_a_server_and_its_job_are_found_with_all_that_a_config_needs(stage: Stage) -> None:
    port, process = await stage.server()
    job = stage.run(sys.executable, "-u", "job.py", str(port), out=stage.file("job.log"))
    await until(lambda: "ready" in (stage.folder / "job.log").read_text())
    found = await discover(HOST, sys.executable)
    server = server_at(found, port)
    assert (server.process.pid, server.engine, server.router) == (process.pid, "sglang", False)
    assert (server.port.sure, server.listens, server.url) == ("certain", True, f"http://127.0.0.1:{port}")
    assert (server.model.value, server.model.sure) == ("org/model-7b", "certain")
    (log,) = server.logs
    assert (log.kind, log.path, log.followable) == ("file", str(stage.folder / "server.log"), True)
    batch = job_at(found, port)
    assert (batch.process.pid, batch.connections, batch.sure) == (job.pid, 3, "certain")
    assert batch.script.value == str(stage.folder / "job.py")
    assert (batch.python.value, batch.python.sure) == (sys.executable, "certain")
    assert batch.dir.value == str(stage.folder)
    assert [one.path for one in batch.logs] == [str(stage.folder / "job.log")]
    assert str(stage.folder / "progress.jsonl") in batch.writes
    assert found.took_s < 2
    assert [(one.pid, one.connections, one.kind) for one in found.clients if one.port == port] == [(job.pid, 3, "job")]
    clients, _ = await clients_of(HOST, sys.executable, port)
    assert [(one.pid, one.kind) for one in clients] == [(job.pid, "job")]


async def test_the_job_is_the_first_of_its_programs_below_the_shell(stage: Stage) -> None:
    port, _ = await stage.server()
    (stage.folder / "run.py").write_text(
        "import subprocess, sys\nsubprocess.run([sys.executable, 'job.py', sys.argv[1]])\n"
    )
    line = shlex.join([sys.executable, "run.py", str(port)])
    stage.run("sh", "-c", f"{line} 2>&1 | tee -a 'out put.log'; true", start_new_session=True)
    await until(
        lambda: (stage.folder / "out put.log").exists() and "begin" in (stage.folder / "out put.log").read_text()
    )
    job = await connected(port)
    try:
        assert job.script.value == str(stage.folder / "run.py")
        assert job.started_by is not None
        assert job.started_by.startswith("sh -c")
        (log,) = job.logs
        assert (log.kind, log.path) == ("file", str(stage.folder / "out put.log"))
        assert "tee" in log.why
    finally:
        os.killpg(job.process.pgid, 9)


async def connected(port: int) -> FoundJob:
    """The job, as soon as it is connected."""
    while True:
        jobs = [job for job in (await discover(HOST, sys.executable)).jobs if job.port == port and job.connections]
        if jobs:
            return jobs[0]


async def test_what_can_not_be_followed_is_told_as_such(stage: Stage) -> None:
    port, _ = await stage.server("gone.log")
    (stage.folder / "gone.log").unlink()
    reader, writer = os.pipe()
    master, terminal = os.openpty()
    jobs = [stage.run(sys.executable, "job.py", str(port), out=out) for out in (subprocess.DEVNULL, writer, terminal)]
    os.close(terminal)
    os.close(writer)
    for descriptor in (reader, master):
        assert b"begin" in os.read(descriptor, 100)
    found = await discover(HOST, sys.executable)
    while sum(job.connections for job in found.jobs if job.port == port) < 9:
        found = await discover(HOST, sys.executable)
    kinds = {job.process.pid: job.logs[0] for job in found.jobs if job.port == port}
    assert [kinds[job.pid].kind for job in jobs] == ["null", "pipe", "tty"]
    assert not any(log.followable for log in kinds.values())
    assert all(log.why for log in kinds.values())
    (log,) = server_at(found, port).logs
    assert (log.kind, log.path) == ("deleted", str(stage.folder / "gone.log"))
    for descriptor in (reader, master):
        os.close(descriptor)


async def test_a_router_is_no_job_and_its_worker_no_secret(stage: Stage) -> None:
    port, worker = await stage.server()
    front = free_port()
    router = stage.run(
        sys.executable, "-m", "sglang_router.launch_router", "--port", str(front), "--worker", str(port),
        out=stage.file("router.log"),
    )  # fmt: skip
    await until(lambda: "up" in (stage.folder / "router.log").read_text())
    found = await discover(HOST, sys.executable)
    assert server_at(found, front).router
    assert server_at(found, front).process.pid == router.pid
    assert server_at(found, port).process.pid == worker.pid
    assert [job for job in found.jobs if job.port in {port, front}] == []
    assert [(one.pid, one.kind) for one in found.clients if one.port == port] == [(router.pid, "server")]


async def test_a_port_that_is_on_no_command_line_is_that_of_its_socket(stage: Stage) -> None:
    port = free_port()
    (stage.folder / "srv.py").write_text(SERVER.replace('sys.argv[sys.argv.index("--port") + 1]', f"'{port}'"))
    process = stage.run(
        "llama-server", "srv.py", "-m", "x.gguf", executable=sys.executable, out=stage.file("llama.log")
    )
    await until(lambda: "up" in (stage.folder / "llama.log").read_text())
    server = server_at(await discover(HOST, sys.executable), port)
    assert (server.process.pid, server.engine, server.port.sure) == (process.pid, "llamacpp", "likely")
    assert (server.model.value, server.model.sure) == ("x.gguf", "likely")


async def test_a_server_that_does_not_listen_yet_and_an_orphan_are_told(stage: Stage) -> None:
    port = free_port()
    (stage.folder / "srv.py").write_text("import time\nprint('up', flush=True)\ntime.sleep(600)\n")
    stage.run("vllm", "srv.py", "serve", executable=sys.executable)
    waiting = stage.run(
        "llama-server", "srv.py", "--port", str(port), executable=sys.executable, out=stage.file("s.log")
    )
    orphan = stage.run("VLLM::EngineCore_DP0", "srv.py", executable=sys.executable, out=stage.file("o.log"))
    await until(lambda: all("up" in (stage.folder / name).read_text() for name in ("s.log", "o.log")))
    found = await discover(HOST, sys.executable)
    server = server_at(found, port)
    assert (server.process.pid, server.listens, server.port.sure) == (waiting.pid, False, "likely")
    assert "nothing listens" in server.port.why
    assert (orphan.pid, "VLLM::EngineCore_DP0") in [(one.process.pid, one.title) for one in found.leftovers]


async def test_a_job_between_two_batches_is_a_guess_by_its_arguments(stage: Stage) -> None:
    port, _ = await stage.server()
    (stage.folder / "job.py").write_text("import time\nprint('ready', flush=True)\ntime.sleep(600)\n")
    job = stage.run(sys.executable, "job.py", f"--url=http://127.0.0.1:{port}/v1", out=stage.file("job.log"))
    await until(lambda: "ready" in (stage.folder / "job.log").read_text())
    batch = job_at(await discover(HOST, sys.executable), port)
    assert (batch.process.pid, batch.connections, batch.sure) == (job.pid, 0, "guess")


class AsNobody(LocalHost):
    """This machine, as a user without rights."""

    async def run(
        self, argv: Sequence[str], *, stdin: bytes = b"", timeout_s: float = 30.0, check: bool = True
    ) -> Completed:
        words = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *argv]
        return await super().run(words, stdin=stdin, timeout_s=timeout_s, check=check)


@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("setpriv") is None, reason="needs root, to be somebody else")
async def test_without_rights_it_says_what_it_could_not_see(stage: Stage) -> None:
    port, process = await stage.server()
    job = stage.run(sys.executable, "job.py", str(port), out=stage.file("job.log"))
    await until(lambda: "ready" in (stage.folder / "job.log").read_text())
    found = await discover(AsNobody(), "/usr/bin/python3")
    server = server_at(found, port)
    assert (server.process.pid, server.port.sure) == (process.pid, "likely")
    assert [log.kind for log in server.logs] == ["unseen"]
    assert [(one.pid, one.kind, one.connections) for one in found.clients if one.port == port] == [(None, "unseen", 3)]
    assert any("may not be seen by nobody" in text and "root" in text for text in found.unseen)
    assert job.poll() is None


@pytest.mark.slow
async def test_a_host_with_thousands_of_processes_is_looked_at_within_two_seconds(stage: Stage) -> None:
    port, _ = await stage.server()
    crowd = (
        "import os, sys, time\n"
        "files = [open('/dev/null') for _ in range(30)]\n"
        "for _ in range(4000):\n"
        "    if os.fork() == 0:\n"
        "        os.read(0, 1)\n"
        "        os._exit(0)\n"
        "print('ready', flush=True)\n"
        "sys.stdin.read()\n"
    )
    reader, writer = os.pipe()
    with subprocess.Popen([sys.executable, "-c", crowd], stdin=reader, stdout=subprocess.PIPE) as many:
        os.close(reader)
        stage.run(sys.executable, "job.py", str(port), out=stage.file("job.log"))
        try:
            assert many.stdout is not None
            assert many.stdout.readline() == b"ready\n"
            began = time.perf_counter()
            found = await discover(HOST, sys.executable)
            took_s = time.perf_counter() - began
        finally:
            os.close(writer)
    assert found.processes > 4000
    assert server_at(found, port).listens
    assert job_at(found, port).connections == 3
    assert took_s < 2, found.took_s


# -- texts


@pytest.mark.parametrize(
    ("line", "engine", "port", "model"),
    [
        ("python -m sglang.launch_server --model-path a/b --port 30000", "sglang", 30000, "a/b"),
        ("python3 -u -m sglang.launch_server --model a/b --port=31000", "sglang", 31000, "a/b"),
        ("/v/bin/python3 /v/bin/sglang serve a/b --tp 8", "sglang", None, "a/b"),
        ("/v/bin/python3 /v/bin/vllm serve a/b --port 8001", "vllm", 8001, "a/b"),
        ("vllm serve --port 8001 --served-model-name mine", "vllm", 8001, "mine"),
        ("python -m vllm.entrypoints.openai.api_server --model a/b", "vllm", None, "a/b"),
        ("python /src/vllm/vllm/entrypoints/openai/api_server.py --model a/b", "vllm", None, "a/b"),
        ("/opt/llama.cpp/llama-server -m /m/x.gguf --port 8080", "llamacpp", 8080, "/m/x.gguf"),
        ("./server -m x.gguf", "llamacpp", None, "x.gguf"),
        ("python -m llama_cpp.server --model x.gguf", "llamacpp", None, "x.gguf"),
        ("/v/bin/python /v/bin/trtllm-serve a/b --port 8000", "trtllm", 8000, "a/b"),
        ("/v/bin/python /v/bin/trtllm-serve serve a/b", "trtllm", None, "a/b"),
        ("/v/bin/python /v/bin/transformers serve a/b --port 8000", "transformers", 8000, "a/b"),
        ("sglang-router launch --port 30000 --worker-urls http://a", "sglang-router", 30000, None),
        ("python -m sglang_router.launch_router --port 30000", "sglang-router", 30000, None),
        ("vllm-router --port 8000", "vllm-router", 8000, None),
        ("vllm bench serve --port 8000", None, 8000, None),
        ("vllm chat", None, None, None),
        ("vim sglang/launch_server.py", None, None, None),
        ("tail -f vllm", None, None, None),
        ("python run.py --engine vllm serve", None, None, None),
        ("bash -c vllm serve a/b", None, None, None),
        ("python -m http.server --port 99999", None, None, None),
    ],
)
def test_what_a_command_line_serves(line: str, engine: str | None, port: int | None, model: str | None) -> None:
    argv = line.split()
    assert payload.engine_of(argv) == engine
    assert payload.port_argument(argv) == port
    if engine is not None:
        assert payload.model_of(argv, engine)["value"] == model


@given(st.lists(st.text(), min_size=1))
def test_any_command_line_can_be_looked_at(argv: list[str]) -> None:
    engine = payload.engine_of(argv)
    assert engine is None or payload.model_of(argv, engine)["sure"] in {"certain", "likely", "unknown"}
    payload.port_argument(argv)
    payload.script_of(argv, "/run")


DOCKER = "a" * 64


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (f"0::/system.slice/docker-{DOCKER}.scope\n", {"container": DOCKER, "runtime": "docker", "unit": None}),
        (f"12:cpu:/docker/{DOCKER}\n1:name=systemd:/docker/{DOCKER}\n", {"container": DOCKER, "runtime": "docker"}),
        (f"0::/user.slice/user-1.slice/libpod-{DOCKER}.scope/x\n", {"container": DOCKER, "runtime": "podman"}),
        (f"0::/kubepods.slice/kubepods-pod1.slice/cri-containerd-{DOCKER}.scope\n", {"runtime": "kubernetes"}),
        ("0::/system.slice/sglang.service\n", {"unit": "sglang.service", "user_unit": False, "container": None}),
        ("0::/user.slice/user-7.slice/user@7.service/app.slice/b.service\n", {"unit": "b.service", "user_unit": True}),
        ("0::/user.slice/user-7.slice/user@7.service/tmux-spawn-1.scope\n", {"unit": None}),
        ("0::/system.slice/ssh.service\n", {"unit": None}),
        ("0::/system.slice/cron.service\n", {"unit": None}),
        ("0::/user.slice/user-7.slice/session-3.scope\n", {"unit": None, "container": None}),
        ("0::/system.slice/slurmstepd.scope/job_42/step_0/user/task_0\n", {"slurm_job": "42"}),
        (
            "9:memory:/slurm/uid_7/job_42/step_batch\n0::/system.slice/slurmd.service\n",
            {"slurm_job": "42", "unit": None},
        ),
        ("", {"container": None, "unit": None, "slurm_job": None}),
        ("nonsense\n0::\n", {"container": None, "unit": None}),
    ],
)
def test_what_a_control_group_says(text: str, place: dict[str, object]) -> None:
    found = payload.cgroup_place(text)
    assert {key: found[key] for key in place} == place


TCP = """  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:7530 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 111 1 0 100 0 0 10 0
   1: 0100007F:C000 0100007F:7530 01 00000000:00000000 00:00000000 00000000  1001        0 222 1 0 20 4 30 10 -1
   2: 0500000A:7530 0900000A:D000 01 00000000:00000000 00:00000000 00000000  1000        0 333 1 0 20 4 30 10 -1
   x: what is this
"""
TCP6 = """  sl  local_address                         remote_address                        st tx rx tr tm retr uid timeout inode
   0: 00000000000000000000000001000000:7530 00000000000000000000000000000000:0000 0A 0:0 0:0 0 1000 0 444 1
   1: 0000000000000000FFFF00000100007F:C001 0000000000000000FFFF00000100007F:7530 01 0:0 0:0 0 1001 0 555 1
"""


@pytest.mark.skipif(sys.byteorder != "little", reason="the texts are of a little-endian host")
def test_the_socket_tables_are_read() -> None:
    rows = payload.parse_rows(TCP) + payload.parse_rows(TCP6)
    assert [(row.local, row.port, row.state, row.uid, row.inode) for row in rows[:1]] == [
        ("127.0.0.1", 30000, payload.STATE_LISTEN, 1000, 111)
    ]
    assert [(row.local, row.remote, row.remote_port) for row in rows[1:]] == [
        ("127.0.0.1", "127.0.0.1", 30000),
        ("10.0.0.5", "10.0.0.9", 53248),
        ("::1", "::", 0),
        ("127.0.0.1", "127.0.0.1", 30000),
    ]
    assert [row.inode for row in payload.connections({30000}, rows)] == [222, 555]
    assert payload.from_elsewhere(30000, rows) == {"10.0.0.9": 1}


@given(st.text())
def test_any_text_can_be_read_as_a_table(text: str) -> None:
    payload.parse_rows(text)
    payload.cgroup_place(text)


INSPECTED = {
    "Name": "/sglang-1",
    "HostConfig": {"LogConfig": {"Type": "json-file"}},
    "NetworkSettings": {
        "Ports": {"8000/tcp": [{"HostIp": "::", "HostPort": "18000"}], "9/tcp": None},
        "Networks": {"bridge": {"IPAddress": "172.17.0.2"}},
    },
}


def test_a_container_s_port_and_log_are_those_that_the_host_reaches(monkeypatch: pytest.MonkeyPatch) -> None:
    assert payload.published(INSPECTED, 8000) == ("127.0.0.1", 18000)
    assert payload.published(INSPECTED, 9) == ("172.17.0.2", 9)
    assert payload.published({}, 8000) is None
    scan = payload.Scan()
    place = payload.cgroup_place(f"0::/system.slice/docker-{DOCKER}.scope\n")
    monkeypatch.setattr(scan.containers, "known", {DOCKER: INSPECTED})
    scan.places[os.getpid()] = place
    monkeypatch.setattr(payload, "output", lambda *_: {"kind": "pipe", "path": None, "inode": 1})
    log = payload.log_of(os.getpid(), 1, scan)
    assert log["command"] == ["docker", "logs", "--follow", "sglang-1"]
    silent = {**INSPECTED, "HostConfig": {"LogConfig": {"Type": "none"}}}
    monkeypatch.setattr(scan.containers, "known", {DOCKER: silent})
    assert payload.log_of(os.getpid(), 1, scan)["command"] is None


def test_docker_that_does_not_answer_is_told_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    unseen: list[str] = []
    containers = payload.Containers(unseen)
    assert containers.inspect(DOCKER, "docker") == containers.inspect(DOCKER, "docker") == {}
    assert len(unseen) == 1
    assert "group `docker`" in unseen[0]


def test_a_unit_s_log_is_in_the_journal(monkeypatch: pytest.MonkeyPatch) -> None:
    scan = payload.Scan()
    scan.places[1] = payload.cgroup_place("0::/system.slice/sglang.service\n")
    monkeypatch.setattr(payload, "output", lambda *_: {"kind": "socket", "path": None, "inode": 7})
    for inode, sure in ((7, "certain"), (8, "likely")):
        monkeypatch.setattr(payload, "journal_inode", lambda _, inode=inode: inode)
        log = payload.log_of(1, 1, scan)
        assert (log["kind"], log["sure"]) == ("journal", sure)
        assert log["command"] == ["journalctl", "--unit", "sglang.service", "--follow"]


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("sshd: me@pts/1", "tunnel"),
        ("/usr/lib/openssh/sshd-session", "tunnel"),
        ("/usr/bin/docker-proxy -proto tcp", "proxy"),
        ("/usr/bin/prometheus --config.file=x", "monitor"),
        ("curl http://127.0.0.1:1", "probe"),
        ("python -m console", "console"),
        ("python /v/bin/longwait watch", "console"),
        ("python run.py", "job"),
        ("node batch.js", "job"),
    ],
)
def test_who_is_connected(line: str, kind: str) -> None:
    scan = payload.Scan()
    pid = 2**22 + 9
    scan.argv[pid] = line.split() if not line.startswith("sshd:") else [line]
    assert payload.client_kind(pid, [], scan) == kind
    assert payload.client_kind(0, [], scan) == "unseen"


@pytest.mark.parametrize(
    ("env", "kind"),
    [
        ({"VIRTUAL_ENV": "/x/v", "PATH": "/x/v/bin:/usr/bin"}, {"venv": "/x/v"}),
        ({"CONDA_PREFIX": "/x/c", "PATH": "/usr/local/bin:/x/c/bin:/usr/bin"}, {"conda": "/x/c"}),
        ({"VIRTUAL_ENV": "/x/v", "CONDA_PREFIX": "/x/c", "PATH": "/x/v/bin:/x/c/bin"}, {"venv": "/x/v"}),
        ({"VIRTUAL_ENV": "/x/v", "PATH": "/usr/bin"}, {}),
        ({"PATH": "/usr/bin"}, {}),
    ],
)
def test_the_environment_that_a_process_was_started_in(env: dict[str, str], kind: dict[str, str]) -> None:
    with begun(env) as process:
        assert dict([payload.activated(process.pid)] if payload.activated(process.pid) else []) == kind
