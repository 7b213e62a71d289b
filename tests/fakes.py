r"""A host that expects what it is asked and answers from a script; no process, no network.

    host = FakeHost()
    host.expect_run(["nvidia-smi", ...], stdout=b"GPU 0\n")
    host.expect_stream(["sh", "-c", ANY, "longwait-follow", "/log", ...], b"one", b"two", then="hang")
    host.expect_fetch("http://127.0.0.1:30000/health", status=200)
    ...
    host.assert_done()

An argv pattern is a list of words; ``unittest.mock.ANY`` stands for one word, a last ``...`` for any rest.
What is not expected fails the test with what was expected instead; ``assert_done`` names what was never asked.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from unittest.mock import ANY

from console.job.machine import MARK
from remote.errors import CommandFailed, LinkLost, RemoteError
from remote.host import Answer, Completed

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence
    from types import EllipsisType

    from remote.host import Host

    Pattern = Sequence[str | EllipsisType | Any]


@dataclass
class _Call:
    """One expected call: its verb, what it must look like, what it gives; ``times`` None is any number."""

    verb: str
    pattern: Pattern
    gives: Any
    times: int | None = 1
    stdin: bytes | None = None
    calls: int = 0

    def fits(self, verb: str, words: Sequence[str]) -> bool:
        if verb != self.verb or (self.times is not None and self.calls >= self.times):
            return False
        if self.pattern and self.pattern[-1] is ...:
            head = list(self.pattern[:-1])
            return head == list(words[: len(head)])
        return list(self.pattern) == list(words)


@dataclass
class _Script:
    """What a stream does: its chunks (an error among them is raised there), then its end."""

    chunks: tuple[bytes | RemoteError | asyncio.Event, ...]
    then: str


@dataclass
class FakeHost:
    """Implements ``remote.host.Host`` from a script; see the module's docstring.

    Attributes:
        name: Its name.
        up: Whether ``run``, ``stream`` and ``fetch`` find a connection; True from the start, for tests without a link.
        connects: How often ``connect`` was called.
        asked: Everything that was asked, as (verb, words), in order.
        streams_open: Streams entered and not left.
    """

    name: str = "gpu01"
    up: bool = True
    connects: int = 0
    closed: bool = False
    asked: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)
    streams_open: int = 0
    _calls: list[_Call] = field(default_factory=list)
    _machine: _Call = field(
        default_factory=lambda: _Call("stream", [ANY, ANY, ANY, MARK, ...], _Script((), "end"), None)
    )
    _connect_errors: list[RemoteError] = field(default_factory=list)
    _lost: asyncio.Event = field(default_factory=asyncio.Event)
    _reason: str = ""

    # What the test says beforehand.

    def expect_run(
        self,
        argv: Pattern,
        *,
        stdout: bytes = b"",
        stderr: bytes = b"",
        status: int = 0,
        stdin: bytes | None = None,
        error: RemoteError | None = None,
        times: int | None = 1,
    ) -> None:
        """Expect a command; ``stdin`` None takes any; ``error`` is raised instead; ``times`` None: any number, 0 too."""
        gives = error or Completed((), status, stdout, stderr)
        self._calls.append(_Call("run", argv, gives, times, stdin))

    def expect_stream(
        self,
        argv: Pattern,
        *chunks: bytes | RemoteError | asyncio.Event,
        then: str = "end",
        times: int | None = 1,
    ) -> None:
        """Expect a stream: chunks in order; an error is raised, an Event waited for; ``then``: end, hang or fail."""
        self._calls.append(_Call("stream", argv, _Script(chunks, then), times))

    def expect_fetch(
        self,
        url: str,
        *,
        method: str = "GET",
        status: int = 200,
        body: bytes = b"",
        latency_s: float = 0.01,
        error: RemoteError | None = None,
        times: int | None = 1,
    ) -> None:
        """Expect a request; ``error`` is raised instead of the answer."""
        self._calls.append(_Call("fetch", [method, url], error or Answer(status, body, latency_s), times))

    def refuse(self, *errors: RemoteError) -> None:
        """The next ``connect`` calls raise these, one each."""
        self._connect_errors += errors
        self.up = False

    def lose_link(self, reason: str = "The connection to gpu01 was lost.") -> None:
        """Cut the link: ``wait_lost`` returns, open streams raise ``LinkLost``, new calls too."""
        self.up = False
        self._reason = reason
        self._lost.set()

    def assert_done(self) -> None:
        """Fail when something that was expected was not asked, or a stream was not left."""
        missing = [f"{call.verb} {call.pattern}" for call in self._calls if call.times and call.calls < call.times]
        assert not missing, f"never asked: {missing}"
        assert self.streams_open == 0, f"{self.streams_open} streams were not left"

    # The protocol.

    async def connect(self) -> None:
        """Come up, or raise what ``refuse`` was given."""
        self.connects += 1
        await asyncio.sleep(0)
        if self._connect_errors:
            raise self._connect_errors.pop(0)
        self._lost = asyncio.Event()
        self.up, self.closed = True, False

    async def wait_lost(self) -> str:
        """Wait for ``lose_link``."""
        await self._lost.wait()
        return self._reason

    async def close(self) -> None:
        """Cut the link."""
        self.closed = True
        self.lose_link("closed")

    async def run(
        self,
        argv: Sequence[str],
        *,
        stdin: bytes = b"",
        timeout_s: float = 30.0,
        check: bool = True,
    ) -> Completed:
        """Answer an expected command."""
        assert timeout_s > 0
        call = self._take("run", argv)
        assert call.stdin is None or call.stdin == stdin, f"run {argv}: stdin was {stdin!r}, not {call.stdin!r}"
        await asyncio.sleep(0)
        if isinstance(call.gives, RemoteError):
            raise call.gives
        done = Completed(tuple(argv), call.gives.status, call.gives.stdout, call.gives.stderr)
        if check and done.status:
            stderr = done.stderr.decode("utf-8", "replace")
            message = f"{argv[0]} ended with status {done.status} on {self.name}."
            raise CommandFailed(message, host=self.name, argv=argv, status=done.status, stderr=stderr)
        return done

    @asynccontextmanager
    async def stream(self, argv: Sequence[str]) -> AsyncIterator[AsyncIterator[bytes]]:
        """Play an expected stream."""
        call = self._take("stream", argv)
        self.streams_open += 1
        try:
            yield self._play(call.gives, argv)
        finally:
            self.streams_open -= 1

    async def fetch(
        self,
        url: str,
        *,
        method: str = "GET",
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
        timeout_s: float = 10.0,
        max_bytes: int = 8_388_608,
    ) -> Answer:
        """Answer an expected request."""
        assert timeout_s > 0
        assert max_bytes > 0
        del headers, body
        call = self._take("fetch", [method, url])
        await asyncio.sleep(0)
        if isinstance(call.gives, RemoteError):
            raise call.gives
        answer: Answer = call.gives
        return answer

    async def _play(self, script: _Script, argv: Sequence[str]) -> AsyncIterator[bytes]:
        for chunk in script.chunks:
            await asyncio.sleep(0)
            self._need_link()
            if isinstance(chunk, RemoteError):
                raise chunk
            if isinstance(chunk, asyncio.Event):
                await chunk.wait()
            else:
                yield chunk
        if script.then == "hang":
            await self._lost.wait()
            raise LinkLost(self._reason, host=self.name)
        if script.then == "fail":
            raise CommandFailed(f"{argv[0]} ended with status 1.", host=self.name, argv=argv, status=1)

    def _need_link(self) -> None:
        if not self.up:
            raise LinkLost(self._reason or f"There is no connection to {self.name}.", host=self.name)

    def _take(self, verb: str, words: Sequence[str]) -> _Call:
        """The expected call that fits; fails the test when there is none."""
        call = next((call for call in self._calls if call.fits(verb, words)), None)
        if call is None and self._machine.fits(verb, words):
            self._need_link()
            return self._machine  # every feed asks for the host's own figures; few tests are about them
        self.asked.append((verb, tuple(words)))
        self._need_link()
        if call is not None:
            call.calls += 1
            return call
        open_calls = [
            f"{call.verb} {call.pattern}" for call in self._calls if call.times is None or call.calls < call.times
        ]
        message = f"not expected: {verb} {list(words)}; expected: {open_calls}"
        raise AssertionError(message)


if TYPE_CHECKING:
    _CHECKED: type[Host] = FakeHost
