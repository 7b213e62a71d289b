"""What was found on a host that nobody has described: in words, and as settings. Pure."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import yaml

from console.job.lines import clean
from console.job.units import duration, plural

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from remote.discover import Clue, Discovered, FoundJob, FoundServer, LogPlace

ENGINES = frozenset({"sglang", "vllm", "llamacpp", "trtllm"})
"""Engines that a config may name."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """The run to attach to.

    Attributes:
        server: Its server; None when only a job was found.
        job: Its job; None when only a server was found.
        others: What was found beside it, a sentence each.
    """

    server: FoundServer | None
    job: FoundJob | None
    others: tuple[str, ...] = ()


class NothingToAttach(Exception):  # noqa: N818 - what is missing, for a sentence
    """There is no run to be seen; the message says why, for a person."""


def choose(found: Discovered, port: int | None = None) -> Chosen:
    """The run that is meant: the server that most requests go to, and the job that sends them.

    Args:
        found: All that was found.
        port: The server's port, where the operator names one.

    Raises:
        NothingToAttach: There is none, or none on that port.
    """
    servers = [server for server in found.servers if port is None or server.port.value == port]
    jobs = [job for job in found.jobs if port is None or job.port == port]
    if not servers and not jobs:
        where = "" if port is None else f" on port {port}"
        raise NothingToAttach(f"No inference server and no batch job were found{where}.")
    job = max(jobs, key=lambda one: one.connections, default=None)
    server = _server_of(servers, job)
    if port is None and job is not None and server is not None and server.port.value != job.port:
        job = next((one for one in jobs if one.port == server.port.value), None)
    others = [f"another server: {_server_head(one)}" for one in found.servers if one is not server]
    others += [f"another job: {_job_head(one)}" for one in found.jobs if one is not job]
    return Chosen(server, job, tuple(others))


def _server_of(servers: Sequence[FoundServer], job: FoundJob | None) -> FoundServer | None:
    """The server that a job's requests go to; without a job a router, behind which all others are."""
    asked = next((server for server in servers if job is not None and server.port.value == job.port), None)
    return asked or next((server for server in servers if server.router), servers[0] if servers else None)


# ---------------------------------------------------------------- words


def words(found: Discovered, chosen: Chosen) -> Iterator[str]:
    """What was found, how sure that is, and what could not be seen."""
    if chosen.server is not None:
        yield from _server_words(chosen.server)
    else:
        yield "Server: none was found."
    if chosen.job is not None:
        yield from _job_words(chosen.job)
    else:
        yield "Job: none was found; the console shows the server, and a job when it is started and configured."
    for other in chosen.others:
        yield f"Also there, {other}."
    for left in found.leftovers:
        title = clean(left.title)
        yield f"Left over: process {left.process.pid} ({title}) of a server that is gone; it may hold GPU memory."
    for unseen in found.unseen:
        yield f"Not seen: {clean(unseen)}"


def _server_head(server: FoundServer) -> str:
    process = server.process
    kind = f"{server.engine} (a router)" if server.router else server.engine
    return f"{kind}, process {process.pid} of user {clean(process.user)}, for {duration(process.age_s)}"


def _server_words(server: FoundServer) -> Iterator[str]:
    yield f"Server: {_server_head(server)}"
    heard = "" if server.listens is not False else "; nothing listens there yet"
    yield f"  port    {_clue(server.port)}{heard}"
    yield f"  model   {_clue(server.model)}"
    yield from _log_words(server.logs)
    yield from _within(server.within.container, server.within.runtime, server.within.unit)


def _job_head(job: FoundJob) -> str:
    process = job.process
    return (
        f"process {process.pid} of user {clean(process.user)}, for {duration(process.age_s)}: {clean(process.command)}"
    )


