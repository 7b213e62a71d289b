"""What the console remembers of how a run was looked at: theme, filled pane, chosen log, filter, chart span.

One small JSON file a run, beside the run's history and named like it, so that each run is opened as it was left. It is
a convenience: nothing waits for it, and whatever goes wrong with it is told in a sentence at most. Reading takes a
thousandth of a second and comes before the first frame; writing happens in a thread of its own, atomically. Two
consoles of one run may write: each brings only what was changed in it.
"""

from __future__ import annotations

import json
import os
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

Value = TypeVar("Value", bool, int, float, str)

SUFFIX = ".screen.json"
"""How the files end."""

MOST_BYTES = 65_536
"""A file of ours is far smaller; a larger one is something else."""

MOST_CHARACTERS = 2_000
"""Of a text that is remembered; a longer one, a filter for instance, is not."""

THEME, THEME_OF_CONFIG = "theme", "theme_of_config"
"""The theme that was chosen last, and the one that the config named then."""

ZOOMED = "zoomed"
"""Id of the pane that fills the screen; empty for none."""

LOG = "log"
"""The log that is shown where there is room for one: ``server`` or ``job``."""

FILTER, SEARCH = "filter", "search"
"""The patterns of the logs, as typed."""

SPAN = "span"
"""Seconds that the chart shows; 0 for all."""


class Kept:
    """What is remembered of one run; without a path it remembers for as long as it lives.

    Args:
        path: The file; None for none.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._values: dict[str, Any] = {}
        self._changed: dict[str, Any] = {}
        self._lock = threading.Lock()
        self._writer: threading.Thread | None = None
        self.on_change: Callable[[], object] = lambda: None
        """Called when something new is to be written."""
        self.notices: list[str] = []
        """Sentences for the operator that were not told yet; who tells them takes them away."""
        if path is not None:
            self._values = self._read(path)

    def get(self, name: str, default: Value) -> Value:
        """Give what is remembered, or the default; so, too, when it is of another kind than the default is.

        Args:
            name: What for; one of the names above, or another.
            default: What holds when nothing is remembered.
        """
        value = self._values.get(name)
        return value if type(value) is type(default) else default

    def put(self, name: str, value: bool | float | str) -> None:
        """Remember; it is written soon. The same value again costs nothing."""
        if isinstance(value, str) and len(value) > MOST_CHARACTERS:
            return
        with self._lock:
            if name in self._values and self._values[name] == value:
                return
            self._values[name] = self._changed[name] = value
        self.on_change()

    @property
    def is_changed(self) -> bool:
        """Whether something is to be written."""
        return self._path is not None and bool(self._changed)

    def save(self) -> None:
        """Write what was changed, in a thread of its own; at once when nothing is being written, else not yet."""
        if self.is_changed and (self._writer is None or not self._writer.is_alive()):
            # A daemon: a home on a dead network drive must not keep the program from ending.
            self._writer = threading.Thread(target=self._write, name="kept", daemon=True)
            self._writer.start()

    def finish(self, within_s: float = 1.0) -> None:
        """Write the rest and wait for it, but no longer than this.

        Args:
            within_s: Seconds.
        """
        for _ in range(2):  # what was being written, then what came since
            self.save()
            if self._writer is not None:
                self._writer.join(within_s)

    def _write(self) -> None:
        """Bring the changes into the file."""
        with self._lock:
            changes, self._changed = self._changed, {}
        path = self._path
        if path is None:
            return
        fresh = path.with_name(f"{path.name}.{os.getpid()}")
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            # In ASCII: a pattern may hold half a character, which no encoding of files takes.
            text = json.dumps({**values_in(path), **changes}, indent=1)
            with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600), "wb") as file:  # noqa: PTH123 - a path can't be opened without following links
                file.write(text.encode("ascii"))
            fresh.replace(path)
        except (OSError, ValueError) as error:
            self._path = None
            with suppress(OSError):  # the folder itself may be what is missing
                fresh.unlink(missing_ok=True)
            self.notices.append(f"How this run is looked at can't be remembered: {path.name}: {_why(error)}.")

    def _read(self, path: Path) -> dict[str, Any]:
        """Read the file; a damaged one is put aside."""
        try:
            return values_in(path)
        except OSError as error:
            self.notices.append(f"How this run was looked at can't be read: {path.name}: {_why(error)}.")
        except ValueError:
            aside = path.with_suffix(".damaged")
            try:
                path.replace(aside)
                self.notices.append(f"What was remembered of this screen is damaged; it was moved to {aside}.")
            except OSError as error:
                self._path = None
                self.notices.append(
                    f"What was remembered of this screen is damaged, and can't be moved: {_why(error)}."
                )
        return {}


def _why(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def values_in(path: Path) -> dict[str, Any]:
    """Give the values in a file; none when there is no file.

    Raises:
        OSError: It can't be read.
        ValueError: It holds something else.
    """
    try:
        with path.open("rb") as file:
            raw = file.read(MOST_BYTES + 1)
    except FileNotFoundError:
        return {}
    if len(raw) > MOST_BYTES:
        raise ValueError("is too large")
    try:
        values = json.loads(raw.decode("utf-8"))
    except RecursionError as error:
        raise ValueError("is nested too deep") from error
    if not isinstance(values, dict):
        raise ValueError("is no mapping")  # noqa: TRY004 - of the file, not of an argument
    return values
