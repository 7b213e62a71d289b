"""A screen that keeps a journal: the verdict's changes, the operator's notes, and a look at what is in it."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, ClassVar

from textual import work

from console.job.lines import clean
from console.journal import Kind
from console.journal_remote import key_of, others
from console.journal_verdicts import VerdictNotes
from console.journal_words import headline
from console.messages import NoticeGiven
from console.screens.commanded import CommandedScreen
from remote.errors import RemoteError

if TYPE_CHECKING:
    from console.control import Controller
    from console.job.snapshot import Snapshot
    from console.journal import Entry, Journal
    from console.screens.journal import JournalScreen
    from console.screens.setup import Setup

logger = logging.getLogger(__name__)

NOT_YET = "There is no journal yet: the run is still being opened."


class JournalingScreen(CommandedScreen):
    """The actions of the commands on the journal; where it lies is the setup's to say."""

    AGAIN_S: ClassVar[float] = 15.0
    """Seconds after which the host's journal is looked at again: an act is written there when it has ended."""

    setup: Setup
    _control: Controller | None
    _verdicts: VerdictNotes | None = None
    _job: tuple[int | None, bool | None] | None = None
    _seen: frozenset[str] | None = None

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
        self._notice_others(snapshot)

    def _notice_others(self, snapshot: Snapshot) -> None:
        """Look who it was when the job's process is another one, or gone."""
        job = (snapshot.job.pid, snapshot.job.alive)
        if self._control is None or snapshot.job.alive is None or job == self._job:
            return
        self._job = job
        self.tell_others(self._control)

    @work(group="others", exclusive=True, exit_on_error=False)
    async def tell_others(self, control: Controller) -> None:
        """Tell what others have done since this console was opened, as far as the journal on the host has it."""
        for wait_s in (0.0, self.AGAIN_S):
            await asyncio.sleep(wait_s)
            try:
                there = await control.journal_there()
            except RemoteError as error:
                logger.warning("The journal on the host could not be read: %s", error)
                return
            journal = self._journal
            found = {key_of(entry): entry for entry in others(journal.recent() if journal else (), there)}
            new = [] if self._seen is None else [entry for key, entry in found.items() if key not in self._seen]
            self._seen = frozenset(found)
            for entry in new:
                self.post_message(NoticeGiven(f"By {clean(entry.user)}: {headline(entry)}"))
            if new or not there:
                return

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
            shown = JournalScreen(journal.recent(), self.setup.zone, journal.trouble)
            self.app.push_screen(shown)
            if self._control is not None:
                self.read_there(shown, self._control)

    @work(group="journal", exclusive=True, exit_on_error=False)
    async def read_there(self, shown: JournalScreen, control: Controller) -> None:
        """Show what the host's journal has besides, once it is there."""
        try:
            there = await control.journal_there()
        except RemoteError as error:
            self.post_message(NoticeGiven(f"The journal on the host could not be read: {error}", "warning"))
            return
        if there and shown.is_attached:
            shown.call_after_refresh(shown.add, there)  # what it was opened with must be there first

    def _keep_note(self, words: str | None) -> None:
        journal = self._journal
        if not words or journal is None:
            return
        entry = journal.write(Kind.NOTE, words)
        if self._control is not None:
            self.share_note(entry, self._control)
        self.notify(journal.trouble or "Noted.", severity="error" if journal.trouble else "information", markup=False)

    @work(group="share", exit_on_error=False)
    async def share_note(self, entry: Entry, control: Controller) -> None:
        """Let those who look from other machines read it, where the config wants that."""
        try:
            await control.share(entry)
        except RemoteError as error:
            self.post_message(NoticeGiven(f"The note is kept here, but not on the host: {error}", "warning"))
