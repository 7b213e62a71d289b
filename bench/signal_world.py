"""Processes whose numbers are chosen: real ones in a pid namespace of their own, or a model of the kernel's table.

In a namespace ``/proc/sys/kernel/ns_last_pid`` says which number the next process gets (man 7 pid_namespaces), so a
number that has become free is given to a stranger on purpose, at the very moment that a trial wants it. Where no
namespace is allowed, the model stands in for ``/proc``, ``pidfd_open`` and ``pidfd_send_signal``; it knows no timing.
"""

from __future__ import annotations

import contextlib
import os
import platform
import re
import signal
import socket
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NoReturn, Protocol
from unittest.mock import patch

from remote.payload import procctl
from remote.payload.procctl import MARK, Proc

if TYPE_CHECKING:
    from collections.abc import Iterator

NO_MARK = "-" * 25
"""Stands where a mark would: as long as one, and none."""

LAST_PID = "/proc/sys/kernel/ns_last_pid"
PID_MAX = "/proc/sys/kernel/pid_max"
PIDS = 1500
"""Numbers in the namespace: few enough to come round within a trial's storm, too many to do so within a clock tick."""

SETTLE_S = 0.02
"""Two clock ticks: what is born after them began at another tick."""


@dataclass(eq=False)
class Being:
    """A process of a trial.

    Attributes:
        pid: Its number.
        start_ticks: When it began.
        ours: Whether it is the job's; anything else must never get a signal.
        link: How a real one is told what to do.
        mark: The run that its environment names.
        harm: Signals that a modelled one got.
    """

    pid: int
    start_ticks: int
    ours: bool
    link: socket.socket | None = None
    mark: str = NO_MARK
    ppid: int = 1
    pgid: int = 1
    sid: int = 1
    state: str = "S"
    harm: list[int] = field(default_factory=list)

    @property
    def told(self) -> socket.socket:
        """The way to tell a real one something."""
        if self.link is None:
            raise ValueError("a modelled process can't be told anything")
        return self.link


class World(Protocol):
    """Where trials take place."""

    def born(
        self, *, ours: bool, pid: int = 0, parent: Being | None = None, leads: bool = False, mark: str = NO_MARK
    ) -> Being:
        """A new process; with a number that is free, when one is asked for."""
        ...

    def die(self, being: Being) -> None:
        """End a process and free its number."""
        ...

    def holders(self, number: int) -> list[Being]:
        """Who has a number as pid, group or session: it is free when all of them are gone."""
        ...

    def storm(self, being: Being) -> None:
        """Let a process have children that come and go as fast as they can."""
        ...

    def calm(self, being: Being) -> int:
        """End its storm; how many of those children did not end by themselves."""
        ...

    def harmed(self, being: Being) -> bool:
        """Whether a process got a signal."""
        ...

    def settle(self) -> None:
        """Let the clock go on by a tick."""
        ...

    def patched(self) -> contextlib.AbstractContextManager[object]:
        """While a step is at work."""
        ...

    def end(self) -> None:
        """End all."""
        ...


# -- real processes


