"""What longwait does on the host: find, start and stop the job, and put its script in place.

Carried over by ``remote.step`` for each step and gone afterwards: one file, Python 3.8 or newer, the standard
library only, Linux only (``/proc``; man 5 proc). It is long because it must be one file. The request is a JSON object,
given as the argument or as the first line of stdin; what follows on stdin is a file's content. The answer is a line
of JSON (``stop``: several); one with ``error`` and ``text`` says why not, and nothing was changed unless it says so.

What is left on the host: ``RUN_DIR/.longwait/job-KEY.json``, the record of the start of a job that was last, and beside
it the empty ``job-KEY.lock`` that starts take; KEY stands for the job, so that those of one folder have their own. The
job itself holds no lock: a lock that its children inherit would outlive it and say that it runs when it does not.
Whether it runs is read from ``/proc``.
"""

# Paths go through os, not pathlib (pyproject.toml exempts this file): names are bytes to Linux, the functions of os
# take them as /proc gives them, and the pathlib of Python 3.8 lacks half of what is needed.

from __future__ import annotations

import base64
import contextlib
import errno
import fcntl
import getpass
import hashlib
import json
import os
import re
import secrets
import shutil
import signal
import socket
import stat
import subprocess
import sys
import time
import warnings
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable

    Fields = dict[str, Any]
    Emit = Callable[..., None]

LOCK_WAIT_S = 15.0
"""A start holds the lock for a little over a second; more than this means that something hangs."""

WATCH_S = 1.0
"""How long by default a new job is watched: a wrong path, a missing module or a taken lock shows within it."""

KILL_WAIT_S = 10.0
"""A killed process is gone at once unless the kernel holds it (disk or GPU driver); then waiting longer is no use."""

EAGER_S = 2.0
"""The time in which a stop looks often, since most jobs end within it; later it spares the host."""

TAIL_LINES = 20
TAIL_BYTES = 65_536
BLOCK = 1_048_576

# fmt: off
BYSTANDERS = frozenset({
    "sh", "bash", "dash", "ash", "zsh", "fish", "ksh", "ssh", "sshd", "scp", "sftp", "rsync", "vi", "vim", "nvim",
    "nano", "emacs", "less", "more", "tail", "head", "cat", "grep", "rg", "sed", "awk", "tee", "watch", "tmux",
    "screen", "sudo", "su", "timeout", "setsid", "env", "srun", "script", "strace", "gdb", "journalctl", "multitail",
})
# fmt: on
"""Programs that name the job on their command line and are not it."""

# fmt: off
LAUNCHERS = frozenset({
    "torch.distributed.run", "torch.distributed.launch", "torchrun", "accelerate.commands.launch",
    "accelerate.commands.accelerate_cli", "accelerate", "deepspeed.launcher.runner", "deepspeed.launcher.launch",
    "deepspeed", "mpi4py", "mpi4py.futures", "cProfile", "profile", "pdb", "trace", "coverage", "debugpy", "viztracer",
})
# fmt: on
"""Python modules and commands that run the script on their command line: the first word there that ends in ``.py``."""

INTERPRETERS = frozenset({"node", "perl", "ruby", "julia", "Rscript", "lua", "php"})
"""Other programs whose first argument, when it is no option, is the script that they run."""

VALUED_OPTIONS = frozenset({"--check-hash-based-pycs", "--jit"})
"""Python's and PyPy's long options that take the next word."""


class RefusedError(Exception):
    """A step that can't be done: a kind for the program at the other end, a sentence for its user."""

    def __init__(self, kind: str, text: str, **fields: Any) -> None:  # noqa: ANN401 - what JSON can hold
        super().__init__(text)
        self.answer = {"error": kind, "text": text, **fields}


# -- the process table


class Proc(NamedTuple):
    """A line of the process table, from ``/proc/PID/stat``."""

    pid: int
    ppid: int
    pgid: int
    sid: int
    start_ticks: int
    state: str
    threads: int

    @property
    def alive(self) -> bool:
        """False for a zombie, unless only its first thread has ended."""
        return self.state not in "ZXx" or self.threads > 1


