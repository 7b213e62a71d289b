"""The host's own figures, asked once a minute while somebody follows: one command, and what hangs hides only itself."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from console.feed_probes import repeat
from console.feed_questions import LINK_PAUSE_S
from console.job.machine import PART_S, query, read_machine
from console.job.machine_facts import MachineMissing, MachineSeen
from console.paths import followed_path
from remote.errors import CommandFailed, LinkLost, RemoteError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine

    from console.config import Settings
    from console.job.machine import Gpus
    from remote.host import Host

PATIENCE_S = PART_S + 6.0
"""Seconds for the whole answer: the parts end by themselves before that, unless the kernel holds one of them."""

HANG_PAUSE_S = 600.0
"""Seconds for which the GPUs are left alone after their tool did not end: a new one each minute would pile up."""

_MOST = 262_144
"""Bytes of an answer that are read: a hundred times what eight GPUs need."""


class MachineAsker:
    """Asks for load, memory, disk and GPUs.

    Args:
        host: Whom.
        settings: What to ask for, and how often.
        note: Told of each answer.
        ticks: A clock that only runs onward, seconds.
    """

    def __init__(
        self,
        host: Host,
        settings: Settings,
        *,
        note: Callable[[MachineSeen | MachineMissing], None],
        ticks: Callable[[], float] = time.monotonic,
    ) -> None:
        self._host = host
        self._settings = settings.machine
        self._folder = output_folder(settings)
        self._note = note
        self._ticks = ticks
        self._gpus_after = float("-inf")
        self.asked = asyncio.Event()
        """Set once it was asked, or is not asked at all."""

    def works(self, ready: Callable[[], Awaitable[None]]) -> list[Coroutine[None, None, None]]:
        """What runs until it is cancelled."""
        if not self._settings.ask:
            self.asked.set()
            return [self._decline(ready)]
        return [repeat(self._ask, ready)]

    async def _decline(self, ready: Callable[[], Awaitable[None]]) -> None:
        """Say why there will be no figures."""
        await ready()
        self._note(MachineMissing("not asked: machine.ask is false in the config"))

    async def _ask(self) -> float:
        gpus: Gpus = self._settings.gpus if self._ticks() >= self._gpus_after else "none"
        try:
            told = read_machine(await self._answer(query(self._folder, gpus)), gpus)
        except LinkLost:
            return LINK_PAUSE_S
        except RemoteError as error:
            self._note(MachineMissing(error.message))
        else:
            if told is not None and told.gpus is not None and told.gpus.fault == "hang":
                self._gpus_after = self._ticks() + HANG_PAUSE_S
            self._note(told or MachineMissing("The host's own figures could not be read: it has no /proc, df or sh."))
        self.asked.set()
        return self._settings.every_s

    async def _answer(self, argv: tuple[str, ...]) -> str:
        """What came until the end, or until ``PATIENCE_S`` were over.

        Raises:
            RemoteError: When nothing came.
        """
        came: list[bytes] = []
        size = 0
        try:
            async with asyncio.timeout(PATIENCE_S), self._host.stream(argv) as chunks:
                async for chunk in chunks:
                    came.append(chunk)
                    size += len(chunk)
                    if size > _MOST:
                        break
        except (TimeoutError, CommandFailed) as error:
            if not came:
                said = f"The host's own figures did not come within {PATIENCE_S:.0f} s."
                raise error if isinstance(error, CommandFailed) else RemoteError(said) from error
        return b"".join(came)[:_MOST].decode("utf-8", "replace")


def output_folder(settings: Settings) -> str:
    """The folder whose disk must not fill: as set, else where the job writes, else where its or the server's log is."""
    job, server = settings.job, settings.server
    if settings.machine.disk:
        return followed_path(settings, settings.machine.disk)
    for path in (job.progress, job.log, *server.log_paths):
        if path is not None:
            folder = followed_path(settings, path).rpartition("/")[0]
            return folder or ("/" if path.startswith("/") else ".")
    return followed_path(settings, job.dir) if job.dir else "."
