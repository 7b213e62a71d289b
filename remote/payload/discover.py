"""What runs on a host that nobody has described: inference servers, the batch jobs connected to them, their logs.

Carried to the host with ``procctl`` by ``remote.step``; the same rules hold (Python 3.8, the standard library, Linux).
It only reads: ``/proc`` (man 5 proc), and ``docker inspect`` once when a server or a job is in a container. What it
says carries how sure it is (``certain``: proven by two things that agree, or by the kernel; ``likely``; ``guess``) and
why; what it may not see for want of rights, or had no time for, it says too.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import socket
import stat
import struct
import subprocess
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from remote.payload.procctl import (
    BYSTANDERS,
    INTERPRETERS,
    VERBS,
    Proc,
    describe,
    lineage,
    main,
    name_of,
    program_indexes,
    read_argv,
    read_cwd,
    read_environ,
    read_table,
    read_uid,
    user_name,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    Fields = dict[str, Any]

BUDGET_S = 1.5
"""Seconds after which no more open files are looked through; the answer then says how many were not."""

DOCKER_S = 1.5
"""``docker inspect`` answers in some 30 ms; a daemon that hangs must not hold up the rest."""

CERTAIN, LIKELY, GUESS, UNKNOWN = "certain", "likely", "guess", "unknown"

SERVER_MODULES = {
    "sglang.launch_server": "sglang",
    "sglang.srt.entrypoints.http_server": "sglang",
    "vllm.entrypoints.openai.api_server": "vllm",
    "vllm.entrypoints.api_server": "vllm",
    "llama_cpp.server": "llamacpp",
    "tensorrt_llm.commands.serve": "trtllm",
    "sglang_router.launch_router": "sglang-router",
    "sglang_router.launch_server": "sglang-router",
    "vllm_router.launch_router": "vllm-router",
}
"""Python modules that are servers; a script whose path ends like one is it, too."""

SERVER_COMMANDS = {
    "llama-server": ("llamacpp", ""),
    "trtllm-serve": ("trtllm", ""),
    "vllm": ("vllm", "serve"),
    "sglang": ("sglang", "serve"),
    "transformers": ("transformers", "serve"),
    "sglang-router": ("sglang-router", ""),
    "smg": ("sglang-router", ""),
    "vllm-router": ("vllm-router", ""),
}
"""Commands that are servers, and the word that must follow."""

ROUTERS = frozenset({"sglang-router", "vllm-router"})

DEFAULT_PORTS = {"sglang": 30000, "vllm": 8000, "llamacpp": 8080, "trtllm": 8000, "transformers": 8000}
"""Where each listens when it is not told; the routers' have changed between versions."""

MODEL_OPTIONS = ("--served-model-name", "--model-path", "--model", "-m", "--hf-repo", "-hf", "--alias", "-a")
TITLES = re.compile(r"(VLLM::|sglang::|vllm::)")
"""What the worker processes of vLLM and SGLang call themselves."""

# fmt: off
CLIENT_KINDS = {
    "tunnel": frozenset({"sshd", "sshd-session", "ssh", "autossh", "socat"}),
    "proxy": frozenset({
        "docker-proxy", "nginx", "haproxy", "envoy", "traefik", "caddy", "apache2", "httpd", "kube-proxy",
    }),
    "monitor": frozenset({
        "prometheus", "telegraf", "vmagent", "vector", "otelcol", "alloy", "grafana-agent", "agent", "zabbix_agentd",
    }),
    "probe": frozenset({"curl", "wget", "http", "ab", "wrk", "hey", "oha"}),
}
# fmt: on
"""Programs that connect to a server and are no job."""

PARENTS_OF_ALL = frozenset({"systemd", "init", "tini", "dumb-init", "containerd-shim-runc-v2", "conmon"})
"""Programs below which everything is."""

HOSTING_UNITS = re.compile(
    r"(user@\d+|sshd?(@.*)?|cron|crond|atd|docker|containerd|slurmd|slurmstepd|dropbear)\.service"
)
"""Units in whose control group strangers' processes are: logins, cron jobs, containers."""

STATE_LISTEN, STATE_ESTABLISHED, STATE_CLOSE_WAIT = 0x0A, 0x01, 0x08


def clue(value: object, sure: str, why: str) -> Fields:
    """Something that was found out, how sure it is, and from what."""
    return {"value": value, "sure": sure if value is not None else UNKNOWN, "why": why}


# -- the sockets


class Row(NamedTuple):
    """A line of ``/proc/net/tcp``: addresses as text, an IPv4 one in IPv6 clothes as IPv4."""

    local: str
    port: int
    remote: str
    remote_port: int
    state: int
    uid: int
    inode: int


