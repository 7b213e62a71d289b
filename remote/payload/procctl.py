"""What longwait does on the host: find and stop the job, and what every other step there stands on.

Carried over by ``remote.step`` for each step and gone afterwards: Python 3.8 or newer, the standard library only,
Linux only (``/proc``; man 5 proc). The files beside it are carried together with it, for the steps that need them.
The request is a JSON object, given as the argument or as the first line of stdin; what follows on stdin is a file's
content. The answer is a line of JSON (``stop``: several); one with ``error`` and ``text`` says why not, and nothing
was changed unless it says so.

What is left on the host: ``RUN_DIR/.longwait/job-KEY.json``, the record of the start of a job that was last, beside it
the empty ``job-KEY.lock`` that starts take, and ``job-KEY.PROCESS.env``, for its user's eyes alone, the environments
of the few processes that were stopped last; KEY stands for the job, so that those of one folder have their own. The
job itself holds no lock: a lock that its children inherit would outlive it and say that it runs when it does not.
Whether it runs is read from ``/proc``. All that the job starts inherits ``LONGWAIT_JOB=KEY.RUN`` in its environment,
RUN being another one at each start, so that what leaves its process group is still known as this run's.
"""

# Paths go through os, not pathlib (pyproject.toml exempts this file): names are bytes to Linux, the functions of os
# take them as /proc gives them, and the pathlib of Python 3.8 lacks half of what is needed.

from __future__ import annotations

import contextlib
import errno
import fcntl
import getpass
import hashlib
import json
import os
import pwd
import re
import signal
import stat
import sys
import time
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    Fields = dict[str, Any]
    Emit = Callable[..., None]

LOCK_WAIT_S = 15.0
"""A start holds the lock for a little over a second; more than this means that something hangs."""

MARK = "LONGWAIT_JOB"
"""The variable by which what a run of a job has started is known, wherever it went: ``KEY.RUN``."""

FREEZE_ROUNDS = 20
"""Looks at most before KILL: each finds what forked before it was halted, so two or three do."""

KILL_WAIT_S = 10.0
"""A killed process is gone at once unless the kernel holds it (disk or GPU driver); then waiting longer is no use."""

KEEP_WAIT_S = 5.0
"""Writing some kilobytes takes milliseconds; a disk that takes longer hangs, and must not keep a stop from its work."""

ENVIRONS_KEPT = 3
"""Environments of stopped processes that stay: a way back stops a process itself, and it may fail."""

EAGER_S = 2.0
"""The time in which a stop looks often, since most jobs end within it; later it spares the host."""

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
    def key(self) -> tuple[int, int]:
        """What names it for good within this boot of the host."""
        return self.pid, self.start_ticks

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


def read_uid(pid: int) -> int | None:
    """Its real user id; None when it is gone."""
    try:
        with open(f"/proc/{pid}/status", "rb") as file:
            found = re.search(rb"^Uid:\s+(\d+)", file.read(), re.MULTILINE)
    except OSError:
        return None
    return int(found[1]) if found else None


def read_environ(pid: int) -> bytes | None:
    """The environment that it was given; None when that can't be told (gone, another user's, new)."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return file.read() or None  # empty: a kernel thread, or one that becomes another program at this moment
    except OSError:
        return None


def read_mark(pid: int) -> str | None:
    """The run that its environment names; empty when none, None when that can't be told."""
    environ = read_environ(pid)
    if environ is None:
        return None
    begin = MARK.encode("ascii") + b"="
    return next((os.fsdecode(word[len(begin) :]) for word in environ.split(b"\0") if word.startswith(begin)), "")


def same_now(proc: Proc) -> Proc | None:
    """The same process as it is now; None when it is gone or its number is another's."""
    now = read_stat(proc.pid)
    return now if now is not None and now.alive and now.start_ticks == proc.start_ticks else None


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
    uid = read_uid(proc.pid)
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
        "user": name_of(uid),
        "uid": uid,
        "children": len(below({proc.pid}, table)),
        "by_record": record is not None,
        "script_sha256": record.get("script_sha256") if record else None,
    }


def name_of(uid: int | None) -> str:
    """A user's name; the number when the host has no name for it, empty for None."""
    try:
        return "" if uid is None else pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


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
    named = (pid for pid in set(table) - not_it if owned(pid) and is_job(pid, request))
    matching = {pid for pid in named if same_world(pid, unknown=True)}
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


def at(request: Fields) -> Fields:
    """The process that has a number now, whatever it is; ``ours`` says whether we may signal it."""
    table = read_table()
    proc = table.get(request["pid"])
    if proc is None:
        return {"process": None, "ours": False}
    return {"process": describe(proc, table), "ours": os.geteuid() == 0 or owned(proc.pid)}


