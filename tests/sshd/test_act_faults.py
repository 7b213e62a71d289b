"""Acts over a real SSH connection that is cut at every step, on real processes: never two jobs, never a half script."""

from __future__ import annotations

import asyncio
import re
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

import psutil
import pytest

from console.acts import CHECK_STEP, PROVE_STEP, PUT_STEP, START_STEP, STOP_STEP
from console.control import JobControl, Verb
from console.journal import Journal, Kind
from remote.errors import CommandFailed, LinkLost
from remote.launchers.process import ProcessLauncher
from remote.local import LocalHost
from remote.process import start
from tests.fulldisk import fill, small_disk
from tests.jobbox import FAILING, SLEEPER, STUBBORN, Box, job_box
from tests.waits import until

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence
    from pathlib import Path

    from console.control import ActionPlan, Step
    from remote.host import Answer, Completed, Host
    from remote.ssh import SshHost
    from tests.sshd.conftest import Sshd

pytestmark = pytest.mark.sshd

NEW = SLEEPER + "# the new one\n" * 2_000
FAST = partial(ProcessLauncher, watch_s=0.02)
CALLS = {PROVE_STEP: 1, STOP_STEP: 2, PUT_STEP: 3, START_STEP: 4, CHECK_STEP: 5}
"""Which of an act's calls of the host carries out which step."""


