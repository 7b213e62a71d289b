"""What can be done to the job: the act, its plan, and its steps, frozen."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import sha256
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

    from remote.process import FoundProcess


PROVE_STEP = "check that nothing has changed"
STOP_STEP = "stop the process group"
"""The step in which the host is asked to stop the job."""
PUT_STEP = "put the script in place"
START_STEP = "start the job"
CHECK_STEP = "check that it runs"
"""The steps of an act, in order."""


class Verb(StrEnum):
    """What can be done to the job."""

    START = "start"
    STOP = "stop"
    RESTART = "restart"


CheckState = Literal["ok", "warning", "bad", "unknown"]
"""How a check ended; ``bad`` refuses the act."""

SIGNS: dict[CheckState, str] = {"ok": "✓", "warning": "!", "bad": "✗", "unknown": "?"}
"""The sign of each, so that none is told by a colour."""


@dataclass(frozen=True, slots=True)
class Check:
    """Something that was looked at before an act.

    Attributes:
        name: What: ``imports``.
        state: How it ended.
        detail: What was found, or why it could not be seen.
    """

    name: str
    state: CheckState
    detail: str

    @property
    def line(self) -> str:
        """It in one line."""
        return f"{SIGNS[self.state]} {self.name}: {self.detail}"


@dataclass(frozen=True, slots=True)
class ActionPlan:
    """What would be done, shown before it is done.

    Attributes:
        verb: The act.
        title: One line: the act, the job, the host.
        lines: What will happen and what it costs, a sentence each.
        refusal: Why it can't be done now, with what to do; None when it can.
        process: The process that the plan is about, identity included; None when none runs.
        script: The local script that will be put in place; None to keep the host's.
        diff: Unified diff of the script on the host against the new one; empty when same or not asked.
        new_script: The content of ``script`` as the diff shows it: just this is sent.
        host_sha256: SHA-256 of the script on the host as the plan saw it; None when there was none.
        checks: What was looked at before.
        argv: The command that will be started; empty when none will.
        gpu_pids: Processes of the job that hold GPU memory now; None when that is not known.
        why: The reason that the operator gave, or the verdict at the time; for the journal.
        rolls_back: It puts back what a former act has replaced.
        about: How many of ``lines`` are about the process; what is at stake is told after them.
        env_of: The process whose environment is given to the new one, by boot id, pid and start ticks; None for the
            config's environment.
        env_changed: Names of the variables that the process which runs has otherwise.
    """

    verb: Verb
    title: str
    lines: tuple[str, ...]
    refusal: str | None = None
    process: FoundProcess | None = None
    script: Path | None = None
    diff: tuple[str, ...] = ()
    new_script: bytes | None = field(default=None, repr=False)
    host_sha256: str | None = None
    checks: tuple[Check, ...] = ()
    argv: tuple[str, ...] = ()
    gpu_pids: tuple[int, ...] | None = None
    why: str = ""
    rolls_back: bool = False
    about: int = 0
    env_of: tuple[str, int, int] | None = None
    env_changed: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The act in a word or two: ``restart``, ``roll back``."""
        return "roll back" if self.rolls_back else self.verb.value

    @property
    def check_lines(self) -> tuple[str, ...]:
        """The checks, those first that did not go well, and those that did in one line."""
        well = "; ".join(check.detail for check in self.checks if check.state == "ok")
        other = tuple(check.line for check in self.checks if check.state != "ok")
        return (*other, f"{SIGNS['ok']} checked: {well}.") if well else other

    @property
    def wanted_sha256(self) -> str | None:
        """SHA-256 of the script that will run; None when there is none."""
        return self.host_sha256 if self.new_script is None else sha256(self.new_script).hexdigest()


@dataclass(frozen=True, slots=True)
class ActResult:
    """What an act has changed on the host.

    Attributes:
        pid: The new process; None when none was started.
        started_at: When it began, by the host's clock, UTC.
        sha256: SHA-256 of the script that it runs; None when there is no script.
        kept: Where the former script is kept on the host; None when it was not replaced.
        place: The tmux session or the unit that it runs in; may be empty.
        act: The act's name in the journal; empty where it has none.
    """

    pid: int | None = None
    started_at: datetime | None = None
    sha256: str | None = None
    kept: str | None = None
    place: str = ""
    act: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """One step of an act, told when it begins and when it ends.

    Attributes:
        name: A short phrase: ``stop the process group``.
        state: ``running``, ``done`` or ``failed``.
        detail: What came of it, or why it failed and what to do.
        seconds: How long it took; None while running.
        result: What the whole act has changed so far; None while a step runs.
    """

    name: str
    state: str
    detail: str = ""
    seconds: float | None = None
    result: ActResult | None = None
