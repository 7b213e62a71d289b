"""What the host itself must offer: a clock, files that can be read, a Python that can control the job."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from console.feed_probes import ClockUnread, KeyUnusable, api_key, host_clock
from console.paths import followed_path
from remote.errors import RemoteError

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from console.config import Settings
    from remote.host import Host

CLOCK_FINE_S = 2.0
"""Seconds of offset that nobody need mend: `date` gives whole seconds, and half a round trip is unknown."""

MARK = "longwait-doctor"
"""Stands before each answer of a host's step: a login script may print something of its own."""

CONTROL_PYTHON = (3, 8)
JOB_PYTHON = (3, 10)


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was tried.

    Attributes:
        name: What it was, in a word or two.
        state: ``ok``, ``warn`` (longwait works, with less) or ``fail``.
        detail: What came of it.
        remedies: What to do, a sentence each.
    """

    name: str
    state: str
    detail: str
    remedies: tuple[str, ...] = ()


def _answers(text: str) -> list[list[str]]:
    """The words of each line that is an answer."""
    return [line.split()[1:] for line in text.splitlines() if line.startswith(f"{MARK} ")]


async def check_clock(host: Host, settings: Settings, clock: Callable[[], datetime]) -> list[Check]:
    """The host's zone, and how far its clock is from this one."""
    try:
        measured = await host_clock(host, clock)
    except (RemoteError, ClockUnread) as error:
        return [Check("clock", "fail", str(error), ("Times of log lines are taken for UTC unless timezone is set.",))]
    zone = settings.timezone or str(measured.zone)
    detail = f"zone {zone}, {measured.offset_s:+.0f} s from this machine's"
    if abs(measured.offset_s) <= CLOCK_FINE_S:
        return [Check("clock", "ok", detail)]
    return [Check("clock", "warn", detail, ("Times of log lines are shown as the host wrote them; NTP mends it.",))]


def check_key(settings: Settings) -> list[Check]:
    """Whether the server's API key, when one is named, is there and can be one."""
    name = settings.server.api_key_env
    if name is None:
        return []
    try:
        key = api_key(settings.server)
    except KeyUnusable as error:
        return [Check("API key", "fail", str(error))]
    if key is None:
        return [Check("API key", "fail", f"the environment variable {name} is not set here", (f"export {name}=...",))]
    return [Check("API key", "ok", f"from {name}")]


_STATES = f"""
for path; do
  if [ -w "$path" ]; then may=writable; else may=fixed; fi
  if [ -d "$path" ]; then echo "{MARK} folder $may"
  elif [ ! -e "$path" ]; then echo "{MARK} missing $may"
  elif [ ! -r "$path" ]; then echo "{MARK} unreadable $may"
  else echo "{MARK} file $may $(wc -c <"$path")"; fi
done
"""


async def check_files(host: Host, settings: Settings) -> list[Check]:
    """Each path that the config names."""
    job = settings.job
    wanted = (
        *(("server.log", path, "file", "fail") for path in settings.server.log_paths),
        ("job.log", job.log, "file", "fail"),
        ("job.progress", job.progress, "file", "warn"),
        ("job.dir", job.dir, "folder", "fail"),
        ("job.script", job.script, "file", "fail"),
    )
    present = [(name, path, expected, severity) for name, path, expected, severity in wanted if path is not None]
    paths = [followed_path(settings, path) for _, path, _, _ in present]
    try:
        done = await host.run(["sh", "-c", _STATES, "longwait-doctor", *paths], timeout_s=15.0)
    except RemoteError as error:
        return [Check("files", "fail", error.message)]
    told = _answers(done.text)
    if len(told) != len(present):
        return [Check("files", "fail", f"the host answered something else: {done.text.strip()[:80]!r}")]
    return [_of_file(*row, words) for row, words in zip(present, told, strict=True)]


