"""The environment that the job gets: the login's, a venv's or a conda environment's, the config's variables.

Carried to the host with ``procctl`` by ``remote.step``; the same rules hold (Python 3.8, the standard library, Linux).
Nothing stands between the launcher and the job: ``conda run`` would leave two processes above it, one of which does not
pass TERM on (conda/conda issue 10351), so what activating does is done to the variables instead. Only the scripts that
an environment's packages bring (``etc/conda/activate.d/*.sh``) need a shell: one sources them, as arguments and not as
words of a command line, tells its variables and ends before the job begins.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import subprocess
from typing import TYPE_CHECKING, Any

from remote.payload.hosts import user_manager_env
from remote.payload.procctl import (
    MARK,
    RefusedError,
    full_path,
    job_key,
    proven,
    read_environ,
    read_kept,
)

if TYPE_CHECKING:
    Fields = dict[str, Any]

ACTIVATE_S = 20.0
"""Scripts of packages set variables; one that takes longer hangs."""

CONDA_UNSET = "***unset***"
"""What conda writes for a variable that an environment takes away (``conda env config vars unset``)."""

SOURCE = 'for each do . "$each"; done >&2; exec env -0'
"""Sources its arguments and tells the variables then, each ended by NUL; what the scripts print goes elsewhere."""

ROOTS = (
    "~/miniforge3", "~/mambaforge", "~/miniconda3", "~/anaconda3", "~/micromamba", "~/.local/share/mamba", "~/conda",
    "/opt/conda", "/opt/miniforge3", "/opt/miniconda3", "/opt/anaconda3", "/usr/local/miniconda3",
)  # fmt: skip
"""Where the installers put conda and its like by default: a login without a terminal reads no ``.bashrc``, in which
``conda init`` has written where it is."""

OF_LOGIN = re.compile(
    r"SSH_.*|XDG_SESSION_.*|XDG_RUNTIME_DIR|DBUS_SESSION_BUS_ADDRESS|TMUX.*|STY|TERM.*|COLORTERM|COLUMNS|LINES|LS_COLORS"
    r"|DISPLAY|WAYLAND_DISPLAY|XAUTHORITY|WINDOWID|LANG|LANGUAGE|LC_.*|SHLVL|_|PWD|OLDPWD"
    r"|INVOCATION_ID|JOURNAL_STREAM|SYSTEMD_EXEC_PID|MANAGERPID|" + MARK
)
"""Variables that say by which login or terminal a process came, and nothing of what it is to do."""


def job_env(request: Fields) -> dict[str, str]:
    """The job's environment, with the mark of this run: that of a former process when asked for, else by settings."""
    base = former_env(request) if request.get("env_of") else settled_env(request)
    changed = {**base, MARK: f"{job_key(request)}.{secrets.token_hex(4)}"}
    if request.get("scope"):
        changed.update(user_manager_env())
    return changed


def plain_env(request: Fields) -> dict[str, str]:
    """The job's environment without its mark: for what is run here and is none of the job's processes."""
    return {name: value for name, value in job_env(request).items() if name != MARK}


def settled_env(request: Fields) -> dict[str, str]:
    """The login's environment, what is activated in it, and the config's variables last."""
    env = dict(os.environ)
    if request.get("venv"):
        env = with_venv(env, full_path(request, "venv"))
    if request.get("conda"):
        env = with_conda(env, conda_prefix(request, env))
    changed = {**env, **request.get("env", {})}
    return {name: value for name, value in changed.items() if value is not None}


# -- a venv


def with_venv(env: dict[str, str], folder: str) -> dict[str, str]:
    """What its ``bin/activate`` does (library reference, venv): its programs first, and no other Python's home."""
    python = os.path.join(folder, "bin", "python")
    if not os.path.isfile(os.path.join(folder, "pyvenv.cfg")):
        raise RefusedError("no_environment", f"{folder} is no venv: it has no pyvenv.cfg; set `job.venv`.")
    if not os.access(python, os.X_OK):
        raise RefusedError("no_environment", f"The venv {folder} is broken: {python} can't be run; make it anew.")
    return {**without(env, "PYTHONHOME"), "VIRTUAL_ENV": folder, "PATH": before_path(env, os.path.join(folder, "bin"))}