def read_stat(pid: int) -> Proc | None:
    """Look one process up; None when there is none.

    Its name stands in brackets and may hold anything, so the fields are counted from the last bracket.
    """
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            words = file.read().rpartition(b")")[2].split()
    except OSError:
        return None
    state, ppid, pgid, sid = words[0].decode(), int(words[1]), int(words[2]), int(words[3])
    return Proc(pid, ppid, pgid, sid, start_ticks=int(words[19]), state=state, threads=int(words[17]))


def read_argv(pid: int) -> list[str]:
    """Its command line; empty when it has none, or is gone."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            line = file.read()
    except OSError:
        return []
    return [os.fsdecode(word) for word in line[:-1].split(b"\0")] if line else []


def read_cwd(pid: int) -> str:
    """Its working folder; empty when it can't be read."""
    try:
        return os.readlink(f"/proc/{pid}/cwd")
    except OSError:
        return ""


def read_table() -> dict[int, Proc]:
    """All processes that are alive now."""
    procs = (read_stat(int(name)) for name in os.listdir("/proc") if name.isdigit())
    return {proc.pid: proc for proc in procs if proc is not None and proc.alive}


def boot_id() -> str:
    """What names this boot of the host."""
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        return file.read().strip()


def lineage(pid: int, table: dict[int, Proc]) -> set[int]:
    """A process and those above it."""
    above: set[int] = set()
    while pid in table and pid not in above:
        above.add(pid)
        pid = table[pid].ppid
    return above


def below(roots: set[int], table: dict[int, Proc]) -> set[int]:
    """The processes below some, at any depth; not these themselves."""
    children: dict[int, list[int]] = {}
    for proc in table.values():
        children.setdefault(proc.ppid, []).append(proc.pid)
    found: set[int] = set()
    waiting = list(roots)
    while waiting:
        new = set(children.get(waiting.pop(), ())) - found - roots
        found |= new
        waiting.extend(new)
    return found


def describe(proc: Proc, table: dict[int, Proc], record: Fields | None = None) -> Fields:
    """What there is to say of a process; ``record`` is longwait's own when it names this process."""
    ticks_a_second = os.sysconf("SC_CLK_TCK")
    age_s = max(0.0, time.clock_gettime(time.CLOCK_BOOTTIME) - proc.start_ticks / ticks_a_second)
    return {
        "boot_id": boot_id(),
        "pid": proc.pid,
        "start_ticks": proc.start_ticks,
        "argv": read_argv(proc.pid),
        "pgid": proc.pgid,
        "sid": proc.sid,
        "started_at": time.time() - age_s,
        "age_s": age_s,
        "cwd": read_cwd(proc.pid),
        "user": user_name(),
        "children": len(below({proc.pid}, table)),
        "by_record": record is not None,
        "script_sha256": record.get("script_sha256") if record else None,
    }


def user_name() -> str:
    """Who we are; the number when the host has no name for it."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())


# -- find


def run_folder(request: Fields) -> str:
    """The run's folder, ``~`` considered; a relative one begins where commands of the login do: at its home."""
    return os.path.expanduser(str(request["run_dir"]))


def full_path(request: Fields, key: str) -> str:
    """A path of the request: one with ``~`` begins at a home, a relative one in the run's folder; empty stays empty."""
    path: str = request.get(key) or ""
    if not path or path.startswith("~"):
        return os.path.expanduser(path)
    return os.path.join(run_folder(request), path)


def program_words(argv: list[str]) -> list[str]:
    """The words of a command line that say what it runs; later arguments are none of them."""
    return [argv[index] for index in program_indexes(argv)]


def program_indexes(argv: list[str]) -> list[int]:
    """Where the program is on a command line.

    For Python its script or module, and the script that a launcher runs (none for ``-c`` and stdin); for another
    interpreter itself and its script; else the command itself.
    """
    name = os.path.basename(argv[0])
    if not re.fullmatch(r"(python|pypy)[0-9.]*[a-z]*", name):
        return [0, 1] if name in INTERPRETERS and len(argv) > 1 and not argv[1].startswith("-") else [0]
    index, module = python_program(argv)
    if index is None:
        return []
    if (module or os.path.basename(argv[index])) not in LAUNCHERS:
        return [index]
    return [index, *[at for at in range(index + 1, len(argv)) if argv[at].endswith(".py")][:1]]


