"""What runs on a host that nobody has described, found by one look: servers, batch jobs, logs; and how sure each is.

    found = await discover(host, "python3")
    for server in found.servers:
        server.port.value, server.port.sure, server.port.why

The look takes well under two seconds on a host with thousands of processes, and changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, Literal, TypeVar

from remote.process import FoundProcess, found_process
from remote.step import ask

if TYPE_CHECKING:
    from remote.host import Host
    from remote.step import Fields

DISCOVER_TIMEOUT_S = 20.0
"""It gives up its own looking after 1.5 s; the rest is for a slow host and its Python's start."""

T = TypeVar("T")

Sure = Literal["certain", "likely", "guess", "unknown"]
"""Proven by two things that agree or by the kernel; by one good sign; by a habit; not known at all."""


@dataclass(frozen=True, slots=True)
class Clue(Generic[T]):
    """Something that was found out.

    Attributes:
        value: What; None when it is not known.
        sure: How sure it is.
        why: From what, or why it is not known, as a phrase.
    """

    value: T | None
    sure: Sure
    why: str


@dataclass(frozen=True, slots=True)
class LogPlace:
    """Where an output of a process can be read.

    Attributes:
        stream: 1 for stdout (and stderr when it goes to the same place), 2 for stderr.
        kind: ``file``, ``journal``, ``container``; or what can't be followed: ``pipe``, ``tty``, ``null``, ``deleted``,
            ``closed``, ``socket``, ``unseen``, ``other``.
        path: The file on the host, also of one that is deleted; None for others.
        command: The words that print and follow it, where it is no file; None when there is no way.
        sure: How sure it is.
        why: From what, or why it can't be followed.
    """

    stream: int
    kind: str
    path: str | None
    command: tuple[str, ...] | None
    sure: Sure
    why: str

    @property
    def followable(self) -> bool:
        """Whether it can be followed."""
        return self.kind == "file" or self.command is not None


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a process runs in.

    Attributes:
        container: The container's name, or the begin of its id; None for none.
        runtime: What runs that: ``docker``, ``podman``, ``kubernetes``, ``container``; None for none.
        unit: Its systemd unit; None for a login's process.
        user_unit: Whether that is one of the user's own systemd.
        slurm_job: Its Slurm job's number; None for none.
    """

    container: str | None
    runtime: str | None
    unit: str | None
    user_unit: bool
    slurm_job: str | None


@dataclass(frozen=True, slots=True)
class FoundServer:
    """An inference server, or a router before several.

    Attributes:
        process: The root of its processes, with what proves it.
        pids: All its processes.
        engine: ``sglang``, ``vllm``, ``llamacpp``, ``trtllm``, ``transformers``, ``sglang-router`` or ``vllm-router``.
        router: Whether it is a router.
        port: Its HTTP port.
        listens: Whether something listens there now; None when the port is not known.
        other_ports: Other TCP ports that it listens on.
        url: Where the host itself reaches it; None when the port is not known.
        model: The model's name as clients would give it.
        logs: Where its output goes.
        within: What it runs in.
    """

    process: FoundProcess
    pids: tuple[int, ...]
    engine: str
    router: bool
    port: Clue[int]
    listens: bool | None
    other_ports: tuple[int, ...]
    url: str | None
    model: Clue[str]
    logs: tuple[LogPlace, ...]
    within: Surroundings


@dataclass(frozen=True, slots=True)
class FoundJob:
    """A batch job: a program connected to a server.

    Attributes:
        process: The process to stop when it is to be stopped, with what proves it.
        port: The server's port that it is connected to.
        connections: How many connections it has there now; 0 when only its command line names the port.
        sure: How sure it is that it is a job of that server.
        why: From what.
        script: The script that it runs, a path of the host.
        python: Its interpreter.
        dir: Its working folder.
        logs: Where its output goes.
        writes: Ordinary files that it has open for writing, outputs aside.
        started_by: Command line of the process that started it, and may go on when it ends; None for none.
        within: What it runs in.
        venv: Folder of the venv that it was started in; empty for none.
        conda: Folder of the conda environment that it was started in; empty for none.
    """

    process: FoundProcess
    port: int
    connections: int
    sure: Sure
    why: str
    script: Clue[str]
    python: Clue[str]
    dir: Clue[str]
    logs: tuple[LogPlace, ...]
    writes: tuple[str, ...]
    started_by: str | None
    within: Surroundings
    venv: str = ""
    conda: str = ""


@dataclass(frozen=True, slots=True)
class Client:
    """One who is connected to a server's port.

    Attributes:
        pid: Its process; None when it is not seen (another user's) or on another machine.
        command: Its command line; empty when not seen.
        user: Whose it is; empty when not seen.
        port: The server's port.
        connections: How many.
        kind: ``job``, ``server`` (a router), ``console`` (longwait on this machine), ``tunnel`` (SSH: a console or
            someone at a desk), ``proxy``, ``monitor``, ``probe``, ``elsewhere`` (another machine) or ``unseen``.
        address: The other machine's address; empty for this one's.
    """

    pid: int | None
    command: str
    user: str
    port: int
    connections: int
    kind: str
    address: str = ""


@dataclass(frozen=True, slots=True)
class Leftover:
    """Worker processes of a server that is gone; they may still hold GPU memory.

    Attributes:
        process: The root of them.
        title: What it calls itself.
    """

    process: FoundProcess
    title: str


@dataclass(frozen=True, slots=True)
class Discovered:
    """Everything that one look has found.

    Attributes:
        servers: Inference servers and routers.
        jobs: Batch jobs.
        clients: All who are connected to the servers, the jobs among them.
        leftovers: What servers that are gone have left.
        unseen: What could not be seen, and what would help, a sentence each.
        processes: How many processes the host showed.
        user: Who looked.
        took_s: Seconds that the look took on the host.
    """

    servers: tuple[FoundServer, ...]
    jobs: tuple[FoundJob, ...]
    clients: tuple[Client, ...]
    leftovers: tuple[Leftover, ...]
    unseen: tuple[str, ...]
    processes: int
    user: str
    took_s: float


async def discover(host: Host, python: str = "python3") -> Discovered:
    """Look for servers and jobs; changes nothing.

    Args:
        host: Where.
        python: The Python there that looks, 3.8 or newer.

    Raises:
        CommandFailed: There is no usable Python of that name.
        RemoteError: The host could not be asked.
    """
    answer = await ask(host, python, "discover", {}, timeout_s=DISCOVER_TIMEOUT_S)
    return Discovered(
        tuple(_server(fields) for fields in answer["servers"]),
        tuple(_job(fields) for fields in answer["jobs"]),
        tuple(Client(**fields) for fields in answer["clients"]),
        tuple(Leftover(found_process(fields["process"]), fields["title"]) for fields in answer["leftovers"]),
        tuple(answer["unseen"]),
        answer["processes"],
        answer["user"],
        answer["took_s"],
    )


async def clients_of(host: Host, python: str, port: int) -> tuple[tuple[Client, ...], tuple[str, ...]]:
    """Who is connected to a port of the host now, and what could not be seen, a sentence each.

    Raises:
        RemoteError: The host could not be asked.
    """
    answer = await ask(host, python, "clients", {"port": port}, timeout_s=DISCOVER_TIMEOUT_S)
    return tuple(Client(**fields) for fields in answer["clients"]), tuple(answer["unseen"])


def _clue(fields: Fields) -> Clue[T]:
    return Clue(fields["value"], fields["sure"], fields["why"])


def _log(fields: Fields) -> LogPlace:
    command = fields["command"]
    return LogPlace(
        fields["stream"],
        fields["kind"],
        fields["path"],
        None if command is None else tuple(command),
        fields["sure"],
        fields["why"],
    )


def _within(fields: Fields) -> Surroundings:
    return Surroundings(
        fields["container"], fields["runtime"], fields["unit"], fields["user_unit"], fields["slurm_job"]
    )


def _server(fields: Fields) -> FoundServer:
    return FoundServer(
        found_process(fields["process"]),
        tuple(fields["tree"]),
        fields["engine"],
        fields["router"],
        _clue(fields["port"]),
        fields["listens"],
        tuple(fields["other_ports"]),
        fields["url"],
        _clue(fields["model"]),
        tuple(_log(log) for log in fields["logs"]),
        _within(fields),
    )


def _job(fields: Fields) -> FoundJob:
    return FoundJob(
        found_process(fields["process"]),
        fields["port"],
        fields["connections"],
        fields["sure"],
        fields["why"],
        _clue(fields["script"]),
        _clue(fields["python"]),
        _clue(fields["dir"]),
        tuple(_log(log) for log in fields["logs"]),
        tuple(fields["writes"]),
        fields["started_by"],
        _within(fields),
        **dict([fields["activated"]] if fields["activated"] else []),
    )