def before_path(env: dict[str, str], folder: str) -> str:
    """The search path with a folder before it."""
    return os.pathsep.join([folder, env.get("PATH") or os.defpath])


def without(env: dict[str, str], *names: str) -> dict[str, str]:
    """An environment without some variables."""
    return {name: value for name, value in env.items() if name not in names}


# -- a conda environment


def conda_prefix(request: Fields, env: dict[str, str]) -> str:
    """The folder of a conda environment: the one given, or the one of that name; a refusal for none and for several."""
    name = str(request["conda"])
    if "/" in name or name.startswith("~"):
        prefix = full_path(request, "conda")
        if not is_conda(prefix):
            raise RefusedError("no_environment", f"{prefix} is no conda environment: it has no conda-meta.")
        return prefix
    roots = conda_roots(env)
    known = [*roots, *conda_listed(), *(folder for root in roots for folder in inside(os.path.join(root, "envs")))]
    named = roots if name == "base" else [path for path in known if os.path.basename(path) == name]
    found = sorted({os.path.realpath(path) for path in named if is_conda(path)})
    if len(found) > 1:
        places = ", ".join(found)
        raise RefusedError("no_environment", f"There are several conda environments {name}: {places}; give its folder.")
    if not found:
        seen = ", ".join(roots) or "no installation of conda was found"
        raise RefusedError("no_environment", f"There is no conda environment {name} ({seen}); give its folder.")
    return found[0]


def is_conda(path: str) -> bool:
    """Whether a folder is a conda environment: conda itself asks for the same."""
    return os.path.isdir(os.path.join(path, "conda-meta"))


def conda_roots(env: dict[str, str]) -> list[str]:
    """Where conda or its like is installed: as the environment says, as its program is found, and by custom."""
    programs = [env.get(name) or "" for name in ("CONDA_EXE", "MAMBA_EXE")] + [
        shutil.which(name, path=env.get("PATH")) or "" for name in ("conda", "mamba")
    ]
    by_program = [os.path.dirname(os.path.dirname(os.path.realpath(path))) for path in programs if path]
    customs = [os.path.expanduser(path) for path in (env.get("MAMBA_ROOT_PREFIX") or "", *ROOTS) if path]
    return [path for path in dict.fromkeys([*by_program, *customs]) if is_conda(path) or inside(f"{path}/envs")]


def conda_listed() -> list[str]:
    """The environments that conda has written down, wherever they are (``~/.conda/environments.txt``)."""
    own = inside(os.path.expanduser("~/.conda/envs"))
    try:
        with open(os.path.expanduser("~/.conda/environments.txt"), encoding="utf-8", errors="surrogateescape") as file:
            return [*own, *file.read().splitlines()]
    except OSError:
        return own


def inside(folder: str) -> list[str]:
    """What is in a folder; nothing when it can't be read."""
    try:
        return [os.path.join(folder, name) for name in sorted(os.listdir(folder))]
    except OSError:
        return []


def with_conda(env: dict[str, str], prefix: str) -> dict[str, str]:
    """What ``conda activate`` does (conda's documentation, "Managing environments"), in its order.

    Its programs first, its own variables, those that packages and ``conda env config vars set`` give, and then the
    scripts of its packages.
    """
    above = os.path.dirname(prefix)
    is_root = os.path.isdir(os.path.join(prefix, "condabin")) or os.path.isdir(os.path.join(prefix, "envs"))
    name = "base" if is_root else os.path.basename(prefix) if os.path.basename(above) == "envs" else prefix
    active = {
        **without(env, "PYTHONHOME"),
        "PATH": before_path(env, os.path.join(prefix, "bin")),
        "CONDA_PREFIX": prefix,
        "CONDA_SHLVL": "1",
        "CONDA_DEFAULT_ENV": name,
        **conda_variables(prefix),
    }
    folder = os.path.join(prefix, "etc", "conda", "activate.d")
    scripts = [path for path in inside(folder) if path.endswith(".sh")]
    return sourced(active, scripts) if scripts else active