def python_program(argv: list[str]) -> tuple[int | None, str]:
    """Where Python's script or module is among its words (None: nowhere), and the module's name; man 1 python."""
    index = 1
    while index < len(argv):
        word = argv[index]
        if word == "--" or not word.startswith("-"):
            index += word == "--"
            return (index if index < len(argv) else None), ""
        option = re.match("-[^-cmWX]*([cmWX])(.*)", word, re.DOTALL)
        if word == "-" or (option and option[1] == "c"):
            return None, ""
        takes_next = word in VALUED_OPTIONS or (option is not None and not option[2])
        if option and option[1] == "m":
            index += takes_next
            return (index, option[2] or argv[index]) if index < len(argv) else (None, "")
        index += 1 + takes_next
    return None, ""


def names_program(argv: list[str], match: str) -> bool:
    """Whether a match is found on a command line at the words that say what it runs, and not in later arguments."""
    text = " ".join(argv)
    for index in program_indexes(argv):
        begin = sum(len(word) + 1 for word in argv[:index])
        end = begin + len(argv[index])
        # It may also span several words ("python3 -u run.py"), when one of them is the program.
        if match in text[max(0, begin - len(match) + 1) : end + len(match) - 1]:
            return True
    return False


def runs_script(pid: int, argv: list[str], script: str) -> bool:
    """Whether a process runs this very script; by its name alone when its working folder can't be read."""
    name = os.path.basename(script)
    named = [word for word in program_words(argv) if os.path.basename(word) == name]
    cwd = read_cwd(pid)
    if not named or not cwd:
        return bool(named)
    return any(os.path.realpath(os.path.join(cwd, word)) == os.path.realpath(script) for word in named)


def is_job(pid: int, request: Fields) -> bool:
    """Whether a process is the job by its command line.

    With a script, which is proven by its path, the match only narrows and may be anywhere on the line: it tells two
    jobs of one script apart. Without one it must be in the words that say what is run: a program that is given the
    job's name is not the job.
    """
    argv = read_argv(pid)
    script, match = full_path(request, "script"), request.get("match", "")
    if not argv:
        return False
    if not script and not match:
        return argv == request.get("argv") and read_cwd(pid) == os.path.realpath(run_folder(request))
    if script:
        return runs_script(pid, argv, script) and match in " ".join(argv)
    return os.path.basename(argv[0]).lstrip("-") not in BYSTANDERS and names_program(argv, match)


def owned(pid: int) -> bool:
    """Whether a process is of the user that we are."""
    try:
        return os.stat(f"/proc/{pid}").st_uid == os.geteuid()
    except OSError:
        return False


def settled_path(request: Fields, key: str) -> str:
    """A path of the request, the same for all ways to write it; empty stays empty.

    Links are followed to its folder; one that is the file itself is not, since it may be turned to a new version while
    the job runs.
    """
    folder, name = os.path.split(full_path(request, key))
    return os.path.join(os.path.realpath(folder), name) if folder or name else ""


def job_key(request: Fields) -> str:
    """What stands for the job among those of its folder: a digest of its script, else its command, and of its log."""
    job = settled_path(request, "script") or request.get("argv") or []
    return hashlib.sha256(json.dumps([job, settled_path(request, "log")]).encode("ascii")).hexdigest()[:16]


def record_path(request: Fields) -> str:
    """Where the record of the job's last start is."""
    return os.path.join(run_folder(request), ".longwait", f"job-{job_key(request)}.json")


def lock_path(request: Fields) -> str:
    """Where the lock of the job's starts is."""
    return os.path.join(run_folder(request), ".longwait", f"job-{job_key(request)}.lock")


def read_record(request: Fields) -> Fields | None:
    """The record; None when there is none that can be used, or it is another job's."""
    try:
        with open(record_path(request), encoding="ascii") as file:
            record = json.load(file)
    except (OSError, ValueError):
        return None
    return record if isinstance(record, dict) and is_of_job(record, request) else None


def is_of_job(record: Fields, request: Fields) -> bool:
    """Whether a record is of the job that is asked for: the same script, or without one the same command."""
    script = settled_path(request, "script")
    if script or record.get("script"):
        return script == record.get("script")
    return bool(request.get("argv")) and request["argv"] == record.get("argv")


