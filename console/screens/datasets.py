"""A screen from which a dataset can be opened: what is looked up is renewed while it is open, and never otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import on

from console.panels.progress import ProgressPanel
from console.screens.commanded import CommandedScreen

if TYPE_CHECKING:
    from console.job.dataset_detail import DatasetDetail
    from console.job.snapshot import Snapshot
    from console.screens.dataset import DatasetScreen
    from console.screens.setup import Setup

NONE_KNOWN = "No dataset is known yet."


class DatasetOpeningScreen(CommandedScreen):
    """The action of the command that opens a dataset."""

    setup: Setup
    _dataset_open: DatasetScreen | None = None

    @property
    def known(self) -> Snapshot | None:
        """What is known of the run; the subclass's to say."""
        return None

    def dataset_detail(self, name: str) -> DatasetDetail | None:  # noqa: ARG002 - the subclass's to say
        """Look closely at one dataset; None while nothing is known of it."""
        return None

    def action_open_dataset(self) -> None:
        """Open the dataset at the cursor, or else the one at work."""
        name = self.query_one(ProgressPanel).dataset
        if name:
            self._open_dataset(name)
        else:
            self.refuse(NONE_KNOWN)

    @on(ProgressPanel.Opened)
    def _open_asked(self, message: ProgressPanel.Opened) -> None:
        """Open the one that was clicked."""
        message.stop()
        self._open_dataset(message.name)

    def renew_dataset(self, snapshot: Snapshot) -> None:
        """Draw what is new of the dataset that is open, when one is."""
        if self._dataset_open is not None and self._dataset_open.is_attached:
            self._dataset_open.snapshot = snapshot

    def _open_dataset(self, name: str) -> None:
        from console.screens.dataset import DatasetScreen  # noqa: PLC0415 - the first frame need not wait for it

        known = self.known
        if known is None:
            self.refuse(NONE_KNOWN)
            return
        self._dataset_open = DatasetScreen(
            self.dataset_detail, known, name, clock=self.setup.clock, zone=self.setup.zone
        )
        self.app.push_screen(self._dataset_open, self._forget_dataset)

    def _forget_dataset(self, _result: None) -> None:
        self._dataset_open = None
