"""Start the job: as a process of its own, in a tmux session, or as a unit of systemd; one at most.

Carried to the host with ``procctl`` by ``remote.step``; the same rules hold (Python 3.8, the standard library, Linux).
"""

from __future__ import annotations

import array
import contextlib
import os
import secrets
import signal
import socket
import struct
import sys
import time
from typing import TYPE_CHECKING, Any, NoReturn

from remote.payload.environs import job_env
from remote.payload.hosts import (
    CARRY_S,
    call,
    lingering,
    logout,
)
from remote.payload.procctl import (
    VERBS,
    Proc,
    RefusedError,
    describe,
    detached,
    encode,
    find_jobs,
    full_path,
    job_key,
    lock_path,
    main,
    make_folder,
    read_argv,
    read_record,
    read_stat,
    read_table,
    run_folder,
    same_now,
    take_lock,
    user_name,
    write_record,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    Fields = dict[str, Any]
    Emit = Callable[..., None]

TAIL_LINES = 20


TAIL_BYTES = 65_536


def start(request: Fields) -> None:
    """Start the job unless one runs; answers who it is, or why it is not."""
    detached(lambda emit: start_job(request, emit))


def start_job(request: Fields, emit: Emit) -> None:
    """The start itself, under the lock from the look to the end of the watch."""
    if not request["argv"]:
        raise RefusedError("no_command", "There is no command to start the job with; set `command`.")
    make_folder(request)
    lock = take_lock(lock_path(request))
    running = find_jobs(request)
    if running:
        who = running[0]
        since = time.strftime("%Y-%m-%d %H:%M:%S %Z", time.localtime(who["started_at"]))
        raise RefusedError("already_runs", f"The job runs already: process {who['pid']} since {since}.", process=who)
    log = open_log(full_path(request, "log"))
    log_size = os.fstat(log).st_size
    carrier = request.get("launcher", "process")
    request["scope"] = wants_scope(request)
    request["made_env"] = job_env(request)
    request["start"] = secrets.token_hex(3)
    pid = spawn(request, log) if carrier == "process" else spawn_carried(request, log)
    os.close(log)
    begun = read_stat(pid)
    if carrier == "process" and request["scope"]:
        await_scope(pid)
    ended = watch(pid, begun, request["watch_s"])
    if ended is not None or begun is None:
        tail = log_tail(full_path(request, "log"), log_size)
        said = f" Its last line: {tail[-1]}" if tail else " It printed nothing."
        status = 1 if ended is None or ended == UNKNOWN else ended
        raise RefusedError("died", f"The job ended at once, {exit_words(ended)}.{said}", status=status, tail=tail)
    notes = show_log(request, pid) if carrier == "tmux" else []
    emit(
        process=describe(begun, read_table(), read_record(request)),
        place=place_of(request),
        scope=request["scope"],
        notes=notes,
    )
    os.close(lock)


def open_log(path: str) -> int:
    """Open the job's log for appending."""
    if os.path.isdir(path):
        raise RefusedError("log", f"The job's log {path} is a folder; set `log` to a file.")
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)


def spawn(request: Fields, log: int) -> int:
    """Start the job's process and give its pid; it is recorded before it runs, so none ever runs unrecorded.

    The child waits for the word to go; should we die before it is given, it ends instead.
    """
    go_reader, go_writer = os.pipe()
    failure_reader, failure_writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(go_writer)
            if os.read(go_reader, 1):
                become_job(request, log, failure_writer)
        except OSError as error:
            os.write(failure_writer, f"{error.filename}: {error.strerror}".encode("utf-8", "replace"))
        finally:
            os._exit(127)
    os.close(go_reader)
    os.close(failure_writer)
    try:
        write_record(request, pid)
        os.write(go_writer, b"g")
    finally:
        os.close(go_writer)
    with os.fdopen(failure_reader, "rb") as failures:
        failure = failures.read().decode("utf-8", "replace")  # ends when the job's program has replaced ours
    if failure:
        os.waitpid(pid, 0)
        raise RefusedError("not_started", f"The job was not started: {failure.rstrip('.')}.", status=127)
    return pid


