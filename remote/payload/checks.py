"""What can be known before a job is started: whether its Python has what its script imports, room, rights, GPU memory.

Carried to the host with ``procctl`` by ``remote.step``; the same rules hold (Python 3.8, the standard library, Linux).
Nothing is changed on the host, and nothing of the job's is executed: its own interpreter parses the script and is asked
where it would find each module (``importlib.util.find_spec`` of top-level names imports none of them).
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from remote.payload.environs import about_env
from remote.payload.hosts import about_path, logout
from remote.payload.procctl import (
    VERBS,
    Family,
    RefusedError,
    full_path,
    main,
    program_indexes,
    proven,
    run_folder,
    strays,
)

if TYPE_CHECKING:
    Fields = dict[str, Any]

IMPORTS_S = 30.0
"""Looking for modules on a network file system that sleeps can take this long."""

NVIDIA_S = 10.0
"""``nvidia-smi`` takes a second or two without persistence mode, and hangs when a GPU does."""

PYTHON = re.compile(r"(python|pypy)[0-9.]*[a-z]*")

WRAPPERS = frozenset({"env", "nice", "ionice", "nohup", "numactl", "stdbuf", "taskset", "chrt", "time", "timeout"})
"""Commands that run the rest of their line with the same environment."""

CHECKER = """
import sys
folder, name = sys.argv[1:3]
# A json.py in the job's folder is the job's: it is found below, and not run here.
beside = sys.path[:1] in ([""], [folder])
if beside:
    del sys.path[0]
import ast, importlib.util, json, os
if beside:
    sys.path.insert(0, folder)
source = sys.stdin.buffer.read()
answer = {"version": sys.version.split()[0], "prefix": os.path.realpath(sys.prefix), "syntax": None, "imports": []}
GUARDS = {"ImportError", "ModuleNotFoundError", "Exception", "BaseException"}

def caught(handler):
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(kind is None or getattr(kind, "id", getattr(kind, "attr", "")) in GUARDS for kind in kinds)

def walk(node, optional):
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
        for child in node.orelse:
            walk(child, optional)
        return
    if isinstance(node, ast.Import):
        for alias in node.names:
            note(alias.name, node.lineno, optional)
    elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
        note(node.module, node.lineno, optional)
    spared = set()
    if isinstance(node, ast.Try) and any(caught(handler) for handler in node.handlers):
        # What is tried may be missing; what then stands in its place only matters when it is.
        spared = {"body", "handlers"} if all(map(exists, tried(node))) else {"body"}
    for field, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                walk(child, optional or field in spared)

def tried(node):
    for inner in (inner for part in node.body for inner in ast.walk(part)):
        if isinstance(inner, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in inner.names)
        elif isinstance(inner, ast.ImportFrom) and not inner.level and inner.module:
            yield inner.module.partition(".")[0]

def note(module, line, optional):
    top = module.partition(".")[0]
    if top not in seen or (seen[top]["optional"] and not optional):
        seen[top] = {"name": top, "line": line, "optional": optional, "found": exists(top)}

def exists(top):
    try:
        return top in sys.modules or importlib.util.find_spec(top) is not None
    except (ImportError, ValueError):
        return False

seen = {}
try:
    tree = compile(source, name, "exec", ast.PyCF_ONLY_AST, True)
    compile(source, name, "exec", 0, True)
    walk(tree, False)
except SyntaxError as error:
    lines = source.decode("utf-8", "replace").split("\\n")
    at = error.lineno or 0
    text = lines[at - 1].strip()[:200] if 0 < at <= len(lines) else ""
    answer["syntax"] = {"line": error.lineno, "message": error.msg, "text": text}
except (ValueError, RecursionError, MemoryError) as error:
    answer["syntax"] = {"line": None, "message": str(error) or "it is nested too deeply", "text": ""}
answer["imports"] = sorted(seen.values(), key=lambda one: one["line"])
print("\\n" + json.dumps(answer))
"""
"""Runs in the job's own interpreter; the script comes on its stdin and is only parsed."""


def checks(request: Fields) -> Fields:
    """All of it, at one moment; what could not be checked says so."""
    source = sys.stdin.buffer.read() if request.get("sent") else script_source(request)
    environment = about_env(request)
    env = environment.pop("env")
    return {
        "environment": environment,
        "python": None if source is None else about_python(request, source, env),
        "folders": [about_folder(path) for path in request.get("folders", ())],
        "logout": logout(),
        "strays": strays(request)["processes"],
        "gpu": gpu(request),
    }


def script_source(request: Fields) -> bytes | None:
    """The script that is on the host; None when there is none that can be read."""
    path = full_path(request, "script")
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return None