def address(text: str) -> str:
    """An address as the kernel prints it (32-bit words in its own byte order) as one writes it."""
    words = [struct.pack("=I", int(text[at : at + 8], 16)) for at in range(0, len(text), 8)]
    packed = b"".join(words)
    if len(packed) == 4:  # noqa: PLR2004 - the length of an IPv4 address
        return socket.inet_ntop(socket.AF_INET, packed)
    if packed[:12] == b"\0" * 10 + b"\xff\xff":
        return socket.inet_ntop(socket.AF_INET, packed[12:])
    return socket.inet_ntop(socket.AF_INET6, packed)


def parse_rows(text: str) -> list[Row]:
    """The lines of ``/proc/net/tcp`` or ``tcp6``; what is no such line is passed over."""
    rows = (parse_row(line.split()) for line in text.splitlines()[1:])
    return [row for row in rows if row is not None]


def parse_row(words: list[str]) -> Row | None:
    """One line, as words."""
    try:
        (local, port), (remote, remote_port) = (word.split(":") for word in words[1:3])
        state, uid, inode = int(words[3], 16), int(words[7]), int(words[9])
        return Row(address(local), int(port, 16), address(remote), int(remote_port, 16), state, uid, inode)
    except (ValueError, IndexError, OSError, struct.error):
        return None


def read_rows(pid: int | str) -> list[Row]:
    """The TCP sockets of a process's network, all of them, whoever has them."""
    rows = []
    for name in ("tcp", "tcp6"):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/net/{name}", encoding="ascii") as file:
            rows += parse_rows(file.read())
    return rows


def is_loopback(text: str) -> bool:
    """Whether an address is this machine's own, or any."""
    return text.startswith("127.") or text in {"::1", "::", "0.0.0.0"}  # noqa: S104 - compared, not bound


# -- what a command line says


def words_of(argv: Sequence[str]) -> list[str]:
    """The words that say what a command line runs: modules by their name, programs by their path."""
    words = []
    for index in program_indexes(list(argv)):
        word = argv[index]
        words.append(re.sub(r"^-\w*m", "", word) if word.startswith("-") else word)
    return words


def engine_of(argv: Sequence[str]) -> str | None:
    """Which server a command line is; None when none."""
    if not argv or os.path.basename(argv[0]).lstrip("-") in BYSTANDERS:
        return None
    for word in words_of(argv):
        stem = word[:-3].replace("/", ".") if word.endswith(".py") else word
        module = next((name for name in SERVER_MODULES if stem == name or stem.endswith("." + name)), None)
        if module:
            return SERVER_MODULES[module]
        engine, verb = SERVER_COMMANDS.get(os.path.basename(word), ("", ""))
        if engine and (not verb or verb in argv[list(argv).index(word) + 1 :][:1] or word_after(argv, word) == verb):
            return engine
        if os.path.basename(word) == "server" and any(one.endswith(".gguf") for one in argv):
            return "llamacpp"  # its name before 2024
    return None


def word_after(argv: Sequence[str], word: str) -> str:
    """The first word after another that is no option."""
    after = argv[list(argv).index(word) + 1 :]
    return next((one for one in after if not one.startswith("-")), "")


def option(argv: Sequence[str], *names: str) -> str | None:
    """The value of an option on a command line, the last one as most parsers have it; None when it is not there."""
    value = None
    for at, word in enumerate(argv):
        name, equals, after = word.partition("=")
        if name in names and equals:
            value = after
        elif word in names and at + 1 < len(argv):
            value = argv[at + 1]
    return value


def port_argument(argv: Sequence[str]) -> int | None:
    """The port that a server was told on its command line."""
    text = option(argv, "--port")
    return int(text) if text and text.isdigit() and 0 < int(text) < 65536 else None  # noqa: PLR2004 - ports


def model_of(argv: Sequence[str], engine: str) -> Fields:
    """The model's name as clients would give it, from the command line."""
    options = argv[max(program_indexes(list(argv)), default=0) + 1 :]
    for name in MODEL_OPTIONS:
        value = option(options, name)
        if value:
            return clue(value, CERTAIN if name.startswith("--") else LIKELY, f"{name} on its command line")
    if engine in {"vllm", "trtllm", "transformers", "sglang"} and "serve" in argv[:-1]:
        value = word_after(argv, "serve")
        if value and not value.isdigit():
            return clue(value, LIKELY, "the word after `serve` on its command line")
    if engine == "trtllm" and len(argv) > 1:
        value = word_after(argv, next((one for one in argv if one.endswith("trtllm-serve")), argv[0]))
        return clue(value or None, LIKELY, "the first word on its command line")
    return clue(None, UNKNOWN, "its command line names none; the server's /v1/models does")


