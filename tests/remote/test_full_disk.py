"""A disk that takes no more: the former script stays whole, nothing half is left, and the message says so."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from remote.errors import CommandFailed
from remote.files import put_file
from remote.local import LocalHost
from remote.payload import scripts
from remote.process import find, start, stop
from tests.fulldisk import bounded_python, fill, small_disk
from tests.jobbox import Box, job_box
from tests.waits import until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HOST = LocalHost()
FORMER = b"# the former one\n"
NEW = b"# the new one\n" * 50_000
"""700 kB."""


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    with small_disk(tmp_path / "disk", 256) as folder:
        if folder is None:
            pytest.skip("this user may not mount a disk of its own; the bounded file sizes are tried below")
        yield folder


async def test_a_script_that_does_not_fit_leaves_the_former_one(disk: Path) -> None:
    path = disk / "job.py"
    path.write_bytes(FORMER)
    with pytest.raises(CommandFailed, match=r"job\.py could not be replaced: No space left .*as it was, whole\."):
        await put_file(HOST, sys.executable, str(path), NEW)
    assert {one.name: one.read_bytes() for one in disk.iterdir()} == {"job.py": FORMER}
    assert (await put_file(HOST, sys.executable, str(path), NEW[:1_400])).changed


async def test_a_script_beyond_what_a_file_may_hold_leaves_the_former_one(tmp_path: Path) -> None:
    path = tmp_path / "run" / "job.py"
    path.parent.mkdir()
    path.write_bytes(FORMER)
    with pytest.raises(CommandFailed, match=r"could not be replaced: File too large; it is as it was, whole\."):
        await put_file(HOST, bounded_python(tmp_path, 64), str(path), NEW)
    assert {one.name: one.read_bytes() for one in path.parent.iterdir()} == {"job.py": FORMER}


def test_of_a_copy_that_is_cut_off_nothing_is_left(disk: Path) -> None:
    path, kept = disk / "job.py", disk / "job.py.former"
    path.write_bytes(NEW[:200_000])
    with pytest.raises(OSError, match="No space left"):
        scripts.copy_whole(str(path), str(kept))
    assert [one.name for one in disk.iterdir()] == ["job.py"]


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Box]:
    """A job whose folder is on a small disk."""
    with small_disk(tmp_path / "run", 256) as folder:
        if folder is None:
            pytest.skip("this user may not mount a disk of its own")
        with job_box(folder) as made:
            yield made


async def test_a_job_is_not_started_when_its_start_can_not_be_recorded(box: Box) -> None:
    fill(box.folder)
    with pytest.raises(CommandFailed, match="No space left"):
        await start(HOST, box.spec)
    assert box.pids() == set()
    (box.folder / "filler").unlink()
    assert (await start(HOST, box.spec)).pid in box.pids()


async def test_a_job_is_stopped_all_the_same(box: Box) -> None:
    process = await start(HOST, box.spec)
    await until(lambda: "ready" in box.log())
    fill(box.folder)
    steps = [step.step async for step in stop(HOST, process.identity, 10, python=sys.executable, of=box.spec)]
    assert steps[-1] == "gone"
    assert box.pids() == set()
    assert not list(box.record.parent.glob("*.env*"))
    assert (await find(HOST, replace(box.spec, env_of=None))).processes == ()
