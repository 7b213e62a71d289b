"""Find, start and stop the job on a host; never a stranger's process.

Each function is one remote step (``remote.step``): what is checked is checked where and when it is acted upon.
"""

from __future__ import annotations

import posixpath
import shlex
from contextlib import aclosing
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal

from remote.step import ask, ask_stream

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping

    from remote.host import Host
    from remote.step import Fields

START_TIMEOUT_S = 60.0
"""A start waits for the lock (15 s at most) and looks at the new job for a second; the rest is for a slow host."""

WATCH_S = 1.0
"""How long a new job is watched: a wrong path, a missing module or a taken lock shows within it."""

SILENCE_S = 30.0
"""A stop tells each second what is left, except for 10 s after KILL; the host finishes one that is given up here."""


Scope = Literal["auto", "always", "never"]
"""Whether a job is put into a scope of the user's systemd."""


@dataclass(frozen=True, slots=True)
class ProcessIdentity:
    """What proves that a pid still is the process that was seen: all of it is compared before a signal.

    Attributes:
        boot_id: ``/proc/sys/kernel/random/boot_id`` of the host.
        pid: Its process id.
        start_ticks: When it began, in clock ticks since boot: field 22 of ``/proc/PID/stat`` (man 5 proc).
        argv: Its command line as the kernel has it.
        uid: Its real user; None in an identity from before this was kept, which is not compared then.
    """

    boot_id: str
    pid: int
    start_ticks: int
    argv: tuple[str, ...]
    uid: int | None = None


@dataclass(frozen=True, slots=True)
class FoundProcess:
    """A process of the job, as the host described it.

    Attributes:
        identity: What proves it.
        pgid: Its process group.
        sid: Its session.
        started_at: When it began, by the host's clock, UTC.
        age_s: Seconds since then, by the host's uptime, at the time of asking.
        cwd: Its working folder; empty when it can't be read.
        user: Who runs it.
        children: Processes below it, at any depth.
        by_record: True when longwait's own record names it; False when it was found by its command line.
        script_sha256: SHA-256 of the script when it was started, from the record; None when it was found otherwise.
        place: Where tmux or systemd lists it: a session's or a unit's name; empty for a plain process, and in what
            ``find`` gives.
        notes: What did not go as meant when it was started, a sentence each.
    """

    identity: ProcessIdentity
    pgid: int
    sid: int
    started_at: datetime
    age_s: float
    cwd: str
    user: str
    children: int = 0
    by_record: bool = False
    script_sha256: str | None = None
    place: str = ""
    notes: tuple[str, ...] = ()

    @property
    def pid(self) -> int:
        """Its process id."""
        return self.identity.pid

    @property
    def command(self) -> str:
        """Its command line as one would type it."""
        return shlex.join(self.identity.argv)


@dataclass(frozen=True, slots=True)
class JobSpec:
    """The job as the operator set it up.

    Paths are the host's: one that begins with ``~`` begins at the login's home, a relative ``log`` or ``script`` in
    ``run_dir``, and a relative ``run_dir`` where the login's commands do, at its home.

    Script (without one the command) and log stand for the job: two that differ in them are two jobs, each with a record
    and a lock of its own, also in one ``run_dir``.

    Attributes:
        python: The Python on the host (3.8 or newer) that carries out the remote steps.
        run_dir: Folder on the host: where the job runs, and where ``.longwait/`` keeps its record and lock.
        argv: The job's command; empty when it is only to be found, never started.
        log: File on the host that its stdout and stderr are appended to; two jobs do not share one.
        env: Variables set for it beyond those of a login; a ``None`` removes one.
        venv: Folder of a venv that it runs in, as after its ``bin/activate``; empty for none.
        conda: Name or folder of a conda environment that it runs in, as after ``conda activate``; empty for none.
        env_of: A process whose environment it gets instead of all these, as it was kept when that was stopped: boot id,
            pid and start ticks; None for none.
        keep_env: Keep its environment on the host when it is stopped, for its user's eyes alone.
        script: The Python script that the command runs; empty when it is not one.
        match: Words that its command line contains. With ``script`` they tell apart jobs of one script, wherever they
            are; without it they must be where the line says what it runs, not in later arguments. With neither, a
            process that longwait did not start is found by the very command line and folder.
    """

    python: str
    run_dir: str
    argv: tuple[str, ...]
    log: str
    env: Mapping[str, str | None] = field(default_factory=dict)
    script: str = ""
    match: str = ""
    venv: str = ""
    conda: str = ""
    env_of: tuple[str, int, int] | None = None
    keep_env: bool = True

    @property
    def script_path(self) -> str:
        """The script's path on the host; empty when there is none."""
        return self._placed(self.script) if self.script else ""

    @property
    def log_path(self) -> str:
        """The log's path on the host."""
        return self._placed(self.log)

    def _placed(self, path: str) -> str:
        """A path where the host will look for it; ``~`` stays, since the host knows its homes."""
        return path if path.startswith("~") else posixpath.join(self.run_dir, path)


