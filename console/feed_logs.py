"""Which logs a feed follows: one follower for each that the settings name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.feed_sources import SourceFollower
from console.job.events import Source
from console.paths import followed_path

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from console.config import Settings
    from console.feed_outbox import Outbox
    from console.job.events import LogLine
    from remote.host import Host
    from remote.link import Link

MIB = 1_048_576

JOB_LOG_BYTES = 64 * MIB
"""The job's log and progress file are read from their beginning, as far as this goes: a run of 80,000 prompts has
about 1 MiB of log and 16 MiB of progress file; what is longer was not written by a runner that prints lines."""


def followers_of(
    settings: Settings,
    host: Host,
    *,
    link: Link,
    outbox: Outbox,
    clock: Callable[[], datetime],
    took: Callable[[Sequence[LogLine]], None],
    every_line: bool = False,
) -> tuple[SourceFollower, ...]:
    """A follower for each log that the settings name."""
    server, job = settings.server, settings.job
    # So much of all files together: what is read at the start is held in memory until all have come.
    last = int(server.log_last_mib * MIB / max(1, len(server.log_paths)))
    parts = parts_of(settings)
    wanted: list[tuple[Source, str | tuple[str, ...] | None, str, int]] = [
        (Source.JOB, job.log_command or followed_path(settings, job.log), "", JOB_LOG_BYTES),
        (Source.PROGRESS, followed_path(settings, job.progress), "", JOB_LOG_BYTES),
        (Source.SERVER, server.log_command, "", last),
        *((Source.SERVER, followed_path(settings, path), path if parts else "", last) for path in server.log_paths),
    ]
    return tuple(
        SourceFollower(
            source,
            where,
            host=host,
            link=link,
            outbox=outbox,
            clock=clock,
            took=took,
            part=part,
            last_bytes=last_bytes,
            every_line=every_line,
        )
        for source, where, part, last_bytes in wanted
        if where is not None
    )


def parts_of(settings: Settings) -> tuple[str, ...]:
    """Names of the server's log files when there are several: each has its own half line and its own clock."""
    paths = settings.server.log_paths
    return paths if len(paths) > 1 else ()
