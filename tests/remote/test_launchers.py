"""The launchers: tmux for real where it is installed; systemd through stand-ins on PATH that write down what they are asked."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest

from remote.errors import CommandFailed, JobAlreadyRuns, NotOurProcess
from remote.launchers.choose import NAMES, launcher_of
from remote.launchers.process import ProcessLauncher
from remote.local import LocalHost
from remote.payload import hosts, procctl, starts, units
from remote.probe import Logout, probe
from tests.jobbox import FAILING, SLEEPER, Box, job_box
from tests.waits import alive, until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from remote.launchers.base import Launcher
    from remote.process import FoundProcess

HOST = LocalHost()
needs_tmux = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Box]:
    with job_box(tmp_path / "run -x 'q' $(touch pwned)") as made:
        yield made


async def stopped(launcher: Launcher, process: FoundProcess, grace_s: float = 10.0) -> list[str]:
    return [step.step async for step in launcher.stop(HOST, process, grace_s)]


def environ(pid: int) -> dict[bytes, bytes]:
    words = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    return dict(word.partition(b"=")[::2] for word in words)


# -- tmux


def tmux(*words: str) -> list[str]:
    """The lines that tmux prints; none when it has no server."""
    return subprocess.run(["tmux", *words], capture_output=True, text=True, check=False).stdout.splitlines()


@pytest.fixture
def tmux_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A tmux of the test's own; nothing of it is left."""
    folder = tmp_path / "t"
    folder.mkdir()
    monkeypatch.setenv("TMUX_TMPDIR", str(folder))
    monkeypatch.delenv("TMUX", raising=False)
    yield
    tmux("kill-server")


@needs_tmux
@pytest.mark.usefixtures("tmux_server")
async def test_a_job_in_tmux_has_a_session_that_ends_with_it(box: Box) -> None:
    launcher = launcher_of(box.spec, "tmux")
    process = await launcher.start(HOST)
    assert process.notes == ()
    assert process.by_record
    await until(lambda: "ready" in box.log())
    assert tmux("list-sessions", "-F", "#{session_name}") == [process.place]
    assert process.place == f"longwait-{box.record.stem.removeprefix('job-')}"
    panes = tmux("list-panes", "-a", "-F", "#{pane_pid} #{pane_active} #{pane_current_command}")
    assert panes[0].startswith(f"{process.pid} 0 python")
    assert panes[1].endswith(" 1 sh"), "who attaches sees the log, and a Ctrl-C ends the view alone"
    assert process.identity.argv == box.spec.argv
    assert Path(f"/proc/{process.pid}/fd/1").readlink() == box.folder / "job.log"
    assert b"TMUX_PANE" in environ(process.pid)
    (found,) = (await launcher.find(HOST)).processes
    assert found.identity == process.identity
    assert await stopped(launcher, process) == ["term", "gone"]
    await until(lambda: not tmux("list-sessions"))
    assert not (box.folder / "pwned").exists()


def test_the_view_of_a_log_ends_with_the_job_also_when_nobody_took_note_of_its_end(tmp_path: Path) -> None:
    log = tmp_path / "a log $(touch pwned)"
    log.write_text("the job's words\n")
    with (
        subprocess.Popen(["sleep", "600"]) as job,
        subprocess.Popen(
            ["sh", "-c", starts.LOG_VIEW, "longwait-view", str(job.pid), log], cwd=tmp_path, stdout=subprocess.PIPE
        ) as view,
    ):
        assert view.stdout is not None
        assert view.stdout.readline() == b"the job's words\n"
        (tail,) = (child.pid for child in psutil.Process(view.pid).children() if child.name() == "tail")
        job.kill()
        os.waitid(os.P_PID, job.pid, os.WEXITED | os.WNOWAIT)  # it has ended, and stays a zombie
        view.wait(10)
        assert not alive(tail)
        assert not (tmp_path / "pwned").exists()


@needs_tmux
@pytest.mark.usefixtures("tmux_server")
async def test_a_job_in_tmux_outlives_its_session(box: Box) -> None:
    launcher = launcher_of(box.spec, "tmux")
    process = await launcher.start(HOST)
    await until(lambda: "ready" in box.log())
    tmux("kill-session", "-t", process.place)
    assert [one.pid for one in (await launcher.find(HOST)).processes] == [process.pid]
    assert await stopped(launcher, process) == ["term", "gone"]


@needs_tmux
@pytest.mark.usefixtures("tmux_server")
async def test_what_else_runs_in_tmux_is_no_part_of_the_job(box: Box) -> None:
    launcher = launcher_of(box.spec, "tmux")
    first = await launcher.start(HOST)
    (mine,) = tmux("new-window", "-d", "-P", "-F", "#{pane_pid}", "-t", f"{first.place}:", "sleep", "600")
    assert b"LONGWAIT_JOB" not in environ(int(mine))
    await stopped(launcher, first)
    assert alive(int(mine))
    assert tmux("list-sessions", "-F", "#{session_name}") == [first.place]
    again = await launcher.start(HOST)
    assert again.place == first.place
    assert str(again.pid) in tmux("list-panes", "-a", "-F", "#{pane_pid}")
    await stopped(launcher, again)
    assert alive(int(mine))


