"""``longwait demo``: the whole product against a GPU host in a box, through the ordinary code."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

import remote.payload
from console.config import DatasetSettings, JobSettings, MachineSettings, ServerSettings, Settings, SshSettings
from console.feed import SnapshotTaken
from console.job.reading import line, reading, text
from console.journal import Journal
from console.oneshot import run
from console.session import now, open_session
from remote.demo import DemoHost

if TYPE_CHECKING:
    from console.job.snapshot import Snapshot
    from console.session import Session
    from remote.demo import DemoInfo

NOTICE = "demo: the server is simulated; SSH, job, files and control are real"
FAREWELL = "The demo is over: its host, server and job were ended, and its folder was removed."
HOST = "longwait-demo"
RUNNER = Path(remote.payload.__file__).parent / "run_inference.py"
"""The runner that ships with longwait: what a restart puts on the demo host."""


def settings_of(info: DemoInfo) -> Settings:
    """The config that an operator of the demo host would have written."""
    return Settings(
        host=HOST,
        ssh=SshSettings(config_file=info.ssh_config, known_hosts=info.known_hosts, identity=info.client_key),
        server=ServerSettings(url=info.server_url, log=(info.server_log,), health_every_s=15.0, metrics_every_s=5.0),
        job=JobSettings(
            log=info.job_log,
            progress=info.progress,
            dir=info.job_dir,
            script=info.script,
            command=info.command,
            match=info.script,
            python=info.command[0],
            grace_s=10.0,
            new_script=str(RUNNER),
            look_every_s=5.0,
        ),
        # Past the check of its least: the demo's time runs faster than a minute by the minute.
        machine=MachineSettings(every_s=10.0),
        datasets=tuple(
            DatasetSettings(
                name=dataset.name, prompts=dataset.prompts, budget=dataset.budget, kind=dataset.kind.upper()
            )
            for dataset in info.datasets
        ),
    )


async def open_demo(host: DemoHost) -> Session:
    """Bring the demo host up and make the session on it."""
    info = await host.open()
    # With the demo's folder it goes: what was done to a host in a box concerns nobody later.
    journal = Journal(Path(info.ssh_config).parent / "journal.jsonl", host=HOST, clock=now)
    return open_session(settings_of(info), journal=journal)


def run_headless(scenario: str, speed: float, for_s: float, *, as_json: bool) -> int:
    """Run without a screen for ``for_s`` seconds, then print the last reading."""
    return run(_headless(scenario, speed, for_s, as_json=as_json))


async def _headless(scenario: str, speed: float, for_s: float, *, as_json: bool) -> int:
    host = DemoHost(scenario=scenario, speed=speed)
    try:
        session = await open_demo(host)
        snapshot = await _watch_for(session, for_s, told=not as_json)
    finally:
        await host.close()
    if as_json:
        click.echo(json.dumps(reading(snapshot)))
    else:
        click.echo(f"\n{NOTICE}\n\n{text(snapshot)}")
    return 0


async def _watch_for(session: Session, for_s: float, *, told: bool) -> Snapshot:
    """Follow for ``for_s`` seconds; say each change of the verdict when ``told``."""
    facts = session.feed.facts()
    last: Snapshot | None = None
    try:
        async with asyncio.timeout(for_s):
            async for fact in facts:
                if isinstance(fact, SnapshotTaken):
                    if told and (last is None or last.verdict.cause != fact.snapshot.verdict.cause):
                        click.echo(line(fact.snapshot))
                    last = fact.snapshot
    except TimeoutError:
        pass  # the time that was asked for is over
    finally:
        await facts.aclose()
    return session.feed.snapshot(now())
