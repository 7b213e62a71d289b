"""The words of a plan: who runs, what will happen, what forbids it. Pure: found facts in, sentences out."""

from __future__ import annotations

import difflib
import shlex
from typing import TYPE_CHECKING

from console.acts import Verb
from console.job.lines import clean
from console.job.units import duration, plural

if TYPE_CHECKING:
    from collections.abc import Sequence

    from remote.control_checks import EnvironmentCheck
    from remote.files import SyntaxFault
    from remote.probe import PathProbe
    from remote.process import FoundProcess, JobSpec

MAX_DIFF_LINES = 400
"""More than anybody reads in a dialog; the rest is counted."""

MOST_NAMES = 12
"""Names of variables that are listed; the rest is counted."""

SPARE_BYTES = 50_000_000
"""Free space below which a job is not started: its log and its results would soon fail to be written."""


def processes(number: int) -> str:
    """A count of processes: ``1 process``, ``5 processes``."""
    return f"{number} process" if number == 1 else f"{number} processes"


def sentence(text: str) -> str:
    """Text with one end: a full stop is added where there is none, and a doubled one is taken away."""
    text = text.strip()
    if text.endswith(("...", "?", "!", ":")):
        return text
    return f"{text.rstrip('.')}." if text else ""


def who(process: FoundProcess) -> str:
    """A process in a phrase: ``process 4711, running for 3 h 12 min``."""
    return f"process {process.pid}, running for {duration(process.age_s)}"


def about_process(process: FoundProcess) -> tuple[str, ...]:
    """What the operator must know of a process before it is stopped."""
    below = f" with {processes(process.children)} below it" if process.children else ""
    since = f"since {process.started_at:%Y-%m-%d %H:%M:%S} UTC ({duration(process.age_s)})"
    lines = [
        f"Running: process {process.pid} of user {clean(process.user)}{below}, {since}.",
        f"Its command: {clean(process.command)}",
    ]
    if not process.by_record:
        lines.append("It was found by its command line: longwait did not start it.")
    return tuple(lines)


def about_stop(grace_s: float) -> tuple[str, ...]:
    """What a stop does and costs."""
    return (
        f"Stop: all its processes are asked to end (TERM); those left after {duration(grace_s)} are ended (KILL).",
        "Requests in flight at the end are lost, and made again by the next start.",
    )


def about_start(spec: JobSpec, runs: Sequence[str] | None = None, unit: str = "") -> tuple[str, ...]:
    """What a start runs.

    Args:
        spec: The job.
        runs: The command line of the process that it replaces; None for none.
        unit: The systemd unit that has the command; empty when it is the config's.
    """
    if unit:
        return (f"Start: the unit {clean(unit)}, with its own command, environment, folder and log.",)
    where = f"In {clean(spec.run_dir)}, its output added to {clean(spec.log)}."
    if runs is not None and tuple(runs) == spec.argv:
        return (f"Start: the same command as the one that runs. {where}",)
    change = () if runs is None else (command_change(runs, spec.argv),)
    return (f"Start: {clean(shlex.join(spec.argv))}", *change, where)


def about_environment(spec: JobSpec, environment: EnvironmentCheck, unit: str = "") -> tuple[str, ...]:
    """What environment a start gives, and by which variables it differs; never what is in them.

    Args:
        spec: The job.
        environment: What was found on the host.
        unit: The systemd unit that has an environment of its own; empty when it is the config's.
    """
    if unit or environment.error is not None:
        return ()
    if environment.kept:
        given = "that of the former process, as it was kept when that was stopped"
    else:
        kind = "venv" if spec.venv else "conda environment"
        active = f"the {kind} {clean(environment.prefix)}" if environment.prefix else "the login's"
        given = f"{active}, with {plural(len(spec.env), 'variable')} of the config" if spec.env else active
    lost = "that of the former process is not kept; instead " if environment.kept is False else ""
    lines = (f"Environment: {lost}{given}.",) if lost or environment.kept or environment.prefix or spec.env else ()
    if environment.differs:
        named = clean(", ".join(environment.differs[:MOST_NAMES]))
        left = len(environment.differs) - MOST_NAMES
        more = f" and {left} more" if left > 0 else ""
        return (*lines, f"Variables that differ from those of the process that runs: {named}{more}.")
    return lines