def become_job(request: Fields, log: int, failure_writer: int) -> NoReturn:
    """The child: its own session, nothing of ours open, signals as a program expects them but HUP ignored."""
    os.setsid()
    os.dup2(log, 1)
    os.dup2(log, 2)
    for name in os.listdir("/proc/self/fd"):
        if int(name) not in {0, 1, 2, failure_writer}:
            with contextlib.suppress(OSError):  # the one that listed the folder is closed by now
                os.close(int(name))
    for number in (signal.SIGINT, signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    if os.umask(0o022) & 0o700:
        os.umask(0o077)
    os.chdir(run_folder(request))
    argv = [*(scope_words(request) if request.get("scope") else ()), *request["argv"]]
    try:
        os.execvpe(argv[0], argv, request["made_env"])  # noqa: S606 - the operator's own command, no shell
    except OSError as error:  # its name would be that of the last folder of PATH
        raise OSError(error.errno, error.strerror, argv[0]) from error


UNKNOWN = 256
"""No exit status that there can be: how one of a process that is not our child ended is not told to us."""


def watch(pid: int, begun: Proc | None, watch_s: float) -> int | None:
    """Watch the new job for a moment: its exit status when it ends (negative: a signal), None when it lives."""
    deadline = time.monotonic() + watch_s
    while time.monotonic() < deadline:
        try:
            ended, status = os.waitpid(pid, os.WNOHANG)
        except ChildProcessError:  # tmux's or systemd's
            ended, status = 0, UNKNOWN
        if ended:
            return status_of(status)
        if begun is None or same_now(begun) is None:
            return UNKNOWN if status == UNKNOWN else reaped(pid)
        time.sleep(0.02)
    return None


def reaped(pid: int) -> int:
    """The exit status of our child that has just ended."""
    return status_of(os.waitpid(pid, 0)[1])


def status_of(status: int) -> int:
    """What ``waitpid`` gave as an exit status; negative for a signal."""
    return os.WEXITSTATUS(status) if os.WIFEXITED(status) else -os.WTERMSIG(status)


def exit_words(status: int | None) -> str:
    """An exit status as words."""
    if status is None or status == UNKNOWN:
        return "its exit status is not known"
    return f"killed by signal {-status}" if status < 0 else f"exit status {status}"


SHIM = """
import array, json, os, signal, socket, struct, sys
link = socket.socket(socket.AF_UNIX)
link.connect("\\0" + sys.argv[1])
uid = struct.unpack("3i", link.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[1]
if uid != os.geteuid():
    sys.exit("another user answered")
said, extra = b"", []
while not said.endswith(b"\\n"):
    data, more, _, _ = link.recvmsg(65536, socket.CMSG_SPACE(4))
    if not data:
        sys.exit("the start was given up")
    said += data
    extra += more
log = array.array("i", extra[0][2])[0]
job = json.loads(said)
try:
    os.setsid()
except OSError:
    pass
env = dict(job["env"], **{name: os.environ[name] for name in job["keep"] if name in os.environ})
for number in (signal.SIGINT, signal.SIGPIPE, signal.SIGXFSZ):
    signal.signal(number, signal.SIG_DFL)
signal.signal(signal.SIGHUP, signal.SIG_IGN)
if os.umask(0o022) & 0o700:
    os.umask(0o077)
os.dup2(log, 1)
os.dup2(log, 2)
os.close(log)
name = job["cwd"]
try:
    os.chdir(name)
    name = job["argv"][0]
    os.execvpe(name, job["argv"], env)
except OSError as error:
    link.sendall("{}: {}".format(name, error.strerror).encode("utf-8", "replace"))
"""
"""What tmux or systemd runs: it asks us, over a socket that has no file, what to become, and becomes it.

So the job is recorded before it runs, its environment and log stand on no command line, and its process is the very
one that tmux or systemd made. Both ends see by the kernel's word that the other is the same user."""


PANE_ENV = ("TMUX", "TMUX_PANE", "TERM")
"""What tmux sets for a pane and a program in it may need."""


def carried_name(request: Fields) -> str:
    """What the job is called where tmux lists it, and how its names begin where systemd does."""
    return f"longwait-{job_key(request)}"


def unit_name(request: Fields, kind: str) -> str:
    """The name of this start's own unit: a former one of the job that systemd has kept must not bar it."""
    return f"{carried_name(request)}-{request['start']}.{kind}"


def place_of(request: Fields) -> str:
    """Where tmux or systemd lists the job, as their tools take it; empty for a plain process."""
    carrier = request.get("launcher", "process")
    if carrier == "tmux":
        return carried_name(request)
    return (
        unit_name(request, "service")
        if carrier == "systemd"
        else unit_name(request, "scope")
        if request["scope"]
        else ""
    )


def spawn_carried(request: Fields, log: int) -> int:
    """Have tmux or systemd make the job's process, and give its pid; it is recorded before it runs."""
    name = f"longwait-{secrets.token_hex(16)}"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("\0" + name)
        listener.listen(1)
        listener.settimeout(CARRY_S)
        call(CARRIERS[request["launcher"]](request, [sys.executable, "-ISBc", SHIM, name]))
        try:
            link = listener.accept()[0]
        except OSError:  # its time is over; no TimeoutError before Python 3.10
            raise RefusedError(
                "not_started", f"{request['launcher']} did not bring the job up within {CARRY_S:.0f} s."
            ) from None
    with link:
        link.settimeout(CARRY_S)
        peer: tuple[int, int, int] = struct.unpack("3i", link.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        pid, uid, _ = peer
        if uid != os.geteuid():
            raise RefusedError("not_started", f"Another user (id {uid}) answered in the job's place.")
        write_record(request, pid)
        job = {"argv": request["argv"], "env": request["made_env"], "cwd": run_folder(request), "keep": PANE_ENV}
        descriptors = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [log]).tobytes())]
        words = encode(job)
        link.sendall(words[link.sendmsg([words[:1024]], descriptors) :])
        failure = b"".join(iter(lambda: link.recv(4096), b""))  # ends when the job's program has replaced the shim
    if failure:
        text = failure.decode("utf-8", "replace")
        raise RefusedError("not_started", f"The job was not started: {text.rstrip('.')}.", status=127)
    return pid


