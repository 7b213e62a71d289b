"""How far the logs are that take a while to read: caught up from where they were left, and filled in before that."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from console.job.events import Source
from console.job.transfer import Transfer

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from console.feed_fill import Filler
    from console.feed_sources import SourceFollower
    from console.job.snapshot import LogView

WORTH_BYTES = 1_048_576
"""What is less than this is there before anybody could read how far it is."""


def reading_of(followers: Sequence[SourceFollower], at: datetime) -> Transfer | None:
    """How far the files of one log are that are being caught up; None when that is not worth a word.

    Args:
        followers: Who reads them.
        at: The moment.
    """
    done = total = begun = 0
    since: datetime | None = None
    for follower in followers:
        if not follower.is_behind or None in {follower.size, follower.behind_from} or follower.cursor is None:
            continue
        first, size = follower.behind_from or 0, follower.size or 0
        done, total, begun = done + follower.cursor.offset, total + size, begun + first
        since = min(since or follower.behind_since or at, follower.behind_since or at)
    if since is None or total - begun < WORTH_BYTES:
        return None
    return Transfer(done, max(done, total), since, at, begun)


def with_transfers(
    logs: tuple[LogView, ...], followers: Sequence[SourceFollower], filler: Filler | None, at: datetime
) -> tuple[LogView, ...]:
    """Add to each log how far it is.

    Args:
        logs: The logs.
        followers: Who reads them, all of them.
        filler: Who fills in the past of the server's log; None before it has begun.
        at: The moment.
    """
    past = None if filler is None else filler.progress(at)
    return tuple(
        replace(
            log,
            reading=reading_of([each for each in followers if each.source.value == log.source], at),
            filling=past if log.source == Source.SERVER.value else None,
        )
        for log in logs
    )
