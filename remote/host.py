"""The host as everything else sees it: connect, run, stream, fetch.

Two implementations: ``remote.ssh.SshHost`` (asyncssh) and ``remote.local.LocalHost``. Following a file and
controlling a process are functions over this protocol (``remote.tail``, ``remote.process``), hence the same
over SSH, on this machine and in tests.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence
    from contextlib import AbstractAsyncContextManager


@dataclass(frozen=True, slots=True)
class Completed:
    """What a remote command gave.

    Attributes:
        argv: The command, as a list.
        status: Its exit status; negative for a signal.
        stdout: All it printed, as bytes.
        stderr: All it said on stderr, as bytes.
    """

    argv: tuple[str, ...]
    status: int
    stdout: bytes
    stderr: bytes

    @property
    def text(self) -> str:
        """Its output as text; bytes that are not UTF-8 are replaced."""
        return self.stdout.decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class Answer:
    """An HTTP answer, read whole.

    Attributes:
        status: The HTTP status code.
        body: The body, as bytes (bounded by the caller's limit).
        latency_s: Seconds from the request's first byte to the answer's last.
        headers: Lower-case names to values.
    """

    status: int
    body: bytes
    latency_s: float
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The body as text; bytes that are not UTF-8 are replaced."""
        return self.body.decode("utf-8", "replace")


class Host(Protocol):
    """A machine on which commands run, whose files are followed and whose loopback HTTP is asked.

    All methods raise ``remote.errors.RemoteError`` and nothing else (``CancelledError`` passes).
    ``run``, ``stream`` and ``fetch`` raise ``LinkLost`` when there is no connection now; they never connect.
    """

    @property
    def name(self) -> str:
        """The host as the operator wrote it: ``gpu01``, ``user@gpu01:2222``, ``local``."""
        ...

    async def connect(self) -> None:
        """Make the connection, once.

        Raises:
            CannotConnect: Or one of its kinds; the caller decides whether to try again.
        """
        ...

    async def wait_lost(self) -> str:
        """Wait until the connection is gone; give the reason as a sentence. At most ~12 s after a silent death."""
        ...

    async def close(self) -> None:
        """End the connection; harmless when there is none."""
        ...

    async def run(
        self, argv: Sequence[str], *, stdin: bytes = b"", timeout_s: float = 30.0, check: bool = True
    ) -> Completed:
        """Run a command to its end.

        Args:
            argv: The command; quoted with ``shlex.join`` where a shell is in between.
            stdin: Given to it, then closed.
            timeout_s: Seconds it may take.
            check: Raise ``CommandFailed`` when the status is not 0.
        """
        ...

    def stream(self, argv: Sequence[str]) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """Run a command and give its stdout as it comes, in chunks of any size.

        The iterator ends when the command ends with status 0, and raises ``CommandFailed`` or ``LinkLost``
        otherwise. Leaving the context ends the remote command.
        """
        ...

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
        """Ask a URL as the host sees it (so 127.0.0.1 is the host's), through the connection.

        Any HTTP status is an answer; ``HttpUnavailable`` is raised when none came in ``timeout_s`` seconds.
        """
        ...