def tmux_words(request: Fields, shim: list[str]) -> list[str]:
    """A session of the job's own; a window more where one of its name is left (tmux 1 man, "Windows and panes")."""
    name = carried_name(request)
    sessions = call(["tmux", "list-sessions", "-F", "#{session_name}"], wrong=False).split("\n")
    if name in sessions:
        return ["tmux", "new-window", "-d", "-t", f"={name}:", "-n", "job", "--", *shim]
    # The server that the first session starts lives where we do, and would be ended with us at a logout.
    scope = scope_words(request) if request.get("scope") and not any(sessions) else []
    return [*scope, "tmux", "new-session", "-d", "-s", name, "-n", "job", "-x", "200", "-y", "50", "--", *shim]


def systemd_words(request: Fields, shim: list[str]) -> list[str]:
    """A unit of the user's manager, of the host's own for root; gone from its list when the job has ended."""
    user = [] if os.geteuid() == 0 else ["--user"]
    if user and not lingering():
        raise RefusedError(
            "no_linger",
            f"systemd would end the job when {user_name()} logs out: run `loginctl enable-linger {user_name()}` on the "
            "host once, or use another launcher.",
        )
    unit = f"--unit={unit_name(request, 'service')}"
    log = full_path(request, "log")
    return ["systemd-run", *user, "--quiet", "--collect", unit, f"--description=longwait job, log {log}", "--", *shim]


CARRIERS: dict[str, Callable[[Fields, list[str]], list[str]]] = {"tmux": tmux_words, "systemd": systemd_words}
"""What makes a launcher run a command, as words."""


LOG_VIEW = """\
tail -n 200 -F -- "$2" & view=$!
end() { kill "$view" 2>/dev/null; wait "$view" 2>/dev/null; exit 0; }
trap end HUP INT TERM
runs() { state=$(sed -n 's/^State:[[:space:]]*//p' "/proc/$1/status" 2>/dev/null) && [ "${state#Z}" = "$state" ]; }
while runs "$1"; do sleep 0.5; done
end
"""
"""Shows a log until a process has ended. ``tail --pid`` would go on as long as nobody has taken note of the end: tmux
now and then misses that one of its children ended, until another one does."""


def show_log(request: Fields, pid: int) -> list[str]:
    """Let who attaches to the session see the log, in a pane of its own that ends with the job; what failed, if so.

    It is the active pane, so that a Ctrl-C that somebody types there ends the view and not the job.
    """
    view = ["sh", "-c", LOG_VIEW, "longwait-view", str(pid), full_path(request, "log")]
    try:
        call(["tmux", "split-window", "-t", f"={carried_name(request)}:job", "--", *view])
    except RefusedError as refusal:
        return [refusal.answer["text"]]
    return []


def wants_scope(request: Fields) -> bool:
    """Whether the job is put into a scope of the user's systemd: as asked, else where a logout would end it."""
    asked = request.get("scope", "auto")
    if asked in {"always", "never"}:
        return bool(asked == "always")
    about = logout()
    return bool(about["kills"] and about["lingering"] and about["user_manager"] and about["systemd_run"])


def scope_words(request: Fields) -> list[str]:
    """What puts a command into a scope: systemd-run asks for the scope and becomes the command, pid and all."""
    unit = f"--unit={unit_name(request, 'scope')}"
    return ["systemd-run", "--user", "--scope", "--quiet", "--collect", unit, "--"]


def await_scope(pid: int) -> None:
    """Wait until systemd-run has become the job, or has ended and said why not in the job's log."""
    deadline = time.monotonic() + CARRY_S
    # The second word is its name where it is a script of the host's own, around the real one.
    while time.monotonic() < deadline and "systemd-run" in map(os.path.basename, read_argv(pid)[:2]):
        time.sleep(0.02)


def log_tail(path: str, offset: int) -> list[str]:
    """The last lines that were appended to a log since it had a size."""
    with open(path, "rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(offset if offset <= size else 0, size - TAIL_BYTES))
        return file.read().decode("utf-8", "replace").splitlines()[-TAIL_LINES:]


if __name__ == "__main__":
    main({**VERBS, "start": start})
