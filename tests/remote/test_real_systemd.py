"""The launchers that use systemd, against a real one: its units, scopes and words, where the stand-ins may be wrong."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from remote.errors import CommandFailed, JobAlreadyRuns, NotOurProcess
from remote.launchers.choose import launcher_of
from remote.launchers.process import ProcessLauncher
from tests.jobbox import DAEMONS, FAILING, STUBBORN, Box, job_box
from tests.remote.real_systemd import Inside, running, why_not
from tests.waits import until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from remote.launchers.base import Launcher
    from remote.process import FoundProcess

pytestmark = pytest.mark.skipif(bool(why_not()), reason=why_not() or "it can be had")


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Inside]:
    with running(tmp_path_factory.mktemp("systemd")) as found:
        if isinstance(found, str):
            pytest.skip(found)
        yield found


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Box]:
    with job_box(tmp_path / "run -x 'q' $(touch pwned)") as made:
        yield made


async def stopped(host: Inside, launcher: Launcher, process: FoundProcess, grace_s: float = 10.0) -> list[str]:
    return [step.step async for step in launcher.stop(host, process, grace_s)]


def unit_file(host: Inside, box: Box, name: str, **more: str) -> str:
    """A unit of the operator's own, known to systemd."""
    lines = {
        "Environment": f"LONGWAIT_TEST_BOX={box.mark}",
        "ExecStart": f'{sys.executable} "{box.folder}/job.py"',
        **more,
    }
    quoted = {**lines, "ExecStart": lines["ExecStart"].replace("$", "$$")}
    text = "".join(f"{key}={value}\n" for key, value in quoted.items())
    write = "import os, sys; os.makedirs(os.path.dirname(sys.argv[1]), exist_ok=True); open(sys.argv[1], 'w').write(sys.argv[2])"
    host.said(sys.executable, "-c", write, f"/run/systemd/user/{name}", f"[Service]\n{text}")
    host.said("systemctl", "daemon-reload")
    return name


async def test_a_job_is_a_transient_unit_that_is_gone_with_it(host: Inside, box: Box) -> None:
    box.write(DAEMONS)
    launcher = launcher_of(box.spec, "systemd")
    process = await launcher.start(host)
    await until(lambda: len(box.pids()) == 4)
    assert process.identity.argv == box.spec.argv
    shown = host.said("systemctl", "show", "--property=MainPID,ActiveState,Description", "--", process.place)
    assert f"MainPID={process.pid}\n" in shown
    assert "ActiveState=active\n" in shown
    with pytest.raises(JobAlreadyRuns, match=f"process {process.pid} "):
        await launcher.start(host)
    (found,) = (await launcher.find(host)).processes
    assert (found.identity, found.by_record) == (process.identity, True)
    assert (await stopped(host, launcher, process))[-1] == "gone"
    await until(lambda: not box.pids())
    await until(lambda: process.place not in host.said("systemctl", "list-units", "--all", "longwait-*"))


async def test_a_job_that_ends_at_once_says_why(host: Inside, box: Box) -> None:
    box.write(FAILING)
    with pytest.raises(CommandFailed, match="no such dataset"):
        await launcher_of(box.spec, "systemd").start(host)
    with pytest.raises(CommandFailed, match="/nowhere/python: No such file"):
        await launcher_of(replace(box.spec, argv=("/nowhere/python",)), "systemd").start(host)
    assert not box.pids()


async def test_a_job_in_a_scope_is_its_own_process(host: Inside, box: Box) -> None:
    launcher = ProcessLauncher(box.spec, scope="always")
    process = await launcher.start(host)
    await until(lambda: "ready" in box.log())
    assert process.identity.argv == box.spec.argv
    assert process.place.startswith("longwait-")
    scope = host.said("sh", "-c", f"cat /proc/{process.pid}/cgroup")
    assert process.place.endswith(".scope")
    assert f"/{process.place}\n" in scope
    assert await stopped(host, launcher, process) == ["term", "gone"]
    assert not box.pids()


async def test_a_unit_of_the_operator_s_own_is_started_found_and_stopped(host: Inside, box: Box) -> None:
    box.write(DAEMONS)
    unit = unit_file(host, box, "batch-one.service")
    launcher = launcher_of(box.spec, "systemd", unit=unit, unit_of="user")
    assert (await launcher.find(host)).processes == ()
    process = await launcher.start(host)
    assert process.place == unit
    await until(lambda: len(box.pids()) == 4)
    with pytest.raises(JobAlreadyRuns, match=f"is active already: process {process.pid}"):
        await launcher.start(host)
    (found,) = (await launcher.find(host)).processes
    assert found.identity == process.identity
    with pytest.raises(NotOurProcess):
        await stopped(host, launcher, replace(process, identity=replace(process.identity, start_ticks=1)))
    assert (await stopped(host, launcher, process))[-1] == "gone"
    assert not box.pids()


async def test_a_unit_that_ignores_term_is_killed_after_the_grace(host: Inside, box: Box) -> None:
    box.write(STUBBORN)
    unit = unit_file(host, box, "stubborn.service", StandardOutput=f"append:{box.folder}/job.log".replace("%", "%%"))
    launcher = launcher_of(box.spec, "systemd", unit=unit, unit_of="user")
    process = await launcher.start(host)
    await until(lambda: "ready" in box.log())
    steps = await stopped(host, launcher, process, 0.5)
    assert "kill" in steps
    assert steps[-1] == "gone"
    assert not box.pids()


async def test_a_unit_that_ends_at_once_or_is_not_there_says_so(host: Inside, box: Box) -> None:
    box.write("raise SystemExit(7)\n")
    unit = unit_file(host, box, "failing.service")
    with pytest.raises(CommandFailed, match=r"failing\.service ended at once \(exit-code, exit status 7\)"):
        await launcher_of(box.spec, "systemd", unit=unit, unit_of="user").start(host)
    with pytest.raises(CommandFailed, match=r"can't use the unit nosuch\.service: it is not-found"):
        await launcher_of(box.spec, "systemd", unit="nosuch.service", unit_of="user").find(host)
