"""One remote step: a program of ``payload/`` carried to the host, run there once by its Python, and gone again.

What most steps need is ``procctl.py``; a verb of another file (``VERBS_OF``) takes that one along, and what it imports.

The program travels on stdin, so nothing is left on the host and the process list shows one short line; the request
follows it there too, since it can hold the job's variables. A step that tells its progress (``stop``) goes through
``Host.stream``, which has no stdin: then program and request, which holds nothing secret, are arguments.
"""

from __future__ import annotations

import asyncio
import base64
import json
import re
import zlib
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from remote.errors import CommandFailed, CommandTimedOut, JobAlreadyRuns, NoSession, NotOurProcess, RemoteError
from remote.outcome import NOT_EXECUTABLE, NOT_FOUND, without_stop
from remote.sending import Sends

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping

    from remote.host import Host

Fields = dict[str, Any]
"""A decoded JSON object."""

VERBS_OF: Mapping[str, str] = {
    "start": "starts",
    "put": "scripts",
    "read": "scripts",
    "compile": "scripts",
    "probe": "hosts",
    "discover": "discover",
    "clients": "discover",
    "checks": "checks",
    "gpu": "checks",
    "unit_find": "units",
    "unit_start": "units",
    "unit_stop": "units",
    "command": "commands",
}
"""Which file has a verb, where it is not ``procctl``."""

_PART = "part=types.ModuleType(%r)\nsys.modules[part.__name__]=part\nexec(compile(%r,%r,'exec'),part.__dict__)\n"
"""Makes a file a module under its own name, for those that import it."""

# Both boots must run on any Python, 2.7 included: an old one is to be told apart from a broken host.
_AGE_CHECK = "sys.version_info>=(3,8) or sys.exit('longwait-old-python '+sys.version.split()[0])"
BOOT = f"import sys;{_AGE_CHECK};i=sys.stdin.buffer;exec(compile(i.read(int(i.readline())),'procctl','exec'))"
"""Reads a length, a newline and that many bytes of program from stdin; the program reads the rest."""

PACKED_BOOT = (
    f"import sys;{_AGE_CHECK};import base64,zlib;"
    "exec(compile(zlib.decompress(base64.b64decode(sys.argv.pop(1))),'procctl','exec'))"
)
"""Takes the program from the first argument; the second is the request."""

_KINDS: Mapping[str, type[RemoteError]] = {"not_ours": NotOurProcess, "already_runs": JobAlreadyRuns}


@cache
def program(verb: str) -> bytes:
    """The program that carries out a verb on the host: its file, after those that it imports, made modules there."""
    name = VERBS_OF.get(verb, "procctl")
    parts = [_PART % (f"{_PACKAGE}{part}", _source(part), part) for part in _needed(name)]
    last = f"exec(compile({_source(name)!r},{name!r},'exec'))\n"
    return "".join(["import sys,types\n", *parts, last]).encode("ascii") if parts else _source(name)


_PACKAGE = "remote.payload."


def _source(name: str) -> bytes:
    return files("remote.payload").joinpath(f"{name}.py").read_bytes()


def _needed(name: str) -> list[str]:
    """The files that a file imports, at any depth, in the order in which they can be made."""
    order: list[str] = []
    for part in re.findall(rb"^from remote\.payload\.(\w+) import", _source(name), re.MULTILINE):
        order += [inner for inner in (*_needed(part.decode()), part.decode()) if inner not in order]
    return order


def encode(verb: str, request: Mapping[str, object]) -> str:
    """A request as one line of ASCII; names that are not UTF-8 survive as surrogates."""
    return json.dumps({"verb": verb, **request})


async def ask(
    host: Host,
    python: str,
    verb: str,
    request: Mapping[str, object],
    *,
    data: bytes = b"",
    timeout_s: float = 30.0,
    sent: Callable[[int], object] | None = None,
) -> Fields:
    """Carry out one step and give its answer.

    Args:
        host: Where.
        python: Which Python there.
        verb: What to do; ``VERBS`` of the payload's files lists them.
        request: What the verb needs.
        data: A file's content, for the verbs that take one.
        timeout_s: Seconds it may take.
        sent: Told how many bytes of ``data`` are on their way, where the host can tell.

    Raises:
        NotOurProcess: The process to be signalled is not the one that was meant.
        JobAlreadyRuns: A start found a job.
        CommandFailed: The step failed, or there is no usable Python; the message says which.
        RemoteError: The host could not be asked.
    """
    argv = (python, "-ISBc", BOOT)
    code = program(verb)
    stdin = b"%d\n%b%b\n%b" % (len(code), code, encode(verb, request).encode("ascii"), data)
    # What it raises in spite of ``check=False`` is a fault of the connection, not of the host's Python.
    if sent is not None and isinstance(host, Sends):
        before = len(stdin) - len(data)
        done = await host.run_sending(
            argv, stdin=stdin, sent=lambda count: sent(max(0, count - before)), timeout_s=timeout_s
        )
    else:
        done = await host.run(argv, stdin=stdin, timeout_s=timeout_s, check=False)
    if done.status != 0:
        raise _python_failed(host.name, argv, done.status, done.stderr.decode("utf-8", "replace"))
    answers = [line for line in done.stdout.splitlines() if _is_answer(line)]
    return decode(host.name, argv, answers[-1] if answers else done.stdout)


