"""The server's own commands, run for real here, and the phases that its log tells until it serves."""

from __future__ import annotations

import os
import signal
import sys
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pytest
from msgspec import structs

from console import server_control
from console.config import ServerControlSettings, ServerSettings, Settings
from console.job.events import HealthProbe
from console.journal import Journal, Kind
from console.server_control import SERVE_STEP, ServerControl
from console.session import Session
from remote.errors import LinkLost, RemoteError
from remote.local import LocalHost
from tests import samples

if TYPE_CHECKING:
    from pathlib import Path

    from console.acts import Step
    from console.job.snapshot import Snapshot
    from console.journal import Entry


@dataclass
class Phases:
    """A feed whose server goes from phase to phase, one a look; it answers in the last one."""

    phases: list[str]
    trouble: str = ""
    failure: RemoteError | None = None
    looks: int = 0
    always_answers: bool = False

    def snapshot(self, _at: object) -> Snapshot:
        healthy = samples.healthy()
        phase = self.phases[min(self.looks, len(self.phases) - 1)]
        self.looks += 1
        return replace(healthy, server=replace(healthy.server, phase=phase, trouble=self.trouble))

    async def ping(self) -> HealthProbe:
        if self.failure is not None:
            raise self.failure
        return HealthProbe("/health", self.always_answers or self.looks >= len(self.phases), 200, 0.1)


@dataclass
class Shared:
    """What of the job's control is asked for."""

    shared: list[Entry] = field(default_factory=list)

    async def share(self, entry: Entry) -> None:
        self.shared.append(entry)


@dataclass
class Scene:
    """The server's control, and what it writes into."""

    control: ServerControl
    journal: Journal
    job: Shared


def scene(tmp_path: Path, feed: Phases, **control: Any) -> Scene:
    given = ServerControlSettings(log=str(tmp_path / "control.log"), **control)
    server = ServerSettings(url="http://127.0.0.1:9", log=("server.log",), control=given)
    settings = Settings(host="local", server=server)
    settings = structs.replace(settings, job=structs.replace(settings.job, python=sys.executable))
    journal = Journal(tmp_path / "j", host="local", clock=lambda: samples.NOW, user="me@desk")
    job = Shared()
    session = Session(settings, LocalHost(), feed, job, journal)  # type: ignore[arg-type]  # what is asked of them
    return Scene(ServerControl(session, lambda: samples.NOW), journal, job)


async def carried(made: Scene, verb: str = "restart") -> list[Step]:
    return [step async for step in made.control.carry_out(await made.control.plan(verb))]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_control, "PROBE_S", 0.0)


async def test_its_phases_are_told_until_it_serves(tmp_path: Path) -> None:
    phases = [*["ready"] * 4, "starting", "loading weights", "loading weights", "capturing graphs", "ready"]
    mark = tmp_path / "it's $(done)"
    made = scene(tmp_path, Phases(phases), restart=("touch", str(mark)))
    plan = await made.control.plan("restart")
    assert any(f"touch '{tmp_path}/it'" in line for line in plan.lines)
    steps = await carried(made)
    assert mark.exists()
    told = [step.detail.partition(",")[0] for step in steps if step.name == SERVE_STEP and step.detail]
    assert list(dict.fromkeys(told)) == ["loading weights", "capturing graphs", "ready"]
    assert [(step.name, step.state) for step in steps if step.state != "running"] == [
        ("run touch", "done"),
        (SERVE_STEP, "done"),
    ]
    entry = made.journal.entries()[-1]
    assert (entry.kind, entry.outcome) == (Kind.ACTION, "The server is restarted.")
    assert entry.more == {"server": "restart", "ok": True}
    assert [one.outcome for one in made.job.shared] == ["The server is restarted."]


async def test_stop_and_start_are_a_restart_and_the_first_that_fails_is_the_last(tmp_path: Path) -> None:
    stop = ("sh", "-c", "echo stopping; exit 3")
    made = scene(tmp_path, Phases(["ready"]), stop=stop, start=("touch", str(tmp_path / "x")))
    last = (await carried(made))[-1]
    assert (last.name, last.state) == ("run sh", "failed")
    assert "sh ended with status 3" in last.detail
    assert "stopping" in last.detail
    assert last.detail.endswith(f"Not run: touch {tmp_path}/x.")
    assert not (tmp_path / "x").exists()
    assert made.journal.entries()[-1].more["ok"] is False