def find_jobs(request: Fields) -> list[Fields]:
    """The job by its record, else by its command line; of a tree of matching processes its root alone.

    Boot id, pid and start time name one process for good, so a recorded job is known even when it has changed
    its command line since (a shell that became the job, a title that was set). A stop compares the command line too,
    with the one that its user has just been shown.
    """
    table = read_table()
    record = read_record(request)
    if record is not None and record.get("boot_id") == boot_id():
        proc = table.get(record.get("pid", 0))
        if proc is not None and proc.start_ticks == record.get("start_ticks"):
            return [describe(proc, table, record)]
    not_it = lineage(os.getpid(), table)
    matching = {pid for pid in set(table) - not_it if owned(pid) and is_job(pid, request)}
    roots = (pid for pid in matching if not matching & (lineage(pid, table) - {pid}))
    return [describe(table[pid], table) for pid in sorted(roots)]


def find(request: Fields) -> Fields:
    """The job's processes, and what its script on the host is now."""
    script = full_path(request, "script")
    try:
        digest = sha256_of(script) if script else None
    except OSError:
        digest = None
    return {"processes": find_jobs(request), "script_sha256": digest}


# -- what outlives this step


def detached(work: Callable[[Emit], None]) -> None:
    """Do some work in a session of its own, which goes on when this step is ended; pass its answers on meanwhile."""
    reader, writer = os.pipe()
    middle = os.fork()
    if middle == 0:
        try:
            os.close(reader)
            os.setsid()
            if os.fork() == 0:
                work_alone(work, writer)
        finally:
            os._exit(0)
    os.close(writer)
    os.waitpid(middle, 0)
    with os.fdopen(reader, "rb") as answers:
        for answer in answers:
            sys.stdout.buffer.write(answer)
            sys.stdout.buffer.flush()


def work_alone(work: Callable[[Emit], None], writer: int) -> None:
    """The detached half: holds nothing of the connection open, and is not ended by its end."""
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)

    def emit(**fields: Any) -> None:  # noqa: ANN401 - what JSON can hold
        with contextlib.suppress(BrokenPipeError):  # nobody listens any more; the work goes on
            os.write(writer, encode(fields))

    try:
        work(emit)
    except RefusedError as refusal:
        emit(**refusal.answer)
    except OSError as error:
        emit(**os_refusal(error))


# -- stop


def proven(identity: Fields) -> Proc:
    """The process that is meant, when it still is the one that was seen; later signals are proven against it."""
    pid = identity["pid"]
    proc = read_stat(pid)
    why_not = ""
    if boot_id() != identity["boot_id"]:
        why_not = "the host has been restarted since"
    elif proc is None or not proc.alive:
        why_not = f"process {pid} is gone"
    elif proc.start_ticks != identity["start_ticks"]:
        why_not = f"process {pid} is another one now: it began at another time"
    elif read_argv(pid) != identity["argv"]:
        why_not = f"the command line of process {pid} is another one now"
    if proc is None or why_not:
        raise RefusedError("not_ours", f"Nothing was signalled: {why_not}.")
    return proc


def send(proc: Proc, number: int) -> bool:
    """Signal this very process; False when it is gone or may not be signalled.

    A pidfd names a process for good (man 2 pidfd_open): it is opened first and the process proven after, so that no
    other one can have taken the number when the signal goes out. Before Python 3.9 or Linux 5.3 there is none: then
    the proof and the signal are two steps, some microseconds apart.
    """
    try:
        handle = os.pidfd_open(proc.pid)
    except (AttributeError, OSError) as error:
        if getattr(error, "errno", errno.ENOSYS) not in {errno.ENOSYS, errno.EPERM}:
            return False
        handle = -1
    try:
        now = read_stat(proc.pid)
        if now is None or now.start_ticks != proc.start_ticks:
            return False
        if handle == -1:
            os.kill(proc.pid, number)
        else:
            signal.pidfd_send_signal(handle, number)
    except (ProcessLookupError, PermissionError):
        return False
    finally:
        if handle != -1:
            os.close(handle)
    return True


