"""What is checked on the host before a job is started; nothing is changed, and nothing of the job's is run."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from remote.files import SyntaxFault
from remote.probe import Logout
from remote.process import FoundProcess, found_process, surroundings, where
from remote.step import ask

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from remote.host import Host
    from remote.process import JobSpec, ProcessIdentity
    from remote.step import Fields

CHECKS_TIMEOUT_S = 60.0
"""Finding modules on a network file system that sleeps, and an nvidia-smi that wakes a driver up, take a while."""


@dataclass(frozen=True, slots=True)
class ImportCheck:
    """A module that the script imports.

    Attributes:
        name: Its top-level name.
        line: Where it is imported first, from 1.
        found: Whether the job's Python knows where it is; it was not imported.
        optional: Whether the script catches that it is missing.
    """

    name: str
    line: int
    found: bool
    optional: bool


@dataclass(frozen=True, slots=True)
class PythonCheck:
    """What the job's own interpreter says of the script.

    Attributes:
        path: The interpreter, as it is called.
        known_from: ``command`` when the job's command says it, else ``config``: then it may be another one.
        version: Its version; empty when it could not be asked.
        syntax: Why it does not take the script; None when it does.
        imports: The modules that the script imports, in the order of their lines.
        error: Why it could not be asked; None when it was.
        prefix: Where it is installed, a venv or conda environment considered; empty when it could not be asked.
    """

    path: str
    known_from: str
    version: str = ""
    syntax: SyntaxFault | None = None
    imports: tuple[ImportCheck, ...] = ()
    error: str | None = None
    prefix: str = ""

    @property
    def missing(self) -> tuple[ImportCheck, ...]:
        """The modules without which the script ends."""
        return tuple(one for one in self.imports if not one.found and not one.optional)


@dataclass(frozen=True, slots=True)
class EnvironmentCheck:
    """The environment that a start would give.

    Attributes:
        prefix: Folder of the venv or the conda environment that is activated; empty for none.
        error: Why there is none to give; None when there is.
        differs: Names of variables that the process which runs has otherwise (never their values); those of its login
            are passed over. None when it can't be read, or none runs.
        kept: Whether the former process's environment is kept, which was asked for; None when it was not.
    """

    prefix: str = ""
    error: str | None = None
    differs: tuple[str, ...] | None = None
    kept: bool | None = None


@dataclass(frozen=True, slots=True)
class FolderCheck:
    """A folder that the job writes into, or a file in it.

    Attributes:
        path: As asked.
        exists: Whether it is there.
        is_dir: Whether it is a folder.
        writable: Whether files may be made in it (or in the folder that it is in).
        free_bytes: Free space there; None when the folder is missing.
        free_files: How many more files fit (inodes); None when the file system does not count them.
    """

    path: str
    exists: bool
    is_dir: bool
    writable: bool
    free_bytes: int | None
    free_files: int | None


@dataclass(frozen=True, slots=True)
class GpuApp:
    """A process that holds GPU memory.

    Attributes:
        pid: Its process id, as the host has it.
        gpu: The GPU's UUID.
        mib: MiB that it holds; None when the driver does not say.
        ours: Whether it is one of the job's.
    """

    pid: int
    gpu: str
    mib: int | None
    ours: bool


@dataclass(frozen=True, slots=True)
class GpuMemory:
    """Who holds the GPUs' memory, as ``nvidia-smi`` says.

    Attributes:
        apps: The processes; empty also when ``error`` says why not.
        error: Why it could not be asked; None when it was.
    """

    apps: tuple[GpuApp, ...] = ()
    error: str | None = None

    @property
    def ours_mib(self) -> int | None:
        """MiB that the job's processes hold; None when it is not known of one of them."""
        held = [app.mib for app in self.apps if app.ours]
        return None if self.error is not None or None in held else sum(mib or 0 for mib in held)


@dataclass(frozen=True, slots=True)
class JobChecks:
    """All checks, at one moment.

    Attributes:
        python: What the job's interpreter says of the script; None when there is no script to ask about.
        folders: As asked, in order.
        logout: What becomes of what is started there at a logout.
        strays: What a former run of the job has left running.
        gpu: Who holds GPU memory; None when the host has no ``nvidia-smi``.
        environment: The environment that a start would give.
    """

    python: PythonCheck | None
    folders: tuple[FolderCheck, ...]
    logout: Logout
    strays: tuple[FoundProcess, ...]
    gpu: GpuMemory | None
    environment: EnvironmentCheck = EnvironmentCheck()


async def check_job(
    host: Host,
    spec: JobSpec,
    *,
    script: bytes | None = None,
    folders: Sequence[str] = (),
    identity: ProcessIdentity | None = None,
) -> JobChecks:
    """Check what a start needs, in one remote step.

    Args:
        host: Where.
        spec: The job. Its Python is the first word of its command when that is one (of a virtual environment, say),
            else ``spec.python``.
        script: The script that will be put in place; None for the one that is on the host.
        folders: Folders that the job writes into, or files in them; ``~`` is the user's home.
        identity: The job that runs now, whose GPU memory is meant.

    Raises:
        RemoteError: The host could not be asked.
    """
    request = {
        **where(spec),
        **surroundings(spec),
        "sent": script is not None,
        "folders": list(folders),
        "identity": None if identity is None else asdict(identity),
    }
    answer = await ask(host, spec.python, "checks", request, data=script or b"", timeout_s=CHECKS_TIMEOUT_S)
    return JobChecks(
        _python(answer["python"]),
        tuple(_folder(fields) for fields in answer["folders"]),
        Logout(**answer["logout"]),
        tuple(found_process(fields) for fields in answer["strays"]),
        _gpu(answer["gpu"]),
        _environment(answer["environment"]),
    )


async def gpu_memory(
    host: Host, python: str, *, pids: Iterable[int] = (), identity: ProcessIdentity | None = None
) -> GpuMemory | None:
    """Who holds GPU memory now; None when the host has no ``nvidia-smi``.

    Args:
        host: Where.
        python: The Python on the host that asks.
        pids: Processes that count as the job's: those that were seen before it ended.
        identity: The job whose processes are meant, while it runs.

    Raises:
        RemoteError: The host could not be asked.
    """
    request = {"pids": list(pids), "identity": None if identity is None else asdict(identity)}
    return _gpu((await ask(host, python, "gpu", request))["gpu"])


def _python(fields: Fields | None) -> PythonCheck | None:
    if fields is None:
        return None
    if fields["error"] is not None:
        return PythonCheck(fields["path"], fields["from"], error=fields["error"])
    return PythonCheck(
        fields["path"],
        fields["from"],
        fields["version"],
        None if fields["syntax"] is None else SyntaxFault(**fields["syntax"]),
        tuple(ImportCheck(**one) for one in fields["imports"]),
        prefix=fields["prefix"],
    )


def _environment(fields: Fields) -> EnvironmentCheck:
    differs = fields["differs"]
    return EnvironmentCheck(
        fields["prefix"], fields["error"], None if differs is None else tuple(differs), fields["kept"]
    )


def _folder(fields: Fields) -> FolderCheck:
    return FolderCheck(
        fields["path"],
        fields["exists"],
        fields["is_dir"],
        fields["folder_writable"],
        fields["free_bytes"],
        fields["free_files"],
    )


def _gpu(fields: Fields | None) -> GpuMemory | None:
    return None if fields is None else GpuMemory(tuple(GpuApp(**app) for app in fields["apps"]), fields["error"])
