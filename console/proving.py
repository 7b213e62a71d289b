"""The proof of a start, followed: from the act's end to the entry in the journal. asyncio only, no screen."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING

from console.act_former import ends_act
from console.job.lines import clean
from console.job.proof import GpuSeen, Proof, begin, look
from console.job.proof_facts import Begun, before_from, before_of
from console.job.proof_items import GPU_S
from console.job.units import duration
from console.journal import Kind
from remote.errors import RemoteError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime, tzinfo

    from console.acts import ActionPlan, Step
    from console.control import Controller
    from console.job.proof import Item
    from console.job.snapshot import Snapshot
    from console.journal import Entry, Journal

GPU_EVERY_S = 5.0
"""Seconds between two looks at the GPUs' memory while it is not free."""

TAKEN_UP = timedelta(hours=2)
"""How old a start may be whose proof another console takes up."""

_MINUTE_S = 60.0


class Proving:
    """One proof under way.

    Args:
        begun: What was started.
        act: The act's name in the journal.
        title: The act in a phrase.
    """

    def __init__(self, begun: Begun, act: str, title: str) -> None:
        self.proof: Proof = begin(begun)
        self._act = act
        self._title = title
        self._gpu: GpuSeen | None = None
        self._written = False

    def take(self, snapshot: Snapshot) -> bool:
        """Take in what is shown; whether the checklist has changed."""
        before, self.proof = self.proof, look(self.proof, snapshot, self._gpu)
        return before != self.proof

    async def watch_gpus(self, control: Controller) -> None:
        """Ask for the GPUs' memory until it is free, or long enough."""
        pids = self.proof.begun.before.gpu_pids
        if not pids:
            return
        for _ in range(round(GPU_S / GPU_EVERY_S) + 2):
            self._gpu = await _asked(control, pids)
            if self.proof.ended or not self._gpu.held:
                return
            await asyncio.sleep(GPU_EVERY_S)

    def write(self, journal: Journal | None) -> Entry | None:
        """Write what it came to into the journal, once, when it has ended."""
        if self._written or not self.proof.ended or journal is None:
            return None
        self._written = True
        items = [{"name": item.name, "state": item.state, "detail": item.detail} for item in self.proof.items]
        more = {"ok": not self.proof.failed, "items": items}
        what = f"Proof of: {self._title[0].lower()}{self._title[1:]}"
        return journal.write(Kind.PROOF, what, outcome=self.proof.outcome, act=self._act, more=more)


async def _asked(control: Controller, pids: Sequence[int]) -> GpuSeen:
    try:
        memory = await control.gpu_memory(pids)
    except RemoteError as error:
        return GpuSeen(error=clean(error.message))
    if memory is None or memory.error is not None:
        return GpuSeen(error=clean((memory.error if memory else None) or "the host has no nvidia-smi"))
    return GpuSeen(tuple((app.pid, app.mib) for app in memory.apps if app.ours))


def proving(
    plan: ActionPlan, last: Step | None, usual: Snapshot | None, at_start: Snapshot | None, now: datetime
) -> Proving | None:
    """The proof of an act that has started a process; None for one that has not.

    Args:
        plan: What was done.
        last: The act's last step.
        usual: The run as it was before the act.
        at_start: The run just before the new process was started.
        now: The time now.
    """
    result = last.result if last is not None and last.state == "done" else None
    if result is None or result.pid is None:
        return None
    before = before_of(usual, at_start, () if plan.process is None else plan.gpu_pids)
    return Proving(Begun(now, result.pid, result.started_at, result.sha256, before), result.act, plan.title)


def taken_up(entries: Sequence[Entry], now: datetime) -> Proving | None:
    """The proof of the newest start that nobody has proven, from the journal; None when there is none.

    Args:
        entries: The newest entries, in the order in which they were written.
        now: The time now.
    """
    proven = {entry.act for entry in entries if entry.kind == Kind.PROOF}
    action = next((entry for entry in reversed(entries) if ends_act(entry)), None)
    if action is None or action.act in proven or now - action.at > TAKEN_UP:
        return None
    return _from(action)


def _from(action: Entry) -> Proving | None:
    more = action.more
    pid, sha256 = more.get("pid"), more.get("sha256")
    if not isinstance(pid, int) or more.get("ok") is not True:
        return None
    before = more.get("before")
    begun = Begun(
        action.at,
        pid,
        action.at,
        sha256 if isinstance(sha256, str) else None,
        before_from(before if isinstance(before, dict) else None),
    )
    return Proving(begun, action.act, action.what)


def item_words(item: Item, zone: tzinfo | None) -> str:
    """What is seen of a line of the checklist, with when it is expected: ``expected 03:22 +- 40 s``.

    Args:
        item: The line.
        zone: The operator's zone; None is this machine's.
    """
    due = expected(item.due, zone) if item.due is not None and item.state == "waiting" else ""
    return "; ".join(text for text in (due, clean(item.detail)) if text)


def expected(due: tuple[datetime, datetime], zone: tzinfo | None) -> str:
    """When something is expected, with how sure that is."""
    half = (due[1] - due[0]) / 2
    middle = due[0] + half
    told = (
        f"{middle.astimezone(zone):%H:%M:%S}"
        if half.total_seconds() < _MINUTE_S
        else f"{middle.astimezone(zone):%H:%M}"
    )
    return f"expected {told} ± {duration(half.total_seconds())}"
