"""Find, start and stop with real processes on this machine."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import shlex
import subprocess
import sys
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from remote.errors import CommandFailed, JobAlreadyRuns, NotOurProcess
from remote.local import LocalHost
from remote.process import FoundProcess, ProcessIdentity, adopt, at_pid, find, start, stop
from tests.jobbox import DAEMONS, FAILING, SLEEPER, STUBBORN, TREE, Box, job_box
from tests.waits import until

if TYPE_CHECKING:
    from collections.abc import Iterator

HOST = LocalHost()
WEIRD = ['-rf it\'s "a b"', "$(touch pwned)\nnew line", "semi;colon & `touch pwned` *?[x] ünï"]


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Box]:
    with job_box(tmp_path / "run") as made:
        yield made


async def started(box: Box) -> FoundProcess:
    """Start the box's job and wait until it says that it is ready."""
    process = await start(HOST, box.spec, watch_s=0.05)
    await until(lambda: "ready" in box.log())
    return process


async def stopped(process: FoundProcess, grace_s: float = 10.0) -> list[str]:
    """Stop a process; the names of the steps."""
    return [step.step async for step in stop(HOST, process.identity, grace_s, python=sys.executable)]


def adopted(box: Box, *argv: str, stdin: int = subprocess.DEVNULL) -> subprocess.Popen[bytes]:
    """A process that somebody else has started, in a session of its own."""
    return subprocess.Popen(
        argv, cwd=box.folder, env=box.env, start_new_session=True, stdout=subprocess.DEVNULL, stdin=stdin
    )


def descriptors(pid: int) -> dict[str, str]:
    """What a process holds open."""
    return {entry.name: str(entry.readlink()) for entry in Path(f"/proc/{pid}/fd").iterdir()}


def command_of(pid: int) -> bytes:
    """The first word of a command line."""
    return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0]


