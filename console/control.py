"""What goes out: start, stop and restart of the job, with their guards. asyncio only, no screen.

Every act has two halves: a plan that only looks, and its carrying out, step by step.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
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
    """

    verb: Verb
    title: str
    lines: tuple[str, ...]
    refusal: str | None = None
    process: FoundProcess | None = None
    script: Path | None = None
    diff: tuple[str, ...] = ()


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


class Controller(Protocol):
    """What the screen and the commands need of control."""

    async def plan(self, verb: Verb, script: Path | None = None) -> ActionPlan:
        """Look at the host and say what would be done; changes nothing.

        Args:
            verb: The act.
            script: For start and restart: a local script to put in place of the host's; None keeps it.
        """
        ...

    def carry_out(self, plan: ActionPlan) -> AsyncIterator[Step]:
        """Do it; a step that fails is the last one. Whatever the plan saw is proven again first."""
        ...
