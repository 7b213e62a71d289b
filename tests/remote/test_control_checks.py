"""What is checked before a start: imports in the job's own Python, room, rights, GPU memory, what a former run has left."""

from __future__ import annotations

import os
import sys
import venv
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from remote.control_checks import GpuApp, GpuMemory, check_job, gpu_memory
from remote.local import LocalHost
from remote.payload import checks, run_inference
from remote.process import start, stop, strays
from tests.jobbox import TREE, Box, begun, job_box
from tests.waits import until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from remote.control_checks import PythonCheck

HOST = LocalHost()

IMPORTS = b"""
from __future__ import annotations
import os, no_such_one
import no_such_two.inner as two
from . import beside
from helper import thing
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    import only_for_types
else:
    import no_such_three
try:
    import perhaps
    import no_such_one
except (ImportError, ValueError):
    import instead
try:
    import surely_not
except KeyError:
    pass
def later():
    import no_such_four
open("pwned", "w")
"""


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Box]:
    with job_box(tmp_path / "run") as made:
        yield made


async def python_of(box: Box, script: bytes | None, **change: object) -> PythonCheck:
    checked = await check_job(HOST, replace(box.spec, **change), script=script)  # type: ignore[arg-type]
    assert checked.python is not None
    return checked.python


# -- what it imports


async def test_the_imports_are_looked_for_and_nothing_is_run(box: Box) -> None:
    for name in ("helper", "json", "ast", "importlib"):  # what we import ourselves is not the job's, either
        (box.folder / f"{name}.py").write_text("open('pwned', 'w')\n")
    before = sorted(path.name for path in box.folder.iterdir())
    python = await python_of(box, IMPORTS)
    assert python.error is None
    assert python.syntax is None
    assert [(one.name, one.line) for one in python.missing] == [
        ("no_such_one", 3),
        ("no_such_two", 4),
        ("no_such_three", 11),
        ("instead", 16),
        ("surely_not", 18),
        ("no_such_four", 22),
    ]
    optional = {one.name for one in python.imports if one.optional}
    assert optional == {"perhaps"}
    assert sorted(path.name for path in box.folder.iterdir()) == before


async def test_what_stands_in_for_a_module_that_is_there_may_be_missing(box: Box) -> None:
    script = b"try:\n    import json as fast\nexcept ImportError:\n    import no_such_one as fast\n"
    assert (await python_of(box, script)).missing == ()


async def test_the_script_on_the_host_is_asked_about_when_none_is_sent(box: Box) -> None:
    box.write("import nowhere_to_be_found\n")
    python = await python_of(box, None)
    assert [one.name for one in python.missing] == ["nowhere_to_be_found"]
    box.path.unlink()
    assert (await check_job(HOST, box.spec)).python is None


async def test_the_job_s_own_environment_counts(box: Box, tmp_path: Path) -> None:
    venv.create(tmp_path / "venv", with_pip=False, symlinks=True)
    python = str(tmp_path / "venv" / "bin" / "python")
    site = next((tmp_path / "venv" / "lib").glob("python*/site-packages"))
    (site / "only_there.py").write_text("raise SystemExit\n")
    script = b"import only_there, httpx\n"
    there = await python_of(box, script, argv=(python, "-u", "job.py"))
    assert (there.path, there.known_from) == (python, "command")
    assert [one.name for one in there.missing] == ["httpx"]
    here = await python_of(box, script)
    assert [one.name for one in here.missing] == ["only_there"]
    by_path = await python_of(
        box, script, argv=("nice", "python", "job.py"), env={"PATH": f"{tmp_path}/venv/bin:/usr/bin"}
    )
    assert (by_path.path, [one.name for one in by_path.missing]) == (python, ["httpx"])
    added = await python_of(box, script, argv=(python, "job.py"), env={"PYTHONPATH": str(tmp_path)})
    (tmp_path / "httpx.py").touch()
    assert [one.name for one in added.missing] == ["httpx"]
    assert (await python_of(box, script, argv=(python, "job.py"), env={"PYTHONPATH": str(tmp_path)})).missing == ()
    alone = await python_of(box, b"import job\n", argv=(python, "-I", "job.py"))
    assert [one.name for one in alone.missing] == ["job"], "isolated, the script's own folder is not looked into"