@needs_tmux
@pytest.mark.usefixtures("tmux_server")
async def test_a_second_start_is_refused_whatever_the_launchers(box: Box) -> None:
    process = await launcher_of(box.spec, "tmux").start(HOST)
    for name in ("tmux", "process"):
        with pytest.raises(JobAlreadyRuns, match=str(process.pid)):
            await launcher_of(box.spec, name).start(HOST)
    assert box.pids() >= {process.pid}
    await stopped(launcher_of(box.spec), process)


@needs_tmux
@pytest.mark.usefixtures("tmux_server")
async def test_a_job_that_ends_at_once_in_tmux_says_why(box: Box) -> None:
    box.write(FAILING)
    with pytest.raises(CommandFailed, match=r"exit status is not known.*no such dataset") as raised:
        await launcher_of(box.spec, "tmux").start(HOST)
    assert raised.value.stderr.splitlines() == ["reading", "no such dataset"]
    with pytest.raises(CommandFailed, match="/nowhere/python: No such file"):
        await launcher_of(replace(box.spec, argv=("/nowhere/python",)), "tmux").start(HOST)


async def test_without_tmux_that_is_said(box: Box, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CommandFailed, match="There is no tmux on the host"):
        await launcher_of(box.spec, "tmux").start(HOST)
    assert box.pids() == set()


# -- systemd

STAND_IN = """#!{python}
import json, os, subprocess, sys
words = sys.argv[1:]
with open({record!r}, "a") as file:
    print(json.dumps([os.path.basename(sys.argv[0]), *words]), file=file)
{body}
"""
RUN = """
command = words[words.index("--") + 1:]
if "--scope" in words:
    os.execvp(command[0], command)
subprocess.Popen(command, stdin=-3, stdout=-3, stderr=-3, start_new_session=True)
"""
CONTROL = """
import pathlib, signal, time
state = pathlib.Path({state!r})
verb = next(word for word in words if not word.startswith("-"))
pid = int(state.read_text()) if state.exists() else 0
try:
    running = pid and pathlib.Path("/proc/%d/stat" % pid).read_text().rpartition(")")[2].split()[0] != "Z"
except OSError:
    running = False
if words[-1] == "ghost.service":
    print("LoadState=not-found")
elif verb == "show":
    print("Id=" + words[-1])
    print("LoadState=loaded")
    print("ActiveState=" + ("active" if running else "inactive"))
    print("SubState=running")
    print("MainPID=%d" % (pid if running else 0))
    print("ControlGroup=")
    print("Result=exit-code")
    print("ExecMainStatus=3")
elif verb == "start":
    child = subprocess.Popen({command!r}, cwd={cwd!r}, start_new_session=True, stdin=-3, stdout=-3, stderr=-3)
    state.write_text(str(child.pid))
elif verb == "stop":
    os.kill(pid, signal.SIGTERM)
elif verb == "kill":
    os.kill(pid, signal.SIGKILL)
"""
NOT_ALLOWED = """
print("Failed to connect to bus: No medium found", file=sys.stderr)
sys.exit(1)
"""


