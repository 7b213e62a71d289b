"""Which figures of a run are worth keeping, so that days of it fit into a small file (no I/O)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

    from console.job.snapshot import Snapshot

SERVER_EVERY = timedelta(seconds=10)
"""At most one row of the server's figures per this: a week makes 60,000 of them, some 3 MB."""

ETA_EVERY = timedelta(minutes=10)
"""How often it is kept what end was told: enough to see afterwards how good the estimate was."""


@dataclass(frozen=True, slots=True)
class ServerSample:
    """The server's figures at one time; see ``snapshot.ServerView``.

    Attributes:
        at: When.
        running: Requests running.
        queue: Requests waiting.
        usage: KV pool in use, 0 to 1.
        throughput: Generated tokens a second.
    """

    at: datetime
    running: int | None
    queue: int | None
    usage: float | None
    throughput: float | None


@dataclass(frozen=True, slots=True)
class VerdictSample:
    """The verdict changed.

    Attributes:
        at: When it was first given.
        verdict: The one word.
        cause: Why.
    """

    at: datetime
    verdict: str
    cause: str


@dataclass(frozen=True, slots=True)
class EtaSample:
    """What end was told.

    Attributes:
        at: When it was told.
        eta: The middle of the range.
        low: Its early end.
        high: Its late end.
    """

    at: datetime
    eta: datetime
    low: datetime | None
    high: datetime | None


Sample = ServerSample | VerdictSample | EtaSample


class Sampler:
    """Takes snapshots as they come and gives the few that are kept."""

    def __init__(self) -> None:
        self._server_at: datetime | None = None
        self._reported_at: datetime | None = None
        self._eta_at: datetime | None = None
        self._judged: tuple[str, str] | None = None

    def take(self, snapshot: Snapshot) -> list[Sample]:
        """The rows that this snapshot makes, none for most."""
        return [*self._server(snapshot), *self._verdict(snapshot), *self._eta(snapshot)]

    def _server(self, snapshot: Snapshot) -> list[Sample]:
        server = snapshot.server
        if server.updated_at is None or server.updated_at == self._reported_at:
            return []  # no news: an old figure told again would look like a new one
        if self._server_at is not None and timedelta() <= snapshot.at - self._server_at < SERVER_EVERY:
            return []
        self._server_at, self._reported_at = snapshot.at, server.updated_at
        return [
            ServerSample(snapshot.at, server.running, server.queue, server.token_usage, server.gen_throughput),
        ]

    def _verdict(self, snapshot: Snapshot) -> list[Sample]:
        judged = (snapshot.verdict.verdict.value, snapshot.verdict.cause)
        if judged == self._judged:
            return []
        self._judged = judged
        return [VerdictSample(snapshot.verdict.since or snapshot.at, *judged)]

    def _eta(self, snapshot: Snapshot) -> list[Sample]:
        eta = snapshot.eta
        if eta.at is None:
            return []
        if self._eta_at is not None and timedelta() <= snapshot.at - self._eta_at < ETA_EVERY:
            return []
        self._eta_at = snapshot.at
        return [EtaSample(snapshot.at, eta.at, eta.low, eta.high)]
