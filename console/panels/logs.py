"""The two logs, followed; on a narrow screen one at a time."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.containers import Horizontal
from textual.widgets import Input

from console.job.events import LogLine, Source
from console.panels import words
from console.panels.panel import Panel
from widgets.log_view import Level, LogText, LogView

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime, tzinfo

    from textual.app import ComposeResult

    from console.job.snapshot import LogView as LogState
    from console.job.snapshot import Snapshot

LEVELS: dict[str, Level] = {"info": "info", "warning": "warning", "error": "error", "quiet": "quiet"}
"""A line's level as a pane draws it; any other is drawn like ``info``."""

SHOWN = (Source.SERVER, Source.JOB)
"""The logs that have a pane; ``progress.jsonl`` is for machines."""

NAMES = {Source.SERVER: "server's log", Source.JOB: "job's log"}
"""What a pane is called."""

_STAMP = re.compile(
    r"\[\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d+)?\s*(?P<rank>[^]]*)\]\s*"
    r"|(?P<level>[A-Z]+) \d\d-\d\d \d\d:\d\d:\d\d(?:[.,]\d+)? "
)
"""A line's own stamp in the host's zone (SGLang's and the job's, then vLLM's): the pane writes its own in its place."""


def as_pattern(text: str) -> re.Pattern[str] | None:
    """Read what the operator typed: a regular expression, or the plain text when it is none; None when empty."""
    if not text:
        return None
    try:
        return re.compile(text, re.IGNORECASE)
    except re.error:
        return re.compile(re.escape(text), re.IGNORECASE)


def state_note(log: LogState | None, now: datetime) -> str:
    """Say how a log is seen when that is not as it should be: missing, unreadable, old, not understood, lost bytes."""
    if log is None or not log.state:
        return "no line yet"
    if log.state != "following":
        return words.joined(log.state, log.path, log.reason)
    strange = f"{1 - log.understood:.0%} not understood" if log.understood is not None and log.understood < 0.5 else ""  # noqa: PLR2004 -- most of a log that is read well is understood
    lost = f"{log.lost_bytes:,} bytes lost" if log.lost_bytes else ""
    age = words.old(log.updated_at, now)
    return words.joined(f"newest line {age}" if age else "", strange, lost)


def as_text(line: LogLine, zone: tzinfo | None) -> LogText:
    """Give a line for a pane: its time in the operator's zone, and the rest of the line without its own stamp."""
    found = _STAMP.match(line.text)
    text = line.text
    if found is not None:
        kept = found["rank"] or found["level"] or ""
        text = f"{kept} {line.text[found.end() :]}".lstrip() if kept else line.text[found.end() :]
    return LogText(text, LEVELS.get(line.level, "info"), f"{line.at.astimezone(zone):%H:%M:%S}")


class LogsPanel(Panel, can_focus=False):
    """The server's and the job's log."""

    HELP: ClassVar[str] = """\
### Logs

The server's log and the job's, as their lines come, with times in your zone. Lines with ✗ are errors, those with !
warnings, dim ones access lines and separators.

- Scrolling up holds the log; the title counts the lines that wait. `f` or End goes back to the newest line.
- `/` filters both logs by a regular expression, upper and lower case alike; Esc in the field shows all lines again.
- `l` goes to the other log, `z` fills the screen with the logs.
- Lines are for reading only: control characters are taken out, very long lines are cut.
"""
    TITLE: ClassVar[str] = "Logs"
    DEFAULT_CSS = """
    LogsPanel {
        height: 1fr;
        min-height: 2;
        border: none;
        padding: 0;
        &:focus, &:focus-within { border: none; }
        LogView {
            width: 1fr;
            height: 1fr;
            padding: 0 1;
            background: $background;
            scrollbar-background: $background;
            scrollbar-color: $primary-muted;
            border: none;
            border-top: solid $primary-muted;
            border-title-color: $text-muted;
            border-title-style: bold;
            scrollbar-size-vertical: 1;
            scrollbar-size-horizontal: 0;
            &:focus { border: none; border-top: solid $accent; border-title-color: $text-accent; }
            &.-held { border: none; border-top: solid $warning; border-title-color: $text-warning; }
        }
        Input { display: none; height: 1; border: none; padding: 0 1; background: $surface; }
        Input.-open { display: block; }
    }
    """

    def __init__(self, zone: tzinfo | None = None, *, id: str | None = None) -> None:  # noqa: A002 -- textual's name for it
        """Take the operator's zone; None is this machine's."""
        super().__init__(zone, id=id)
        self._views = {source: LogView(title=NAMES[source], id=f"log-{source.value}") for source in SHOWN}
        self._views[Source.SERVER].add_class("-shown")
        self._field = Input(placeholder="filter: a regular expression; Esc shows all lines", compact=True)

    def compose(self) -> ComposeResult:
        """Lay both logs side by side, and the filter below."""
        with Horizontal():
            yield from self._views.values()
        yield self._field

    def show(self, snapshot: Snapshot, now: datetime) -> None:
        """Say in the titles how each log is seen."""
        states = {log.source: log for log in snapshot.logs}
        for source, view in self._views.items():
            view.title = words.joined(NAMES[source], state_note(states.get(source.value), now))

    def append(self, lines: Iterable[LogLine]) -> None:
        """Give each line to its pane, in order."""
        batches: dict[Source, list[LogText]] = {source: [] for source in SHOWN}
        for line in lines:
            if line.source in batches:
                batches[line.source].append(as_text(line, self.zone))
        for source, batch in batches.items():
            if batch:
                self._views[source].append(batch)

    @property
    def current(self) -> LogView:
        """The log that has the focus, else the one that is shown first."""
        views = self._views.values()
        return next(
            (view for view in views if view.has_focus), next(view for view in views if view.has_class("-shown"))
        )

    def focus_pane(self) -> None:
        """Focus the log that is shown."""
        self._show(self.current)

    def focus_next(self) -> None:
        """Focus the other log, or the shown one when none has the focus."""
        views = list(self._views.values())
        turn = 1 if self.current.has_focus else 0
        self._show(views[(views.index(self.current) + turn) % len(views)])

    def _show(self, shown: LogView) -> None:
        for view in self._views.values():
            view.set_class(view is shown, "-shown")
        self.call_after_refresh(shown.focus)

    def open_filter(self) -> None:
        """Let the operator type a filter."""
        self._field.add_class("-open")
        self.call_after_refresh(self._field.focus)

    @on(Input.Changed)
    def _filter(self, event: Input.Changed) -> None:
        """Filter while the operator types."""
        event.stop()
        for view in self._views.values():
            view.filter = as_pattern(event.value)

    @on(Input.Submitted)
    def _accept(self, event: Input.Submitted) -> None:
        """Keep the filter and go back to the log; an empty one closes the field."""
        event.stop()
        self._field.set_class(bool(event.value), "-open")
        self.focus_pane()

    def key_escape(self) -> None:
        """Show all lines again."""
        if self._field.has_class("-open"):
            self._field.value = ""
            self._field.remove_class("-open")
            self.focus_pane()
