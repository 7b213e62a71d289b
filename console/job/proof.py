"""The proof that a start has worked: a checklist that fills itself from what the run shows.

What speaks for the new process counts at once; what speaks against it only when it is certain, or later than could be
expected: a first progress line that is not yet due is no news.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from console.job import proof_items as lines
from console.job.proof_items import BUDGETS, COUNTS, ERRORS, FIRST, GPU, PROCESS, SCRIPT, SPEED, GpuSeen, Item, Seen

if TYPE_CHECKING:
    from datetime import datetime

    from console.job.proof_facts import Begun
    from console.job.snapshot import Snapshot

__all__ = ["GpuSeen", "Item", "Proof", "begin", "look"]


@dataclass(frozen=True, slots=True)
class Proof:
    """The checklist, at one moment.

    Attributes:
        begun: What was started.
        items: The lines.
        sent_at: When the new process was first seen to have sent requests, by the console's clock.
    """

    begun: Begun
    items: tuple[Item, ...]
    sent_at: datetime | None = None

    @property
    def ended(self) -> bool:
        """Nothing is waited for any more: all is settled, or the process is gone."""
        return self.items[0].state == "failed" or all(item.state != "waiting" for item in self.items)

    @property
    def failed(self) -> tuple[Item, ...]:
        """What speaks against it."""
        return tuple(item for item in self.items if item.state == "failed")

    @property
    def outcome(self) -> str:
        """What it has come to, as a sentence."""
        if self.failed:
            named = "; ".join(f"{item.name}: {item.detail}" for item in self.failed)
            return f"Not as it should be: {named}."
        settled = sum(item.state == "ok" for item in self.items)
        unseen = [item.name for item in self.items if item.state == "unknown"]
        if not self.ended:
            return f"{settled} of {len(self.items)} proven, the rest is awaited."
        cant = f"; what can't be seen: {', '.join(unseen)}" if unseen else ""
        return f"Proven: {settled} of {len(self.items)}{cant}."


def begin(begun: Begun) -> Proof:
    """The checklist before anything was seen."""
    return Proof(begun, tuple(Item(name) for name in (PROCESS, SCRIPT, BUDGETS, COUNTS, FIRST, SPEED, ERRORS, GPU)))


def look(proof: Proof, snapshot: Snapshot, gpu: GpuSeen | None) -> Proof:
    """The checklist after another look; what is settled stays, but for the process, which must live all along.

    Args:
        proof: So far.
        snapshot: What the run shows.
        gpu: What is known of the GPUs' memory; None while it is being asked.
    """
    if proof.ended:
        return proof
    seen = Seen(proof.begun, snapshot)
    sent = proof.sent_at or (snapshot.at if seen.working is not None else None)
    proof = replace(proof, sent_at=sent)
    now = dict(zip((item.name for item in proof.items), proof.items, strict=True))
    fresh = {
        PROCESS: lines.process(seen),
        SCRIPT: lines.script(seen),
        BUDGETS: lines.budgets(seen),
        COUNTS: lines.counts(seen),
        FIRST: lines.first(seen, now[FIRST]),
        SPEED: lines.speed(seen, sent),
        GPU: lines.gpu(seen, gpu),
    }
    fresh[ERRORS] = lines.errors(seen, fresh[FIRST] if now[FIRST].state == "waiting" else now[FIRST])
    items = tuple(fresh[item.name] if item.state == "waiting" or item.name == PROCESS else item for item in proof.items)
    return replace(proof, items=items)
