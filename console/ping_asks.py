"""Each sign of life, asked of the host now: how long it took, how old it is, and whether it speaks for life."""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

from console.feed_probes import KeyUnusable, api_key
from console.job import gpu
from console.job.events import MetricsMissing
from console.job.lines import clean
from console.job.metrics import parse_metrics
from console.job.units import count, duration, plural
from remote.errors import CommandFailed, HttpUnavailable, RemoteError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from console.config import ServerSettings
    from console.feed_probes import ServerProbe
    from console.job.events import HealthProbe, ProcessFact
    from remote.host import Host

State = Literal["ok", "failed", "unknown"]

BETWEEN_S = 2.0
"""Seconds between two looks at what should move: a server under load logs and counts several times in it."""

QUIET_S = 120.0
"""Seconds since a log was last written after which that speaks against life, unless it moves now."""

ANSWER_S = 60.0
"""Seconds that one token may take: behind a long queue it waits its turn."""

OK = 200
NOT_FOUND = frozenset({404, 405})
MARK = "longwait-ping"

PORT = (
    "import socket,sys,time\n"
    "began=time.monotonic()\n"
    "try: socket.create_connection((sys.argv[1],int(sys.argv[2])),5).close()\n"
    f"except OSError as error: print('{MARK}','no',error)\n"
    f"else: print('{MARK}','yes',time.monotonic()-began)\n"
)
"""Opens a TCP connection and closes it, and says how long that took."""

FILES = (
    "import os,sys,time\n"
    "for path in sys.argv[1:]:\n"
    " try: found=os.stat(os.path.expanduser(path))\n"
    f" except OSError as error: print('{MARK}','no',error.strerror)\n"
    f" else: print('{MARK}','yes',found.st_size,time.time()-found.st_mtime)\n"
)
"""Size and age of each file, by the host's own clock."""

GPUS = gpu.NVIDIA


@dataclass(frozen=True, slots=True)
class Sign:
    """One answer to "is it alive?".

    Attributes:
        name: What was asked.
        state: Whether it speaks for life; ``unknown`` when it was not asked, or can't be seen.
        latency_s: Seconds until the answer; None when none came.
        age_s: Seconds since what it tells of happened; None when it is of now, or not known.
        detail: What came, or why nothing did.
        vital: False for what a healthy host may lack, such as a metrics page.
    """

    name: str
    state: State
    latency_s: float | None = None
    age_s: float | None = None
    detail: str = ""
    vital: bool = True


async def timed(asked: Callable[[], Awaitable[Sign]], name: str, *, vital: bool = True) -> Sign:
    """Ask, and give what the host could not answer as a sign too."""
    try:
        return await asked()
    except RemoteError as error:
        return Sign(name, "failed", detail=clean(error.message), vital=vital)


async def round_trip(host: Host) -> Sign:
    """A command that does nothing."""
    began = time.monotonic()
    await host.run(["true"], timeout_s=10.0)
    return Sign("command", "ok", time.monotonic() - began, detail="a command ran and came back")


async def port(host: Host, python: str, url: str) -> Sign:
    """Whether something listens, as the host sees it; the latency is that on the host."""
    parts = urlsplit(url)
    number = parts.port or (443 if parts.scheme == "https" else 80)
    done = await host.run([python, "-ISBc", PORT, parts.hostname or "", str(number)], timeout_s=15.0)
    said = _said(done.text)
    if not said:
        return Sign("port", "unknown", detail="the host's Python gave no answer")
    if said[0][0] == "yes":
        return Sign("port", "ok", float(said[0][1]), detail=f"{number} accepts connections")
    return Sign("port", "failed", detail=f"{number}: {clean(' '.join(said[0][1:]))}")


def health(probe: HealthProbe) -> Sign:
    """The server's own word."""
    detail = clean(probe.error) or f"{probe.path} answered {probe.status}"
    return Sign("health", "ok" if probe.ok else "failed", probe.latency_s, detail=detail)


async def answer(host: Host, settings: ServerSettings) -> Sign:
    """Have the server generate one token: SGLang's ``/health_generate``, else an OpenAI-like completion."""
    try:
        key = api_key(settings)
    except KeyUnusable as error:
        return Sign("answer", "unknown", detail=str(error))
    headers = {"content-type": "application/json", **({"authorization": f"Bearer {key}"} if key else {})}
    try:
        if settings.engine in {"auto", "sglang"}:
            said = await host.fetch(f"{settings.url}/health_generate", headers=headers, timeout_s=ANSWER_S)
            if said.status not in NOT_FOUND:
                return _answered("/health_generate", said.status, said.latency_s)
        return await _completion(host, settings.url, headers)
    except HttpUnavailable as error:
        return Sign("answer", "failed", detail=clean(error.message))