class Systemd:
    """Stand-ins for systemd's commands, first on PATH."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.record = folder / "asked.jsonl"
        folder.mkdir()

    def has(self, name: str, body: str, **words: object) -> None:
        """Put one there."""
        path = self.folder / name
        text = STAND_IN.format(
            python=sys.executable, record=str(self.record), body=body.format(**words) if words else body
        )
        path.write_text(text)
        path.chmod(0o755)

    def asked(self, name: str) -> list[list[str]]:
        """What one of them was asked, in order."""
        lines = [json.loads(line) for line in self.record.read_text().splitlines()] if self.record.exists() else []
        return [line[1:] for line in lines if line[0] == name]


@pytest.fixture
def systemd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Systemd:
    stand_ins = Systemd(tmp_path / "bin")
    monkeypatch.setenv("PATH", f"{stand_ins.folder}:{os.environ['PATH']}")
    return stand_ins


async def test_a_scope_is_asked_for_and_the_job_keeps_its_pid(box: Box, systemd: Systemd) -> None:
    systemd.has("systemd-run", RUN)
    launcher = ProcessLauncher(box.spec, watch_s=0.05, scope="always")
    process = await launcher.start(HOST)
    await until(lambda: "ready" in box.log())
    ((*words, first, second),) = systemd.asked("systemd-run")
    assert words[:4] == ["--user", "--scope", "--quiet", "--collect"]
    assert words[4] == f"--unit={process.place}"
    assert words[4].endswith(".scope")
    assert (first, second) == box.spec.argv
    assert process.identity.argv == box.spec.argv
    (found,) = (await launcher.find(HOST)).processes
    assert found.identity == process.identity
    assert await stopped(launcher, process) == ["term", "gone"]


async def test_a_scope_that_is_refused_is_told_with_its_reason(box: Box, systemd: Systemd) -> None:
    systemd.has("systemd-run", NOT_ALLOWED)
    with pytest.raises(CommandFailed, match=r"exit status 1.*No medium found"):
        await ProcessLauncher(box.spec, watch_s=5, scope="always").start(HOST)
    assert box.pids() == set()


async def test_by_itself_no_scope_is_asked_for_where_a_logout_ends_nothing(box: Box, systemd: Systemd) -> None:
    systemd.has("systemd-run", NOT_ALLOWED)
    process = await ProcessLauncher(box.spec, watch_s=0.05).start(HOST)
    assert systemd.asked("systemd-run") == []
    assert process.place == ""


@pytest.mark.skipif(os.geteuid() != 0, reason="a user's unit needs lingering, which this machine may not have")
async def test_a_transient_unit_is_asked_for_and_found_by_identity(box: Box, systemd: Systemd) -> None:
    systemd.has("systemd-run", RUN)
    launcher = launcher_of(box.spec, "systemd")
    process = await launcher.start(HOST)
    await until(lambda: "ready" in box.log())
    ((*words,),) = systemd.asked("systemd-run")
    assert words[:2] == ["--quiet", "--collect"]
    assert words[2] == f"--unit={process.place}"
    assert str(box.folder / "job.log") in words[3]
    assert not any(value in word for word in words for value in box.spec.env.values() if value)
    assert process.identity.argv == box.spec.argv
    assert [one.identity for one in (await launcher.find(HOST)).processes] == [process.identity]
    assert await stopped(launcher, process) == ["term", "gone"]


async def test_a_systemd_that_is_not_there_is_told(box: Box, systemd: Systemd) -> None:
    systemd.has("systemd-run", NOT_ALLOWED)
    words = (
        "systemd-run on the host: Failed to connect to bus: No medium found" if os.geteuid() == 0 else "enable-linger"
    )
    with pytest.raises(CommandFailed, match=words):
        await launcher_of(box.spec, "systemd").start(HOST)
    assert box.pids() == set()


def test_a_user_s_unit_needs_lingering(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    request = {"run_dir": str(box.folder), "argv": ["x"], "log": "job.log", "start": "c0ffee"}
    with pytest.raises(procctl.RefusedError, match="loginctl enable-linger"):
        starts.systemd_words(request, ["shim"])
    monkeypatch.setattr(starts, "lingering", lambda: True)
    words = starts.systemd_words(request, ["shim"])
    assert words[:2] == ["systemd-run", "--user"]
    assert words[-2:] == ["--", "shim"]


# -- a unit that exists


@pytest.fixture
def unit(box: Box, systemd: Systemd, tmp_path: Path) -> Systemd:
    """A systemctl that has the box's job as its unit."""
    command = ["env", *(f"{name}={value}" for name, value in box.env.items()), sys.executable, str(box.path)]
    systemd.has("systemctl", CONTROL, state=str(tmp_path / "state"), command=command, cwd=str(box.folder))
    return systemd


async def test_a_unit_is_started_found_and_stopped_by_its_name(box: Box, unit: Systemd) -> None:
    launcher = launcher_of(replace(box.spec, argv=()), "systemd", unit="batch.service", unit_of="system")
    assert (await launcher.find(HOST)).processes == ()
    process = await launcher.start(HOST)
    assert box.pids() == {process.pid}
    assert process.place == "batch.service"
    (found,) = (await launcher.find(HOST)).processes
    assert found.identity == process.identity
    with pytest.raises(JobAlreadyRuns, match=r"batch\.service is active already"):
        await launcher.start(HOST)
    assert await stopped(launcher, process) == ["term", "gone"]
    assert ["stop", "--no-block", "--", "batch.service"] in unit.asked("systemctl")
    assert box.pids() == set()