class Family:
    """The processes of a job: its tree, and the group and the session that it leads.

    Each is known by pid and start time, so one that leaves the group, or whose parent ends, stays known. A job that
    was started without a group of its own shares it with strangers: then only the tree is the job's. What left the
    tree, the group and the session before the stop (a daemon) can't be told from a stranger, and is left alone.
    """

    def __init__(self, root: Proc) -> None:
        self.root = root
        self.known = {(root.pid, root.start_ticks)}
        self.leads_group = root.pgid == root.pid != os.getpgid(0)
        self.leads_session = root.sid == root.pid != os.getsid(0)

    def look(self) -> list[Proc]:
        """Those that are alive now, oldest first, so that a parent hears of the end before its children go."""
        table = read_table()
        mine = {pid for pid, proc in table.items() if (pid, proc.start_ticks) in self.known}
        # A stranger can only have the number of the group once the last member is gone, so an empty one is given up.
        self.leads_group = self.leads_group and any(table[pid].pgid == self.root.pid for pid in mine)
        self.leads_session = self.leads_session and any(table[pid].sid == self.root.pid for pid in mine)
        for pid, proc in table.items():
            if (self.leads_group and proc.pgid == self.root.pid) or (self.leads_session and proc.sid == self.root.pid):
                mine.add(pid)
        mine |= below(mine, table)
        mine -= lineage(os.getpid(), table)
        procs = [table[pid] for pid in mine]
        self.known |= {(proc.pid, proc.start_ticks) for proc in procs}
        return sorted(procs, key=lambda proc: proc.start_ticks)


def stop(request: Fields) -> None:
    """TERM to all of the job, once each; KILL to those left after the grace; answers as it goes."""
    detached(lambda emit: end_job(request, emit))


def end_job(request: Fields, emit: Emit) -> None:
    """The stop itself; proof and first signal are in this one function."""
    began = time.monotonic()
    family = Family(proven(request))
    procs = family.look()
    emit(step="term", count=sum(terminate(proc) for proc in procs), seconds=time.monotonic() - began)
    if wait_gone(family, began, request["grace_s"], emit):
        killed = kill_all(family)
        emit(step="kill", count=killed, seconds=time.monotonic() - began)
        left = wait_gone(family, time.monotonic(), KILL_WAIT_S, emit=None)
        if left:
            pids = ", ".join(f"{proc.pid} (state {proc.state})" for proc in left)
            raise RefusedError(
                "left", f"Processes are left even after KILL: {pids}; the kernel or another user holds them."
            )
    emit(step="gone", count=0, seconds=time.monotonic() - began)


def terminate(proc: Proc) -> bool:
    """TERM, and CONT to one that is stopped, which could not act upon it otherwise."""
    sent = send(proc, signal.SIGTERM)
    if sent and proc.state in "Tt":
        send(proc, signal.SIGCONT)
    return sent


def kill_all(family: Family) -> int:
    """KILL in rounds, since a process may fork between the look and the signal; how many were signalled."""
    killed: set[int] = set()
    for _ in range(20):
        procs = family.look()
        if not procs:
            break
        killed |= {proc.pid for proc in procs if send(proc, signal.SIGKILL)}
        time.sleep(0.02)
    return len(killed)


def wait_gone(family: Family, began: float, wait_s: float, emit: Emit | None) -> list[Proc]:
    """Wait until none is left or the time is over; tell the count each second. Gives those left."""
    told = began
    while True:
        left = family.look()
        now = time.monotonic()
        if not left or now - began >= wait_s:
            return left
        if emit is not None and now - told >= 1.0:
            emit(step="waiting", count=len(left), seconds=now - began)
            told = now
        time.sleep(min(0.05 if now - began < EAGER_S else 0.5, max(0.001, began + wait_s - now)))


# -- start


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
    pid = spawn(request, log)
    os.close(log)
    ended = watch(pid, request.get("watch_s", WATCH_S))
    if ended is not None:
        tail = log_tail(full_path(request, "log"), log_size)
        said = f" Its last line: {tail[-1]}" if tail else " It printed nothing."
        raise RefusedError("died", f"The job ended at once, {exit_words(ended)}.{said}", status=ended, tail=tail)
    proc = read_stat(pid)
    if proc is None:
        raise RefusedError("died", "The job ended at once; its exit status is not known.")
    emit(process=describe(proc, read_table(), read_record(request)))
    os.close(lock)