class Cut:
    """A host whose link is cut at one of its calls: before it, while the host carries it out, or after its answer."""

    def __init__(self, host: SshHost, sshd: Sshd, call: int, when: str) -> None:
        self._host, self._sshd, self._left, self._when = host, sshd, call, when

    @property
    def name(self) -> str:
        return self._host.name

    async def connect(self) -> None:
        await self._host.connect()

    async def wait_lost(self) -> str:
        return await self._host.wait_lost()

    async def close(self) -> None:
        await self._host.close()

    def _is_it(self) -> bool:
        self._left -= 1
        return self._left == 0

    async def _cut(self) -> None:
        self._sshd.cut()
        await self._host.wait_lost()

    async def _cut_meanwhile(self) -> None:
        """Cut as soon as the host's Python carries out the call."""
        await until(lambda: any(_is_step(process) for process in self._sshd.sessions()))
        await self._cut()

    async def run(
        self, argv: Sequence[str], *, stdin: bytes = b"", timeout_s: float = 30.0, check: bool = True
    ) -> Completed:
        cuts = self._is_it()
        if cuts and self._when == "before":
            await self._cut()
        asked = asyncio.ensure_future(self._host.run(argv, stdin=stdin, timeout_s=timeout_s, check=check))
        if cuts and self._when == "during":
            cutting = asyncio.ensure_future(self._cut_meanwhile())
            await asyncio.wait([asked, cutting], return_when=asyncio.FIRST_COMPLETED)
            if not cutting.done():  # it was quicker than we could look
                cutting.cancel()
                await self._cut()
            await asyncio.gather(cutting, return_exceptions=True)
        done = await asked
        if cuts:
            await self._cut()
            raise LinkLost("The link is gone.", host=self.name)
        return done

    @asynccontextmanager
    async def stream(self, argv: Sequence[str]) -> AsyncIterator[AsyncIterator[bytes]]:
        cuts = self._is_it()
        if cuts and self._when == "before":
            await self._cut()
        async with self._host.stream(argv) as chunks:
            yield self._cut_off(chunks) if cuts else chunks

    async def _cut_off(self, chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        said = b""
        async for chunk in chunks:
            said += chunk
            if self._when == "during" or b'"gone"' in said:
                await self._cut()
                raise LinkLost("The link is gone.", host=self.name)
            yield chunk

    async def fetch(
        self,
        url: str,
        *,
        method: str = "GET",
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
        timeout_s: float = 10.0,
        max_bytes: int = 8_388_608,
    ) -> Answer:
        given: dict[str, Any] = {"method": method, "headers": headers, "body": body}
        return await self._host.fetch(url, **given, timeout_s=timeout_s, max_bytes=max_bytes)


if TYPE_CHECKING:
    _CHECKED: type[Host] = Cut


def _is_step(process: psutil.Process) -> bool:
    try:
        return "-ISBc" in process.cmdline()
    except psutil.Error:
        return False


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "-new 'x' $(touch pwned).py"
    path.write_text(NEW)
    return path


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(tmp_path / "j", host="gpu01", clock=lambda: datetime.now(UTC), user="me@desk")


@dataclass
class Scene:
    """A job and the operator's new script for it."""

    box: Box
    script: Path
    journal: Journal


@pytest.fixture
def scene(box: Box, script: Path, journal: Journal) -> Scene:
    return Scene(box, script, journal)


def control_of(host: Host, box: Box, journal: Journal, grace_s: float = 10.0) -> JobControl:
    return JobControl(host, box.spec, launcher=FAST, grace_s=grace_s, journal=journal)


async def act(control: JobControl, plan: ActionPlan) -> list[Step]:
    assert plan.refusal is None, plan.refusal
    return [step async for step in control.carry_out(plan) if step.state != "running"]


async def begun(box: Box) -> int:
    """Start the job beside the connection, as another console would have; its pid."""
    process = await start(LocalHost(), box.spec, watch_s=0.02)
    await until(lambda: "ready" in box.log())
    return process.pid


@pytest.mark.parametrize("at", [(step, when) for step in CALLS for when in ("before", "during", "after")], ids=" ".join)
async def test_a_link_that_is_cut_at_any_step(
    scene: Scene, sshd: Sshd, host: SshHost, other: SshHost, at: tuple[str, str]
) -> None:
    (step, when), box, script, journal = at, scene.box, scene.script, scene.journal
    old = await begun(box)
    plan = await control_of(host, box, journal).plan(Verb.RESTART, script)
    last = (await act(control_of(Cut(host, sshd, CALLS[step], when), box, journal), plan))[-1]
    assert (last.name, last.state) == (step, "failed")
    entry = journal.entries()[-1]
    assert (entry.kind, entry.more["ok"]) == (Kind.ACTION, False)
    await other.connect()
    if step == STOP_STEP and when != "before":
        await until(lambda: not box.pids())  # the host has gone on with it by itself
    assert box.path.read_text() in {SLEEPER, NEW}
    assert len(box.pids()) <= 1
    assert (old in box.pids()) == (step == PROVE_STEP or (step == STOP_STEP and when == "before"))
    # What the host shows then is what the next plan is made of; it leads to one job with the new script.
    control = control_of(other, box, journal)
    runs = (await control.process_fact()).alive
    steps = await act(control, await control.plan(Verb.RESTART if runs else Verb.START, script))
    assert steps[-1].state == "done", steps[-1].detail
    assert len(box.pids()) == 1
    assert box.path.read_text() == NEW
    assert [path.name for path in box.folder.iterdir() if path.name.startswith(".longwait-put")] == []


async def test_a_job_that_ignores_term_is_ended_and_replaced(
    box: Box, script: Path, journal: Journal, host: SshHost
) -> None:
    box.write(STUBBORN)
    control = control_of(host, box, journal, grace_s=0.5)
    old = await begun(box)
    steps = await act(control, await control.plan(Verb.RESTART, script))
    assert steps[-1].state == "done"
    assert old not in box.pids()


async def test_a_script_that_became_a_folder_meanwhile(box: Box, script: Path, journal: Journal, host: SshHost) -> None:
    control = control_of(host, box, journal)
    await begun(box)
    plan = await control.plan(Verb.RESTART, script)
    plan = replace(plan, host_sha256=None)
    box.path.unlink()
    box.path.mkdir()
    last = (await act(control, plan))[-1]
    assert last.state == "failed"
    assert last.name in {PROVE_STEP, PUT_STEP}
    assert box.path.is_dir()


async def test_a_new_script_that_dies_at_once_shows_its_last_lines_and_rolls_back(
    box: Box, script: Path, journal: Journal, host: SshHost
) -> None:
    control = JobControl(host, box.spec, grace_s=10, journal=journal)
    await begun(box)
    script.write_text(FAILING)
    last = (await act(control, await control.plan(Verb.RESTART, script)))[-1]
    assert (last.name, last.state) == (START_STEP, "failed")
    assert "no such dataset" in last.detail
    assert box.pids() == set()
    assert (await act(control, await control.plan_back()))[-1].state == "done"
    assert box.path.read_text() == SLEEPER
    assert len(box.pids()) == 1


async def test_a_host_without_the_python_that_the_config_names(box: Box, journal: Journal, host: SshHost) -> None:
    control = JobControl(host, replace(box.spec, python="/nowhere/python3"), journal=journal)
    with pytest.raises(CommandFailed, match=r"no Python to run at .*set `python`"):
        await control.plan(Verb.START)


@pytest.mark.parametrize("fault", ["missing", "folder", "large", "syntax"])
async def test_a_local_script_that_can_not_be_meant(
    box: Box, script: Path, journal: Journal, host: SshHost, fault: str
) -> None:
    script.unlink()
    if fault == "folder":
        script.mkdir()
    elif fault == "large":
        with script.open("wb") as file:
            file.truncate(200_000_000)
    elif fault == "syntax":
        script.write_text("def:\n")
    control = control_of(host, box, journal)
    old = await begun(box)
    plan = await control.plan(Verb.RESTART, script)
    words = {
        "missing": "can't be read here",
        "folder": "directory",
        "large": "larger than 10.0 MiB",
        "syntax": "line 1",
    }
    assert re.search(words[fault], str(plan.refusal))
    assert journal.entries()[-1].kind == Kind.REFUSAL
    assert box.pids() == {old}


async def two_starts(first: JobControl, second: JobControl, box: Box) -> None:
    """Two consoles start the job at the same moment: one job runs, and the loser says which."""
    plans = [await control.plan(Verb.START) for control in (first, second)]
    ends = await asyncio.gather(act(first, plans[0]), act(second, plans[1]))
    assert sorted(steps[-1].state for steps in ends) == ["done", "failed"]
    (pid,) = box.pids()
    (lost,) = (steps[-1] for steps in ends if steps[-1].state == "failed")
    assert f"process {pid}" in lost.detail
    assert (await act(first, await first.plan(Verb.STOP)))[-1].state == "done"
    assert box.pids() == set()


@pytest.mark.parametrize("rounds", [3, pytest.param(50, marks=[pytest.mark.slow, pytest.mark.timeout(600)])])
async def test_two_consoles_that_start_at_once_give_one_job(
    box: Box, journal: Journal, host: SshHost, other: SshHost, rounds: int
) -> None:
    await other.connect()
    for _ in range(rounds):
        await two_starts(control_of(host, box, journal), control_of(other, box, journal), box)


async def test_the_plan_comes_in_two_seconds_with_every_check(
    box: Box, script: Path, journal: Journal, host: SshHost
) -> None:
    control = control_of(host, box, journal)
    pid = await begun(box)
    async with asyncio.timeout(10):  # a loaded machine; bench/ measures what is promised
        plan = await control.plan(Verb.RESTART, script)
    assert plan.refusal is None
    assert plan.process is not None
    assert plan.process.pid == pid
    assert {check.name for check in plan.checks} >= {"script", "imports", "output"}
    assert {check.state for check in plan.checks} <= {"ok", "warning", "unknown"}
    assert plan.gpu_pids in {None, ()}


async def test_a_disk_that_fills_after_the_plan(tmp_path: Path, script: Path, journal: Journal, host: SshHost) -> None:
    with small_disk(tmp_path / "disk", 64 * 1_024) as folder:
        if folder is None:
            pytest.skip("this user may not mount a disk of its own")
        with job_box(folder / "run") as box:
            control = control_of(host, box, journal)
            await begun(box)
            plan = await control.plan(Verb.RESTART, script)
            fill(folder)
            last = (await act(control, plan))[-1]
            assert (last.name, last.state) == (PUT_STEP, "failed")
            assert "No space left on device; it is as it was, whole." in last.detail
            assert "The old job is stopped. The script on the host is the former one, whole." in last.detail
            assert box.path.read_text() == SLEEPER
            assert box.pids() == set()
            assert not list(box.folder.glob(".longwait-put-*"))
            refused = await control.plan(Verb.START, script)
            assert "0 MB free; make room first" in str(refused.refusal)
            (folder / "filler").unlink()
            assert (await act(control, await control.plan(Verb.START, script)))[-1].state == "done"
            assert box.path.read_text() == NEW