async def ask_stream(
    host: Host, python: str, verb: str, request: Mapping[str, object], *, silence_s: float
) -> AsyncGenerator[Fields]:
    """Carry out one step and give each line of its answer as it comes.

    Args:
        host: Where.
        python: Which Python there.
        verb: What to do.
        request: What the verb needs; nothing secret, the host's process list shows it.
        silence_s: Seconds without an answer after which it is given up.

    Raises:
        RemoteError: Those of ``ask``, and ``CommandTimedOut`` for a silence.
    """
    packed = base64.b64encode(zlib.compress(program(verb), 9)).decode("ascii")
    argv = (python, "-ISBc", PACKED_BOOT, packed, encode(verb, request))
    shown = (*argv[:2], "...")
    waiting = b""
    try:
        async with host.stream(argv) as chunks:
            while (chunk := await _next_chunk(chunks, silence_s)) is not None:
                *lines, waiting = (waiting + chunk).split(b"\n")
                for line in filter(_is_answer, lines):
                    yield decode(host.name, shown, line)
    except CommandFailed as error:
        # An answer that says why not, or a fault of the connection; the rest is the Python's own end.
        if error.argv != argv or isinstance(error, NoSession):
            raise
        raise _python_failed(host.name, shown, error.status, error.stderr) from error
    except TimeoutError as error:
        raise CommandTimedOut(
            f"The host {host.name} has said nothing of `{verb}` for {silence_s:.0f} s; look again before acting.",
            host=host.name, argv=shown, seconds=silence_s,
        ) from error  # fmt: skip


async def _next_chunk(chunks: AsyncIterator[bytes], silence_s: float) -> bytes | None:
    """The next chunk, None at the end; ``TimeoutError`` when none comes for a while."""
    async with asyncio.timeout(silence_s):
        return await anext(chunks, None)


def _is_answer(line: bytes) -> bool:
    """False for what a login script prints before our program speaks."""
    return line.startswith(b"{")


def decode(host: str, argv: tuple[str, ...], answer: bytes) -> Fields:
    """Read one answer; an answer that says that the step failed becomes the error it stands for."""
    try:
        fields = json.loads(answer)
    except ValueError as error:
        said = answer[-200:].decode("utf-8", "replace")
        raise CommandFailed(
            f"A step on {host} gave an answer that is not its own: {said!r}; does a login script print something?",
            host=host, argv=argv,
        ) from error  # fmt: skip
    if not isinstance(fields, dict):
        raise CommandFailed(f"A step on {host} gave an answer that is not an object.", host=host, argv=argv)
    if "error" in fields:
        raise _refusal(host, argv, fields)
    return fields


def _refusal(host: str, argv: tuple[str, ...], fields: Fields) -> RemoteError:
    message = f"{host}: {fields.get('text', 'the step failed')}"
    kind = _KINDS.get(str(fields["error"]))
    if kind is not None:
        return kind(message, host=host)
    tail = "\n".join(fields.get("tail", ()))
    return CommandFailed(message, host=host, argv=argv, status=int(fields.get("status", 1)), stderr=tail)


def _python_failed(host: str, argv: tuple[str, ...], status: int, stderr: str) -> CommandFailed:
    """Say why the host's Python did not carry out a step."""
    python = argv[0]
    last = without_stop(stderr.strip().splitlines()[-1]) if stderr.strip() else f"exit status {status}"
    old = re.search(r"longwait-old-python (\S+)|nknown option: -I", stderr)
    if status in {NOT_EXECUTABLE, NOT_FOUND}:
        why = f"There is no Python to run at {python!r} on {host} ({last}); set `python` in the config."
    elif old is not None:
        version = f"Python {old[1]}" if old[1] else "an old Python"
        why = f"{python!r} on {host} is {version}; longwait needs 3.8 or newer there: set `python` in the config."
    else:
        why = f"Python {python!r} on {host} failed: {last}."
    return CommandFailed(why, host=host, argv=argv, status=status, stderr=stderr)
