"""Plans and acts on a real job on this machine, and what is said when the link or the job goes away meanwhile."""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import signal
import subprocess
import sys
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from console.act_words import MAX_DIFF_LINES, script_diff, sentence
from console.control import STOP_STEP, WHEN_LEFT, JobControl, Verb
from remote.errors import CommandFailed, LinkLost
from remote.launchers.process import ProcessLauncher
from remote.local import LocalHost
from remote.process import find
from tests.console.acts_done import FAST, HOST, NEW, PATIENT, act, control_of, started
from tests.jobbox import FAILING, SLEEPER, STUBBORN, Box
from tests.waits import until

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence
    from pathlib import Path

    from remote.host import Completed, Host
    from remote.process import Found


class Flaky(LocalHost):
    """A host whose link breaks at one of its calls, before or after the host has done what was asked."""

    def __init__(self, breaks_at: int, *, after: bool = False) -> None:
        self.left = breaks_at
        self.after = after

    def _count(self) -> bool:
        self.left -= 1
        return self.left == 0

    async def run(
        self, argv: Sequence[str], *, stdin: bytes = b"", timeout_s: float = 30.0, check: bool = True
    ) -> Completed:
        breaks = self._count()
        if breaks and not self.after:
            raise LinkLost("The link is gone.")
        done = await super().run(argv, stdin=stdin, timeout_s=timeout_s, check=check)
        if breaks:
            raise LinkLost("The link is gone.")
        return done

    @asynccontextmanager
    async def stream(self, argv: Sequence[str]) -> AsyncIterator[AsyncIterator[bytes]]:
        breaks = self._count()
        if breaks and not self.after:
            raise LinkLost("The link is gone.")
        async with super().stream(argv) as chunks:
            yield self._broken(chunks) if breaks else chunks

    async def _broken(self, chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        yield await anext(chunks)
        raise LinkLost("The link is gone.")


class Refusing(LocalHost):
    """A host that refuses one of its calls."""

    def __init__(self, call: int) -> None:
        self.left = call

    def _count(self) -> None:
        self.left -= 1
        if self.left == 0:
            raise CommandFailed("The host refuses", argv=("x",))

    async def run(
        self, argv: Sequence[str], *, stdin: bytes = b"", timeout_s: float = 30.0, check: bool = True
    ) -> Completed:
        self._count()
        return await super().run(argv, stdin=stdin, timeout_s=timeout_s, check=check)

    @asynccontextmanager
    async def stream(self, argv: Sequence[str]) -> AsyncIterator[AsyncIterator[bytes]]:
        self._count()
        async with super().stream(argv) as chunks:
            yield chunks


class Moved(ProcessLauncher):
    """Finds the job whose script was put in another folder than the settings say."""

    async def find(self, host: Host) -> Found:
        return await find(host, replace(self.spec, script=self.spec.script.rpartition("/")[2]))


def write(path: Path, content: bytes | None) -> None:
    """Write a file; None removes it."""
    if content is None:
        path.unlink()
    else:
        path.write_bytes(content)


# -- plans


async def test_a_plan_changes_nothing_and_says_what_will_run(box: Box) -> None:
    plan = await control_of(box).plan(Verb.START)
    assert plan.refusal is None
    text = "\n".join(plan.lines)
    assert shlex.join(box.spec.argv) in text
    assert "stays as it is" in text
    assert {path.name for path in box.folder.iterdir()} == {"job.py"}


async def test_a_restart_shows_the_job_and_the_change(box: Box, script: Path) -> None:
    pid = await started(box)
    plan = await control_of(box).plan(Verb.RESTART, script)
    assert plan.refusal is None
    assert plan.process is not None
    assert plan.process.pid == pid
    text = "\n".join(plan.lines)
    assert f"process {pid} of user" in text
    assert "TERM" in text
    assert "+1 -0 lines" in text
    assert "+# the new one" in plan.diff


async def test_a_script_that_is_the_same_is_told_so(box: Box, script: Path) -> None:
    box.write(NEW)
    plan = await control_of(box).plan(Verb.START, script)
    assert plan.diff == ()
    assert "is the same" in "\n".join(plan.lines)


async def test_a_script_that_is_not_there_yet_will_be_put_there(box: Box, script: Path) -> None:
    box.path.unlink()
    control = control_of(box)
    plan = await control.plan(Verb.START, script)
    assert "not on the host yet" in "\n".join(plan.lines)
    assert (await act(control, plan))[-1].state == "done"
    assert box.path.read_text() == NEW


async def test_what_the_process_table_forbids_is_refused(box: Box) -> None:
    control = control_of(box)
    assert "nothing to stop" in str((await control.plan(Verb.STOP)).refusal)
    assert "start it instead" in str((await control.plan(Verb.RESTART)).refusal)
    pid = await started(box)
    assert f"process {pid}" in str((await control.plan(Verb.START)).refusal)


async def test_several_jobs_are_not_chosen_from(box: Box) -> None:
    argv = [sys.executable, "job.py"]
    with _by_hand(box, argv) as one, _by_hand(box, argv) as two:
        await until(lambda: len(box.pids()) == 2)
        plan = await control_of(box).plan(Verb.STOP)
        assert f"process {one.pid}" in str(plan.refusal)
        assert f"process {two.pid}" in str(plan.refusal)
        assert [step.state for step in await act(control_of(box), plan)] == ["failed"]
        assert box.pids() == {one.pid, two.pid}
        one.kill()
        two.kill()


def _by_hand(box: Box, argv: list[str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(argv, cwd=box.folder, env=box.env, start_new_session=True, stdout=subprocess.DEVNULL)


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"a = 1\nb = )\n", r"in line 2: b = \)"), (b"a\0", "does not take"), (None, "can't be read here")],
)
async def test_a_script_that_can_not_run_is_refused(box: Box, script: Path, content: bytes | None, words: str) -> None:
    write(script, content)
    plan = await control_of(box).plan(Verb.START, script)
    assert re.search(words, str(plan.refusal))


