"""Start, stop or restart the server by the operator's own command; detached on the host, with its output in a log."""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from remote.step import ask_stream

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping

    from remote.host import Host
    from remote.launchers.systemd import UnitOf

WAIT_S = 60.0
"""Seconds that a command is watched by default: ``systemctl restart`` is back within them; a server never ends."""

SILENCE_S = 20.0
"""The host tells each second that the command runs."""

LOG = "~/.longwait/server-control.log"
"""Where the commands' output goes by default, on the host."""


@dataclass(frozen=True, slots=True)
class ServerStep:
    """How far a command is.

    Attributes:
        step: ``started``, ``running``, ``ended``, or ``goes_on`` (watched no longer; it runs).
        pid: Its process.
        seconds: Since it began.
        status: Its exit status when it has ended, negative for a signal; None before.
        log: Where its output is on the host; empty while running.
        tail: Its last lines, when it has ended.
    """

    step: str
    pid: int
    seconds: float
    status: int | None = None
    log: str = ""
    tail: tuple[str, ...] = ()

    @property
    def failed(self) -> bool:
        """Whether it ended with a status other than 0."""
        return self.status not in {None, 0}


def unit_command(verb: str, unit: str, unit_of: UnitOf) -> tuple[str, ...]:
    """The words that have systemd ``start``, ``stop`` or ``restart`` a unit; ``auto`` means the host's own here."""
    user = ("--user",) if unit_of == "user" else ()
    return ("systemctl", *user, verb, "--", unit)


async def run_server_command(
    host: Host,
    python: str,
    argv: tuple[str, ...],
    *,
    log: str = LOG,
    cwd: str = "",
    env: Mapping[str, str] | None = None,
    wait_s: float = WAIT_S,
) -> AsyncGenerator[ServerStep]:
    """Run one of the operator's commands for the server; it goes on when this end of the connection goes away.

    Args:
        host: Where.
        python: The Python on the host that carries it out.
        argv: The command, a list of words; it goes through no shell. It stands in the host's process list.
        log: Where its output is added on the host. Of two commands with the same log at the same time one is refused.
        cwd: Folder in which it runs; the login's home when empty.
        env: Variables added for it; they stand in the host's process list for a moment, so no secrets.
        wait_s: Seconds that it is watched.

    Raises:
        CommandFailed: It could not be run (no such program, another one at work); what ended with a status is a step.
        RemoteError: The host could not be asked, or its answer was lost: the command goes on.
    """
    request = {"argv": list(argv), "log": log, "cwd": cwd, "env": dict(env or {}), "wait_s": wait_s}
    async with aclosing(ask_stream(host, python, "command", request, silence_s=SILENCE_S)) as answers:
        async for answer in answers:
            yield ServerStep(
                answer["step"],
                answer["pid"],
                answer["seconds"],
                answer.get("status"),
                answer.get("log", ""),
                tuple(answer.get("tail", ())),
            )
