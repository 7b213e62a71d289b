"""Moments of a recorded run as an operator writes them: ``end``, ``start+2h``, ``every=15m``, an ISO 8601 time."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from console.session import now

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from console.job.timeline import Recorded

_DURATION = re.compile(r"(?P<number>\d+(?:\.\d+)?)(?P<unit>[smhd])")
_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}
_KNOWN = "give end, start+2h or an ISO 8601 time."


class BadMoment(ValueError):  # noqa: N818 - what is wrong, for a sentence
    """Words that name no moment."""


def span_of(logs: Sequence[Recorded]) -> tuple[datetime, datetime]:
    """When the first and the last line were written; the present, twice, when there is none."""
    times = [at for log in logs for at in (log.times[0], log.times[-1])]
    return (min(times), max(times)) if times else (now(), now())


def moments_of(words: str, logs: Sequence[Recorded]) -> list[datetime]:
    """The moments that ``--at`` names, in its order.

    Args:
        words: With commas between: ISO 8601 times, ``start``, ``end``, ``start+2h``, ``end-30m``, ``every=15m``.
        logs: Give the start and the end.

    Raises:
        BadMoment: A word that is none of these.
    """
    option = "--at"
    first, last = span_of(logs)
    moments: list[datetime] = []
    for word in filter(None, (part.strip() for part in words.split(","))):
        if word.startswith("every="):
            moments += _series(first, last, _duration(word.removeprefix("every="), word, option))
        else:
            moments.append(moment_of(word, first, last, option))
    if not moments:
        raise BadMoment(f"{option} names no moment; {_KNOWN}")
    return moments


def _series(first: datetime, last: datetime, step: timedelta) -> Iterator[datetime]:
    at = first + step
    while at < last:
        yield at
        at += step
    yield last


def moment_of(word: str, first: datetime, last: datetime, option: str) -> datetime:
    """The moment that one word names.

    Args:
        word: An ISO 8601 time, ``start``, ``end``, ``start+2h``, ``end-30m``.
        first: The start.
        last: The end.
        option: What the operator wrote it behind.

    Raises:
        BadMoment: It names none.
    """
    base = {"start": first, "end": last}.get(re.split(r"[+-]", word)[0])
    if base is not None:
        rest = word[len("start") :] if word.startswith("start") else word[len("end") :]
        sign = -1 if rest.startswith("-") else 1
        return base + sign * _duration(rest[1:], word, option) if rest else base
    try:
        at = datetime.fromisoformat(word)
    except ValueError as error:
        raise BadMoment(f"{option} {word!r} is no moment; {_KNOWN}") from error
    return at if at.tzinfo is not None else at.replace(tzinfo=first.tzinfo)


def _duration(words: str, whole: str, option: str) -> timedelta:
    found = list(_DURATION.finditer(words))
    if not found or "".join(part.group() for part in found) != words:
        raise BadMoment(f"{option} {whole!r} holds no duration such as 90s, 15m, 2h or 1d12h.")
    seconds = sum(float(part["number"]) * _UNITS[part["unit"]] for part in found)
    if not seconds:
        raise BadMoment(f"{option} {whole!r} holds a duration of nothing.")
    return timedelta(seconds=seconds)
