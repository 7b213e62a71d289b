"""One job on a folder: on one host by the lock, on others by what its owner leaves in it."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import threading
from typing import TYPE_CHECKING

import pytest

from remote.payload import run_inference as job

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.payload.conftest import Bench
    from tests.payload.mock_server import MockServer

ELSEWHERE = {"pid": 4711, "since": "2026-02-24T03:19:40.000Z", "host": "gpu07"}


@pytest.fixture
def short_watch(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test waits for seconds."""
    monkeypatch.setattr(job, "LOCK_WATCH_S", 0.4)


@pytest.fixture
def renewed(tmp_path: Path) -> Iterator[Path]:
    """A folder whose lock was signed by a job on another host, which renews it; its lock holds on that host alone."""
    path = tmp_path / ".lock"
    path.write_text(json.dumps(ELSEWHERE) + "\n")
    ended = threading.Event()

    def renew() -> None:
        times = 1
        while not ended.wait(0.02):
            times += 1
            os.utime(path, ns=(times, times))

    thread = threading.Thread(target=renew)
    thread.start()
    yield tmp_path
    ended.set()
    thread.join()


@pytest.mark.usefixtures("short_watch")
def test_a_job_on_another_host_that_renews_its_lock_is_respected(renewed: Path) -> None:
    with pytest.raises(job.JobEnded, match=r"pid 4711, since 2026-02-24T03:19:40\.000Z on gpu07; stop it first") as end:
        job.Lock(renewed)
    assert end.value.exit_code == 3
    assert json.loads((renewed / ".lock").read_text()) == ELSEWHERE


@pytest.mark.usefixtures("short_watch")
def test_a_job_on_another_host_that_died_is_followed(tmp_path: Path) -> None:
    (tmp_path / ".lock").write_text(json.dumps(ELSEWHERE) + "\n")
    lock = job.Lock(tmp_path)
    assert json.loads((tmp_path / ".lock").read_text())["pid"] == os.getpid()
    lock.release()
    assert (tmp_path / ".lock").read_text() == ""


def test_the_time_is_renewed(tmp_path: Path) -> None:
    lock = job.Lock(tmp_path)
    os.utime(tmp_path / ".lock", (1, 1))
    lock.renew()
    assert (tmp_path / ".lock").stat().st_mtime > 1_000_000
    lock.release()


@pytest.mark.usefixtures("short_watch")
@pytest.mark.parametrize("number", [errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP])
def test_without_locks_the_signature_is_all_there_is(
    renewed: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def refuse(_descriptor: int, _what: int) -> None:
        raise OSError(number, "no locks")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with pytest.raises(job.JobEnded, match="Another job works on"):
        job.Lock(renewed)


@pytest.mark.parametrize("text", ["", "\0\0", "[]", '{"pid": "x"}', "[" * 5000])
def test_any_text_in_a_held_lock_is_borne(tmp_path: Path, text: str) -> None:
    (tmp_path / ".lock").write_text(text)
    with (tmp_path / ".lock").open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(job.JobEnded, match="it has just started; stop it first"):
            job.Lock(tmp_path)


async def test_it_dies_with_its_owner(bench: Bench, server: MockServer) -> None:
    bench.prompts("A", 2)
    bench.config(server.url, {"name": "A"})
    server.hold.clear()
    first = await bench.start()
    await server.until(lambda: server.in_flight == 2)
    assert json.loads((bench.out / ".lock").read_text())["pid"] == first.pid
    first.kill()
    await bench.end(first)
    server.hold.set()
    assert (await bench.run())[0] == 0
    assert (bench.out / ".lock").read_text() == ""
