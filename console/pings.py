"""All signs of life at once, and what they were before: a bounded file of JSON lines beside the run's history."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from console import ping_asks as ask
from console.feed_probes import ServerProbe
from console.journal import local_user
from console.journal_file import add_line, keep_newest, newest_objects
from console.paths import followed_path
from console.ping_asks import Sign, timed
from remote.errors import RemoteError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
    from pathlib import Path

    from console.job.events import HealthProbe
    from console.session import Session

KEPT_BYTES = 262_144
"""Of the history that is kept, at least: some 200 checks."""

ANSWER_EVERY = timedelta(seconds=60)
"""The server is made to generate a token no more often than this, by whichever console."""


@dataclass(frozen=True, slots=True)
class Ping:
    """One check of all signs.

    Attributes:
        at: When, UTC.
        user: Who asked.
        signs: What came, in the order of asking.
    """

    at: datetime
    user: str
    signs: tuple[Sign, ...]

    @property
    def well(self) -> bool:
        """Whether nothing vital speaks against life."""
        return all(sign.state != "failed" for sign in self.signs if sign.vital)


class PingHistory:
    """The checks of one run, the newest ones.

    Args:
        path: The file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def add(self, ping: Ping) -> None:
        """Keep a check; a history that can't be written is done without."""
        with suppress(OSError):
            add_line(self._path, _values(ping))
            keep_newest(self._path, KEPT_BYTES)

    def pings(self) -> tuple[Ping, ...]:
        """The newest checks, oldest first."""
        try:
            found = newest_objects(self._path, KEPT_BYTES)
        except OSError:
            return ()
        return tuple(ping for values in found if (ping := _ping(values)) is not None)

    def answer_wait_s(self, now: datetime) -> float:
        """Seconds until the server may be made to generate a token again; 0 when it may."""
        asked = [ping.at for ping in self.pings() if any(_was_asked(sign) for sign in ping.signs)]
        return 0.0 if not asked else max(0.0, (max(asked) + ANSWER_EVERY - now).total_seconds())


def _was_asked(sign: Sign) -> bool:
    return sign.name == "answer" and sign.state != "unknown"


def history_of(session: Session) -> PingHistory:
    """The checks of a session's run: beside its journal, under the same name."""
    path = session.journal.path
    return PingHistory(path.with_name(path.name.replace("journal.jsonl", "pings.jsonl")))