async def _completion(host: Host, url: str, headers: Mapping[str, str]) -> Sign:
    listed = await host.fetch(f"{url}/v1/models", headers=headers, timeout_s=10.0)
    model = _model(listed.body) if listed.status == OK else None
    if model is None:
        return Sign("answer", "unknown", detail=f"/v1/models answered {listed.status} and names no model to ask")
    asked = json.dumps({"model": model, "prompt": "1", "max_tokens": 1}).encode()
    path = "/v1/completions"
    said = await host.fetch(f"{url}{path}", method="POST", headers=headers, body=asked, timeout_s=ANSWER_S)
    return _answered(path, said.status, said.latency_s)


def _answered(path: str, status: int, latency_s: float) -> Sign:
    detail = "one token was made" if status == OK else f"{path} answered {status}"
    return Sign("answer", "ok" if status == OK else "failed", latency_s, detail=detail)


def _model(body: bytes) -> str | None:
    try:
        found = json.loads(body)["data"][0]["id"]
    except (ValueError, LookupError, TypeError):
        return None
    return found if isinstance(found, str) else None


async def counters(server: ServerProbe, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep) -> Sign:
    """Whether the counters of the metrics page move, looked at twice."""
    began = time.monotonic()
    first = await server.metrics()
    took = time.monotonic() - began
    if isinstance(first, MetricsMissing):
        return Sign("metrics", "unknown", took, detail=clean(first.reason), vital=False)
    await sleep(BETWEEN_S)
    second = await server.metrics()
    old, new = parse_metrics(first), None if isinstance(second, MetricsMissing) else parse_metrics(second)
    if old is None or new is None:
        return Sign("metrics", "unknown", took, detail="the page has no series that is known", vital=False)
    load = f"{count(new.running)} running, {count(new.queue)} queued"
    if old.generation_tokens is not None and new.generation_tokens is not None:
        made = new.generation_tokens - old.generation_tokens
        state: State = "ok" if made or not new.running else "failed"
        return Sign("metrics", state, took, detail=f"{count(made)} tokens in {BETWEEN_S:.0f} s; {load}", vital=False)
    return Sign("metrics", "ok", took, detail=load, vital=False)


async def logs(
    host: Host, python: str, files: Mapping[str, str], sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
) -> tuple[Sign, ...]:
    """Whether the logs move, looked at twice.

    Args:
        host: Where.
        python: The Python there.
        files: Names of signs to paths on the host.
        sleep: Waits between the looks.
    """
    argv = [python, "-ISBc", FILES, *files.values()]
    began = time.monotonic()
    first = _said((await host.run(argv, timeout_s=15.0)).text)
    took = time.monotonic() - began
    await sleep(BETWEEN_S)
    second = _said((await host.run(argv, timeout_s=15.0)).text)
    if not len(first) == len(second) == len(files):
        return tuple(Sign(name, "unknown", detail="the host's Python gave no answer") for name in files)
    return tuple(_moved(name, old, new, took) for name, old, new in zip(files, first, second, strict=True))


def _moved(name: str, old: Sequence[str], new: Sequence[str], took: float) -> Sign:
    if new[0] != "yes" or old[0] != "yes":
        return Sign(name, "failed", took, detail=clean(" ".join(new[1:] if new[0] != "yes" else old[1:])), vital=False)
    grown, age = int(new[1]) - int(old[1]), max(0.0, float(new[2]))
    if grown:
        return Sign(name, "ok", took, age, f"{count(grown)} bytes in {BETWEEN_S:.0f} s", vital=False)
    state: State = "ok" if age < QUIET_S else "failed"
    return Sign(name, state, took, age, f"last written {duration(age)} ago", vital=False)


async def gpus(host: Host) -> Sign:
    """Whether the GPUs are at work."""
    began = time.monotonic()
    try:
        done = await host.run(GPUS, timeout_s=15.0)
    except CommandFailed:
        return Sign("GPU", "unknown", detail="nvidia-smi is missing there, or refuses", vital=False)
    took = time.monotonic() - began
    shares = gpu.read_busy(done.text)
    if not shares:
        return Sign("GPU", "unknown", took, detail="nvidia-smi tells of no GPU whether it is busy", vital=False)
    busy = sum(share > 0 for share in shares)
    detail = f"{busy} of {plural(len(shares), 'GPU')} busy, {100 * sum(shares) / len(shares):.0f} % on average"
    return Sign("GPU", "ok" if busy else "failed", took, detail=detail, vital=False)


async def process(look: Callable[[], Awaitable[ProcessFact]]) -> Sign:
    """Whether the job's process runs."""
    began = time.monotonic()
    fact = await look()
    detail = f"pid {fact.pid} runs" if fact.alive else "no process of the job runs"
    return Sign("job", "ok" if fact.alive else "failed", time.monotonic() - began, detail=detail)


def _said(text: str) -> list[list[str]]:
    """The words of each line that is an answer; a login script may print something of its own before."""
    return [line.split()[1:] for line in text.splitlines() if line.startswith(f"{MARK} ")]