# -- where a process lives


def cgroup_place(text: str) -> Fields:
    """What a control group says of a process: its container, its systemd unit, its Slurm job.

    Both layouts are read (man 7 cgroups): one line a controller, or one line in all.
    """
    paths = [line.split(":", 2)[2] for line in text.splitlines() if line.count(":") >= 2]  # noqa: PLR2004
    place: Fields = {"container": None, "runtime": None, "unit": None, "user_unit": False, "slurm_job": None}
    for path in sorted(paths, key=len, reverse=True):
        parts = path.split("/")
        slurm = re.search(r"/job_(\d+)(/|$)", path)
        if slurm and place["slurm_job"] is None:
            place["slurm_job"] = slurm[1]
        found = re.search(r"([0-9a-f]{64})", path)
        if found and place["container"] is None:
            place["container"], place["runtime"] = found[1], runtime_of(path)
        units = [part for part in parts if part.endswith(".service") and not HOSTING_UNITS.fullmatch(part)]
        if units and place["unit"] is None:
            place["unit"] = units[-1]
            place["user_unit"] = any(re.fullmatch(r"user@\d+\.service", part) for part in parts)
    return place


def runtime_of(path: str) -> str:
    """What runs the container that a control group is of."""
    return next((runtime for sign, runtime in RUNTIMES if sign in path), "container")


RUNTIMES = (("kubepods", "kubernetes"), ("libpod", "podman"), ("cri-containerd", "kubernetes"), ("docker", "docker"))
"""A word of a control group's path, and what it is of; the first that fits."""


def read_place(pid: int | str) -> Fields:
    """Where a process lives; nothing of it when that can't be read."""
    try:
        with open(f"/proc/{pid}/cgroup", encoding="utf-8", errors="surrogateescape") as file:
            return cgroup_place(file.read())
    except OSError:
        return cgroup_place("")


def network_of(pid: int | str) -> int | None:
    """What names the network that a process sees; None when that may not be read."""
    try:
        return os.stat(f"/proc/{pid}/ns/net").st_ino
    except OSError:
        return None


class Containers:
    """What docker (or podman) says of containers, asked at most once each; nothing when it may not be asked."""

    def __init__(self, unseen: list[str]) -> None:
        self.unseen = unseen
        self.known: dict[str, Fields] = {}

    def inspect(self, container: str, runtime: str) -> Fields:
        """Its name, ports and log driver; empty when that can't be had."""
        if container not in self.known:
            self.known[container] = self._ask(container, runtime) if runtime in {"docker", "podman"} else {}
        return self.known[container]

    def _ask(self, container: str, runtime: str) -> Fields:
        try:
            done = subprocess.run(  # noqa: S603 - a list of words; the id is hexadecimal
                [runtime, "inspect", container],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=DOCKER_S,
                check=False,
            )
            about = json.loads(done.stdout)[0]
        except (OSError, ValueError, IndexError, subprocess.TimeoutExpired) as error:
            self.unseen.append(
                f"{runtime} can't be asked about container {container[:12]} ({type(error).__name__}): its name and its "
                f"published ports are not known. The user {user_name()} may need to be in the group `{runtime}`."
            )
            return {}
        return about if isinstance(about, dict) else {}


def published(about: Fields, port: int) -> tuple[str, int] | None:
    """Where a container's port is reached from the host: a published one, else the container's own address."""
    network = about.get("NetworkSettings") or {}
    for binding in (network.get("Ports") or {}).get(f"{port}/tcp") or ():
        ip = binding.get("HostIp") or "127.0.0.1"
        return ("127.0.0.1" if is_loopback(ip) else ip), int(binding["HostPort"])
    for one in (network.get("Networks") or {}).values():
        if one.get("IPAddress"):
            return one["IPAddress"], port
    return None


# -- where its output goes


def output(pid: int, number: int) -> Fields:
    """What a process's stdout (1) or stderr (2) is."""
    path = f"/proc/{pid}/fd/{number}"
    try:
        target, about = os.readlink(path), os.stat(path)
    except PermissionError:
        return {"kind": "unseen", "path": None, "inode": None}
    except OSError:
        return {"kind": "closed", "path": None, "inode": None}
    kind = kind_of(target, about)
    named = kind in {"file", "deleted", "tty", "other"}
    return {"kind": kind, "path": target.replace(" (deleted)", "") if named else None, "inode": about.st_ino}


def kind_of(target: str, about: os.stat_result) -> str:
    """What an open file is."""
    if stat.S_ISREG(about.st_mode):
        return "deleted" if about.st_nlink == 0 else "file"
    if stat.S_ISFIFO(about.st_mode):
        return "pipe"
    if stat.S_ISSOCK(about.st_mode):
        return "socket"
    if target == "/dev/null":
        return "null"
    return "tty" if target.startswith(("/dev/pts/", "/dev/tty", "/dev/console")) else "other"


