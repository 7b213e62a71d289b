"""What the checks before a start have found, as rows and as a refusal. Pure: found facts in, words out."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

from console.act_words import sentence
from console.acts import Check
from console.job.lines import clean
from console.job.units import plural, size

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from remote.control_checks import EnvironmentCheck, FolderCheck, GpuMemory, ImportCheck, JobChecks, PythonCheck
    from remote.launchers.base import Outlook
    from remote.process import FoundProcess

LITTLE_BYTES = 1_000_000_000
"""Free space below which it is told: results of a long run are of this size."""

FEW_FILES = 1_000
"""Inodes below which it is told."""


def rows(checks: JobChecks, outlook: Outlook) -> tuple[Check, ...]:
    """All that was checked, in the order in which a start would meet it."""
    return (
        *_environment(checks.environment, checks.python),
        *(_python(checks.python) if checks.python is not None else ()),
        *_folders(checks.folders),
        *(Check("launcher", "ok", line) for line in outlook.lines),
        *(Check("launcher", "warning", line) for line in outlook.warnings),
        *_strays(checks.strays),
        *_gpu(checks.gpu),
    )


def refusal(checks: JobChecks, outlook: Outlook) -> str | None:
    """Why the job can't be started; None when it can."""
    python = checks.python
    if checks.environment.error is not None:
        return sentence(clean(checks.environment.error))
    if python is not None and python.missing and python.known_from == "command":
        return f"The script imports what {clean(python.path)} does not have: {_named(python.missing)}."
    full = next((each for each in checks.folders if each.is_dir and not each.writable), None)
    if full is not None:
        return f"The folder {clean(full.path)} may not be written on the host."
    return outlook.refusal


def _environment(environment: EnvironmentCheck, python: PythonCheck | None) -> Iterator[Check]:
    prefix = clean(environment.prefix)
    if environment.error is not None:
        yield Check("environment", "bad", clean(environment.error))
    elif environment.kept is False:
        yield Check(
            "environment", "warning", "that of the former process is not kept on the host; the config's is given"
        )
    elif python is not None and python.prefix and prefix and not _same(python.prefix, environment.prefix):
        runs = f"{clean(python.path)} is of {clean(python.prefix)}"
        yield Check("environment", "warning", f"{prefix} is activated, but {runs}: the command names another Python")
    elif prefix:
        yield Check("environment", "ok", f"{prefix} is activated")


def _same(one: str, other: str) -> bool:
    return posixpath.normpath(one) == posixpath.normpath(other)


def _python(python: PythonCheck) -> Iterator[Check]:
    path = clean(python.path)
    if python.error is not None:
        yield Check("script", "unknown", f"{path} could not be asked: {clean(python.error)}")
        return
    if python.syntax is not None:
        yield Check("script", "bad", f"Python {python.version} does not take it: {clean(python.syntax.message)}")
        return
    yield Check("script", "ok", f"compiles with {path} (Python {python.version})")
    missing = python.missing
    if missing and python.known_from == "command":
        yield Check("imports", "bad", f"{path} does not have {_named(missing)}")
    elif missing:
        why = "the command does not say which Python runs it, so that may be another one's concern"
        yield Check("imports", "warning", f"{path} does not have {_named(missing)}; {why}")
    else:
        yield Check("imports", "ok", f"{plural(len(python.imports), 'module')} found, none missing")


def _named(missing: Sequence[ImportCheck]) -> str:
    return ", ".join(f"{clean(each.name)} (line {each.line})" for each in missing)


def _folders(folders: Sequence[FolderCheck]) -> Iterator[Check]:
    for each in folders:
        path = clean(each.path)
        if not each.exists and not each.writable:
            folder = clean(posixpath.dirname(each.path) or each.path)
            yield Check("output", "unknown", f"{folder} is not there yet; the job must make it")
        elif not each.writable:
            yield Check("output", "bad", f"{path} may not be written")
        elif each.free_bytes is None:
            yield Check("output", "unknown", f"{path} may be written; the free space is not known")
        else:
            free = f"{path} may be written, {size(each.free_bytes)} free"
            few = each.free_files is not None and each.free_files < FEW_FILES
            told = f"{free}, room for {plural(each.free_files or 0, 'more file')} only" if few else free
            yield Check("output", "warning" if few or each.free_bytes < LITTLE_BYTES else "ok", told)


def _strays(strays: Sequence[FoundProcess]) -> Iterator[Check]:
    for each in strays:
        yield Check("leftover", "warning", f"process {each.pid} of a former run still runs: {clean(each.command)}")


def _gpu(gpu: GpuMemory | None) -> Iterator[Check]:
    if gpu is None:
        return
    held = gpu.ours_mib
    if gpu.error is not None:
        yield Check("GPU memory", "unknown", clean(gpu.error))
    elif held is None:
        yield Check("GPU memory", "unknown", "the driver does not say how much the job holds")
    elif held:
        yield Check("GPU memory", "ok", f"the job holds {size(held * 1_048_576)}, which its stop must free")
    else:
        yield Check("GPU memory", "ok", "the job holds none")