class Pinger:
    """Asks for all signs of life of one run.

    Args:
        session: The run, connected or to be connected.
        history: Where the checks are kept.
        clock: The time now, UTC.
        health: Asks the server's health; by default over the session's host.
    """

    def __init__(
        self,
        session: Session,
        history: PingHistory,
        clock: Callable[[], datetime],
        health: Callable[[], Coroutine[Any, Any, HealthProbe]] | None = None,
    ) -> None:
        self._session = session
        self._server = ServerProbe(session.host, session.settings.server)
        self._health = health or (lambda: self._server.health(by_hand=True))
        self._clock = clock
        self.history = history

    async def connect(self) -> Sign:
        """Make the connection."""
        began = time.monotonic()
        host = self._session.host
        try:
            await host.connect()
        except RemoteError as error:
            return Sign("connection", "failed", detail=error.message)
        return Sign("connection", "ok", time.monotonic() - began, detail=f"to {host.name}")

    async def signs(self, *, answer: bool) -> AsyncIterator[Sign]:
        """Give each sign as it comes, and keep them all at the end; the host is connected.

        Args:
            answer: Have the server generate a token, unless that was done too recently.
        """
        asked = [asyncio.ensure_future(one) for one in self._asked(answer=answer)]
        found: list[Sign] = []
        try:
            for done in asyncio.as_completed(asked):
                for sign in await done:
                    found.append(sign)
                    yield sign
        finally:
            for task in asked:
                task.cancel()
            await asyncio.gather(*asked, return_exceptions=True)
        self.history.add(Ping(self._clock(), local_user(), tuple(found)))

    def _asked(self, *, answer: bool) -> list[Coroutine[Any, Any, tuple[Sign, ...]]]:
        session, settings = self._session, self._session.settings
        host, server, python = session.host, settings.server, settings.job.python
        asked = [
            _one(timed(lambda: ask.round_trip(host), "command")),
            _one(timed(lambda: ask.port(host, python, server.url), "port")),
            _one(timed(self._asked_health, "health")),
            _one(self._answer(answer=answer)),
            _one(timed(lambda: ask.gpus(host), "GPU", vital=False)),
        ]
        if server.metrics:
            asked.append(_one(timed(lambda: ask.counters(self._server), "metrics", vital=False)))
        if files := self._logs():
            asked.append(self._asked_logs(files))
        if session.control is not None:
            control = session.control
            asked.append(_one(timed(lambda: ask.process(control.process_fact), "job")))
        return asked

    async def _asked_health(self) -> Sign:
        return ask.health(await self._health())

    async def _answer(self, *, answer: bool) -> Sign:
        if not answer:
            return Sign("answer", "unknown", detail="not asked: it makes the server generate a token", vital=False)
        wait_s = self.history.answer_wait_s(self._clock())
        if wait_s:
            every = ANSWER_EVERY.total_seconds()
            detail = f"not asked: at most once in {every:.0f} s, again in {wait_s:.0f} s"
            return Sign("answer", "unknown", detail=detail, vital=False)
        return await timed(lambda: ask.answer(self._session.host, self._session.settings.server), "answer")

    def _logs(self) -> dict[str, str]:
        """The logs that are files."""
        settings = self._session.settings
        files = {"server's log": settings.server.log_paths[0] if settings.server.log_paths else None}
        files["job's log"] = settings.job.log
        return {name: followed_path(settings, path) for name, path in files.items() if path is not None}

    async def _asked_logs(self, files: Mapping[str, str]) -> tuple[Sign, ...]:
        try:
            return await ask.logs(self._session.host, self._session.settings.job.python, files)
        except RemoteError as error:
            return tuple(Sign(name, "failed", detail=error.message, vital=False) for name in files)


async def _one(sign: Coroutine[Any, Any, Sign]) -> tuple[Sign, ...]:
    return (await sign,)


ORDER = ("connection", "command", "port", "health", "answer", "metrics", "server's log", "job's log", "GPU", "job")
"""From what all else needs to what stands alone."""


def in_order(signs: Sequence[Sign]) -> tuple[Sign, ...]:
    """Signs as they are shown."""
    return tuple(sorted(signs, key=lambda sign: ORDER.index(sign.name) if sign.name in ORDER else len(ORDER)))


def strip(pings: Sequence[Ping], name: str, length: int) -> str:
    """The newest states of a sign, oldest first: ``+`` for life, ``x`` against it, ``.`` for neither."""
    signs = {"ok": "+", "failed": "x", "unknown": "."}
    told = ({sign.name: sign.state for sign in ping.signs}.get(name) for ping in pings[-length:])
    return "".join(signs.get(state or "unknown", ".") for state in told)


def _values(ping: Ping) -> dict[str, Any]:
    signs = [[each.name, each.state, each.latency_s, each.age_s, each.detail, each.vital] for each in ping.signs]
    return {"at": ping.at.isoformat(timespec="milliseconds"), "user": ping.user, "signs": signs}


def _ping(values: Mapping[str, Any]) -> Ping | None:
    try:
        signs = tuple(Sign(*each) for each in values["signs"])
        at = datetime.fromisoformat(values["at"])
    except (KeyError, TypeError, ValueError):
        return None
    known = at.tzinfo is not None and all(sign.state in {"ok", "failed", "unknown"} for sign in signs)
    return Ping(at, str(values.get("user", "")), signs) if known else None