class Namespace:
    """A pid namespace, whose first process we are."""

    def __init__(self) -> None:
        self.beings: list[Being] = []
        if tuple(map(int, re.findall(r"\d+", platform.release())[:2])) >= (6, 14):  # before, it would be the host's own
            with open(PID_MAX, "w", encoding="ascii") as file:  # noqa: PTH123 - a kernel's switch
                file.write(str(PIDS))

    def born(
        self, *, ours: bool, pid: int = 0, parent: Being | None = None, leads: bool = False, mark: str = NO_MARK
    ) -> Being:
        """Fork it, or have its parent fork it; the number is tried for until it is got (a storm may be faster)."""
        deadline = time.monotonic() + 20
        while True:
            being = self._fork(pid, parent, leads=leads, mark=mark)
            if being.pid == pid or not pid:
                break
            self.die(being)
            if time.monotonic() > deadline:
                raise TimeoutError(f"the number {pid} could not be had")
        being.ours = ours
        self.beings.append(being)
        return being

    def _fork(self, pid: int, parent: Being | None, *, leads: bool, mark: str) -> Being:
        near, far = socket.socketpair()
        if pid:
            with open(LAST_PID, "w", encoding="ascii") as file:  # noqa: PTH123 - a kernel's switch
                file.write(str(pid - 1))
        if parent is None:
            new = os.fork()
            if new == 0:
                near.close()
                act(far, leads=leads, mark=mark)
        else:
            socket.send_fds(parent.told, [b"f%d%b" % (leads, mark.encode())], [far.fileno()])
        far.close()
        new = int(near.recv(16))  # it is ready, and says who it is
        proc = procctl.read_stat(new)
        return Being(new, proc.start_ticks if proc else 0, ours=False, link=near, mark=mark)

    def die(self, being: Being) -> None:
        """KILL it, and wait until its number is free."""
        while (proc := procctl.read_stat(being.pid)) is not None and proc.start_ticks == being.start_ticks:
            with contextlib.suppress(ProcessLookupError):
                os.kill(being.pid, signal.SIGKILL)
            reap()
        if being.link is not None:
            being.link.close()

    def holders(self, number: int) -> list[Being]:
        """As the kernel says."""
        procs = ((being, procctl.read_stat(being.pid)) for being in self.beings)
        return [being for being, proc in procs if is_held(being, proc, number)]

    def storm(self, being: Being) -> None:
        """Tell it to."""
        being.told.send(b"s")

    def calm(self, being: Being) -> int:
        """Tell it to stop, and ask it."""
        being.told.send(b"c")
        return int(being.told.recv(16))

    def harmed(self, being: Being) -> bool:
        """Whether it is gone or halted without our word."""
        reap()
        proc = procctl.read_stat(being.pid)
        return proc is None or proc.start_ticks != being.start_ticks or proc.state in "TtZX"

    def settle(self) -> None:
        """Wait for two ticks."""
        time.sleep(SETTLE_S)

    def patched(self) -> contextlib.AbstractContextManager[object]:
        """The kernel is the real one; orphans are ours to reap meanwhile."""
        real = procctl.read_table

        def table() -> dict[int, Proc]:
            reap()
            return real()

        return patch.object(procctl, "read_table", table)

    def end(self) -> None:
        """End all that is left."""
        for being in self.beings:
            self.die(being)
        self.beings.clear()


def is_held(being: Being, proc: Proc | None, number: int) -> bool:
    """Whether a process that is there has a number in one of its three places."""
    there = proc is not None and proc.start_ticks == being.start_ticks
    return there and proc is not None and number in {proc.pid, proc.pgid, proc.sid}


def reap() -> None:
    """Take notice of children that have ended: we are the first process, and get all orphans."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def act(link: socket.socket, *, leads: bool, mark: str) -> NoReturn:
    """What a real process does: say that it is there, then what it is told."""
    try:
        if leads:
            os.setsid()
        set_mark(mark)
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # its own children's numbers are free at once
        link.send(b"%d" % os.getpid())
        while True:
            word, descriptors, _, _ = socket.recv_fds(link, 64, 1)
            if not word:
                break
            if word == b"s":
                link.send(b"%d" % churn(link))
                continue
            if os.fork() == 0:
                act(socket.socket(fileno=descriptors[0]), leads=word[1:2] == b"1", mark=word[2:].decode())
            os.close(descriptors[0])
    finally:
        os._exit(0)


def churn(link: socket.socket) -> int:
    """Fork children that end at once, until a word comes; how many were ended by a signal."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    link.setblocking(False)
    hit = 0
    while True:
        with contextlib.suppress(BlockingIOError):
            if link.recv(16):
                break
        children = [fork_short() for _ in range(8)]
        hit += sum(os.waitpid(child, 0)[1] != 0 for child in children)
    link.setblocking(True)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    return hit


def fork_short() -> int:
    """A child that lives for a moment."""
    child = os.fork()
    if child == 0:
        time.sleep(0.001)
        os._exit(0)
    return child


def set_mark(mark: str) -> None:
    """Change what /proc says of our own environment: it shows the memory of the first exec, which we may write."""
    with open("/proc/self/environ", "rb") as file:  # noqa: PTH123 - as below
        at = file.read().index(MARK.encode() + b"=") + len(MARK) + 1
    with open("/proc/self/stat", "rb") as file:  # noqa: PTH123
        begin = int(file.read().rpartition(b")")[2].split()[47])  # env_start, field 50
    with open("/proc/self/mem", "r+b", buffering=0) as memory:  # noqa: PTH123
        memory.seek(begin + at)
        memory.write(mark.encode())


