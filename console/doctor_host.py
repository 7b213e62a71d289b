"""What the host itself must offer: a clock, files that can be read, a Python that can control the job."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from console.feed_probes import host_clock
from remote.errors import RemoteError

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from console.config import Settings
    from remote.host import Host

CLOCK_FINE_S = 2.0
"""Seconds of offset that nobody need mend: `date` gives whole seconds, and half a round trip is unknown."""

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


async def check_clock(host: Host, settings: Settings, clock: Callable[[], datetime]) -> list[Check]:
    """The host's zone, and how far its clock is from this one."""
    try:
        measured = await host_clock(host, clock)
    except RemoteError as error:
        return [Check("clock", "fail", error.message)]
    zone = settings.timezone or str(measured.zone)
    detail = f"zone {zone}, {measured.offset_s:+.0f} s from this machine's"
    if abs(measured.offset_s) <= CLOCK_FINE_S:
        return [Check("clock", "ok", detail)]
    return [Check("clock", "warn", detail, ("Times of log lines are shown as the host wrote them; NTP mends it.",))]


_STATES = """
for path; do
  if [ -d "$path" ]; then echo folder
  elif [ ! -e "$path" ]; then echo missing
  elif [ ! -r "$path" ]; then echo unreadable
  else echo "file $(wc -c <"$path")"; fi
  if [ -w "$path" ]; then echo writable; else echo fixed; fi
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
    present = [row for row in wanted if row[1] is not None]
    try:
        done = await host.run(
            ["sh", "-c", _STATES, "longwait-doctor", *(str(row[1]) for row in present)], timeout_s=15.0
        )
    except RemoteError as error:
        return [Check("files", "fail", error.message)]
    told = done.text.split("\n")
    return [
        _of_file(name, str(path), expected, severity, (told[2 * place], told[2 * place + 1]))
        for place, (name, path, expected, severity) in enumerate(present)
        if 2 * place + 1 < len(told)
    ]


def _of_file(name: str, path: str, expected: str, severity: str, told: tuple[str, str]) -> Check:
    found, _, size = told[0].partition(" ")
    if found == expected:
        if expected == "folder":
            state = "ok" if told[1] == "writable" else "fail"
            remedies = (
                () if state == "ok" else ("The job is started there and keeps its record there: make it writable.",)
            )
            return Check(name, state, f"{path} ({told[1] if state == 'ok' else 'not writable'})", remedies)
        return Check(name, "ok", f"{path} ({int(size):,} bytes)")
    remedy = {
        "missing": f"Set {name} to where it is; a log that is written later is picked up by itself.",
        "folder": f"Set {name} to a file in it.",
        "file": f"Set {name} to a folder.",
        "unreadable": "Make it readable for the user who logs in.",
    }[found]
    words = {"missing": "is not there", "folder": "is a folder", "file": "is a file", "unreadable": "may not be read"}
    return Check(name, severity, f"{path} {words[found]}", (remedy,))


# No httpx is a status of its own, so that one step tells all three cases apart.
_PYTHON = "import sys; print(*sys.version_info[:3], sep='.'); import httpx; print(httpx.__version__)"


async def check_python(host: Host, settings: Settings) -> list[Check]:
    """The Python that controls the job, and the job's own when its command names one."""
    checks = [await _python(host, "python", settings.job.python, CONTROL_PYTHON, needs_httpx=False)]
    command = settings.job.command
    if command is not None and "python" in command[0].rpartition("/")[2]:
        checks.append(await _python(host, "job python", command[0], JOB_PYTHON, needs_httpx=True))
    return checks


async def _python(host: Host, name: str, python: str, least: tuple[int, int], *, needs_httpx: bool) -> Check:
    wanted = ".".join(str(part) for part in least)
    try:
        done = await host.run([python, "-c", _PYTHON], timeout_s=20.0, check=False)
    except RemoteError as error:
        return Check(name, "fail", error.message)
    version, _, httpx = done.text.strip().partition("\n")
    if not version:
        return Check(name, "fail", f"{python} did not run", (f"Set it to a Python {wanted} or newer on the host.",))
    if tuple(int(part) for part in version.split(".")[:2]) < least:
        return Check(name, "fail", f"{python} is {version}", (f"Set it to a Python {wanted} or newer on the host.",))
    if needs_httpx and not httpx:
        return Check(name, "fail", f"{python} {version} has no httpx", (f"On the host: {python} -m pip install httpx",))
    return Check(name, "ok", f"{python} {version}" + (f", httpx {httpx}" if needs_httpx else ""))


_LINGER = 'command -v loginctl >/dev/null || exit 0; loginctl show-user "$(id -un)" --property=Linger --value'


async def check_lingering(host: Host) -> list[Check]:
    """Whether processes outlive a logout where systemd would end them (KillUserProcesses=yes)."""
    try:
        done = await host.run(["sh", "-c", _LINGER], timeout_s=10.0, check=False)
    except RemoteError as error:
        return [Check("lingering", "warn", error.message)]
    match done.text.strip():
        case "yes":
            return [Check("lingering", "ok", "processes outlive a logout")]
        case "no":
            remedy = "Only where logind.conf says KillUserProcesses=yes: `loginctl enable-linger` on the host, once."
            return [Check("lingering", "warn", "is off: systemd may be set to end the job at logout", (remedy,))]
        case _:
            return [Check("lingering", "ok", "no systemd login session: nothing ends the job at logout")]