def status_field(pid: int, name: str) -> int:
    """A hexadecimal field of /proc/PID/status."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith(name)), 16)


# -- start


async def test_a_started_job_is_detached_and_found_by_its_record(box: Box) -> None:
    process = await started(box)
    assert process.by_record
    assert process.pgid == process.sid == process.pid != os.getpgid(0)
    assert status_field(process.pid, "SigIgn") & 1, "HUP is ignored"
    log = str(box.folder / "job.log")
    assert descriptors(process.pid) == {"0": "/dev/null", "1": log, "2": log}
    assert process.cwd == str(box.folder)
    assert process.identity.argv == box.spec.argv
    found = await find(HOST, box.spec)
    assert [one.identity for one in found.processes] == [process.identity]
    assert found.script_sha256 == process.script_sha256


async def test_the_log_is_appended_to(box: Box) -> None:
    (box.folder / "job.log").write_text("of old\n")
    await started(box)
    assert box.log().startswith("of old\n")


async def test_the_environment_is_added_to_and_not_on_any_command_line(box: Box) -> None:
    box.write(
        "import os\nprint(os.environ['TOKEN'], os.environ.get('HOME'), 'ready', flush=True)\nimport time\ntime.sleep(600)\n"
    )
    spec = replace(box.spec, env={**box.spec.env, "TOKEN": "s3cret", "HOME": None})
    process = await start(HOST, spec, watch_s=0.05)
    await until(lambda: "ready" in box.log())
    assert box.log() == "s3cret None ready\n"
    assert "s3cret" not in process.command
    assert "s3cret" not in box.record.read_text()


async def test_a_second_start_is_refused_and_names_the_first(box: Box) -> None:
    process = await started(box)
    with pytest.raises(JobAlreadyRuns, match=str(process.pid)):
        await start(HOST, box.spec)
    assert box.pids() == {process.pid}


async def test_two_starts_at_once_give_one_job_each_of_ten_times(box: Box) -> None:
    for _ in range(10):
        both = await asyncio.gather(
            start(HOST, box.spec, watch_s=0.05), start(HOST, box.spec, watch_s=0.05), return_exceptions=True
        )
        (process,) = [one for one in both if isinstance(one, FoundProcess)]
        assert [type(one) for one in both if one is not process] == [JobAlreadyRuns]
        assert box.pids() == {process.pid}
        await stopped(process)


async def test_a_job_that_ends_at_once_says_why(box: Box) -> None:
    box.write(FAILING)
    with pytest.raises(CommandFailed, match=r"exit status 1.*no such dataset") as raised:
        await start(HOST, box.spec, watch_s=10)
    assert raised.value.status == 1
    assert raised.value.stderr.splitlines() == ["reading", "no such dataset"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"argv": ("/nowhere/python", "job.py")}, r"/nowhere/python: No such file"),
        ({"argv": ()}, "no command"),
        ({"log": "."}, "is a folder"),
        ({"log": "missing/job.log"}, "No such file"),
        ({"run_dir": "/nowhere"}, "/nowhere is missing"),
        ({"python": "/nowhere/python"}, "There is no Python"),
    ],
)
async def test_a_start_that_can_not_be_is_told_in_a_sentence(box: Box, change: dict[str, Any], words: str) -> None:
    with pytest.raises(CommandFailed, match=words):
        await start(HOST, replace(box.spec, **change), watch_s=0.05)
    assert box.pids() == set()


@pytest.mark.parametrize("name", WEIRD)
async def test_odd_names_are_names(tmp_path: Path, name: str) -> None:
    with job_box(tmp_path / name, script=f"{name}.py") as box:
        box.write("import json, sys, time\nprint(json.dumps(sys.argv[1:]), 'ready', flush=True)\ntime.sleep(600)\n")
        spec = replace(box.spec, argv=(*box.spec.argv, name, "--"), log=f"{name}.log")
        process = await start(HOST, spec, watch_s=0.05)
        log = box.folder / f"{name}.log"
        await until(lambda: "ready" in log.read_text())
        assert json.loads(log.read_text().removesuffix(" ready\n")) == [name, "--"]
        (record,) = (box.folder / ".longwait").glob("*.json")
        record.unlink()
        assert [one.pid for one in (await find(HOST, spec)).processes] == [process.pid]
        await stopped(process)
        assert box.pids() == set()
        assert not (box.folder / "pwned").exists()


# -- find


async def test_a_job_started_by_hand_is_adopted_and_its_forks_are_not_listed(box: Box) -> None:
    box.write("import os\nos.fork()\nimport time\ntime.sleep(600)\n")
    with adopted(box, sys.executable, "-u", "job.py", "--config", "x") as hand:
        await until(lambda: len(box.pids()) == 2)
        (process,) = (await find(HOST, box.spec)).processes
        assert (process.pid, process.by_record, process.children) == (hand.pid, False, 1)
        with pytest.raises(JobAlreadyRuns):
            await start(HOST, box.spec)
        await stopped(process)


async def test_a_process_is_adopted_by_its_number(box: Box) -> None:
    spec = replace(box.spec, script="", argv=("./start.sh",))
    with adopted(box, sys.executable, "job.py") as hand, adopted(box, sys.executable, "job.py", "2") as other:
        await until(lambda: len(box.pids()) == 2)
        assert (await find(HOST, spec)).processes == ()
        process, ours = await at_pid(HOST, sys.executable, hand.pid)
        assert process is not None
        assert ours
        adoptee = await adopt(HOST, spec, process.identity)
        assert (adoptee.pid, adoptee.by_record, adoptee.script_sha256) == (hand.pid, True, None)
        assert [one.identity for one in (await find(HOST, spec)).processes] == [process.identity]
        with pytest.raises(JobAlreadyRuns):
            await start(HOST, spec)
        stranger, _ = await at_pid(HOST, sys.executable, other.pid)
        assert stranger is not None
        with pytest.raises(JobAlreadyRuns, match=str(hand.pid)):
            await adopt(HOST, spec, stranger.identity)
        with pytest.raises(NotOurProcess):
            await adopt(HOST, spec, replace(process.identity, start_ticks=1))
        await stopped(process)
        assert box.pids() == {other.pid}
        other.kill()
    assert await at_pid(HOST, sys.executable, 2**22 + 5) == (None, False)


async def test_what_only_names_the_script_is_not_the_job(box: Box) -> None:
    other = box.folder / "other"
    other.mkdir()
    (other / "job.py").write_text(box.path.read_text())
    bystanders = [
        adopted(box, "tail", "-f", "job.py"),
        adopted(box, "sh", "-c", "sleep 600; echo job.py"),
        adopted(box, sys.executable, "-c", "import time; time.sleep(600)", "job.py"),
        adopted(box, sys.executable, "other/job.py"),
    ]
    try:
        await until(lambda: len(box.pids()) >= len(bystanders))
        assert (await find(HOST, box.spec)).processes == ()
        matching = replace(box.spec, script="", match="other/job.py")
        assert [one.pid for one in (await find(HOST, matching)).processes] == [bystanders[-1].pid]
    finally:
        for bystander in bystanders:
            bystander.kill()
            bystander.wait()


@pytest.mark.parametrize(
    "line",
    [
        "other.py --compare-with job.py",
        "other.py job.py",
        "-u other.py --config=job.py",
        "-m other --compare-with job.py",
        "-m other job.py",
        "- job.py",
        "-c 'import time; time.sleep(600)' job.py",
    ],
)
async def test_what_is_given_the_jobs_name_is_not_the_job(tmp_path: Path, line: str) -> None:
    name = f"job_{secrets.token_hex(8)}.py"  # every process of this machine is looked at, those of other tests too
    with job_box(tmp_path / "run", name) as box:
        (box.folder / "other.py").write_text(SLEEPER)
        await is_not_found(box, shlex.split(line.replace("job.py", name)))


async def is_not_found(box: Box, line: list[str]) -> None:
    argv = [sys.executable, *line]
    with adopted(box, *argv, stdin=subprocess.PIPE) as stranger:
        try:
            await until(lambda: box.pids() == {stranger.pid})
            for spec in (replace(box.spec, script="", argv=(), match=box.script), box.spec):
                assert (await find(HOST, spec)).processes == ()
        finally:
            stranger.kill()


async def test_several_are_all_listed(box: Box) -> None:
    with adopted(box, sys.executable, "job.py") as one, adopted(box, sys.executable, str(box.path)) as two:
        await until(lambda: len(box.pids()) == 2)
        processes = (await find(HOST, box.spec)).processes
        assert {process.pid for process in processes} == {one.pid, two.pid}
        one.kill()
        two.kill()


async def test_without_script_and_match_the_very_command_is_the_job(box: Box) -> None:
    spec = replace(box.spec, script="")
    with adopted(box, *spec.argv) as hand, adopted(box, *spec.argv, "--other") as other:
        await until(lambda: len(box.pids()) == 2)
        assert [process.pid for process in (await find(HOST, spec)).processes] == [hand.pid]
        hand.kill()
        other.kill()


@pytest.mark.parametrize("record", ["", "{", "[]", '{"boot_id": 3}', '{"pid": "x"}'])
async def test_a_broken_record_is_no_record(box: Box, record: str) -> None:
    box.record.parent.mkdir()
    box.record.write_text(record)
    assert (await find(HOST, box.spec)).processes == ()


async def test_a_record_whose_pid_is_another_process_now_is_no_record(box: Box) -> None:
    await stopped(await started(box))
    path = box.record
    with adopted(box, "sleep", "600") as stranger:
        path.write_text(json.dumps({**json.loads(path.read_text()), "pid": stranger.pid}))
        assert (await find(HOST, box.spec)).processes == ()
        stranger.kill()


# -- stop


async def test_a_stop_ends_the_whole_tree_and_what_left_the_session(box: Box) -> None:
    box.write(TREE)
    process = await started(box)
    await until(lambda: len(box.pids()) == 5)
    steps = [step async for step in stop(HOST, process.identity, 10, python=sys.executable)]
    assert [step.step for step in steps] == ["term", "gone"]
    assert steps[0].count == 5
    assert box.pids() == set()


@pytest.mark.parametrize("stubborn", [False, True])
async def test_what_has_left_group_session_and_tree_is_ended_and_counted_too(box: Box, stubborn: bool) -> None:
    box.write((STUBBORN if stubborn else SLEEPER).replace(SLEEPER, "") + DAEMONS)
    process = await started(box)
    await until(lambda: len(box.pids()) == 4)
    assert [one.children for one in (await find(HOST, box.spec)).processes] == [0]
    steps = [step async for step in stop(HOST, process.identity, 0.5, python=sys.executable)]
    assert (steps[0].step, steps[0].count, steps[0].left_group) == ("term", 4, 3)
    assert [step.step for step in steps[1:]] == (["kill", "gone"] if stubborn else ["gone"])
    assert box.pids() == set()


async def test_a_daemon_of_a_job_that_was_started_by_hand_is_left_alone(box: Box) -> None:
    box.write(DAEMONS)
    with adopted(box, sys.executable, "job.py") as hand:
        await until(lambda: len(box.pids()) == 4)
        (process,) = (await find(HOST, box.spec)).processes
        steps = [step async for step in stop(HOST, process.identity, 5, python=sys.executable)]
        assert (steps[0].count, steps[0].left_group) == (1, 0)
        assert hand.wait() == -15
    assert len(box.pids()) == 3, "nothing tells them from a stranger"


async def test_a_storm_of_children_is_ended_to_the_last(box: Box) -> None:
    box.write(
        "import os, signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nsignal.signal(signal.SIGCHLD, signal.SIG_IGN)\n"
        "for _ in range(6):\n    if os.fork() == 0:\n        break\n"
        "print('ready', flush=True)\n"
        "while True:\n"
        "    if os.fork() == 0:\n        os.setsid()\n        time.sleep(0.05)\n        os._exit(0)\n"
        "    time.sleep(0.001)\n"
    )
    process = await started(box)
    steps = [step async for step in stop(HOST, process.identity, 0.3, python=sys.executable)]
    assert [step.step for step in steps][-2:] == ["kill", "gone"]
    assert box.pids() == set()


async def test_a_next_run_is_no_child_of_this_one(box: Box) -> None:
    """A stop waits for what its job has left, and the job is started again meanwhile."""
    left = STUBBORN.replace("ready", "left")
    box.write(
        f"import subprocess, sys\nsubprocess.Popen([sys.executable, '-c', {left!r}], start_new_session=True)\n{SLEEPER}"
    )
    first = await started(box)
    await until(lambda: "left" in box.log())
    async with aclosing(stop(HOST, first.identity, 3, python=sys.executable)) as steps:
        assert (await anext(steps)).count == 2
        box.write(SLEEPER)
        await until(lambda: first.pid not in box.pids())
        second = await start(HOST, box.spec, watch_s=0.05)
        assert [step.step async for step in steps][-2:] == ["kill", "gone"]
    assert box.pids() == {second.pid}


async def test_a_job_under_another_user_now_is_not_signalled(box: Box) -> None:
    process = await started(box)
    assert process.identity.uid == os.getuid()
    with pytest.raises(NotOurProcess, match="belongs to another user now"):
        await stopped(replace(process, identity=replace(process.identity, uid=os.getuid() + 1)))
    assert box.pids() == {process.pid}
    assert await stopped(replace(process, identity=replace(process.identity, uid=None))) == ["term", "gone"]


async def test_a_job_that_ignores_term_is_killed_after_the_grace(box: Box) -> None:
    box.write(STUBBORN)
    process = await started(box)
    steps = [step async for step in stop(HOST, process.identity, 1.5, python=sys.executable)]
    assert [step.step for step in steps] == ["term", "waiting", "kill", "gone"]
    assert steps[-1].seconds >= 1.5
    assert box.pids() == set()


async def test_a_job_is_asked_once_and_has_the_grace_to_end_well(box: Box) -> None:
    box.write(
        "import signal, time\nasked = []\nsignal.signal(signal.SIGTERM, lambda *_: asked.append(1))\n"
        "print('ready', flush=True)\nwhile not asked:\n    time.sleep(0.01)\n"
        "time.sleep(0.3)\nprint('asked', len(asked), flush=True)\n"
    )
    assert await stopped(await started(box)) == ["term", "gone"]
    assert box.log().splitlines()[-1] == "asked 1"


async def test_a_job_that_was_halted_still_hears_of_the_stop(box: Box) -> None:
    process = await started(box)
    os.kill(process.pid, 19)
    assert await stopped(process) == ["term", "gone"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"boot_id": "another"}, "restarted"),
        ({"start_ticks": 1}, "began at another time"),
        ({"argv": ("sleep", "1")}, "command line"),
        ({"pid": 2**22 + 5}, "is gone"),
    ],
)
async def test_what_is_not_proven_is_not_signalled(box: Box, change: dict[str, Any], words: str) -> None:
    process = await started(box)
    with pytest.raises(NotOurProcess, match=words):
        await stopped(replace(process, identity=replace(process.identity, **change)))
    assert box.pids() == {process.pid}


async def test_a_process_that_became_another_program_is_not_signalled(box: Box) -> None:
    box.write("import os, sys\nsys.stdin.read()\nos.execvp('sleep', ['sleep', '600'])\n")
    with adopted(box, sys.executable, "job.py", stdin=subprocess.PIPE) as hand:
        await until(lambda: box.pids() == {hand.pid})
        (process,) = (await find(HOST, box.spec)).processes
        assert hand.stdin is not None
        hand.stdin.close()
        await until(lambda: command_of(hand.pid) == b"sleep")
        with pytest.raises(NotOurProcess, match="command line"):
            await stopped(process)
        assert hand.poll() is None
        hand.kill()


async def test_strangers_in_the_same_group_are_spared(box: Box) -> None:
    both = "import subprocess as s, sys\ns.Popen(['sleep', '600'])\ns.run([sys.executable, 'job.py'])\n"
    with adopted(box, sys.executable, "-c", both) as parent:
        await until(lambda: len(box.pids()) == 3)
        (process,) = (await find(HOST, box.spec)).processes
        assert process.pgid == parent.pid
        await stopped(process)
        await until(lambda: parent.poll() == 0)
    (stranger,) = box.pids()
    assert command_of(stranger) == b"sleep"


async def test_the_host_finishes_a_stop_that_is_no_longer_listened_to(box: Box) -> None:
    box.write(STUBBORN)
    process = await started(box)
    async with aclosing(stop(HOST, process.identity, 1.3, python=sys.executable)) as steps:
        assert (await anext(steps)).step == "term"
    await until(lambda: not box.pids())


async def test_a_stopped_job_can_not_be_stopped_again(box: Box) -> None:
    process = await started(box)
    await stopped(process)
    with pytest.raises(NotOurProcess, match="gone"):
        await stopped(process)


async def test_a_stop_without_python_says_so() -> None:
    identity = ProcessIdentity("x", 1, 1, ("x",))
    with pytest.raises(CommandFailed, match="There is no Python"):
        _ = [step async for step in stop(HOST, identity, 1, python="/nowhere/python")]