# -- the model


class Model:
    """A process table of our own, with the rules that matter: numbers are reused, a pidfd is bound to its process."""

    def __init__(self) -> None:
        self.ticks = 1000
        self.next = 5000
        self.beings: dict[int, Being] = {}
        self.handles: dict[int, Being] = {}

    def born(
        self, *, ours: bool, pid: int = 0, parent: Being | None = None, leads: bool = False, mark: str = NO_MARK
    ) -> Being:
        """Put it into the table."""
        self.next += 1
        number = pid or self.next
        if self.holders(number):
            raise ValueError(f"the number {number} is in use")
        being = Being(number, self.ticks, ours, mark=mark)
        if parent is not None:
            being.ppid, being.pgid, being.sid = parent.pid, parent.pgid, parent.sid
        if leads:
            being.pgid = being.sid = number
        self.beings[number] = being
        return being

    def die(self, being: Being) -> None:
        """Take it out; its children get another parent."""
        if self.beings.get(being.pid) is being:
            del self.beings[being.pid]
        for child in self.beings.values():
            if child.ppid == being.pid:
                child.ppid = 1

    def holders(self, number: int) -> list[Being]:
        """By the table."""
        return [being for being in self.beings.values() if number in {being.pid, being.pgid, being.sid}]

    def storm(self, being: Being) -> None:
        """The model has no time for storms."""

    def calm(self, being: Being) -> int:
        """See ``storm``."""
        del being
        return 0

    def harmed(self, being: Being) -> bool:
        """Whether a signal was sent to it."""
        return bool(being.harm)

    def settle(self) -> None:
        """A tick more."""
        self.ticks += 2

    @contextlib.contextmanager
    def patched(self) -> Iterator[None]:
        """Let procctl see the table instead of /proc."""
        with contextlib.ExitStack() as stack:
            for name in (
                "read_stat",
                "read_table",
                "read_argv",
                "read_mark",
                "read_uid",
                "owned",
                "same_world",
                "lineage",
            ):
                stack.enter_context(patch.object(procctl, name, getattr(self, f"_{name}")))
            stack.enter_context(patch.object(os, "pidfd_open", self._pidfd_open))
            stack.enter_context(patch.object(signal, "pidfd_send_signal", self._send))
            yield

    def end(self) -> None:
        """An empty table."""
        self.beings.clear()

    def _read_stat(self, pid: int) -> Proc | None:
        being = self.beings.get(pid)
        if being is None:
            return None
        return Proc(pid, being.ppid, being.pgid, being.sid, being.start_ticks, being.state, 1)

    def _read_table(self) -> dict[int, Proc]:
        # Not at once: a trial may change it between two lines, as the kernel's may.
        procs = ((pid, procctl.read_stat(pid)) for pid in list(self.beings))
        return {pid: proc for pid, proc in procs if proc is not None}

    def _read_argv(self, pid: int) -> list[str]:
        return ["job"] if pid in self.beings else []

    def _read_mark(self, pid: int) -> str | None:
        being = self.beings.get(pid)
        return None if being is None else being.mark

    def _read_uid(self, pid: int) -> int | None:
        return 0 if pid in self.beings else None

    def _owned(self, pid: int) -> bool:
        return pid in self.beings

    def _same_world(self, pid: int) -> bool:
        return pid in self.beings

    def _lineage(self, pid: int, table: dict[int, Proc]) -> set[int]:
        del pid, table
        return set()

    def _pidfd_open(self, pid: int) -> int:
        if pid not in self.beings:
            raise ProcessLookupError(pid)
        handle = os.open(os.devnull, os.O_RDONLY)
        self.handles[handle] = self.beings[pid]
        return handle

    def _send(self, handle: int, number: int) -> None:
        being = self.handles[handle]
        if self.beings.get(being.pid) is not being:
            raise ProcessLookupError(being.pid)
        being.harm.append(number)
        if number == signal.SIGSTOP:
            being.state = "T"
        elif number != signal.SIGCONT:
            self.die(being)


_WORLDS: tuple[type[World], ...] = (Namespace, Model)