def adopt(request: Fields) -> Fields:
    """Record a process that somebody else has started as the job, when it still is the one that was seen."""
    make_folder(request)
    lock = take_lock(lock_path(request))
    proc = proven(request["identity"])
    others = [process["pid"] for process in find_jobs(request) if process["pid"] != proc.pid]
    if others:
        raise RefusedError("already_runs", f"Another process is the job already: {others[0]}; nothing was changed.")
    write_record(request, proc.pid, started=False)
    os.close(lock)
    return {"process": describe(proc, read_table(), read_record(request))}


def strays(request: Fields) -> Fields:
    """What bears the job's mark and does not belong to a job that runs: left over from a former run."""
    table = read_table()
    family = lineage(os.getpid(), table)
    for process in find_jobs(request):
        root = table.get(process["pid"])
        family |= {proc.pid for proc in Family(root).look()} if root is not None else set()
    run = job_key(request) + "."
    left = [
        proc
        for pid, proc in table.items()
        if pid not in family and owned(pid) and (read_mark(pid) or "").startswith(run) and same_world(pid)
    ]
    pids = {proc.pid for proc in left}
    roots = [proc for proc in left if proc.ppid not in pids]
    return {"processes": [describe(proc, table) for proc in sorted(roots, key=lambda proc: proc.pid)]}


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
    elif identity.get("uid") is not None and read_uid(pid) != identity["uid"]:
        why_not = f"process {pid} belongs to another user now"
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
    """The processes of a job: its tree, the group and the session that it leads, and what bears its mark.

    Each is known by pid and start time, so one that leaves the group, or whose parent ends, stays known. A job that
    was started without a group of its own shares it with strangers: then only the tree is the job's. The mark
    (``LONGWAIT_JOB`` in the environment, from the start) is another one for each run, and counts for processes that
    began after the job's own did, so that nothing of a former or a next run, or of a job around this one, is taken for
    its child. What left tree, group and session
    before the stop and bears no mark (a daemon with a clean environment, a job started by hand) can't be told from a
    stranger, and is left alone.

    The process table is no snapshot: a number can be another process's between two of its lines. A kinship is
    believed only when both ends are read again and are the same: the kernel gives no number away that a living
    process has as its pid, group or session.
    """

    def __init__(self, root: Proc) -> None:
        self.root = root
        self.known = {root.key}
        mark = read_mark(root.pid) or ""
        # Believed only when it still is the same process after the reading: else it may be a stranger's, a next run's.
        self.mark = mark if same_now(root) is not None else ""
        self.unmarked: set[tuple[int, int]] = set()
        self.leads_group = root.pgid == root.pid != os.getpgid(0)
        self.leads_session = root.sid == root.pid != os.getsid(0)

    def look(self) -> list[Proc]:
        """Those that are alive now, oldest first, so that a parent hears of the end before its children go."""
        table = read_table()
        mine = {pid for pid, proc in table.items() if proc.key in self.known}
        if self.leads_group:
            self.leads_group = self._add_members(mine, table, lambda proc: proc.pgid)
        if self.leads_session:
            self.leads_session = self._add_members(mine, table, lambda proc: proc.sid)
        self._add_marked(mine, table)
        self._add_children(mine, table)
        mine -= lineage(os.getpid(), table)
        procs = [table[pid] for pid in mine]
        self.known |= {proc.key for proc in procs}
        return sorted(procs, key=lambda proc: proc.start_ticks)

    def outside(self, procs: list[Proc]) -> int:
        """How many of them have left the group and the session of the job."""
        return sum(self.root.pid not in {proc.pgid, proc.sid} for proc in procs)

    def _add_members(self, mine: set[int], table: dict[int, Proc], number: Callable[[Proc], int]) -> bool:
        """Add the group or the session; False when none that is known is in it: its number may be a stranger's now."""
        known = [table[pid] for pid in mine if number(table[pid]) == self.root.pid]
        members = {pid for pid, proc in table.items() if number(proc) == self.root.pid}
        for proc in known:
            now = same_now(proc)
            if now is not None and number(now) == self.root.pid:
                mine |= members
                return True
        return False

    def _add_children(self, mine: set[int], table: dict[int, Proc]) -> None:
        """Add all below: each child whose parent is proven after the child has been read once more."""
        children: dict[int, list[Proc]] = {}
        for proc in table.values():
            children.setdefault(proc.ppid, []).append(proc)
        waiting = list(mine)
        while waiting:
            parent = table[waiting.pop()]
            again = ((proc, same_now(proc)) for proc in children.get(parent.pid, ()) if proc.pid not in mine)
            born = {proc.pid for proc, now in again if now is not None and now.ppid == parent.pid}
            if born and same_now(parent) is not None:
                mine |= born
                waiting.extend(born)

    def _add_marked(self, mine: set[int], table: dict[int, Proc]) -> None:
        """Add what bears the job's mark; what was seen without it is not looked at again."""
        if not self.mark:
            return
        for pid, proc in table.items():
            if pid in mine or proc.start_ticks < self.root.start_ticks or proc.key in self.unmarked:
                continue
            mark = read_mark(pid) if owned(pid) else ""
            if mark == self.mark and same_world(pid) and same_now(proc) is not None:
                mine.add(pid)
            elif mark is not None:
                self.unmarked.add(proc.key)


