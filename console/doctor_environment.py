"""The doctor's look at the venv or the conda environment that the config has the job run in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.doctor_host import JOB_PYTHON, Check
from console.job.lines import clean
from console.session import spec_of
from remote.control_checks import check_job
from remote.errors import RemoteError

if TYPE_CHECKING:
    from console.config import Settings
    from remote.control_checks import PythonCheck
    from remote.host import Host


async def check_environment(host: Host, settings: Settings, *, needs_httpx: bool) -> list[Check]:
    """Whether it can be activated, and what its Python is; nothing where the config names none."""
    job, spec = settings.job, spec_of(settings.job)
    if spec is None or not (job.venv or job.conda):
        return []
    name = "venv" if job.venv else "conda environment"
    try:
        checked = await check_job(host, spec, script=b"import httpx\n" if needs_httpx else b"\n")
    except RemoteError as error:
        return [Check(name, "fail", error.message)]
    if checked.environment.error is not None:
        key = "job.venv" if job.venv else "job.conda"
        remedy = f"Set {key} to one that is on the host."
        return [Check(name, "fail", clean(checked.environment.error), (remedy,))]
    return [_about(name, clean(checked.environment.prefix), checked.python)]


def _about(name: str, prefix: str, python: PythonCheck | None) -> Check:
    """What its Python says."""
    if python is None or python.error is not None:
        return Check(name, "fail", "its Python was not asked" if python is None else clean(python.error or ""))
    version = f"{prefix}, Python {python.version}"
    wanted = ".".join(map(str, JOB_PYTHON))
    if tuple(int(part) for part in python.version.split(".")[:2]) < JOB_PYTHON:
        return Check(name, "fail", version, (f"Make it anew with Python {wanted} or newer.",))
    if python.missing:
        remedy = f"run_inference.py needs it. On the host: {python.path} -m pip install httpx"
        return Check(name, "fail", f"{version}, no httpx", (remedy,))
    return Check(name, "ok", version)