def _of_file(name: str, path: str, expected: str, severity: str, told: list[str]) -> Check:
    found, may, *size = told
    if found == expected == "folder":
        if may == "writable":
            return Check(name, "ok", f"{path} (writable)")
        return Check(name, "fail", f"{path} (not writable)", ("The job's record is kept there: make it writable.",))
    if found == expected:
        return Check(name, "ok", f"{path} ({int(size[0]):,} bytes)")
    later = "; a log that is written later is picked up by itself" if name in {"server.log", "job.log"} else ""
    remedy = {
        "missing": f"Set {name} to where it is{later}.",
        "folder": f"Set {name} to a file in it.",
        "file": f"Set {name} to a folder.",
        "unreadable": "Make it readable for the user who logs in.",
    }[found]
    words = {"missing": "is not there", "folder": "is a folder", "file": "is a file", "unreadable": "may not be read"}
    return Check(name, severity, f"{path} {words[found]}", (remedy,))


_PYTHON = f"""
import sys
print("{MARK}", *sys.version_info[:3])
try:
    import httpx
    print("{MARK}", httpx.__version__)
except ImportError:
    print("{MARK}", "none")
"""


async def check_python(host: Host, settings: Settings) -> list[Check]:
    """The Python that controls the job, and the job's own when its command names one."""
    checks = [await _python(host, "python", settings.job.python, CONTROL_PYTHON, httpx_for="")]
    command = settings.job.command
    if settings.job.venv or settings.job.conda:
        from console.doctor_environment import check_environment  # noqa: PLC0415 - it takes what is here from here

        needs_httpx = any(word.endswith("run_inference.py") for word in command or ())
        return [*checks, *await check_environment(host, settings, needs_httpx=needs_httpx)]
    if command is not None and "python" in command[0].rpartition("/")[2]:
        runner = "run_inference.py" if any(word.endswith("run_inference.py") for word in command) else ""
        checks.append(await _python(host, "job python", command[0], JOB_PYTHON, httpx_for=runner))
    return checks


async def _python(host: Host, name: str, python: str, least: tuple[int, int], *, httpx_for: str) -> Check:
    wanted = ".".join(str(part) for part in least)
    older = (f"Set it to a Python {wanted} or newer on the host.",)
    try:
        done = await host.run([python, "-c", _PYTHON], timeout_s=20.0, check=False)
    except RemoteError as error:
        return Check(name, "fail", error.message)
    told = _answers(done.text)
    if len(told) != 2:  # noqa: PLR2004 - one line for Python, one for httpx
        return Check(name, "fail", f"{python} did not run", older)
    version, (httpx, *_) = ".".join(told[0]), told[1]
    if tuple(int(part) for part in told[0][:2]) < least:
        return Check(name, "fail", f"{python} is {version}", older)
    if httpx_for and httpx == "none":
        remedy = f"{httpx_for} needs it. On the host: {python} -m pip install httpx"
        return Check(name, "fail", f"{python} {version} has no httpx", (remedy,))
    return Check(name, "ok", f"{python} {version}" + (f", httpx {httpx}" if httpx_for else ""))


_LINGER = 'command -v loginctl >/dev/null || exit 0; loginctl show-user "$(id -un)" --property=Linger'


async def check_lingering(host: Host) -> list[Check]:
    """Whether processes outlive a logout where systemd would end them (KillUserProcesses=yes)."""
    try:
        done = await host.run(["sh", "-c", _LINGER], timeout_s=10.0, check=False)
    except RemoteError as error:
        return [Check("lingering", "warn", error.message)]
    match next((line for line in done.text.splitlines() if line.startswith("Linger=")), ""):
        case "Linger=yes":
            return [Check("lingering", "ok", "processes outlive a logout")]
        case "Linger=no":
            remedy = "Only where logind.conf says KillUserProcesses=yes: `loginctl enable-linger` on the host, once."
            return [Check("lingering", "warn", "is off: systemd may be set to end the job at logout", (remedy,))]
        case _:
            return [Check("lingering", "ok", "no systemd login session: nothing ends the job at logout")]