def same_world(pid: int, *, unknown: bool = False) -> bool:
    """Whether a process lives where we do, not in a container that may have a job of the same paths.

    Args:
        pid: The process.
        unknown: What to answer where it may not be seen.
    """
    try:
        return os.stat(f"/proc/{pid}/ns/pid").st_ino == os.stat("/proc/self/ns/pid").st_ino
    except OSError:
        return unknown


def stop(request: Fields) -> None:
    """TERM to all of the job, once each; KILL to those left after the grace; answers as it goes."""
    detached(lambda emit: end_job(request, emit))


def end_job(request: Fields, emit: Emit) -> None:
    """The stop itself; proof and first signal are in this one function."""
    began = time.monotonic()
    family = Family(proven(request))
    if "keep" in request:
        in_time(lambda: keep_environ({**request["keep"], **request}, family.root), KEEP_WAIT_S)
    sent = [proc for proc in family.look() if terminate(proc)]
    emit(step="term", count=len(sent), left_group=family.outside(sent), seconds=time.monotonic() - began)
    if wait_gone(family, began, request["grace_s"], emit):
        killed = kill_all(family)
        emit(step="kill", count=len(killed), left_group=family.outside(killed), seconds=time.monotonic() - began)
        left = wait_gone(family, time.monotonic(), KILL_WAIT_S, emit=None)
        if left:
            pids = ", ".join(f"{proc.pid} (state {proc.state})" for proc in left)
            raise RefusedError(
                "left", f"Processes are left even after KILL: {pids}; the kernel or another user holds them."
            )
    emit(step="gone", count=0, left_group=0, seconds=time.monotonic() - began)


def in_time(work: Callable[[], None], wait_s: float) -> None:
    """Do some work in a process of its own, and go on when it takes longer: what waits for a disk can't be ended."""
    pid = os.fork()
    if pid == 0:
        try:
            os.closerange(3, 1024)  # whoever listens to us must not wait for its end
            work()
        finally:
            os._exit(0)
    deadline = time.monotonic() + wait_s
    while os.waitpid(pid, os.WNOHANG) == (0, 0) and time.monotonic() < deadline:
        time.sleep(0.005)


def terminate(proc: Proc) -> bool:
    """TERM, and CONT to one that is stopped, which could not act upon it otherwise."""
    sent = send(proc, signal.SIGTERM)
    if sent and proc.state in "Tt":
        send(proc, signal.SIGCONT)
    return sent


def kill_all(family: Family) -> list[Proc]:
    """KILL, all of them halted first: what is halted can't fork between the look and the signal; those signalled."""
    halted: set[tuple[int, int]] = set()
    procs: list[Proc] = []
    for _ in range(FREEZE_ROUNDS):
        procs = family.look()
        new = [proc for proc in procs if proc.key not in halted]
        if not new:
            break
        for proc in new:
            send(proc, signal.SIGSTOP)
            halted.add(proc.key)
    killed = [proc for proc in procs if send(proc, signal.SIGKILL)]
    late = wait_gone(family, time.monotonic(), 1.0, emit=None)  # those that were too many to be halted in time
    return killed + [proc for proc in late if send(proc, signal.SIGKILL) and proc.key not in halted]


def wait_gone(family: Family, began: float, wait_s: float, emit: Emit | None) -> list[Proc]:
    """Wait until none is left or the time is over; tell the count each second. Gives those left."""
    told = began
    while True:
        left = family.look()
        now = time.monotonic()
        if not left or now - began >= wait_s:
            return left
        if emit is not None and now - told >= 1.0:
            emit(step="waiting", count=len(left), left_group=family.outside(left), seconds=now - began)
            told = now
        time.sleep(min(0.05 if now - began < EAGER_S else 0.5, max(0.001, began + wait_s - now)))


# -- the lock and the record


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


def kept_path(request: Fields, process: Fields) -> str:
    """Where the environment of a process of the job is kept."""
    name = f"job-{job_key(request)}.{process['pid']}-{process['start_ticks']}.env"
    return os.path.join(run_folder(request), ".longwait", name)