@pytest.mark.parametrize(
    ("argv", "options", "known_from"),
    [
        (("/x/python3.11", "-u", "-X", "dev", "run.py"), ["-u", "-X", "dev"], "command"),
        (("/x/python", "-m", "pkg.run", "-u"), [], "command"),
        (("env", "A=b", "/x/python", "run.py"), [], "command"),
        (("srun", "/x/python", "run.py"), [], "config"),
        (("conda", "run", "-n", "e", "python", "run.py"), [], "config"),
        (("./run.sh",), [], "config"),
        ((), [], "config"),
    ],
)
def test_which_python_runs_the_script(argv: tuple[str, ...], options: list[str], known_from: str) -> None:
    path, found, origin = checks.job_python({"argv": list(argv), "run_dir": "/run", "log": ""}, {})
    assert (found, origin) == (options, known_from)
    assert path.startswith("/x/") if known_from == "command" else path == sys.executable


async def test_a_syntax_error_is_that_of_the_job_s_python(box: Box) -> None:
    python = await python_of(box, b"import os\nif:\n")
    assert python.syntax is not None
    assert (python.syntax.line, python.syntax.text) == (2, "if:")
    for source in (b"a\0", b"(" * 100_000, b"\xff\xfe"):
        assert (await python_of(box, source)).syntax is not None


@pytest.mark.parametrize(
    ("python", "words"),
    [("/nowhere/python3", "can't be run: No such file"), ("./python3", "failed: exit status 3"), ("./python", "oh no")],
)
async def test_a_python_that_can_not_be_asked_is_told(box: Box, python: str, words: str) -> None:
    for name, line in (("python3", "exit 3"), ("python", "echo oh no. >&2; exit 1")):
        (box.folder / name).write_text(f"#!/bin/sh\n{line}\n")
        (box.folder / name).chmod(0o755)
    checked = await python_of(box, b"import os\n", argv=(python, "job.py"))
    assert checked.error is not None
    assert words in checked.error
    assert checked.imports == ()


# -- folders


async def test_folders_are_looked_at(box: Box) -> None:
    here, missing = (await check_job(HOST, box.spec, folders=[str(box.folder), "/nowhere/at/all"])).folders
    assert (here.exists, here.is_dir, here.writable) == (True, True, True)
    assert here.free_bytes
    assert here.free_files is None or here.free_files > 0
    assert (missing.exists, missing.writable, missing.free_bytes, missing.free_files) == (False, False, None, None)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
async def test_a_folder_that_may_not_be_written_is_told(box: Box) -> None:
    box.folder.chmod(0o500)
    (here,) = (await check_job(HOST, box.spec, folders=[str(box.folder)])).folders
    box.folder.chmod(0o700)
    assert not here.writable


# -- GPU memory


def has_nvidia(folder: Path, monkeypatch: pytest.MonkeyPatch, body: str) -> None:
    """An nvidia-smi, first on PATH."""
    folder.mkdir(exist_ok=True)
    (folder / "nvidia-smi").write_text(f"#!/bin/sh\n{body}\n")
    (folder / "nvidia-smi").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")


