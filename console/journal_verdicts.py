"""Changes of the verdict, for the journal: those that last, each once, however many consoles look on."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from console.journal import Kind

if TYPE_CHECKING:
    from datetime import datetime

    from console.job.snapshot import Judgement, Snapshot
    from console.journal import Journal

LASTS = timedelta(seconds=10)
"""How long a verdict must hold: while logs are read at the start it is another every moment."""


class VerdictNotes:
    """Writes the verdict's changes into a journal.

    Args:
        journal: Where to; what it says last counts as written, whichever console wrote it.
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._seen: tuple[Judgement, str] | None = None
        self._since: datetime | None = None
        self._told: tuple[Judgement, str] | None = None

    def take(self, snapshot: Snapshot) -> None:
        """Take in what is shown; most often this does nothing."""
        verdict = snapshot.verdict
        if snapshot.link.state == "connecting":
            return
        now = (verdict.verdict, verdict.cause)
        if now != self._seen:
            self._seen, self._since = now, snapshot.at
        if now == self._told or self._since is None or snapshot.at - self._since < LASTS:
            return
        self._told = now
        if now != self._newest():
            what = f"{verdict.verdict.upper()} ({verdict.cause})"
            since = self._since.isoformat(timespec="seconds")
            more = {"verdict": verdict.verdict.value, "cause": verdict.cause, "since": since}
            self._journal.write(Kind.VERDICT, what, outcome=verdict.headline, more=more)

    def _newest(self) -> tuple[str, str] | None:
        written = (entry.more for entry in reversed(self._journal.recent()) if entry.kind == Kind.VERDICT)
        more = next(written, None)
        return None if more is None else (str(more.get("verdict")), str(more.get("cause")))