async def test_a_unit_that_ignores_term_is_killed_after_the_grace(box: Box, unit: Systemd) -> None:
    box.write("import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + SLEEPER)
    launcher = launcher_of(box.spec, "systemd", unit="batch.service", unit_of="user")
    process = await launcher.start(HOST)
    await until(lambda: signal_ignored(process.pid))
    assert (await stopped(launcher, process, 0.5))[-1] == "gone"
    assert box.pids() == set()
    assert ["--user", "kill", "--signal=SIGKILL", "--", "batch.service"] in unit.asked("systemctl")


def signal_ignored(pid: int) -> bool:
    """Whether a process ignores TERM by now."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return bool(int(next(line.split()[1] for line in lines if line.startswith("SigIgn")), 16) >> 14 & 1)


@pytest.mark.usefixtures("unit")
async def test_a_unit_whose_main_process_is_another_is_not_stopped(box: Box) -> None:
    launcher = launcher_of(box.spec, "systemd", unit="batch.service", unit_of="system")
    process = await launcher.start(HOST)
    with pytest.raises(NotOurProcess):
        await stopped(launcher, replace(process, identity=replace(process.identity, start_ticks=1)))
    plain = launcher_of(replace(box.spec, script="", argv=("sleep", "600"), log="other.log"))
    stranger = await plain.start(HOST)
    with pytest.raises(NotOurProcess, match="is not the main process of batch"):
        await stopped(launcher, stranger)
    assert box.pids() == {process.pid, stranger.pid}


@pytest.mark.usefixtures("unit")
async def test_a_unit_that_ends_at_once_or_is_none_is_told(box: Box) -> None:
    box.write(FAILING)
    with pytest.raises(CommandFailed, match=r"ended at once \(exit-code, exit status 3\)"):
        await launcher_of(box.spec, "systemd", unit="batch.service", unit_of="system").start(HOST)
    with pytest.raises(CommandFailed, match=r"can't use the unit ghost\.service: it is not-found"):
        await launcher_of(box.spec, "systemd", unit="ghost.service").find(HOST)


def test_a_unit_has_the_processes_of_its_control_group() -> None:
    path = Path("/proc/self/cgroup").read_text().splitlines()[0].split(":", 2)[2]
    assert units.in_group(os.getpid(), path)
    assert not units.in_group(os.getpid(), path + "x")
    assert not units.in_group(2**22 + 5, path)
    assert units.members({"ControlGroup": "/"}) == set()


# -- what a logout does

BUS = """
print("b {kills}")
print('as {only}')
print('as {spared}')
"""
US = f'1 "{procctl.user_name()}"'


@pytest.mark.parametrize(
    ("users", "ends"),
    [
        (("true", "0", "0"), True),
        (("false", "0", "0"), False),
        (("true", "0", US), False),
        (("true", '1 "other"', "0"), False),
        (("true", US, "0"), True),
    ],
)
def test_whether_a_logout_ends_our_processes(
    systemd: Systemd, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, users: tuple[str, str, str], ends: bool
) -> None:
    cgroup = tmp_path / "cgroup"
    monkeypatch.setattr(hosts, "OWN_CGROUP", str(cgroup))
    systemd.has("busctl", BUS, kills=users[0], only=users[1], spared=users[2])
    cgroup.write_text("0::/system.slice/ssh.service\n")
    assert hosts.logout()["kills"] is None, "in no session, nothing is ended with it"
    cgroup.write_text("0::/user.slice/user-1000.slice/session-3.scope\n")
    assert (hosts.logout()["in_session"], hosts.logout()["kills"]) == (True, ends)
    systemd.has("busctl", NOT_ALLOWED)
    assert hosts.logout()["kills"] is None


@pytest.mark.parametrize(
    ("about", "scoped"),
    [
        ({"kills": True, "lingering": True, "user_manager": True, "systemd_run": True}, True),
        ({"kills": True, "lingering": False, "user_manager": True, "systemd_run": True}, False),
        ({"kills": False, "lingering": True, "user_manager": True, "systemd_run": True}, False),
    ],
)
def test_a_scope_is_wanted_where_it_helps(
    monkeypatch: pytest.MonkeyPatch, about: dict[str, bool], scoped: bool
) -> None:
    monkeypatch.setattr(starts, "logout", lambda: about)
    assert starts.wants_scope({}) is scoped
    assert starts.wants_scope({"scope": "never"}) is False
    assert starts.wants_scope({"scope": "always"}) is True
    logout = Logout(in_session=True, **about)
    for name in ("process", "tmux"):
        outlook = launcher_of(NOBODY.spec, name).outlook(logout)
        assert bool(outlook.warnings) is (logout.kills is True and not logout.scope_helps)
        assert outlook.refusal is None


NOBODY = Box(Path("/nowhere"))


async def test_every_launcher_says_what_it_means_here() -> None:
    logout = (await probe(HOST, sys.executable)).logout
    assert [launcher_of(NOBODY.spec, name).name for name in NAMES] == list(NAMES)
    for name in NAMES:
        outlook = launcher_of(NOBODY.spec, name).outlook(logout)
        assert (outlook.refusal is None) is (name != "systemd" or logout.lingering is not None)
    with pytest.raises(ValueError, match="no launcher 'slurm'"):
        launcher_of(NOBODY.spec, "slurm")