async def test_a_broken_script_on_the_host_is_refused_before_the_job_is_stopped(box: Box) -> None:
    await started(box)
    box.write("def:\n")
    assert "in line 1" in str((await control_of(box).plan(Verb.RESTART)).refusal)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"argv": ()}, "`command`"),
        ({"log": ""}, "`log`"),
        ({"run_dir": "/nowhere"}, "run folder /nowhere is missing"),
        ({"log": "."}, "is a folder"),
        ({"script": "missing.py"}, "is missing on the host"),
        ({"script": "."}, "is a folder on the host"),
    ],
)
async def test_what_the_settings_or_the_host_lack_is_refused(box: Box, change: dict[str, str], words: str) -> None:
    control = JobControl(HOST, replace(box.spec, **change))  # type: ignore[arg-type]  # a test's own table
    assert words in str((await control.plan(Verb.START)).refusal)


async def test_a_script_without_a_place_is_refused(box: Box, script: Path) -> None:
    control = JobControl(HOST, replace(box.spec, script=""))
    assert "no `script`" in str((await control.plan(Verb.START, script)).refusal)


def test_a_diff_is_bounded_and_can_not_drive_the_terminal() -> None:
    diff = script_diff(b"", b"\x1b[2Jx\n" * 5_000)
    assert len(diff) == MAX_DIFF_LINES + 1
    assert diff[-1].startswith("... ")
    assert "\x1b" not in "".join(diff)


# -- acts


async def test_a_restart_stops_puts_starts_and_checks(box: Box, script: Path) -> None:
    old = await started(box)
    control = control_of(box)
    steps = await act(control, await control.plan(Verb.RESTART, script))
    assert [(step.name, step.state) for step in steps] == [
        ("check that nothing has changed", "done"),
        ("stop the process group", "done"),
        ("put the script in place", "done"),
        ("start the job", "done"),
        ("check that it runs", "done"),
    ]
    (new,) = box.pids()
    assert new != old
    assert box.path.read_text() == NEW
    (kept,) = box.folder.glob("job.py.*")
    assert kept.read_text() == SLEEPER
    assert str(kept) in steps[2].detail
    fact = await control.process_fact()
    assert (fact.alive, fact.pid, fact.adopted, fact.restarts) == (True, new, False, 1)


