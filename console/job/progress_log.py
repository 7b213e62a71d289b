"""``progress.jsonl``, which the job appends beside its log: JSON objects with ``t`` (UTC, ISO 8601) and ``event``."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from console.job.events import Stamped, Unparsed
from console.job.job_events import (
    Completion,
    DatasetAnnounced,
    DatasetFinished,
    DatasetResumed,
    DatasetSkipped,
    DatasetStarted,
    DatasetTokenized,
    Heartbeat,
    JobTrouble,
    JobZone,
    RequestFailed,
    RunFinished,
    RunStarted,
    ServerWord,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from console.job.events import Event

_LONGEST = 300
"""Characters of a message that are kept."""
_BLANKS = " \t\r\n"
"""What JSON takes for blanks."""
_COMPLETION = (
    "event",
    "t",
    "dataset",
    "id",
    "completion_tokens",
    "prompt_tokens",
    "finish_reason",
    "seconds",
    "attempt",
)
_KINDS = (str, str, str, int, int, str, float, int)
"""The fields of a usual completion, and their kinds but for the first."""
_scan = json.JSONDecoder().raw_decode


class _BrokenError(ValueError):
    """A field is missing, or is of another kind; never leaves this file."""


class _Fields:
    """The fields of one object, read with their kinds checked."""

    def __init__(self, values: dict[str, Any]) -> None:
        self._values = values

    def text(self, key: str, default: str | None = None) -> str:
        """A text; numbers are taken as such (ids are often numbers)."""
        value = self._values.get(key, default)
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        if not isinstance(value, str):
            raise _BrokenError(key)
        return value

    def number(self, key: str, default: int | None = None) -> int:
        """A whole number."""
        value = self._values.get(key, default)
        if isinstance(value, float) and value.is_integer():
            return int(value)
        if not isinstance(value, int) or isinstance(value, bool):
            raise _BrokenError(key)
        return value

    def optional(self, key: str) -> int | None:
        """A whole number, or None when it is null or missing."""
        return None if self._values.get(key) is None else self.number(key)

    def real(self, key: str) -> float:
        """A finite number."""
        value = self._values.get(key)
        if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
            raise _BrokenError(key)
        return float(value)

    def flag(self, key: str) -> bool:
        """True or false; false when missing."""
        value = self._values.get(key, False)
        if not isinstance(value, bool):
            raise _BrokenError(key)
        return value

    def names(self, key: str) -> tuple[str, ...]:
        """A list of texts; empty when missing."""
        value = self._values.get(key) or []
        if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
            raise _BrokenError(key)
        return tuple(value)

    def time(self) -> datetime:
        """When it was written; without an offset it is UTC."""
        at = datetime.fromisoformat(self.text("t"))
        return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)


def _run_started(said: _Fields) -> tuple[Event, ...]:
    started = RunStarted(said.optional("pid"), said.names("datasets"))
    offset = said.optional("utc_offset_s")
    return (started,) if offset is None else (JobZone(said.text("zone", ""), offset), started)


def _dataset_started(said: _Fields) -> tuple[Event, ...]:
    name = said.text("dataset")
    total, done, tokens = said.optional("total"), said.number("done", 0), said.number("tokens", 0)
    limits = said.optional("concurrency"), said.optional("max_tokens"), said.optional("budget")
    return (
        DatasetAnnounced(name, said.text("kind", "")),
        *((DatasetTokenized(name, total),) if total is not None else ()),
        *((DatasetResumed(name, done, tokens),) if done else ()),
        DatasetStarted(name, said.number("todo"), *limits),
    )


def _dataset_skipped(said: _Fields) -> tuple[Event, ...]:
    figures = (said.optional(key) for key in ("done", "total", "tokens", "budget"))
    return (DatasetSkipped(said.text("dataset"), said.text("reason"), *figures),)


def _completion(said: _Fields) -> tuple[Event, ...]:
    return (
        Completion(
            said.text("dataset"),
            said.text("id"),
            said.number("prompt_tokens", 0),
            said.number("completion_tokens"),
            said.text("finish_reason", ""),
            said.real("seconds"),
            said.number("attempt", 1),
        ),
    )


def _error(said: _Fields) -> tuple[Event, ...]:
    return (
        RequestFailed(
            said.text("dataset"),
            said.text("id"),
            said.text("kind"),
            said.number("attempt", 1),
            said.flag("final"),
            said.text("message", "")[:_LONGEST],
        ),
    )


def _heartbeat(said: _Fields) -> tuple[Event, ...]:
    figures = (said.number(key) for key in ("done", "errors", "in_flight", "tokens"))
    return (Heartbeat(said.text("dataset"), *figures),)


def _dataset_finished(said: _Fields) -> tuple[Event, ...]:
    counts = said.number("done"), said.number("errors"), said.optional("tokens")
    return (DatasetFinished(said.text("dataset"), *counts, said.real("seconds"), said.text("reason")),)


def _server_gone(said: _Fields) -> tuple[Event, ...]:
    message = said.text("message", "The server is gone.")[:_LONGEST]
    state = "fails" if said.text("state", "") == "unwell" else "gone"
    return (JobTrouble(message), ServerWord(state, message))


def _server_back(said: _Fields) -> tuple[Event, ...]:
    return (ServerWord("back", said.text("message", "")[:_LONGEST]),)


def _run_finished(said: _Fields) -> tuple[Event, ...]:
    return (RunFinished(said.text("reason"), said.optional("exit_code")),)


_EVENTS: dict[str, Callable[[_Fields], tuple[Event, ...]]] = {
    "completion": _completion,
    "heartbeat": _heartbeat,
    "error": _error,
    "run_started": _run_started,
    "dataset_started": _dataset_started,
    "dataset_skipped": _dataset_skipped,
    "dataset_finished": _dataset_finished,
    "server_gone": _server_gone,
    "server_back": _server_back,
    "run_finished": _run_finished,
}


def _quick(said: dict[str, Any]) -> Stamped | None:
    """A completion with each field of its usual kind, as nearly all lines are: read without asking field by field.

    None for any other object, which is then read in the ordinary way.
    """
    if said.get("event") != "completion" or len(said) != len(_COMPLETION):
        return None
    try:
        _, written, name, prompt, made, prompt_tokens, reason, seconds, attempt = map(said.__getitem__, _COMPLETION)
    except KeyError:
        return None
    if tuple(map(type, (written, name, prompt, made, prompt_tokens, reason, seconds, attempt))) != _KINDS:
        return None
    at = datetime.fromisoformat(written)
    if at.tzinfo is not UTC or not math.isfinite(seconds):
        return None
    return Stamped(at, Completion(name, prompt, prompt_tokens, made, reason, seconds, attempt))


def parse_progress(line: str, seen_at: datetime) -> list[Stamped]:
    """The events of one line; empty for a blank one, ``Unparsed`` for whatever is broken or not known.

    Args:
        line: Without its end.
        seen_at: When it was first seen; the time of an ``Unparsed`` line.
    """
    text = line.strip(_BLANKS)
    if not text:
        return []
    try:
        said, end = _scan(text)
        if end != len(text) or not isinstance(said, dict):
            raise _BrokenError(line)
        if quick := _quick(said):
            return [quick]
        fields = _Fields(said)
        at = fields.time()
        events = _EVENTS[fields.text("event")](fields)
    except (ValueError, OverflowError, RecursionError, KeyError):
        return [Stamped(seen_at, Unparsed(line), guessed=True)]
    return [Stamped(at, event) for event in events]