def keep_environ(request: Fields, root: Proc) -> None:
    """Keep the environment of a process that is about to be stopped, so that a way back gives it to the next one.

    It may hold secrets, so it never leaves the host, and none but its user may read it; only the newest few are there.
    A stop goes on where it can't be kept; then a way back says that it is not.
    """
    process = {"boot_id": boot_id(), "pid": root.pid, "start_ticks": root.start_ticks}
    with contextlib.suppress(OSError, RefusedError):
        make_folder(request)
        path = kept_path(request, process)
        environ = read_environ(root.pid)
        # A program that gives itself a title writes over it (man 3 setproctitle): then there is no PATH in it any more.
        whole = environ is not None and (environ.startswith(b"PATH=") or b"\0PATH=" in environ)
        if request["keep_env"] and environ is not None and whole and same_now(root) is not None:
            write_private(path, encode(process) + environ)
        prune_kept(request)


def write_private(path: str, content: bytes) -> None:
    """Write a file that none but its user may read, whole or not at all.

    It begins as a new one: a file or a link that is there already may be somebody's who wants to read it.
    """
    new = f"{path}.{os.urandom(8).hex()}.new"
    try:
        with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            os.fchmod(file.fileno(), 0o600)
            file.write(content)
        os.replace(new, path)
    finally:
        with contextlib.suppress(OSError):  # it has become the file itself
            os.unlink(new)


def prune_kept(request: Fields) -> None:
    """Remove the job's environments but the newest and the one that is to be given next; all when none is wanted.

    What a stop that was killed has left half written holds as much, and goes, too.
    """
    folder, begin = os.path.dirname(record_path(request)), f"job-{job_key(request)}."
    found = [os.path.join(folder, name) for name in os.listdir(folder) if name.startswith(begin)]
    for path in found:
        if re.search(r"\.env\.([0-9a-f]+\.)?new$", path):
            os.unlink(path)
    kept = sorted((path for path in found if path.endswith(".env")), key=lambda path: os.stat(path).st_mtime_ns)
    needed = kept_path(request, request["env_of"]) if request.get("env_of") else ""
    for path in kept[:-ENVIRONS_KEPT] if request["keep_env"] else kept:
        if path != needed:
            os.unlink(path)


def read_kept(request: Fields) -> bytes | None:
    """The environment that was kept of the very process that is asked for; None when there is none.

    One that somebody else can have written is none: it says what the job loads.
    """
    wanted = request["env_of"]
    try:
        with open(os.open(kept_path(request, wanted), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
            about = os.fstat(file.fileno())
            if not stat.S_ISREG(about.st_mode) or about.st_uid != os.geteuid() or about.st_mode & 0o022:
                return None
            head, environ = json.loads(file.readline()), file.read()
    except (OSError, ValueError):
        return None
    same = isinstance(head, dict) and all(head.get(key) == wanted[key] for key in ("boot_id", "pid", "start_ticks"))
    return environ if same else None


def write_record(request: Fields, pid: int, *, started: bool = True) -> None:
    """Write the record of the job whole or not at all; of one that we have not started, its script is not known."""
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
        "script_sha256": sha256_of(script) if script and started else None,
    }
    path = record_path(request)
    with open(path + ".new", "w", encoding="ascii") as file:
        json.dump(record, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(path + ".new", path)


def sha256_of(path: str) -> str:
    """SHA-256 of a file, hex."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        for block in iter(lambda: file.read(1_048_576), b""):
            digest.update(block)
    return digest.hexdigest()


# -- the step


VERBS: dict[str, Callable[[Fields], Fields | None]] = {
    "find": find,
    "at": at,
    "adopt": adopt,
    "strays": strays,
    "stop": stop,
}
"""What a request can ask for; a verb that gives None has answered by itself."""


def encode(fields: Fields) -> bytes:
    """An answer as one line of ASCII."""
    return json.dumps(fields).encode("ascii") + b"\n"


def os_refusal(error: OSError) -> Fields:
    """A refusal by the system as an answer."""
    where = f"{os.fsdecode(error.filename)}: " if isinstance(error.filename, (str, bytes)) else ""
    return {"error": "os", "text": f"The host refused: {where}{str(error.strerror or error).rstrip('.')}."}


def main(verbs: dict[str, Callable[[Fields], Fields | None]]) -> None:
    """Carry out the one request."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # for a job that is started, too; Python itself ignores PIPE
    request = json.loads(sys.argv[1] if len(sys.argv) > 1 else sys.stdin.buffer.readline())
    try:
        answer = verbs[request["verb"]](request)
    except RefusedError as refusal:
        answer = refusal.answer
    except OSError as error:
        answer = os_refusal(error)
    if answer is not None:
        sys.stdout.buffer.write(encode(answer))
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main(VERBS)