async def test_a_stop_tells_how_far_it_is(box: Box) -> None:
    box.write(STUBBORN)
    await started(box)
    control = control_of(box, grace_s=1.2)
    told = [step async for step in control.carry_out(await control.plan(Verb.STOP))]
    details = [step.detail for step in told if step.name == "stop the process group"]
    assert details[:2] == ["", "asked 1 process to end"]
    assert any(detail.startswith("waiting: 1 process left") for detail in details)
    assert any("KILL" in detail for detail in details)
    assert told[-1].state == "done"
    assert told[-1].seconds is not None
    assert box.pids() == set()


async def test_an_adopted_job_is_told_as_such_and_restarted(box: Box) -> None:
    with _by_hand(box, [sys.executable, "job.py"]) as hand:
        await until(lambda: box.pids() == {hand.pid})
        control = control_of(box)
        assert (await control.process_fact()).adopted
        plan = await control.plan(Verb.RESTART)
        assert any("longwait did not start it" in line for line in plan.lines)
        steps = await act(control, plan)
    assert steps[-1].state == "done"
    assert hand.pid not in box.pids()
    assert not (await control.process_fact()).adopted


async def test_what_is_sent_is_what_the_plan_showed(box: Box, script: Path) -> None:
    control = control_of(box)
    plan = await control.plan(Verb.START, script)
    write(script, b"changed since\n")
    await act(control, plan)
    assert box.path.read_text() == NEW


async def test_a_plan_that_is_no_longer_true_is_not_carried_out(box: Box, script: Path) -> None:
    control = control_of(box)
    idle = await control.plan(Verb.START, script)
    pid = await started(box)
    running = await control.plan(Verb.RESTART, script)
    (step,) = await act(control, idle)
    assert (step.state, f"process {pid}" in step.detail) == ("failed", True)
    box.write(SLEEPER + "# changed by somebody\n")
    (step,) = await act(control, running)
    assert "was changed meanwhile" in step.detail
    assert box.pids() == {pid}
    os.kill(pid, signal.SIGKILL)
    await until(lambda: not box.pids())
    (step,) = await act(control, running)
    assert "has ended by itself" in step.detail
    await started(box)
    (step,) = await act(control, running)
    assert f"not process {pid} any more" in step.detail


async def test_a_new_script_that_fails_tells_the_way_back_and_it_works(box: Box, script: Path) -> None:
    await started(box)
    write(script, FAILING.encode())
    control = JobControl(HOST, box.spec, launcher=PATIENT, grace_s=10)
    last = (await act(control, await control.plan(Verb.RESTART, script)))[-1]
    assert (last.name, last.state) == ("start the job", "failed")
    assert "no such dataset" in last.detail
    assert "The old job is stopped, and none runs now" in last.detail
    assert box.pids() == set()
    undo = last.detail.partition("run on the host: ")[2].partition(" and then start")[0]
    await _run(undo)
    assert box.path.read_text() == SLEEPER
    control = control_of(box)
    assert (await act(control, await control.plan(Verb.START)))[-1].state == "done"


async def _run(command: str) -> None:
    shell = await asyncio.create_subprocess_shell(command)
    assert await shell.wait() == 0


async def test_an_upload_that_fails_leaves_the_former_script_and_says_so(box: Box, script: Path) -> None:
    await started(box)
    control = control_of(box)
    plan = await control.plan(Verb.RESTART, script)
    path = box.path
    broken = JobControl(HOST, replace(box.spec, script="missing/job.py"), launcher=Moved)
    last = (await act(broken, plan))[-1]
    assert (last.name, last.state) == ("put the script in place", "failed")
    assert "The old job is stopped" in last.detail
    assert "former one, whole" in last.detail
    assert path.read_text() == SLEEPER