async def test_a_server_that_ends_while_it_starts_is_told_with_its_reason(tmp_path: Path) -> None:
    made = scene(tmp_path, Phases([*["starting"] * 4, "dead"], "CUDA out of memory"), restart=("true",))
    last = (await carried(made))[-1]
    assert (last.name, last.state, last.detail) == (
        SERVE_STEP,
        "failed",
        "The server has ended: CUDA out of memory",
    )


async def test_the_word_of_a_dead_server_is_not_that_of_the_new_one(tmp_path: Path) -> None:
    phases = Phases([*["dead"] * 6, "starting", "ready"], "CUDA out of memory")
    assert (await carried(scene(tmp_path, phases, restart=("true",))))[-1].state == "done"
    phases = Phases([*["dead"] * 6, "starting", "dead"], "CUDA out of memory")
    assert (await carried(scene(tmp_path, phases, restart=("true",))))[-1].detail.startswith("The server has ended")


async def test_a_dead_server_of_which_nothing_new_is_heard_is_told_in_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_control, "OLD_S", 0.0)
    phases = Phases(["dead"], "CUDA out of memory")
    assert (await carried(scene(tmp_path, phases, start=("true",)), "start"))[-1].state == "failed"


async def test_what_answers_while_the_command_goes_on_is_the_former_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_control, "WAIT_S", 0.0)
    pid = tmp_path / "pid"
    phases = Phases([*["ready"] * 8, "starting", "ready"])
    phases.always_answers = True
    made = scene(tmp_path, phases, restart=("sh", "-c", f"echo $$ > {pid}; exec sleep 600"))
    try:
        steps = await carried(made)
    finally:
        os.kill(int(pid.read_text()), signal.SIGKILL)
    told = [step.detail.partition(",")[0] for step in steps if step.name == SERVE_STEP and step.detail]
    assert list(dict.fromkeys(told)) == ["ready", "starting"]
    assert told[-1] == "ready"


@pytest.mark.parametrize("verb", ["stop", "restart"])
async def test_a_stop_that_does_not_end_is_no_stop_and_nothing_is_started_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    monkeypatch.setattr(server_control, "END_S", 0.0)
    pid, started = tmp_path / "pid", tmp_path / "started"
    stop = ("sh", "-c", f"echo $$ > {pid}; exec sleep 600")
    made = scene(tmp_path, Phases(["ready"]), stop=stop, start=("touch", str(started)))
    try:
        last = (await carried(made, verb))[-1]
    finally:
        os.kill(int(pid.read_text()), signal.SIGKILL)
    assert last.state == "failed"
    assert "sh has not ended within 0 s. The command goes on by itself." in last.detail
    assert (f"Not run: touch {started}." in last.detail) is (verb == "restart")
    assert not started.exists()
    assert made.journal.entries()[-1].more["ok"] is False


async def test_a_console_that_is_closed_between_stop_and_start_says_what_was_not_run(tmp_path: Path) -> None:
    made = scene(tmp_path, Phases(["ready"]), stop=("true",), start=("touch", str(tmp_path / "started")))
    steps = made.control.carry_out(await made.control.plan("restart"))
    async for step in steps:
        if step.state == "done":
            break
    await steps.aclose()
    entry = made.journal.entries()[-1]
    assert entry.outcome == f"The console was closed before its end was seen. Not run: touch {tmp_path}/started."
    assert entry.more["ok"] is False


async def test_a_link_that_is_lost_meanwhile_leaves_the_command_to_itself(tmp_path: Path) -> None:
    feed = Phases(["starting"], failure=LinkLost("The link is gone."))
    last = (await carried(scene(tmp_path, feed, restart=("true",))))[-1]
    assert (last.state, last.detail) == ("failed", "The link is gone. The command goes on by itself.")


async def test_a_server_that_does_not_come_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_control, "UP_S", 0.0)
    last = (await carried(scene(tmp_path, Phases(["starting"]), restart=("true",))))[-1]
    assert (last.state, "did not serve within" in last.detail) == ("failed", True)


async def test_what_the_config_does_not_say_is_refused(tmp_path: Path) -> None:
    made = scene(tmp_path, Phases(["ready"]), stop=("true",))
    assert [made.control.can(verb) for verb in ("start", "stop", "restart")] == [False, True, False]
    with pytest.raises(RemoteError, match=r"how to restart the server; set server\.control"):
        await made.control.plan("restart")
    assert [step.state for step in await carried(made, "stop")][-1] == "done"
    assert made.journal.entries()[-1].outcome == "The server is stopped."