def journal_inode(pid: int) -> int | None:
    """The socket that leads to the journal, as systemd told the process (``JOURNAL_STREAM``, man 5 systemd.exec)."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            found = re.search(rb"(?:^|\0)JOURNAL_STREAM=\d+:(\d+)(?:\0|$)", file.read())
    except OSError:
        return None
    return int(found[1]) if found else None


def tee_files(inode: int, scan: Scan) -> list[str]:
    """The files that a ``tee`` at the other end of a pipe writes."""
    for pid, argv in scan.argv.items():
        if os.path.basename(argv[0]) != "tee":
            continue
        try:
            same = os.stat(f"/proc/{pid}/fd/0").st_ino == inode
        except OSError:
            continue
        if same:
            cwd = read_cwd(pid)
            return [os.path.join(cwd, word) for word in argv[1:] if not word.startswith("-")]
    return []


def log_of(pid: int, number: int, scan: Scan) -> Fields:
    """Where a process's output can be read: a file, or a command that prints it, or why it can't be."""
    seen = output(pid, number)
    place = scan.place(pid)
    found = {**seen, "stream": number, "command": None, "sure": CERTAIN, "why": f"/proc/{pid}/fd/{number}"}
    if place["container"] and seen["kind"] != "file":
        return {**found, **container_log(place, scan)}
    if seen["kind"] in {"socket", "unseen"} and place["unit"]:
        certain = seen["inode"] is not None and journal_inode(pid) == seen["inode"]
        which = "--user-unit" if place["user_unit"] else "--unit"
        return {
            **found,
            "kind": "journal",
            "command": ["journalctl", which, place["unit"], "--follow"],
            "sure": CERTAIN if certain else LIKELY,
            "why": f"it runs in the unit {place['unit']}",
        }
    if seen["kind"] == "pipe":
        files = tee_files(seen["inode"], scan)
        if files:
            return {**found, "kind": "file", "path": files[0], "why": "a `tee` at the other end of its pipe writes it"}
    return {**found, "why": WORDS.get(seen["kind"], found["why"])}


WORDS = {
    "pipe": "its output goes into a pipe to another program, which alone has it",
    "tty": "its output goes to a terminal; what has scrolled away is gone (a `tmux pipe-pane` can save the rest)",
    "null": "its output is thrown away (/dev/null)",
    "deleted": "its log has been deleted while it writes it; the lines go nowhere else",
    "closed": "it has closed its output",
    "unseen": "its open files may not be seen by this user",
    "socket": "its output goes into a socket of another program",
}
"""Why an output can't be followed."""


def container_log(place: Fields, scan: Scan) -> Fields:
    """The command that prints a container's log."""
    runtime, name = place["runtime"], container_name(place, scan)
    why = f"it runs in the container {name}"
    if runtime not in {"docker", "podman"}:
        why += f" of {runtime}: its own tool has the log (kubectl logs)"
        return {"kind": "container", "command": None, "sure": GUESS, "why": why}
    about = scan.containers.inspect(place["container"], runtime).get("HostConfig") or {}
    if (about.get("LogConfig") or {}).get("Type") == "none":
        return {"kind": "container", "command": None, "sure": CERTAIN, "why": f"{why}, whose log driver is `none`"}
    return {"kind": "container", "command": [runtime, "logs", "--follow", name], "sure": LIKELY, "why": why}


def container_name(place: Fields, scan: Scan) -> str:
    """A container's name; the begin of its id when that can't be had."""
    about = scan.containers.inspect(place["container"], place["runtime"])
    return str(about.get("Name") or place["container"][:12]).lstrip("/")


def logs_of(pid: int, scan: Scan) -> list[Fields]:
    """Where both outputs go; one place when they are the same."""
    out, err = log_of(pid, 1, scan), log_of(pid, 2, scan)
    same = all(out[key] == err[key] for key in ("kind", "path", "inode", "command"))
    return [out] if same else [out, err]


def written(pid: int, limit: int = 20) -> list[str]:
    """The ordinary files that a process has open for writing, its outputs left out."""
    paths: list[str] = []
    try:
        names = os.listdir(f"/proc/{pid}/fd")
    except OSError:
        return []
    for name in names:
        target = written_by(pid, name) if int(name) > 2 else ""  # noqa: PLR2004 - stderr
        if target.startswith("/") and not target.startswith(("/dev/", "/memfd:")):
            paths.append(target)
    return sorted(set(paths))[:limit]