@dataclass(frozen=True, slots=True)
class StopStep:
    """What a stop has just done.

    Attributes:
        step: ``term`` (sent), ``waiting``, ``kill`` (sent) or ``gone``.
        count: Processes signalled, or left; 0 when gone.
        seconds: Since the stop began.
        left_group: How many of ``count`` had left the job's process group and session, and were known as its own
            by their parents or by the mark in their environment.
    """

    step: str
    count: int
    seconds: float
    left_group: int = 0


@dataclass(frozen=True, slots=True)
class Found:
    """The answer of ``find``.

    Attributes:
        processes: The job's processes, roots of their trees only; more than one means that someone must choose.
        script_sha256: SHA-256 of the script file on the host now; None when it is missing or there is none.
    """

    processes: tuple[FoundProcess, ...]
    script_sha256: str | None = None


async def find(host: Host, spec: JobSpec) -> Found:
    """Look for the job: by its record, else by its command line among the processes of the same user.

    Raises:
        RemoteError: The host could not be asked.
    """
    answer = await ask(host, spec.python, "find", where(spec))
    return Found(tuple(found_process(fields) for fields in answer["processes"]), answer["script_sha256"])


async def at_pid(host: Host, python: str, pid: int) -> tuple[FoundProcess | None, bool]:
    """The process that has a number now, whatever it is, and whether we may signal it; None when there is none.

    Raises:
        RemoteError: The host could not be asked.
    """
    answer = await ask(host, python, "at", {"pid": pid})
    process = answer["process"]
    return (None if process is None else found_process(process)), answer["ours"]


async def adopt(host: Host, spec: JobSpec, identity: ProcessIdentity) -> FoundProcess:
    """Record a process that somebody else has started as the job: from then on it is found by that record.

    Args:
        host: Where.
        spec: The job; its script and log, or command, are what the record is kept under.
        identity: Proven again in the same remote step.

    Raises:
        NotOurProcess: The pid is gone or is another process now.
        JobAlreadyRuns: Another process is the job; the message names it.
        RemoteError: The host could not be asked.
    """
    answer = await ask(host, spec.python, "adopt", {**where(spec), "identity": asdict(identity)})
    return found_process(answer["process"])


async def strays(host: Host, spec: JobSpec) -> tuple[FoundProcess, ...]:
    """What a former run has left: processes with the job's mark that belong to no job that runs; roots of their trees.

    Each can be ended by ``stop``.

    Raises:
        RemoteError: The host could not be asked.
    """
    answer = await ask(host, spec.python, "strays", where(spec))
    return tuple(found_process(fields) for fields in answer["processes"])