def conda_variables(prefix: str) -> dict[str, str]:
    """The variables that the environment's packages give, and over them those that its user has set."""
    found: Fields = {}
    for path in inside(os.path.join(prefix, "etc", "conda", "env_vars.d")):
        found.update(json_object(path))
    given = json_object(os.path.join(prefix, "conda-meta", "state")).get("env_vars")
    found.update(given if isinstance(given, dict) else {})
    return {name: str(value) for name, value in found.items() if value != CONDA_UNSET}


def json_object(path: str) -> Fields:
    """An object from a file; empty when there is none."""
    try:
        with open(path, encoding="utf-8") as file:
            found = json.load(file)
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def sourced(env: dict[str, str], scripts: list[str]) -> dict[str, str]:
    """The variables after some scripts were sourced; they are written for bash, so it is asked where it is there."""
    shell = shutil.which("bash", path=env.get("PATH")) or "/bin/sh"
    argv = [shell, "-c", SOURCE, "activate", *scripts]
    try:
        done = subprocess.run(  # noqa: S603 - a list of words, the scripts among them
            argv, stdin=subprocess.DEVNULL, capture_output=True, env=env, timeout=ACTIVATE_S, check=False
        )
    except subprocess.TimeoutExpired:
        raise RefusedError(
            "no_environment", f"Activating {env['CONDA_PREFIX']} did not end within {ACTIVATE_S:.0f} s."
        ) from None
    told = variables(done.stdout)
    if done.returncode or "PATH" not in told:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines() or [f"exit status {done.returncode}"]
        raise RefusedError("no_environment", f"Activating {env['CONDA_PREFIX']} failed: {said[-1].rstrip('.')}.")
    return without(told, *({"_", "SHLVL"} - set(env)))


def variables(block: bytes) -> dict[str, str]:
    """The variables of a block as the kernel keeps it: each ended by NUL."""
    pairs = (os.fsdecode(word).partition("=") for word in block.split(b"\0"))
    return {name: value for name, equals, value in pairs if name and equals}


# -- what a former process had


def former_env(request: Fields) -> dict[str, str]:
    """The environment of a process that ran before, as it was kept when it was stopped; the login's own part is new."""
    kept = read_kept(request)
    if kept is None:
        raise RefusedError("no_environment", "The environment of the former process is not kept on the host any more.")
    own = {name: value for name, value in variables(kept).items() if not OF_LOGIN.fullmatch(name)}
    return {**{name: value for name, value in os.environ.items() if OF_LOGIN.fullmatch(name)}, **own}


def about_env(request: Fields) -> Fields:
    """Which environment a start would give, why it can't, and by which variables it differs from the one that runs.

    Of the variables only the names are told: their values may be secret. ``env`` is for this step itself.
    """
    kept = None if not request.get("env_of") else read_kept(request) is not None
    about = {"kept": kept, "prefix": "", "error": None, "differs": None}
    if kept is False:
        request = {**request, "env_of": None}
    try:
        env = plain_env(request)
    except RefusedError as refusal:
        return {**about, "error": refusal.answer["text"], "env": settled_env({**request, "venv": "", "conda": ""})}
    active = "VIRTUAL_ENV" if request.get("venv") else "CONDA_PREFIX" if request.get("conda") else ""
    return {
        **about,
        "prefix": os.path.realpath(env[active]) if active in env else "",
        "differs": differs(request, env),
        "env": env,
    }


def differs(request: Fields, will: dict[str, str]) -> list[str] | None:
    """The names of variables that the process that runs has otherwise; None when it can't be read."""
    identity = request.get("identity")
    if identity is None:
        return None
    try:
        block = read_environ(proven(identity).pid)
    except RefusedError:
        return None
    if block is None:
        return None
    has = variables(block)
    names = {name for name in {*has, *will} if has.get(name) != will.get(name)}
    return sorted(name for name in names if not OF_LOGIN.fullmatch(name))
