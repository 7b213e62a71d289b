"""The host's own figures over a real OpenSSH server, through the login's own shell."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import pytest

from console.config import JobSettings, MachineSettings, Settings
from console.feed_machine import MachineAsker
from console.job.machine_facts import MachineMissing, MachineSeen
from remote.errors import LinkLost

if TYPE_CHECKING:
    from pathlib import Path

    from tests.sshd.conftest import Sshd

pytestmark = pytest.mark.sshd


async def test_load_memory_and_disk_come_in_one_answer(sshd: Sshd, tmp_path: Path) -> None:
    folder = tmp_path / "run 'of' $HOME; (today)"
    settings = Settings(
        host="sshd",
        job=JobSettings(progress=str(folder / "progress.jsonl"), log=str(folder / "job.log")),
        machine=MachineSettings(),
    )
    told: list[MachineSeen | MachineMissing] = []
    host = sshd.host()
    asker = MachineAsker(host, settings, note=told.append)
    await host.connect()
    try:
        assert await asker._ask() == 60.0
    finally:
        with contextlib.suppress(LinkLost):
            await host.close()
    (seen,) = told
    assert isinstance(seen, MachineSeen)
    assert seen.load is not None
    assert seen.cores
    assert seen.memory_available
    assert seen.disk_free
    assert seen.disk_fault == ""
    assert seen.gpus is not None
