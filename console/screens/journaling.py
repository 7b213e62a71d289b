"""A screen that keeps a journal: the verdict's changes, the operator's notes, and a look at what is in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.journal import Kind
from console.journal_verdicts import VerdictNotes
from console.screens.commanded import CommandedScreen

if TYPE_CHECKING:
    from console.job.snapshot import Snapshot
    from console.journal import Journal
    from console.screens.setup import Setup

NOT_YET = "There is no journal yet: the run is still being opened."


class JournalingScreen(CommandedScreen):
    """The actions of the commands on the journal; where it lies is the setup's to say."""

    setup: Setup
    _verdicts: VerdictNotes | None = None

    @property
    def _journal(self) -> Journal | None:
        return self.setup.journal()

    def note_verdict(self, snapshot: Snapshot) -> None:
        """Write the verdict down when it has changed for good."""
        journal = self._journal
        if journal is None:
            return
        if self._verdicts is None:
            self._verdicts = VerdictNotes(journal)
        self._verdicts.take(snapshot)

    def action_write_note(self) -> None:
        """Let the operator add words of their own."""
        from console.screens.journal import NoteScreen  # noqa: PLC0415 - the first frame need not wait for it

        if self._journal is None:
            self.refuse(NOT_YET)
        else:
            self.app.push_screen(NoteScreen(), self._keep_note)

    def action_show_journal(self) -> None:
        """Show what is in the journal."""
        from console.screens.journal import JournalScreen  # noqa: PLC0415 - as above

        journal = self._journal
        if journal is None:
            self.refuse(NOT_YET)
        else:
            entries = journal.recent()
            self.app.push_screen(JournalScreen(entries, self.setup.zone, journal.trouble))

    def _keep_note(self, words: str | None) -> None:
        journal = self._journal
        if not words or journal is None:
            return
        journal.write(Kind.NOTE, words)
        self.notify(journal.trouble or "Noted.", severity="error" if journal.trouble else "information", markup=False)
