"""What can be done to the job: the act, its plan, and its steps, frozen."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from remote.process import FoundProcess


class Verb(StrEnum):
    """What can be done to the job."""

    START = "start"
    STOP = "stop"
    RESTART = "restart"


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


@dataclass(frozen=True, slots=True)
class Step:
    """One step of an act, told when it begins and when it ends.

    Attributes:
        name: A short phrase: ``stop the process group``.
        state: ``running``, ``done`` or ``failed``.
        detail: What came of it, or why it failed and what to do.
        seconds: How long it took; None while running.
    """

    name: str
    state: str
    detail: str = ""
    seconds: float | None = None
