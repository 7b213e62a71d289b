"""What the host is like: its clock, its user, its tools, and what a logout does there.

Carried to the host with ``procctl`` by ``remote.step``; the same rules hold (Python 3.8, the standard library, Linux).
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

from remote.payload.procctl import (
    MARK,
    VERBS,
    RefusedError,
    boot_id,
    main,
    user_name,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    Fields = dict[str, Any]
    Emit = Callable[..., None]

CARRY_S = 15.0
"""How long tmux or systemd may take to bring a process up; both take well under a second on a host that is well."""


def call(argv: list[str], *, wrong: bool = True) -> str:
    """Run a tool of the host and give what it printed; a refusal with its last line when it fails.

    Args:
        argv: The command.
        wrong: False when an end with a status other than 0 is an answer, too.
    """
    env = {name: value for name, value in {**os.environ, **user_manager_env()}.items() if name != MARK}
    try:
        done = subprocess.run(  # noqa: S603 - a list of words, no shell
            argv,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=env,
            timeout=CARRY_S,
            check=False,
        )
    except FileNotFoundError:
        raise RefusedError("no_tool", f"There is no {argv[0]} on the host.") from None
    except subprocess.TimeoutExpired:
        raise RefusedError("silent", f"{argv[0]} did not answer within {CARRY_S:.0f} s.") from None
    if done.returncode and wrong:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines() or [f"exit status {done.returncode}"]
        raise RefusedError("tool", f"{argv[0]} on the host: {said[-1].rstrip('.')}.", status=done.returncode)
    return done.stdout.decode("utf-8", "replace") if not done.returncode else ""


OWN_CGROUP = "/proc/self/cgroup"


LOGIND = ("org.freedesktop.login1", "/org/freedesktop/login1", "org.freedesktop.login1.Manager")


def logout() -> Fields:
    """What becomes of our processes at a logout (man 5 logind.conf), and whether there is a way out."""
    with open(OWN_CGROUP, encoding="utf-8", errors="surrogateescape") as file:
        in_session = re.search(r"/session-[^/\n]+\.scope", file.read()) is not None
    runtime = user_manager_env().get("XDG_RUNTIME_DIR", "")
    return {
        "in_session": in_session,
        "kills": logind_kills() if in_session else None,
        "lingering": lingering(),
        "user_manager": os.path.exists(os.path.join(runtime, "systemd/private")) if runtime else False,
        "systemd_run": shutil.which("systemd-run") is not None,
    }


def logind_kills() -> bool | None:
    """Whether logind ends our processes when the session does; None when it can't be asked."""
    names = ["KillUserProcesses", "KillOnlyUsers", "KillExcludeUsers"]
    try:
        kills, only, spared = call(["busctl", "get-property", *LOGIND, *names]).splitlines()
    except (RefusedError, ValueError):
        return None
    us = f'"{user_name()}"'
    if us in spared.split():
        return False
    return kills.split()[-1:] == ["true"] and (us in only.split() or only.split()[1:2] == ["0"])


def user_manager_env() -> dict[str, str]:
    """Where the user's systemd is reached; a login without PAM does not say."""
    runtime = os.environ.get("XDG_RUNTIME_DIR") or f"/run/user/{os.geteuid()}"
    return {"XDG_RUNTIME_DIR": runtime} if os.path.isdir(runtime) else {}


def probe(request: Fields) -> Fields:
    """What the host is like: its clock, its user, some paths, and whether a Python has some modules."""
    now = time.time()
    local = time.localtime(now)
    return {
        "hostname": socket.gethostname(),
        "user": user_name(),
        "python": sys.version.split()[0],
        "boot_id": boot_id(),
        "uptime_s": time.clock_gettime(time.CLOCK_BOOTTIME),
        "now": now,
        "zone": local.tm_zone,
        "utc_offset_s": local.tm_gmtoff,
        "pidfd": hasattr(os, "pidfd_open") and hasattr(signal, "pidfd_send_signal"),
        "lingering": lingering(),
        "logout": logout(),
        "paths": [about_path(path) for path in request.get("paths", ())],
        "modules": {name: module_version(name) for name in request.get("modules", ())},
    }


def lingering() -> bool | None:
    """Whether systemd lets the user's processes outlive a logout for certain; None where there is no systemd."""
    if not os.path.isdir("/run/systemd/system"):
        return None
    return os.path.exists(os.path.join("/var/lib/systemd/linger", user_name()))


def about_path(name: str) -> Fields:
    """What may be done with a path, and the space where it is."""
    path = os.path.expanduser(name)
    folder = path if os.path.isdir(path) else os.path.dirname(os.path.abspath(path))
    try:
        free = shutil.disk_usage(folder).free
    except OSError:
        free = None
    return {
        "path": name,
        "exists": os.path.exists(path),
        "is_dir": os.path.isdir(path),
        "readable": os.access(path, os.R_OK),
        "writable": os.access(path, os.W_OK),
        "folder_writable": os.access(folder, os.W_OK | os.X_OK),
        "free_bytes": free,
    }


def module_version(name: str) -> str | None:
    """The version of a module as a job would import it; empty when it has none, None when it can't be imported."""
    code = f"import importlib; print(getattr(importlib.import_module({name!r}), '__version__', ''))"
    try:
        done = subprocess.run(  # noqa: S603 - our own code, this Python
            [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=20, check=False
        )
    except subprocess.TimeoutExpired:
        return None
    return done.stdout.decode("utf-8", "replace").strip() if done.returncode == 0 else None


if __name__ == "__main__":
    main({**VERBS, "probe": probe})