def make_folder(request: Fields) -> None:
    """The folder of the record, inside the run's, which must be there."""
    run_dir = run_folder(request)
    if not os.path.isdir(run_dir):
        raise RefusedError("no_folder", f"The run folder {run_dir} is missing or is not a folder.")
    with contextlib.suppress(FileExistsError):
        os.mkdir(os.path.dirname(record_path(request)), 0o700)


def take_lock(path: str) -> int:
    """Take the lock of starts; it is free again when its descriptor is closed, also by the end of this process."""
    lock = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    deadline = time.monotonic() + LOCK_WAIT_S
    while not is_locked(lock):
        if time.monotonic() > deadline:
            raise RefusedError("busy", f"Another start has held {path} for {LOCK_WAIT_S:.0f} s; try again.")
        time.sleep(0.05)
    return lock


def is_locked(lock: int) -> bool:
    """Try to take the lock; False when another start has it."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


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
    env = {name: value for name, value in {**os.environ, **request.get("env", {})}.items() if value is not None}
    try:
        os.execvpe(request["argv"][0], request["argv"], env)  # noqa: S606 - the operator's own command, no shell
    except OSError as error:  # its name would be that of the last folder of PATH
        raise OSError(error.errno, error.strerror, request["argv"][0]) from error


def write_record(request: Fields, pid: int) -> None:
    """Write the record of the job whole or not at all."""
    proc = read_stat(pid)
    script = full_path(request, "script")
    record = {
        "boot_id": boot_id(),
        "pid": pid,
        "start_ticks": proc.start_ticks if proc else 0,
        "argv": request["argv"],
        "script": settled_path(request, "script"),
        "log": settled_path(request, "log"),
        "started_at": time.time(),
        "script_sha256": sha256_of(script) if script else None,
    }
    path = record_path(request)
    with open(path + ".new", "w", encoding="ascii") as file:
        json.dump(record, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(path + ".new", path)


def watch(pid: int, watch_s: float) -> int | None:
    """Watch the new job for a moment: its exit status when it ends (negative: a signal), None when it lives."""
    deadline = time.monotonic() + watch_s
    while time.monotonic() < deadline:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return os.WEXITSTATUS(status) if os.WIFEXITED(status) else -os.WTERMSIG(status)
        time.sleep(0.02)
    return None


def exit_words(status: int) -> str:
    """An exit status as words."""
    return f"killed by signal {-status}" if status < 0 else f"exit status {status}"


def log_tail(path: str, offset: int) -> list[str]:
    """The last lines that were appended to a log since it had a size."""
    with open(path, "rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(offset if offset <= size else 0, size - TAIL_BYTES))
        return file.read().decode("utf-8", "replace").splitlines()[-TAIL_LINES:]


# -- files


def sha256_of(path: str) -> str:
    """SHA-256 of a file, hex."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        for block in iter(lambda: file.read(BLOCK), b""):
            digest.update(block)
    return digest.hexdigest()


def put(request: Fields) -> Fields:
    """Put a file in place, whole or not at all, and keep the former one beside it.

    The content is written beside the target, read back and compared with what was meant, and renamed over it.
    A link is followed: what it points to is replaced, and the link stays.
    """
    path = os.path.realpath(os.path.expanduser(request["path"]))
    if os.path.lexists(path) and not os.path.isfile(path):
        raise RefusedError("not_a_file", f"{path} is not an ordinary file; nothing was written.")
    folder = os.path.dirname(path)
    directory = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    temporary = os.path.join(folder, f".longwait-put-{secrets.token_hex(8)}")
    try:
        fcntl.flock(directory, fcntl.LOCK_EX)
        receive(temporary, request)
        if os.path.exists(path) and sha256_of(path) == request["sha256"]:
            return {"path": path, "changed": False, "kept": None}
        like_former(temporary, path)
        kept = keep_former(path)
        os.replace(temporary, path)
        os.fsync(directory)
        prune(path, request.get("keep", 10))
    finally:
        os.close(directory)
        with contextlib.suppress(FileNotFoundError):  # it has become the file itself
            os.unlink(temporary)
    return {"path": path, "changed": True, "kept": kept}


