"""A host that can say how far it is with what it is given: for what takes minutes over a slow line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from remote.host import Completed


@runtime_checkable
class Sends(Protocol):
    """Runs a command like ``Host.run``, and tells how much of its input is on the way."""

    async def run_sending(
        self, argv: Sequence[str], *, stdin: bytes, sent: Callable[[int], object], timeout_s: float = 30.0
    ) -> Completed:
        """Run a command to its end; its status is not looked at.

        Args:
            argv: The command.
            stdin: Given to it, then closed.
            sent: Told, again and again, how many bytes of ``stdin`` were taken by the line so far.
            timeout_s: Seconds it may take.

        Raises:
            RemoteError: Those of ``Host.run``.
        """
        ...