def _job_words(job: FoundJob) -> Iterator[str]:
    yield f"Job: {_job_head(job)}"
    yield f"  sends   to port {job.port} over {plural(job.connections, 'connection')} ({job.sure}: {clean(job.why)})"
    yield f"  script  {_clue(job.script)}"
    yield f"  folder  {_clue(job.dir)}"
    if job.venv or job.conda:
        kind = "the venv" if job.venv else "the conda environment"
        yield f"  in      {kind} {clean(job.venv or job.conda)} (certain: its variables)"
    yield from _log_words(job.logs)
    if job.started_by:
        yield f"  started by {clean(job.started_by)}, which may go on when the job ends"
    yield from _within(job.within.container, job.within.runtime, job.within.unit)


def _clue(clue: Clue[Any]) -> str:
    value = "--" if clue.value is None else clean(str(clue.value))
    return f"{value} ({clue.sure}: {clean(clue.why)})"


def _log_words(logs: Sequence[LogPlace]) -> Iterator[str]:
    for log in logs:
        where = log.path if log.kind == "file" else shlex.join(log.command) if log.command else log.kind
        told = clean(where or log.kind)
        yield f"  log     {told} ({log.sure}: {clean(log.why)}){'' if log.followable else '; it can not be followed'}"


def _within(container: str | None, runtime: str | None, unit: str | None) -> Iterator[str]:
    if container is not None:
        yield f"  in the container {clean(container)} ({clean(runtime or 'container')})"
    if unit is not None:
        yield f"  in the unit {clean(unit)}"


# ---------------------------------------------------------------- settings


def settings_values(host: str, chosen: Chosen, python: str = "python3") -> dict[str, Any]:
    """The config that the operator would have written, as plain values.

    Args:
        host: As the operator wrote it.
        chosen: The run.
        python: The host's Python that has answered.

    Raises:
        NothingToAttach: Neither log can be followed.
    """
    server = {} if chosen.server is None else _server_values(chosen.server)
    job = {} if chosen.job is None else _job_values(chosen.job, python)
    if not any(name in part for part in (server, job) for name in ("log", "log_command")):
        raise NothingToAttach(
            "Neither the server's nor the job's log can be followed; have one of them write to a file."
        )
    return {"host": host, **({"server": server} if server else {}), **({"job": job} if job else {})}


def _server_values(server: FoundServer) -> dict[str, Any]:
    values: dict[str, Any] = {"url": server.url} if server.url is not None else {}
    if server.engine in ENGINES:
        values["engine"] = server.engine
    return {**values, **_log_values(server.logs)}


def _job_values(job: FoundJob, python: str) -> dict[str, Any]:
    values: dict[str, Any] = dict(_log_values(job.logs))
    progress = next((path for path in job.writes if path.endswith("/progress.jsonl")), None)
    if progress is not None:
        values["progress"] = progress
    if job.dir.value is not None:
        values["dir"] = job.dir.value
    if job.script.value is not None:
        values["script"] = job.script.value
    argv = list(job.process.identity.argv)
    if argv:
        values["command"] = argv
    if job.venv or job.conda:
        values |= {"venv": job.venv} if job.venv else {"conda": job.conda}
    if job.within.container is not None and job.within.runtime in {"docker", "podman", "nerdctl"}:
        values |= {"container": job.within.container, "container_runtime": job.within.runtime}
    return {**values, "python": python}


def _log_values(logs: Sequence[LogPlace]) -> Mapping[str, Any]:
    """The first output that can be followed: stdout before stderr, unless only that is a file."""
    log = next((one for one in logs if one.followable), None)
    if log is None:
        return {}
    return {"log": log.path} if log.kind == "file" else {"log_command": list(log.command or ())}


def written(host: str, values: Mapping[str, Any], told: Sequence[str]) -> str:
    """The config as YAML, with what was found and how sure it was as a comment above."""
    head = [f"# longwait: one run on {clean(host)}, as `longwait attach` found it. How sure each thing is:"]
    comments = (f"#   {clean(line)}" for line in told)
    notes = "# config.example.yaml of the project shows every setting. new_script is what a restart would put there."
    body = yaml.safe_dump(dict(values), sort_keys=False, allow_unicode=True, width=10_000)
    return "\n".join([*head, *comments, notes, "", body])