async def start(
    host: Host, spec: JobSpec, *, watch_s: float = WATCH_S, launcher: str = "process", scope: Scope = "auto"
) -> FoundProcess:
    """Start the job, detached from everything; it lives on when the connection ends.

    Args:
        host: Where.
        spec: The job.
        watch_s: Seconds that the host watches whether it ends at once.
        launcher: What makes its process: ``process`` (this step itself), ``tmux`` or ``systemd``.
        scope: Whether it is put into a scope of the user's systemd, which a logout does not end: ``always``, ``never``,
            or ``auto``: where the host ends a user's processes at logout and a scope is allowed.

    Raises:
        JobAlreadyRuns: A job runs; the message names it.
        CommandFailed: It could not be started, or ended at once; the message says why, ``stderr`` has its last lines.
        RemoteError: The host could not be asked, or its answer was lost: then the job may run.
    """
    request = {**where(spec), **surroundings(spec), "watch_s": watch_s, "launcher": launcher, "scope": scope}
    return started_process(await ask(host, spec.python, "start", request, timeout_s=START_TIMEOUT_S))


async def stop(
    host: Host, identity: ProcessIdentity, grace_s: float, *, python: str = "python3", of: JobSpec | None = None
) -> AsyncGenerator[StopStep]:
    """Ask the job's processes to end (TERM, once each), wait, then end those left (KILL).

    The host carries it to its end even when this end of the connection goes away.

    Args:
        host: Where.
        identity: Proven again in the same remote step that sends the signal.
        grace_s: Seconds between TERM and KILL.
        python: The Python on the host that carries it out.
        of: The job that it is, for which its environment is kept on the host; None keeps nothing.

    Raises:
        NotOurProcess: The pid is gone or is another process now; nothing was signalled.
        CommandFailed: Processes are left even after KILL; the message names them.
        RemoteError: The host could not be asked, or its answer was lost: then the host goes on with it.
    """
    keep = {} if of is None else {"keep": {**where(of), "keep_env": of.keep_env, "env_of": _env_of(of)}}
    request = {**asdict(identity), "grace_s": grace_s, **keep}
    async with aclosing(stop_steps(host, python, "stop", request)) as steps:
        async for step in steps:
            yield step


async def stop_steps(host: Host, python: str, verb: str, request: Fields) -> AsyncGenerator[StopStep]:
    """Carry out a step that stops something, and give what it tells."""
    async with aclosing(ask_stream(host, python, verb, request, silence_s=SILENCE_S)) as answers:
        async for answer in answers:
            yield StopStep(answer["step"], answer["count"], answer["seconds"], answer["left_group"])


def where(spec: JobSpec) -> Fields:
    """What of a job's settings a remote step needs to know it."""
    return {
        "run_dir": spec.run_dir,
        "script": spec.script,
        "match": spec.match,
        "argv": list(spec.argv),
        "log": spec.log,
    }


def surroundings(spec: JobSpec) -> Fields:
    """What of a job's settings makes its environment; it may hold what no process list should show."""
    return {"env": dict(spec.env), "venv": spec.venv, "conda": spec.conda, "env_of": _env_of(spec)}


def _env_of(spec: JobSpec) -> Fields | None:
    of = spec.env_of
    return None if of is None else dict(zip(("boot_id", "pid", "start_ticks"), of, strict=True))


def started_process(answer: Fields) -> FoundProcess:
    """What a start has answered."""
    return replace(found_process(answer["process"]), place=answer["place"], notes=tuple(answer["notes"]))


def found_process(fields: Fields) -> FoundProcess:
    """A process as a remote step describes it."""
    argv = tuple(fields["argv"])
    return FoundProcess(
        ProcessIdentity(fields["boot_id"], fields["pid"], fields["start_ticks"], argv, fields["uid"]),
        pgid=fields["pgid"],
        sid=fields["sid"],
        started_at=datetime.fromtimestamp(fields["started_at"], UTC),
        age_s=fields["age_s"],
        cwd=fields["cwd"],
        user=fields["user"],
        children=fields["children"],
        by_record=fields["by_record"],
        script_sha256=fields["script_sha256"],
    )