def written_by(pid: int, descriptor: str) -> str:
    """What a descriptor that is open for writing leads to; empty for others."""
    try:
        with open(f"/proc/{pid}/fdinfo/{descriptor}", encoding="ascii") as file:
            flags = re.search(r"^flags:\s*([0-7]+)", file.read(), re.MULTILINE)
        return os.readlink(f"/proc/{pid}/fd/{descriptor}") if flags and int(flags[1], 8) & os.O_ACCMODE else ""
    except OSError:
        return ""


# -- one look at the host


class Scan:
    """The host at one moment: its processes, their command lines, its sockets, and what could not be seen."""

    def __init__(self) -> None:
        self.began = time.monotonic()
        self.unseen: list[str] = []
        self.containers = Containers(self.unseen)
        self.table: dict[int, Proc] = read_table()
        self.us = lineage(os.getpid(), self.table)
        lines = ((pid, read_argv(pid)) for pid in self.table)
        self.argv = {pid: argv for pid, argv in lines if argv and argv[0]}
        self.network = network_of("self")
        self.rows = {self.network: read_rows("self")}
        self.children: dict[int, list[int]] = {}
        for proc in self.table.values():
            self.children.setdefault(proc.ppid, []).append(proc.pid)
        self.closed: set[int] = set()
        self.late = 0
        self.places: dict[int, Fields] = {}
        self.own_container = read_place("self")["container"]

    def place(self, pid: int) -> Fields:
        """Where a process lives, as seen from where we are."""
        if pid not in self.places:
            place = read_place(pid)
            if place["container"] == self.own_container:
                place = {**place, "container": None, "runtime": None}
            self.places[pid] = place
        return self.places[pid]

    def tree(self, root: int) -> list[int]:
        """A process and all below."""
        found, waiting = [], [root]
        while waiting:
            pid = waiting.pop()
            found.append(pid)
            waiting.extend(self.children.get(pid, ()))
        return found

    def sockets_of(self, pids: Iterable[int]) -> dict[int, int]:
        """The sockets that processes hold, by inode; which may not be looked into is noted."""
        found: dict[int, int] = {}
        for pid in pids:
            if time.monotonic() - self.began > BUDGET_S:
                self.late += 1
                continue
            try:
                names = os.listdir(f"/proc/{pid}/fd")
            except PermissionError:
                self.closed.add(pid)
                continue
            except OSError:
                continue
            for name in names:
                with contextlib.suppress(OSError):  # closed meanwhile
                    target = os.readlink(f"/proc/{pid}/fd/{name}")
                    if target.startswith("socket:["):
                        found.setdefault(int(target[8:-1]), pid)
        return found

    def rows_of(self, pid: int) -> list[Row]:
        """The sockets of the network that a process is in."""
        network = network_of(pid) or self.network
        if network not in self.rows:
            self.rows[network] = read_rows(pid)
        return self.rows[network]


# -- servers


def find_servers(scan: Scan) -> list[Fields]:
    """The inference servers and routers, roots of their trees alone."""
    engines = {pid: engine_of(argv) for pid, argv in scan.argv.items() if pid not in scan.us}
    matching = {pid for pid, engine in engines.items() if engine}
    roots = sorted(pid for pid in matching if not matching & (lineage(pid, scan.table) - {pid}))
    return [server(pid, str(engines[pid]), scan) for pid in roots]


def server(pid: int, engine: str, scan: Scan) -> Fields:
    """One server, with what is known of it and how sure that is."""
    argv, place = scan.argv[pid], scan.place(pid)
    tree = scan.tree(pid)
    rows = [row for row in scan.rows_of(pid) if row.state == STATE_LISTEN]
    owners = scan.sockets_of(tree)
    listening = {row.port: (row, owners[row.inode]) for row in reversed(rows) if row.inode in owners}
    port = port_of(pid, engine, listening, rows, scan)
    number = port["value"]
    return {
        "process": describe(scan.table[pid], scan.table),
        "tree": tree,
        "engine": engine,
        "router": engine in ROUTERS,
        "port": port,
        "listens": None if number is None else any(row.port == number for row in rows),
        "other_ports": sorted(set(listening) - {number}),
        "url": None if number is None else url_of(pid, number, rows, scan),
        "model": model_of(argv, engine),
        "logs": logs_of(pid, scan),
        **about_place(place, scan),
    }


def about_place(place: Fields, scan: Scan) -> Fields:
    """Container, unit and Slurm job as they are shown."""
    container = container_name(place, scan) if place["container"] else None
    return {
        "container": container,
        "runtime": place["runtime"],
        "unit": place["unit"],
        "user_unit": place["user_unit"],
        "slurm_job": place["slurm_job"],
    }