def command_change(runs: Sequence[str], will: Sequence[str]) -> str:
    """How a command line differs from the one that runs, word by word."""
    gone: list[str] = []
    new: list[str] = []
    matcher = difflib.SequenceMatcher(None, list(runs), list(will), autojunk=False)
    for tag, old_from, old_to, new_from, new_to in matcher.get_opcodes():
        if tag != "equal":
            gone += runs[old_from:old_to]
            new += will[new_from:new_to]
    words = [f"{sign} {clean(shlex.join(some))}" for sign, some in (("without", gone), ("with", new)) if some]
    return f"The command differs from the one that runs: {', '.join(words)}."


def why_not(verb: Verb, found: Sequence[FoundProcess], host: str) -> str | None:
    """What the process table forbids; None when nothing."""
    if len(found) > 1:
        listed = "; ".join(f"{who(process)}: {clean(process.command)}" for process in found)
        return f"Several processes on {host} look like the job, and longwait does not choose ({listed})."
    if verb is Verb.START and found:
        return f"The job runs already on {host}: {who(found[0])}. Restart it instead."
    if verb is Verb.STOP and not found:
        return f"No job runs on {host}: there is nothing to stop."
    if verb is Verb.RESTART and not found:
        return f"No job runs on {host}: start it instead."
    return None


def spec_refusal(spec: JobSpec, *, writes_script: bool, unit: str = "") -> str | None:
    """What the settings lack for a start; None when nothing. A unit has a command of its own."""
    if not spec.argv and not unit:
        return "The config does not say how the job is started; set its `command`."
    if not spec.log and not unit:
        return "The config does not say where the job's output goes; set its `log`."
    if writes_script and not spec.script:
        return "The config names no `script` of the job, so there is no place to put one; set it."
    return None


def place_refusal(spec: JobSpec, places: Sequence[PathProbe], *, writes_script: bool) -> str | None:
    """What the run's folder, log and script (in this order) forbid; None when nothing."""
    folder, log, *script = places
    if not folder.is_dir:
        return f"The run folder {spec.run_dir} is missing on the host or is not a folder."
    if not folder.writable:
        return f"The run folder {spec.run_dir} may not be written on the host."
    if log.is_dir or not (log.writable if log.exists else log.folder_writable):
        return f"The job's log {spec.log_path} is a folder or may not be written on the host."
    if folder.free_bytes is not None and folder.free_bytes < SPARE_BYTES:
        return f"The disk of {spec.run_dir} has {folder.free_bytes / 1e6:.0f} MB free; make room first."
    return _script_refusal(spec, script[0], writes=writes_script) if script else None


def _script_refusal(spec: JobSpec, place: PathProbe, *, writes: bool) -> str | None:
    if place.is_dir:
        return f"The script {spec.script_path} is a folder on the host."
    if writes and not place.folder_writable:
        return f"The script {spec.script_path} can't be replaced: its folder may not be written on the host."
    if not writes and not place.exists:
        return f"The script {spec.script_path} is missing on the host; give the one to put there."
    return None


def syntax_refusal(name: str, fault: SyntaxFault) -> str:
    """Why a script is not put in place or started."""
    where = f" in line {fault.line}" if fault.line is not None else ""
    text = f": {clean(fault.text)}" if fault.text else ""
    return f"The host's Python does not take {clean(name)}: {clean(fault.message)}{where}{text}"


def script_diff(former: bytes, new: bytes) -> tuple[str, ...]:
    """Unified diff of two scripts, bounded, safe to show."""
    old, now = (_text_lines(content) for content in (former, new))
    lines = list(difflib.unified_diff(old, now, "on the host", "new", lineterm=""))
    left = len(lines) - MAX_DIFF_LINES
    return (*lines[:MAX_DIFF_LINES], f"... {plural(left, 'more line')}") if left > 0 else tuple(lines)


def _text_lines(content: bytes) -> list[str]:
    return [clean(line.expandtabs(4)) for line in content.decode("utf-8", "replace").split("\n")]


def about_script(former: bytes | None, new: bytes, diff: Sequence[str], spec: JobSpec) -> str:
    """What will become of the script on the host."""
    path = clean(spec.script_path)
    if former is None:
        return f"Script: {path} is not on the host yet; the new one is put there."
    if former == new:
        return f"Script: the one on the host is the same ({path}); it stays."
    added = sum(line.startswith("+") for line in diff) - 1
    removed = sum(line.startswith("-") for line in diff) - 1
    return f"Script: {path} is replaced (about +{added} -{removed} lines); the former one is kept beside it."
