"""A job that is a systemd unit which the operator has written: find it, start it, stop it by its name.

Carried to the host with ``procctl`` by ``remote.step``; the same rules hold (Python 3.8, the standard library, Linux).
systemd itself counts its processes (man 5 systemd.kill), and ends what is left of them; what is proven here before it
is asked to is that the unit's main process still is the one that was seen.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

from remote.payload.hosts import call
from remote.payload.procctl import (
    KILL_WAIT_S,
    VERBS,
    RefusedError,
    describe,
    detached,
    full_path,
    lock_path,
    main,
    make_folder,
    proven,
    read_table,
    sha256_of,
    take_lock,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    Fields = dict[str, Any]
    Emit = Callable[..., None]

SHOWN = "Id,LoadState,ActiveState,SubState,MainPID,ControlGroup,Result,ExecMainStatus"
ENDED = frozenset({"inactive", "failed"})
TAIL_LINES = 20


def manager(request: Fields) -> list[str]:
    """Words that speak to the systemd that has the unit: the user's when it knows the unit, else the host's."""
    asked = request.get("unit_of", "auto")
    user = ["systemctl", "--user"]
    if asked == "user":
        return user
    if asked == "auto" and os.geteuid() != 0:
        said = call([*user, "show", "--property=LoadState", "--", request["unit"]], wrong=False)
        if "LoadState=loaded" in said.split():
            return user
    return ["systemctl"]


def state_of(words: list[str], unit: str) -> Fields:
    """What systemd says of a unit; a refusal when it does not know it."""
    said = call([*words, "show", f"--property={SHOWN}", "--", unit])
    state = dict(line.partition("=")[::2] for line in said.splitlines())
    if state.get("LoadState") != "loaded":
        how = state.get("LoadState") or "unknown"
        raise RefusedError("no_unit", f"systemd on the host can't use the unit {unit}: it is {how}.")
    return state


def main_process(state: Fields) -> Fields | None:
    """The unit's main process, described; None when it has none."""
    table = read_table()
    proc = table.get(int(state.get("MainPID") or 0))
    return None if proc is None else {**describe(proc, table), "by_record": True}


def members(state: Fields) -> set[int]:
    """The processes of a unit by their control group, whatever became of group, session and parent."""
    path = state.get("ControlGroup") or ""
    return {pid for pid in read_table() if in_group(pid, path)} if path.strip("/") else set()


def in_group(pid: int, path: str) -> bool:
    """Whether a process is in a control group or below."""
    try:
        with open(f"/proc/{pid}/cgroup", encoding="utf-8", errors="surrogateescape") as file:
            places = [line.rstrip("\n").split(":", 2)[-1] for line in file]
    except OSError:
        return False
    return any(place == path or place.startswith(path + "/") for place in places)


def unit_find(request: Fields) -> Fields:
    """The unit's state, its main process, and what the job's script is now."""
    script = full_path(request, "script")
    try:
        digest = sha256_of(script) if script else None
    except OSError:
        digest = None
    state = state_of(manager(request), request["unit"])
    process = main_process(state)
    return {"processes": [process] if process else [], "script_sha256": digest, "state": about(state)}


def about(state: Fields) -> Fields:
    """A unit's state in our own words."""
    return {"unit": state.get("Id", ""), "active": state.get("ActiveState", ""), "sub": state.get("SubState", "")}


def unit_start(request: Fields) -> None:
    """Start the unit unless it runs; answers who its main process is, or why it has none."""
    detached(lambda emit: start_unit(request, emit))


def start_unit(request: Fields, emit: Emit) -> None:
    """The start itself, under the job's lock: of two consoles one starts it, and the other is told so."""
    words, unit = manager(request), request["unit"]
    make_folder(request)
    lock = take_lock(lock_path(request))
    state = state_of(words, unit)
    if state.get("ActiveState") not in ENDED:
        raise RefusedError(
            "already_runs", f"The unit {unit} is {state.get('ActiveState')} already: process {state.get('MainPID')}."
        )
    call([*words, "start", "--", unit])
    deadline = time.monotonic() + request["watch_s"]
    while True:
        state = state_of(words, unit)
        if state.get("ActiveState") in ENDED or time.monotonic() >= deadline:
            break
        time.sleep(0.1)
    process = main_process(state)
    if process is None or state.get("ActiveState") in ENDED:
        tail = journal_tail(words, unit)
        said = f" Its last line: {tail[-1]}" if tail else ""
        why = f"{state.get('Result')}, exit status {state.get('ExecMainStatus')}"
        raise RefusedError("died", f"The unit {unit} ended at once ({why}).{said}", status=1, tail=tail)
    emit(process=process, place=state.get("Id", unit), scope=False, notes=[])
    os.close(lock)


def journal_tail(words: list[str], unit: str) -> list[str]:
    """The unit's last lines in the journal; none when it may not be read."""
    which = "--user-unit" if "--user" in words else "--unit"
    lines = ["journalctl", "--no-pager", "--quiet", f"--lines={TAIL_LINES}", "--output=cat", f"{which}={unit}"]
    try:
        return call(lines, wrong=False).splitlines()
    except RefusedError:
        return []


def unit_stop(request: Fields) -> None:
    """Have systemd stop the unit, and KILL what is left after the grace; answers as it goes."""
    detached(lambda emit: stop_unit(request, emit))


def stop_unit(request: Fields, emit: Emit) -> None:
    """The stop itself; ``systemctl stop`` also keeps systemd from starting it again by itself."""
    began = time.monotonic()
    words, unit = manager(request), request["unit"]
    main_pid = proven(request).pid
    state = state_of(words, unit)
    if int(state.get("MainPID") or 0) != main_pid:
        raise RefusedError(
            "not_ours", f"Nothing was signalled: process {main_pid} is not the main process of {unit} any more."
        )
    count = len(members(state) | {main_pid})
    call([*words, "stop", "--no-block", "--", unit])
    emit(step="term", count=count, left_group=0, seconds=time.monotonic() - began)
    left = wait_ended(words, state, began + request["grace_s"], lambda n: waiting(emit, n, began))
    if left is not None:
        call([*words, "kill", "--signal=SIGKILL", "--", unit], wrong=False)
        emit(step="kill", count=len(left), left_group=0, seconds=time.monotonic() - began)
        left = wait_ended(words, state, time.monotonic() + KILL_WAIT_S, lambda _: None)
    if left is not None:
        pids = ", ".join(map(str, sorted(left))) or "systemd does not say which"
        raise RefusedError("left", f"The unit {unit} has not ended even after KILL: {pids}; the kernel holds them.")
    emit(step="gone", count=0, left_group=0, seconds=time.monotonic() - began)


def waiting(emit: Emit, count: int, began: float) -> None:
    """Tell how many are left."""
    emit(step="waiting", count=count, left_group=0, seconds=time.monotonic() - began)


def wait_ended(words: list[str], state: Fields, deadline: float, tell: Callable[[int], None]) -> set[int] | None:
    """Wait until the unit has ended and none of its processes is left: None; those left when the time is over."""
    told = time.monotonic()
    while True:
        seen = state_of(words, state["Id"])
        ended = seen.get("ActiveState") in ENDED
        left = members(state) | ({int(seen.get("MainPID") or 0)} - {0})
        now = time.monotonic()
        if ended and not left:
            return None
        if now >= deadline:
            return left
        if now - told >= 1.0:
            tell(len(left))
            told = now
        time.sleep(0.1)


if __name__ == "__main__":
    main({**VERBS, "unit_find": unit_find, "unit_start": unit_start, "unit_stop": unit_stop})