def port_of(pid: int, engine: str, listening: dict[int, tuple[Row, int]], rows: list[Row], scan: Scan) -> Fields:
    """A server's HTTP port, from its command line and its listening sockets."""
    told, usual = port_argument(scan.argv[pid]), DEFAULT_PORTS.get(engine)
    if told is not None:
        return told_port(told, pid, listening, rows)
    own = sorted(port for port, (_, owner) in listening.items() if owner == pid)
    if usual in listening:
        return clue(usual, LIKELY, "it listens there, and this is its default")
    if len(own) == 1:
        return clue(own[0], LIKELY, "the one port that it listens on")
    several = own or sorted(listening)
    if several:
        return clue(several[0], GUESS, f"it listens on several: {', '.join(map(str, several))}")
    if pid not in scan.closed:
        return clue(None, UNKNOWN, "it listens on no TCP port; it may still be starting")
    return clue(usual, GUESS, "its default; its sockets may not be seen by this user")


def told_port(told: int, pid: int, listening: dict[int, tuple[Row, int]], rows: list[Row]) -> Fields:
    """The port on the command line, held against the sockets."""
    if told in listening:
        return clue(told, CERTAIN, "on its command line, and it listens there")
    users = {row.uid for row in rows if row.port == told}
    try:
        user = os.stat(f"/proc/{pid}").st_uid
    except OSError:
        user = -1
    if not users:
        return clue(told, LIKELY, "on its command line; nothing listens there yet")
    if user in users:
        return clue(told, LIKELY, "on its command line, and a process of the same user listens there")
    return clue(told, GUESS, "on its command line, but another user's process listens there")


def url_of(pid: int, port: int, rows: list[Row], scan: Scan) -> str:
    """Where the host itself reaches a server."""
    place = scan.place(pid)
    if place["container"] and network_of(pid) not in {scan.network, None}:
        reached = published(scan.containers.inspect(place["container"], place["runtime"]), port)
        if reached:
            return f"http://{reached[0]}:{reached[1]}"
        scan.unseen.append(f"The server {pid} is in a network of its own; the host may not reach its port {port}.")
    local = next((row.local for row in rows if row.port == port), "127.0.0.1")
    if local == "::1":
        return f"http://[::1]:{port}"
    return f"http://{'127.0.0.1' if is_loopback(local) else f'[{local}]' if ':' in local else local}:{port}"


def leftovers(servers: list[Fields], scan: Scan) -> list[Fields]:
    """Worker processes of a server that is gone: they go on holding their GPU memory."""
    owned = {pid for one in servers for pid in one["tree"]}
    titled = {pid for pid, argv in scan.argv.items() if TITLES.match(argv[0]) and pid not in owned}
    roots = (pid for pid in titled if scan.table[pid].ppid not in titled)
    return [{"process": describe(scan.table[pid], scan.table), "title": scan.argv[pid][0]} for pid in sorted(roots)]


# -- who is connected


def connections(ports: set[int], rows: list[Row]) -> list[Row]:
    """The clients' halves of the connections to some ports of this machine."""
    alive = [row for row in rows if row.state in {STATE_ESTABLISHED, STATE_CLOSE_WAIT} and row.inode]
    ours = {row.local for row in rows}
    return [row for row in alive if row.remote_port in ports and (is_loopback(row.remote) or row.remote in ours)]


def from_elsewhere(port: int, rows: list[Row]) -> dict[str, int]:
    """The connections to a port that come from other machines: their addresses, and how many."""
    counts: dict[str, int] = {}
    ours = {row.local for row in rows}
    for row in rows:
        if (
            row.state == STATE_ESTABLISHED
            and row.port == port
            and row.remote not in ours
            and not is_loopback(row.remote)
        ):
            counts[row.remote] = counts.get(row.remote, 0) + 1
    return counts


def holders(rows: list[Row], scan: Scan) -> dict[tuple[int, int], int]:
    """Which process holds how many connections to which port: (pid, port) to count; pid 0 is one that is not seen."""
    uids = {row.uid for row in rows}
    candidates = [pid for pid in scan.argv if owner_of(pid) in uids] if rows else []
    owners = scan.sockets_of(candidates)
    counts: dict[tuple[int, int], int] = {}
    for row in rows:
        key = owners.get(row.inode, 0), row.remote_port
        counts[key] = counts.get(key, 0) + 1
    return counts


def owner_of(pid: int) -> int:
    """The user of a process; -1 when it is gone."""
    try:
        return os.stat(f"/proc/{pid}").st_uid
    except OSError:
        return -1


