"""What is taken off the screen: text to the clipboard, a picture with its reading, the mouse for selecting."""

from __future__ import annotations

import asyncio
from datetime import UTC
from typing import TYPE_CHECKING, ClassVar

from textual import work
from textual.screen import ModalScreen, ScreenResultType

from console import clipboard, pictures
from console.messages import NoticeGiven
from console.panels.verdict import VerdictPanel
from console.screens.copy_out import copy_out
from console.screens.coverable import Coverable
from console.screens.log_reading import LogReadingScreen
from console.screens.own_keys import follows
from widgets.drawn import drawn
from widgets.plain import clean

if TYPE_CHECKING:
    from datetime import datetime

    from textual.binding import BindingType

    from console.job.snapshot import Snapshot
    from console.panels.panel import Panel
    from console.screens.setup import Setup


class CopyingScreen(LogReadingScreen):
    """A screen of panes from which text, pictures and the mouse can be taken."""

    setup: Setup

    @property
    def known(self) -> Snapshot | None:
        """What is known of the run; the subclass's to say."""
        return None

    @property
    def pane(self) -> Panel | None:
        """The pane that has the focus; the subclass's to say."""
        return None

    @property
    def _pane_to_copy(self) -> Panel:
        """The pane that has the focus; without any, the verdict, which says the most."""
        return self.pane or self.query_one(VerdictPanel)

    def action_copy_line(self) -> None:
        """Copy the log's line, the figure at hand, or the pane's sentence."""
        if self.beside_logs:
            super().action_copy_line()
        else:
            copy_out(self, self._pane_to_copy.at_hand())

    def action_copy_block(self) -> None:
        """Copy the log's marked lines, or the whole pane, with the host and the time above."""
        if self.beside_logs:
            super().action_copy_block()
            return
        now = self.setup.clock().astimezone(self.setup.zone)
        head = clean(f"longwait  {self.setup.host}  {now:%a %d %b %Y %H:%M:%S %Z}")
        copy_out(self, (head, *self._pane_to_copy.whole()))

    def action_save_picture(self) -> None:
        """Save a picture of the screen, and the reading behind it."""
        at = self.setup.clock().astimezone(UTC)
        self.write_picture(self.app.export_screenshot(title=f"longwait {self.setup.host}"), at)

    @work(exclusive=True, group="picture", exit_on_error=False)
    async def write_picture(self, picture: str, at: datetime) -> None:
        """Write both files, without holding up the screen, and say where they are."""
        try:
            path = await asyncio.to_thread(
                pictures.save, pictures.pictures_path(), self.setup.host, at, picture, self.known
            )
        except clipboard.NotKept as error:
            self.post_message(NoticeGiven(str(error), "error"))
            return
        beside = " and its .json" if self.known is not None else ""
        self.post_message(NoticeGiven(f"Saved {clipboard.short(path)}{beside}.", "info"))


class Copied(Coverable[ScreenResultType]):
    """A screen of one part that scrolls, which can be copied: what is in sight, or all of it."""

    COPIED: ClassVar[str] = ".listing"
    """What is copied, as a selector."""

    BINDINGS: ClassVar[list[BindingType]] = [
        follows("copy", "copy_line", "Copy", tooltip="Copies the rows in sight."),
        follows("copy-block", "copy_block", "Copy all", tooltip="Copies the whole list."),
    ]

    def action_copy_line(self) -> None:
        """Copy the rows in sight."""
        box = self.query_one(self.COPIED)
        first = int(box.scroll_y)
        copy_out(self, drawn(box, first, first + box.scrollable_content_region.height))

    def action_copy_block(self) -> None:
        """Copy all rows."""
        copy_out(self, drawn(self.query_one(self.COPIED)))


class CopiedList(ModalScreen[ScreenResultType], Copied[ScreenResultType]):
    """A list over the screen that can be copied."""
