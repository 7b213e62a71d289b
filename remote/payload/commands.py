"""One of the operator's own commands, by which a server is started, stopped or restarted.

Carried to the host with ``procctl`` by ``remote.step``; the same rules hold (Python 3.8, the standard library, Linux).
The command is a list of words and goes through no shell; it is detached, and goes on when the connection ends.
"""

from __future__ import annotations

import os
import subprocess
import time
from typing import TYPE_CHECKING, Any

from remote.payload.procctl import (
    MARK,
    VERBS,
    RefusedError,
    detached,
    encode,
    is_locked,
    main,
)
from remote.payload.starts import exit_words, log_tail, open_log

if TYPE_CHECKING:
    from collections.abc import Callable

    Fields = dict[str, Any]
    Emit = Callable[..., None]

POLL_S = 0.05


def command(request: Fields) -> None:
    """Run it, detached, with its output in a log; answers as it goes."""
    detached(lambda emit: run_command(request, emit))


def run_command(request: Fields, emit: Emit) -> None:
    """The command itself; one at a time for each log, so that two consoles do not restart a server twice."""
    path = os.path.expanduser(request["log"])
    os.makedirs(os.path.dirname(path) or ".", mode=0o700, exist_ok=True)
    lock = os.open(path + ".lock", os.O_RDWR | os.O_CREAT, 0o600)
    if not is_locked(lock):
        raise RefusedError("busy", f"Another command of the server is at work; its output is in {path}.")
    log = open_log(path)
    size = os.fstat(log).st_size
    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    os.write(log, b"%s longwait runs %s\n" % (stamp.encode("ascii"), encode({"argv": request["argv"]}).strip()))
    began = time.monotonic()
    process = begin(request, log)
    os.close(log)
    emit(step="started", pid=process.pid, log=path, seconds=0.0)
    status = watch(process, began, request["wait_s"], emit)
    if status is None:
        emit(step="goes_on", pid=process.pid, log=path, seconds=time.monotonic() - began)
        return
    tail = log_tail(path, size)[1:]
    seconds = time.monotonic() - began
    emit(step="ended", pid=process.pid, log=path, status=status, words=exit_words(status), tail=tail, seconds=seconds)
    os.close(lock)


def begin(request: Fields, log: int) -> subprocess.Popen[bytes]:
    """Start its process, in a session of its own."""
    env = {name: value for name, value in {**os.environ, **request.get("env", {})}.items() if name != MARK}
    argv = request["argv"]
    cwd = os.path.expanduser(request.get("cwd") or "~")
    try:
        return subprocess.Popen(  # noqa: S603 - the operator's own list of words, no shell
            argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=cwd, env=env, start_new_session=True
        )
    except OSError as error:
        name = error.filename if error.filename is not None else argv[0]
        raise RefusedError("not_started", f"The command was not run: {name}: {error.strerror}.", status=127) from None


def watch(process: subprocess.Popen[bytes], began: float, wait_s: float, emit: Emit) -> int | None:
    """Wait for its end, telling each second that it runs; None when it has not ended in time."""
    told = began
    while True:
        status = process.poll()
        now = time.monotonic()
        if status is not None or now - began >= wait_s:
            return status
        if now - told >= 1.0:
            emit(step="running", pid=process.pid, seconds=now - began)
            told = now
        time.sleep(POLL_S)


if __name__ == "__main__":
    main({**VERBS, "command": command})