def client_kind(pid: int, servers: list[Fields], scan: Scan) -> str:
    """What kind of program is connected."""
    if not pid:
        return "unseen"
    if any(pid in one["tree"] for one in servers):
        return "server"
    argv = scan.argv[pid]
    name = os.path.basename(argv[0]).lstrip("-").rstrip(":")
    names = {name, *(os.path.basename(word) for word in words_of(argv))}
    if pid in scan.us or names & {"longwait", "console"}:
        return "console"
    names.add(os.path.basename(re.split("[: ]", argv[0])[0]))  # "sshd: user@pts/1"
    return next((kind for kind, known in CLIENT_KINDS.items() if names & known), "job")


def job_root(pid: int, scan: Scan) -> int:
    """The process to stop when a client is to be stopped: the first of its programs, below shells and terminals."""
    user, top = owner_of(pid), pid
    while True:
        parent = scan.table[top].ppid
        argv = scan.argv.get(parent)
        if not argv or parent in scan.us or parent <= 1 or owner_of(parent) != user:
            return top
        name = os.path.basename(argv[0]).lstrip("-").split(":")[0]
        same = words_of(argv)[:1] == words_of(scan.argv[pid])[:1]
        if name in BYSTANDERS | PARENTS_OF_ALL or not (same or is_interpreter(name)):
            return top
        top = parent


def is_interpreter(name: str) -> bool:
    """Whether a program runs scripts."""
    return name in INTERPRETERS or re.fullmatch(r"(python|pypy)[0-9.]*[a-z]*", name) is not None


def job(pid: int, server_port: int, count: int, scan: Scan) -> Fields:
    """A batch job: who it is, what it runs, where it writes."""
    argv, cwd = scan.argv[pid], read_cwd(pid)
    parent = scan.argv.get(scan.table[pid].ppid)
    named = count == 0
    return {
        "process": describe(scan.table[pid], scan.table),
        "port": server_port,
        "connections": count,
        "sure": GUESS if named else CERTAIN,
        "why": f"its command line names port {server_port}" if named else f"{count} connections to port {server_port}",
        "script": script_of(argv, cwd),
        "python": python_of(pid, argv, cwd),
        "activated": activated(pid),
        "dir": clue(cwd or None, CERTAIN, f"/proc/{pid}/cwd" if cwd else WORDS["unseen"]),
        "logs": logs_of(pid, scan),
        "writes": written(pid),
        "started_by": shlex.join(parent) if parent and scan.table[pid].ppid > 1 else None,
        **about_place(scan.place(pid), scan),
    }


def script_of(argv: Sequence[str], cwd: str) -> Fields:
    """The script that a command line runs, as a path of the host."""
    path = next((word for word in reversed(words_of(argv)) if word.endswith((".py", ".sh", ".js"))), None)
    if path is None:
        return clue(None, UNKNOWN, "its command line runs no script")
    if not os.path.isabs(path) and not cwd:
        return clue(path, GUESS, "as on its command line; its working folder may not be seen")
    full = os.path.normpath(os.path.join(cwd, path))
    there = os.path.isfile(full)
    return clue(full, CERTAIN if there else GUESS, f"on its command line{'' if there else ', but not there now'}")


def python_of(pid: int, argv: Sequence[str], cwd: str) -> Fields:
    """The interpreter of a job: that of its virtual environment where it has one."""
    if not is_interpreter(os.path.basename(argv[0])):
        return clue(None, UNKNOWN, "its command line begins with no Python")
    if "/" in argv[0]:
        return clue(os.path.normpath(os.path.join(cwd, argv[0])), CERTAIN, "the first word of its command line")
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            environ = [os.fsdecode(word).partition("=") for word in file.read().split(b"\0")]
        real = os.readlink(f"/proc/{pid}/exe")
    except OSError:
        return clue(argv[0], GUESS, "the first word of its command line; its environment may not be seen")
    for folder in {name: value for name, _, value in environ}.get("PATH", "").split(":"):
        path = os.path.join(cwd, folder, argv[0])
        if os.path.realpath(path) == real:
            return clue(path, CERTAIN, "found on its own PATH")
    return clue(real, LIKELY, f"/proc/{pid}/exe")


def activated(pid: int) -> list[str]:
    """The venv or conda environment that a process was started in: which of them, and its folder; empty for none.

    Its variable alone may be left over from a shell around it: its programs must come before the other's in ``PATH``.
    """
    block = read_environ(pid) or b""
    env = {name: value for name, _, value in (os.fsdecode(word).partition("=") for word in block.split(b"\0"))}
    folders = {os.path.join(env[name], "bin"): (kind, env[name]) for name, kind in ACTIVE.items() if env.get(name)}
    return next((list(folders[folder]) for folder in env.get("PATH", "").split(":") if folder in folders), [])


