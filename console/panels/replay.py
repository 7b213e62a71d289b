"""The bar of a replay: where it stands in the recording, how fast it goes, and what was judged where."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.reactive import var

from console.job import units
from console.job.snapshot import Judgement
from console.panels.panel import Panel
from widgets.scrub import Ribbon, Scrub, Tone

if TYPE_CHECKING:
    from datetime import datetime

    from textual.app import ComposeResult

    from console.job.snapshot import Snapshot
    from console.replay_transport import Transport

TONES: dict[Judgement, Tone] = {
    Judgement.WAIT: "good",
    Judgement.BLIND: "blind",
    Judgement.WATCH: "warn",
    Judgement.INTERVENE: "bad",
}
"""The bar's tone for each verdict."""


def pace(transport: Transport) -> str:
    """Give whether it plays, and the speed: ``▶ 600x``, ``paused 600x``."""
    until = transport.read_until
    if transport.target is not None and (until is None or until < transport.target):
        return "» reading"
    return f"{'▶' if transport.playing else 'paused'} {transport.speed:g}x"


def ribbon(transport: Transport) -> Ribbon:
    """Give what was judged where, as far as the recording has been read."""
    stretches: list[tuple[float, Tone]] = [
        (transport.share(change.at), TONES[change.verdict]) for change in transport.changes
    ]
    if transport.read_until is not None and transport.read_until < transport.last:
        stretches.append((transport.share(transport.read_until), "unread"))
    return tuple(stretches)


def place(transport: Transport) -> tuple[str, ...]:
    """Give how far into the recording it is, and of how much."""
    gone, whole = ((end - transport.first).total_seconds() for end in (transport.at, transport.last))
    return (f"{units.duration(gone)} of {units.duration(whole)}",)


class ReplayBar(Panel, can_focus=False):
    """One line: that this is a replay, its pace, and its place on a bar of verdicts."""

    HELP: ClassVar[str] = """\
### Replay

A recording is shown, not the present: the clock at the top right is the recording's, and every figure is what the
console would have shown then. Nothing that was logged later counts.

The bar is the whole recording: `━` where the verdict was to wait, `!` to watch, `✗` to intervene, `?` blind, `┄` what
has not been read yet. `●` is the moment shown. A click or a drag on the bar goes there.

Link, health and the job's process were not recorded: they are `--`, and there is nothing to control.
"""
    TITLE: ClassVar[str] = "Replay"
    ALLOW_MAXIMIZE = False
    DEFAULT_CSS = """
    ReplayBar {
        height: 1;
        border: none;
        padding: 0 1;
    }
    """

    transport: var[Transport | None] = var(None)
    """Where the replay stands; None until the recording is read."""

    def __init__(self) -> None:
        """Begin without a place."""
        super().__init__(id="replay")
        self._scrub = Scrub(" REPLAY ")
        self._scrub.word = "reading the recording"

    def compose(self) -> ComposeResult:
        """Give the bar."""
        yield self._scrub

    def show(self, snapshot: Snapshot, now: datetime) -> None:
        """Nothing of the snapshot stands here."""

    def watch_transport(self, transport: Transport | None) -> None:
        """Draw where it stands."""
        if transport is not None:
            self._scrub.word = pace(transport)
            self._scrub.value = transport.share(transport.at)
            self._scrub.ribbon = ribbon(transport)
            self._scrub.notes = place(transport)
