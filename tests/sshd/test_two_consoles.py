"""Two consoles that start the job at the same second, over connections of their own: always one job."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING

import pytest

from remote.errors import JobAlreadyRuns
from remote.launchers.process import ProcessLauncher
from remote.process import FoundProcess, stop

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from remote.ssh import SshHost
    from tests.jobbox import Box
    from tests.sshd.conftest import Sshd

pytestmark = pytest.mark.sshd


@pytest.fixture
async def consoles(sshd: Sshd) -> AsyncIterator[list[SshHost]]:
    """Two connections."""
    hosts = [sshd.host(), sshd.host()]
    await asyncio.gather(*(host.connect() for host in hosts))
    yield hosts
    for host in hosts:
        await host.close()


async def start_twice(box: Box, consoles: list[SshHost], times: int) -> None:
    """Both start at once, again and again; one wins, and the other is told who."""
    launcher = ProcessLauncher(box.spec, watch_s=0.05)
    for _ in range(times):
        both = await asyncio.gather(*(launcher.start(host) for host in consoles), return_exceptions=True)
        (process,) = [one for one in both if isinstance(one, FoundProcess)]
        (refused,) = [one for one in both if one is not process]
        assert isinstance(refused, JobAlreadyRuns)
        assert f"process {process.pid} " in refused.message
        assert box.pids() == {process.pid}
        steps = [step.step async for step in stop(consoles[0], process.identity, 10, python=sys.executable)]
        assert steps[-1] == "gone"
        assert box.pids() == set()


async def test_two_starts_at_once_give_one_job(box: Box, consoles: list[SshHost]) -> None:
    await start_twice(box, consoles, 5)


@pytest.mark.slow
@pytest.mark.timeout(600)
async def test_two_starts_at_once_give_one_job_each_of_fifty_times(box: Box, consoles: list[SshHost]) -> None:
    await start_twice(box, consoles, 50)


async def test_of_two_stops_at_once_none_reaches_the_next_job(box: Box, consoles: list[SshHost]) -> None:
    launcher = ProcessLauncher(box.spec, watch_s=0.05)
    process = await launcher.start(consoles[0])

    async def stopped(host: SshHost) -> list[str]:
        return [step.step async for step in stop(host, process.identity, 10, python=sys.executable)]

    both = await asyncio.gather(*map(stopped, consoles), return_exceptions=True)
    assert ["term", "gone"] in both
    again = await launcher.start(consoles[1])
    with pytest.raises(Exception, match="Nothing was signalled"):
        await stopped(consoles[0])
    assert box.pids() == {again.pid}