ACTIVE = {"VIRTUAL_ENV": "venv", "CONDA_PREFIX": "conda"}
"""What activating sets."""


def find_jobs_of(servers: list[Fields], scan: Scan) -> tuple[list[Fields], list[Fields]]:
    """The batch jobs of some servers, and everyone who is connected to them."""
    ports = {one["port"]["value"] for one in servers if one["port"]["value"]}
    every = [row for rows in scan.rows.values() for row in connections(ports, rows)]
    counts: dict[tuple[int, int], int] = {}
    clients = []
    for (pid, port), count in sorted(holders(every, scan).items()):
        kind = client_kind(pid, servers, scan)
        clients.append(client(pid, port, count, kind, scan))
        if kind == "job":
            root = job_root(pid, scan)
            counts[root, port] = counts.get((root, port), 0) + count
    for port in sorted(ports):
        clients += remote_clients(port, scan)
    for root, port in by_argument(servers, {pid for pid, _ in counts}, scan):
        counts[root, port] = 0
    return [job(pid, port, count, scan) for (pid, port), count in sorted(counts.items())], clients


def by_argument(servers: list[Fields], known: set[int], scan: Scan) -> list[tuple[int, int]]:
    """Programs that name a server's port on their command line and are not connected: between two batches, perhaps."""
    of_servers = {pid for one in servers for pid in one["tree"]}
    ports = [one["port"]["value"] for one in servers if one["port"]["value"]]
    found = []
    for pid, argv in scan.argv.items():
        if pid in of_servers | scan.us or not is_interpreter(os.path.basename(argv[0])):
            continue
        for port in ports:
            if any(re.search(rf"(^|[:=]){port}(/|$)", word) for word in argv[1:]):
                root = job_root(pid, scan)
                if root not in known and client_kind(root, servers, scan) == "job":
                    found.append((root, port))
    return sorted(set(found))


def client(pid: int, port: int, count: int, kind: str, scan: Scan) -> Fields:
    """One who is connected."""
    return {
        "pid": pid or None,
        "command": shlex.join(scan.argv[pid]) if pid else "",
        "user": name_of(read_uid(pid)) if pid else "",
        "port": port,
        "connections": count,
        "kind": kind,
        "address": "",
    }


def remote_clients(port: int, scan: Scan) -> list[Fields]:
    """Those on other machines; what they are can't be seen from here."""
    counts = from_elsewhere(port, scan.rows[scan.network])
    return [{**client(0, port, count, "elsewhere", scan), "address": ip} for ip, count in sorted(counts.items())]


# -- the answers


def not_seen(scan: Scan) -> list[str]:
    """What could not be seen, in sentences."""
    said = list(scan.unseen)
    if scan.closed:
        users = ", ".join(sorted({name_of(read_uid(pid)) for pid in scan.closed} - {""})) or "other users"
        said.append(
            f"The open files of {len(scan.closed)} processes (of {users}) may not be seen by {user_name()}: their logs "
            "and connections are not known. Log in as their user, or as root, to see them."
        )
    if scan.late:
        said.append(f"There was no time to look into {scan.late} processes; what they are connected to is not known.")
    if hides_processes():
        said.append(f"This host hides other users' processes (hidepid): only those of {user_name()} are seen.")
    return said


def hides_processes() -> bool:
    """Whether /proc shows us our own processes alone."""
    try:
        with open("/proc/self/mounts", encoding="utf-8", errors="replace") as file:
            options = next((line.split()[3] for line in file if line.split()[1] == "/proc"), "")
    except OSError:
        return False
    return os.geteuid() != 0 and re.search(r"hidepid=(2|invisible|ptraceable|4)", options) is not None


def discover(_: Fields) -> Fields:
    """Everything that runs here and looks like inference."""
    scan = Scan()
    servers = find_servers(scan)
    jobs, clients = find_jobs_of(servers, scan)
    return {
        "servers": servers,
        "jobs": jobs,
        "clients": clients,
        "leftovers": leftovers(servers, scan),
        "unseen": not_seen(scan),
        "processes": len(scan.table),
        "user": user_name(),
        "took_s": time.monotonic() - scan.began,
    }


def clients(request: Fields) -> Fields:
    """Who is connected to a port of this machine now."""
    scan = Scan()
    port = request["port"]
    servers = find_servers(scan)
    counts = holders(connections({port}, scan.rows[scan.network]), scan)
    found = [
        client(pid, port, count, client_kind(pid, servers, scan), scan) for (pid, _), count in sorted(counts.items())
    ]
    return {"clients": found + remote_clients(port, scan), "unseen": not_seen(scan)}


if __name__ == "__main__":
    main({**VERBS, "discover": discover, "clients": clients})