@pytest.mark.parametrize(
    ("breaks_at", "after", "words"),
    [
        (1, False, "Nothing was done"),
        (2, False, "may not have begun"),
        (2, True, "goes on with it by itself"),
        (3, False, "the former or the new one, whole"),
        (4, False, "may have been started"),
        (4, True, "may have been started"),
        (5, False, "Look again"),
    ],
)
async def test_a_lost_link_is_told_with_the_state_of_the_host(
    box: Box, script: Path, breaks_at: int, after: bool, words: str
) -> None:
    await started(box)
    plan = await control_of(box).plan(Verb.RESTART, script)
    last = (await act(control_of(box, host=Flaky(breaks_at, after=after)), plan))[-1]
    assert last.state == "failed"
    assert "The link is gone." in last.detail
    assert words in last.detail
    assert box.path.read_text() in {SLEEPER, NEW}
    if breaks_at == 2 and after:
        await until(lambda: not box.pids())
    found = await find(HOST, box.spec)
    assert len(found.processes) == (breaks_at in {1, 5} or (breaks_at == 2 and not after) or (breaks_at == 4 and after))


@pytest.mark.parametrize("breaks_at", [2, 3])
@pytest.mark.parametrize("script", ["job.py", ""])
async def test_of_a_script_is_only_spoken_where_there_is_one(box: Box, script: str, breaks_at: int) -> None:
    await started(box)
    spec = replace(box.spec, script=script)
    plan = await JobControl(HOST, spec, launcher=FAST).plan(Verb.RESTART)
    broken = JobControl(Refusing(breaks_at), spec, launcher=FAST, grace_s=10)
    last = (await act(broken, plan))[-1]
    assert (last.name, last.state) == (("", "", "stop the process group", "start the job")[breaks_at], "failed")
    assert ("script" in last.detail) is bool(script)
    assert last.detail.startswith("The host refuses. ")


async def test_a_failed_stop_says_nothing_of_starts(box: Box) -> None:
    await started(box)
    plan = await control_of(box).plan(Verb.STOP)
    last = (await act(control_of(box, host=Refusing(2)), plan))[-1]
    assert last.detail == "The host refuses. Nothing else was done."


async def test_who_leaves_a_stop_is_told_what_becomes_true(box: Box) -> None:
    box.write(STUBBORN)
    await started(box)
    control = control_of(box, grace_s=1.2)
    plan = await control.plan(Verb.STOP)
    asked = asyncio.Event()

    async def stop() -> None:
        async for step in control.carry_out(plan):
            if step.name == STOP_STEP and step.detail:
                asked.set()

    stopping = asyncio.create_task(stop())
    await asyncio.wait_for(asked.wait(), 10)
    stopping.cancel()
    await asyncio.wait([stopping])
    assert stopping.cancelled()
    assert "goes on with the stop by itself" in WHEN_LEFT
    await until(lambda: not box.pids())
    assert not (await control.process_fact()).alive


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("gone", "gone."),
        ("gone.", "gone."),
        ("no response..", "no response."),
        ("It said: x...", "It said: x..."),
        ("Is it up?", "Is it up?"),
        (" ", ""),
    ],
)
def test_a_sentence_has_one_end(said: str, told: str) -> None:
    assert sentence(said) == told


async def test_no_job_is_a_fact_too(box: Box) -> None:
    fact = await control_of(box).process_fact()
    assert (fact.alive, fact.pid, fact.restarts) == (False, None, 0)
    assert fact.script_sha256


async def test_the_seconds_of_a_step_are_the_clocks(box: Box) -> None:
    now = datetime(2026, 3, 1, tzinfo=UTC)
    control = JobControl(HOST, box.spec, launcher=FAST, clock=lambda: now)
    steps = await act(control, await control.plan(Verb.START))
    assert [step.seconds for step in steps] == [0.0] * 3