def about_folder(path: str) -> Fields:
    """What may be done with a folder, and the space and the count of files that are left there."""
    seen = about_path(path)
    try:
        room = os.statvfs(os.path.expanduser(path))
    except OSError:
        return {**seen, "free_files": None}
    return {**seen, "free_files": room.f_favail if room.f_files else None}


# -- the job's Python


def about_python(request: Fields, source: bytes, env: dict[str, str]) -> Fields:
    """What the job's own interpreter says of its script, in the job's environment."""
    python, options, origin = job_python(request, env)
    folder = script_folder(request)
    argv = [python, *options, "-c", CHECKER, folder, request.get("script") or "script"]
    asked = {"path": python, "from": origin}
    try:
        done = subprocess.run(  # noqa: S603 - the job's own interpreter, our own code
            argv,
            input=source,
            capture_output=True,
            timeout=IMPORTS_S,
            check=False,
            cwd=run_folder(request),
            env=env,
        )
    except subprocess.TimeoutExpired:
        return {**asked, "error": f"{python} did not answer within {IMPORTS_S:.0f} s."}
    except OSError as error:
        return {**asked, "error": f"{python} can't be run: {error.strerror}."}
    try:
        return {**asked, "error": None, **json.loads(done.stdout.splitlines()[-1])}
    except (ValueError, IndexError):
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        why = said[-1].rstrip(".") if said else f"exit status {done.returncode}"
        return {**asked, "error": f"{python} failed: {why}."}


def job_python(request: Fields, env: dict[str, str]) -> tuple[str, list[str], str]:
    """The interpreter that will run the script, its options, and where that is known from.

    The job's command says it when it begins with a Python, as such or after ``env``, ``nice`` and the like; a launcher
    of another kind (conda run, srun, a shell script) chooses one that can't be known here: then that of the environment
    which is activated, else the config's.
    """
    argv = request.get("argv") or []
    begin = next((at for at, word in enumerate(argv) if PYTHON.fullmatch(os.path.basename(word))), None)
    if begin is None or (begin and os.path.basename(argv[0]) not in WRAPPERS):
        activated = request.get("venv") or request.get("conda")
        return (activated and shutil.which("python", path=env.get("PATH"))) or sys.executable, [], "config"
    name, rest = argv[begin], argv[begin:]
    if "/" in name:
        path = os.path.join(run_folder(request), os.path.expanduser(name))
    else:
        path = shutil.which(name, path=env.get("PATH")) or name
    return path, interpreter_options(rest), "command"


def interpreter_options(argv: list[str]) -> list[str]:
    """The options before the script: they decide what can be imported (``-I``, ``-s``, ``-X``)."""
    program = program_indexes(argv)
    options = argv[1 : program[0]] if program else []
    return [word for word in options if word not in {"--", "-m"}]


def script_folder(request: Fields) -> str:
    """What Python will look into first: the script's own folder, links followed."""
    script = full_path(request, "script")
    return os.path.dirname(os.path.realpath(script)) if script else run_folder(request)


# -- the GPUs


def gpu(request: Fields) -> Fields | None:
    """Which process holds how much GPU memory, and which of them are the job's; None without NVIDIA's tool."""
    if shutil.which("nvidia-smi") is None:
        return None
    argv = ["nvidia-smi", "--query-compute-apps=pid,gpu_uuid,used_memory", "--format=csv,noheader,nounits"]
    try:
        done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=NVIDIA_S, check=False)  # noqa: S603
    except subprocess.TimeoutExpired:
        return {"apps": [], "error": f"nvidia-smi did not answer within {NVIDIA_S:.0f} s; is a GPU stuck?"}
    text = done.stdout.decode("utf-8", "replace")
    if done.returncode:
        return {"apps": [], "error": f"nvidia-smi failed: {text.strip().splitlines()[-1:] or ['no word']}."}
    ours = job_pids(request)
    return {"apps": [app for line in text.splitlines() for app in gpu_app(line, ours)], "error": None}


def gpu_app(line: str, ours: set[int]) -> list[Fields]:
    """A line of its answer; none when it is no such line. Memory is MiB, unknown under some drivers (``[N/A]``)."""
    words = [word.strip() for word in line.split(",")]
    if len(words) != 3 or not words[0].isdigit():  # noqa: PLR2004 - as asked
        return []
    pid = int(words[0])
    return [{"pid": pid, "gpu": words[1], "mib": int(words[2]) if words[2].isdigit() else None, "ours": pid in ours}]


def job_pids(request: Fields) -> set[int]:
    """The processes meant: those named, and those of the job when it still is the one that was seen."""
    named = set(request.get("pids", ()))
    identity = request.get("identity")
    if identity is None:
        return named
    try:
        return named | {proc.pid for proc in Family(proven(identity)).look()}
    except RefusedError:  # it has ended; what was named before counts
        return named


if __name__ == "__main__":
    main({**VERBS, "checks": checks, "gpu": lambda request: {"gpu": gpu(request)}})