async def test_the_job_s_gpu_memory_is_that_of_all_its_processes(
    box: Box, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    box.write(TREE)
    process = await start(HOST, box.spec, watch_s=0.05)
    await until(lambda: len(box.pids()) == 5)
    lines = "".join(f"{pid}, GPU-{pid % 2}, 1000\\n" for pid in sorted(box.pids()))
    has_nvidia(tmp_path / "bin", monkeypatch, f"printf '{lines}1, GPU-0, 70000\\nNo such line\\n'")
    memory = (await check_job(HOST, box.spec, identity=process.identity)).gpu
    assert memory is not None
    assert (memory.ours_mib, len(memory.apps)) == (5000, 6)
    pids = [app.pid for app in memory.apps if app.ours]
    assert set(pids) == box.pids()
    _ = [step async for step in stop(HOST, process.identity, 5, python=sys.executable)]
    after = await gpu_memory(HOST, sys.executable, pids=pids, identity=process.identity)
    assert after is not None
    assert after.ours_mib == 5000, "the tool is asked, not the process table"
    has_nvidia(tmp_path / "bin", monkeypatch, "echo 1, GPU-0, 70000")
    assert await gpu_memory(HOST, sys.executable, pids=pids) == GpuMemory((GpuApp(1, "GPU-0", 70_000, ours=False),))


async def test_gpu_memory_that_is_not_known_is_none(box: Box, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    has_nvidia(tmp_path / "bin", monkeypatch, "echo '7, GPU-0, [N/A]'")
    memory = await gpu_memory(HOST, sys.executable, pids=[7])
    assert memory is not None
    assert memory.ours_mib is None
    has_nvidia(tmp_path / "bin", monkeypatch, "echo 'NVIDIA-SMI has failed'; exit 9")
    memory = (await check_job(HOST, box.spec)).gpu
    assert memory is not None
    assert memory.ours_mib is None
    assert "has failed" in str(memory.error)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert (await check_job(HOST, box.spec)).gpu is None


# -- what a former run has left


async def test_what_a_former_run_has_left_is_found_and_can_be_ended(box: Box) -> None:
    box.write(
        "import subprocess, sys, time\n"
        "subprocess.Popen(['sleep', '600'], start_new_session=True)\n"
        "print('ready', flush=True)\n"
        "sys.stdin.read() if len(sys.argv) > 1 else time.sleep(0.4)\n"
    )
    first = await start(HOST, box.spec, watch_s=0.05)
    assert await strays(HOST, box.spec) == ()
    await until(lambda: first.pid not in box.pids())
    (left,) = (await check_job(HOST, box.spec)).strays
    assert box.pids() == {left.pid}
    assert left.identity.argv == ("sleep", "600")
    box.write("import time\nprint('again', flush=True)\ntime.sleep(600)\n")
    second = await start(HOST, box.spec, watch_s=0.05)
    assert [one.pid for one in await strays(HOST, box.spec)] == [left.pid]
    _ = [step async for step in stop(HOST, second.identity, 5, python=sys.executable)]
    assert box.pids() == {left.pid}, "a former run's process is no child of this one"
    steps = [step async for step in stop(HOST, left.identity, 5, python=sys.executable)]
    assert steps[-1].step == "gone"
    assert box.pids() == set()


async def test_another_job_of_the_folder_leaves_no_stray_of_ours(box: Box) -> None:
    other = replace(box.spec, script="", argv=("sleep", "600"), log="other.log")
    process = await start(HOST, other, watch_s=0.05)
    assert await strays(HOST, box.spec) == ()
    with begun({**box.env, "LONGWAIT_JOB": "0" * 16 + ".0"}):
        assert await strays(HOST, box.spec) == ()
    assert box.pids() == {process.pid}


@pytest.mark.parametrize(("there", "missing"), [("aiohttp", []), ("httpx", []), ("", ["httpx"])])
async def test_our_runner_needs_one_http_library_and_not_both(box: Box, there: str, missing: list[str]) -> None:
    """Neither that of this machine counts: a Python of its own, with an empty module of the name."""
    if there:
        (box.folder / f"{there}.py").write_text("")
    venv.create(box.folder / "v")
    python = str(box.folder / "v" / "bin" / "python")
    runner = Path(run_inference.__file__).read_bytes()
    checked = await python_of(box, runner, argv=(python, *box.spec.argv[1:]))
    assert [one.name for one in checked.missing] == missing