def receive(temporary: str, request: Fields) -> None:
    """Write what comes on stdin, and prove that it is all there and the same."""
    left = request["size"]
    with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        while left:
            block = sys.stdin.buffer.read(min(left, BLOCK))
            if not block:
                raise RefusedError("short", f"The upload ended {left} bytes early; the former file is untouched.")
            file.write(block)
            left -= len(block)
        file.flush()
        os.fsync(file.fileno())
    if sha256_of(temporary) != request["sha256"]:
        raise RefusedError("differs", "What arrived is not what was sent (SHA-256); the former file is untouched.")


def like_former(temporary: str, path: str) -> None:
    """Give the new file the mode and owner of the former one."""
    try:
        former = os.stat(path)
    except FileNotFoundError:
        os.chmod(temporary, 0o644)
        return
    with contextlib.suppress(PermissionError):  # only root gives files away
        os.chown(temporary, former.st_uid, former.st_gid)
    os.chmod(temporary, stat.S_IMODE(former.st_mode))


def keep_former(path: str) -> str | None:
    """Keep the file under a name that says when it was replaced and what it was; the name, None when there is none."""
    if not os.path.exists(path):
        return None
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    kept = f"{path}.{stamp}.{sha256_of(path)[:8]}"
    try:
        os.link(path, kept)
    except FileExistsError:
        return kept  # replaced twice within a second; the same name is the same content
    except OSError:
        shutil.copy2(path, kept)  # a file system without hard links
    return kept


def prune(path: str, keep: int) -> None:
    """Remove the oldest kept files beyond a number."""
    folder, name = os.path.split(path)
    pattern = re.compile(re.escape(name) + r"\.\d{8}T\d{6}Z\.[0-9a-f]{8}")
    kept = sorted(entry for entry in os.listdir(folder) if pattern.fullmatch(entry))
    for entry in kept[: max(0, len(kept) - keep)]:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.join(folder, entry))


def read(request: Fields) -> Fields:
    """A file's first bytes and the digest of the whole."""
    path = os.path.expanduser(request["path"])
    if not os.path.exists(path):
        return {"exists": False}
    if not os.path.isfile(path):
        raise RefusedError("not_a_file", f"{path} is not an ordinary file.")
    with open(path, "rb") as file:
        content = file.read(request["max_bytes"])
    return {
        "exists": True,
        "content": base64.b64encode(content).decode("ascii"),
        "size": os.path.getsize(path),
        "sha256": sha256_of(path),
    }


def compiles(request: Fields) -> Fields:
    """Whether stdin is a Python program by this Python; nothing is run and nothing written."""
    warnings.simplefilter("ignore")
    source = sys.stdin.buffer.read()
    try:
        compile(source, request["name"], "exec", dont_inherit=True)
    except SyntaxError as error:
        # Its own text is that of a file of this name, if there is one, and that is not what was compiled.
        lines = source.decode("utf-8", "replace").split("\n")
        text = lines[error.lineno - 1].strip() if error.lineno and error.lineno <= len(lines) else ""
        return {"ok": False, "line": error.lineno or None, "message": error.msg, "text": text[:200]}
    except (ValueError, RecursionError, MemoryError) as error:
        return {"ok": False, "line": None, "message": str(error) or "it is nested too deeply", "text": ""}
    return {"ok": True}


# -- probe


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


# -- the step


VERBS: dict[str, Callable[[Fields], Fields | None]] = {
    "find": find,
    "start": start,
    "stop": stop,
    "put": put,
    "read": read,
    "compile": compiles,
    "probe": probe,
}
"""What a request can ask for; a verb that gives None has answered by itself."""


def encode(fields: Fields) -> bytes:
    """An answer as one line of ASCII."""
    return json.dumps(fields).encode("ascii") + b"\n"


def os_refusal(error: OSError) -> Fields:
    """A refusal by the system as an answer."""
    where = f" {os.fsdecode(error.filename)}" if isinstance(error.filename, (str, bytes)) else ""
    return {"error": "os", "text": f"The host refused:{where}: {str(error.strerror or error).rstrip('.')}."}


def main() -> None:
    """Carry out the one request."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # for a job that is started, too; Python itself ignores PIPE
    request = json.loads(sys.argv[1] if len(sys.argv) > 1 else sys.stdin.buffer.readline())
    try:
        answer = VERBS[request["verb"]](request)
    except RefusedError as refusal:
        answer = refusal.answer
    except OSError as error:
        answer = os_refusal(error)
    if answer is not None:
        sys.stdout.buffer.write(encode(answer))
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
