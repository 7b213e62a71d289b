"""A host whose commands run as another user (sudo), or in a container; a ``Host`` around a ``Host``."""

from __future__ import annotations

import re
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from remote.errors import CommandFailed
from remote.outcome import without_stop

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

    from remote.host import Answer, Completed, Host

_REFUSALS = (
    (
        r"sudo: .*(password is required|terminal is required|no tty present)",
        "asks for a password",
    ),
    (r"(is not in the sudoers file|is not allowed to (execute|run))", "does not allow it"),
    (r"sudo: unknown user", "knows no such user"),
    (r"sudo: (error )?.*(nosuid|no new privileges)", "can't give rights here"),
)
_CONTAINER_REFUSALS = (
    (r"[Nn]o such container", "there is no such container"),
    (r"is not running|container state improper|is paused|is restarting", "it is not running"),
    (r"[Pp]ermission denied.*(docker|podman|containerd)", "this user may not use its runtime"),
    (r"[Cc]annot connect to the .*daemon", "its runtime can't be reached"),
)


class Through:
    """Runs every command through ``sudo -n`` or a container's ``exec``; all else is the host's own.

    Remote steps carry their program on stdin or as an argument, so they work there as on the host: find, start, stop,
    put, checks. The identity of a process is that inside: boot id, pid and start time as they are seen there.

    Args:
        host: The machine.
        user: Run as this user (``sudo -n -H -u USER --``); empty as the login. With a container, it is who may call its
            runtime.
        container: Run in this container; empty on the host.
        runtime: What runs containers: ``docker``, ``podman`` or ``nerdctl``.
    """

    def __init__(self, host: Host, *, user: str = "", container: str = "", runtime: str = "docker") -> None:
        self._host = host
        self._user = user
        self._container = container
        self._sudo = ("sudo", "-n", "-H", "-u", user, "--") if user else ()
        # "--" is not understood after exec's own options by all runtimes; a name of a container never begins with "-".
        self._exec = (runtime, "exec", "-i", container) if container else ()

    @property
    def name(self) -> str:
        """The host's name, with whom or what it is reached through."""
        as_user = f" as {self._user}" if self._user else ""
        return f"{self._host.name}{as_user}{f' in {self._container}' if self._container else ''}"

    async def connect(self) -> None:
        """See ``remote.host.Host.connect``."""
        await self._host.connect()

    async def wait_lost(self) -> str:
        """See ``remote.host.Host.wait_lost``."""
        return await self._host.wait_lost()

    async def close(self) -> None:
        """See ``remote.host.Host.close``."""
        await self._host.close()

    async def run(
        self, argv: Sequence[str], *, stdin: bytes = b"", timeout_s: float = 30.0, check: bool = True
    ) -> Completed:
        """Run a command through; see ``remote.host.Host.run``.

        Raises:
            CommandFailed: The way through is barred, also with ``check`` off: nothing was run then.
        """
        words = self._words(argv)
        done = await self._host.run(words, stdin=stdin, timeout_s=timeout_s, check=False)
        if done.status:
            said = done.stderr.decode("utf-8", "replace")
            self._barred(said, words, done.status)
            if check:
                message = f"{argv[0]} ended with status {done.status} on {self.name}."
                raise CommandFailed(message, host=self.name, argv=words, status=done.status, stderr=said)
        return done

    @asynccontextmanager
    async def stream(self, argv: Sequence[str]) -> AsyncIterator[AsyncIterator[bytes]]:
        """Run a command through, and give its stdout as it comes; see ``remote.host.Host.stream``."""
        words = self._words(argv)
        async with self._host.stream(words) as chunks:
            yield self._passed(chunks, tuple(argv), words)

    async def _passed(
        self, chunks: AsyncIterator[bytes], argv: tuple[str, ...], words: tuple[str, ...]
    ) -> AsyncIterator[bytes]:
        try:
            async for chunk in chunks:
                yield chunk
        except CommandFailed as error:
            if error.argv != words:
                raise
            self._barred(error.stderr, words, error.status)
            # Told as the failure of what was asked for; the way through is no matter of the caller's.
            raise type(error)(
                error.message, host=self.name, argv=argv, status=error.status, stderr=error.stderr
            ) from error

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
        """Ask a URL as the host itself sees it."""
        return await self._host.fetch(
            url, method=method, headers=headers, body=body, timeout_s=timeout_s, max_bytes=max_bytes
        )

    def _words(self, argv: Sequence[str]) -> tuple[str, ...]:
        return (*self._sudo, *self._exec, *argv)

    def _barred(self, said: str, words: tuple[str, ...], status: int) -> None:
        """Raise when sudo or the container's runtime has refused, and nothing was run."""
        for pattern, why in _REFUSALS if self._sudo else ():
            if re.search(pattern, said):
                last = without_stop(said.strip().splitlines()[-1])
                raise CommandFailed(
                    f"sudo on {self._host.name} {why} ({last}): let it run commands as {self._user} without one "
                    f"(NOPASSWD in sudoers), or log in as {self._user}.",
                    host=self._host.name, argv=words, status=status, stderr=said,
                )  # fmt: skip
        for pattern, why in _CONTAINER_REFUSALS if self._exec else ():
            if re.search(pattern, said):
                last = without_stop(said.strip().splitlines()[-1])
                raise CommandFailed(
                    f"Nothing can be run in the container {self._container} on {self._host.name}: {why} ({last}).",
                    host=self._host.name, argv=words, status=status, stderr=said,
                )  # fmt: skip


if TYPE_CHECKING:
    _CHECKED: type[Host] = Through
