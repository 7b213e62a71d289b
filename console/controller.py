"""What the screen and the commands need of control: the protocol, so that neither knows how it is done."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from console.journal_remote import NEWEST_BYTES

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence
    from pathlib import Path

    from console.acts import ActionPlan, Step, Verb
    from console.journal import Entry
    from remote.control_checks import GpuMemory

WHEN_LEFT = "The host goes on with the stop by itself; look again with `longwait status`."
"""What to tell who leaves a stop before its end (Ctrl-C): ``carry_out`` can't, since a cancelled one says nothing more.

It is true from the first detail of ``STOP_STEP`` on; before, nothing has been asked of the host.
"""


@dataclass(frozen=True, slots=True)
class LeftOver:
    """An act that was broken off, and how it stands on the host.

    Attributes:
        title: What was broken off, when, and by whom.
        lines: How it stands, a sentence each.
        plan: What would finish it; None when nothing is left to do.
    """

    title: str
    lines: tuple[str, ...]
    plan: ActionPlan | None


class Controller(Protocol):
    """What the screen and the commands need of control."""

    async def plan(self, verb: Verb, script: Path | None = None) -> ActionPlan:
        """Look at the host and say what would be done; changes nothing.

        Args:
            verb: The act.
            script: For start and restart: a local script to put in place of the host's; None keeps it.
        """
        ...

    async def plan_back(self) -> ActionPlan:
        """Say how the former script and command would be put back; changes nothing."""
        ...

    async def left_over(self) -> LeftOver | None:
        """Look whether an act was broken off; None when none was."""
        ...

    async def gpu_memory(self, pids: Sequence[int]) -> GpuMemory | None:
        """Ask who holds GPU memory; None where there is nothing to ask.

        Args:
            pids: Processes that count as the job's.
        """
        ...

    async def journal_there(self, size: int = NEWEST_BYTES) -> tuple[Entry, ...]:
        """What the journal on the host holds, also of other machines' consoles; nothing where none is kept there.

        Args:
            size: Bytes of its end that are read.
        """
        ...

    async def share(self, entry: Entry | None) -> None:
        """Add an entry to the journal on the host, where one is kept there."""
        ...

    def carry_out(self, plan: ActionPlan, before: Mapping[str, Any] | None = None) -> AsyncIterator[Step]:
        """Do it; a step that fails is the last one. Whatever the plan saw is proven again first.

        When it is left in the middle of a stop, the host goes on by itself; ``WHEN_LEFT`` says so.

        Args:
            plan: What was seen and agreed to.
            before: What the run was before, as plain values: kept in the journal for its proof.
        """
        ...
