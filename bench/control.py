"""How long a plan and a restart take, over a real OpenSSH server on loopback, beside the same done by hand.

    python -m bench.control [--runs 10]

The job ends as soon as it is asked to, so what is told of a restart is its own overhead, without a job's drain. The
plan is measured as the console makes it (`R`, on a connection that is there) and as `longwait restart --dry-run` from
nothing: Python, the connection, the logs. By hand is what one would type: the script copied (scp), then one ssh command
that ends the process, waits for its end, keeps the former script, puts the new one in place and starts it; it compares
nothing, proves nothing, and its start is not watched (longwait watches a new job for a second).
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shlex
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from console.acts import Verb
from console.control import JobControl
from console.journal import Journal
from remote.process import JobSpec
from tests.sshd.conftest import serving

if TYPE_CHECKING:
    from console.acts import Step
    from remote.ssh import SshHost
    from tests.sshd.conftest import Sshd

JOB = "import json, os, time\nprint('ready', flush=True)\ntime.sleep(3600)\n"
LINES = 3_000
"""A script of the runner's size: 3,000 lines, 120 kB."""

PLAN_GOAL_S = 2.0
RESTART_GOAL_S = 3.0
HAND = (
    "kill {pid}; while kill -0 {pid} 2>/dev/null; do sleep 0.05; done; cp -p job.py job.py.former; "
    "mv job.py.new job.py; nohup {python} job.py >>job.log 2>&1 </dev/null & echo $!"
)


def version(number: int) -> str:
    """A script that differs from every other in its last line."""
    return JOB + "# a line of the script, such as there are many\n" * LINES + f"# version {number}\n"


class Bench:
    """A job on a host that is this machine, reached over SSH.

    Args:
        server: The OpenSSH server.
        folder: An empty folder.
    """

    def __init__(self, server: Sshd, folder: Path) -> None:
        self.server = server
        self.folder = folder / "run"
        self.folder.mkdir()
        self.script = folder / "new.py"
        self.config = folder / "longwait.yaml"
        self.env = {**os.environ, "XDG_DATA_HOME": str(folder / "data"), "XDG_STATE_HOME": str(folder / "state")}
        self.spec = JobSpec(sys.executable, str(self.folder), (sys.executable, "job.py"), "job.log", script="job.py")
        self.journal = Journal(folder / "journal", host="gpu01", clock=lambda: datetime.now(UTC))
        (self.folder / "job.py").write_text(version(0))
        self.script.write_text(version(1))
        self._write_config()

    def _write_config(self) -> None:
        job = {"dir": str(self.folder), "log": "job.log", "script": "job.py", "command": list(self.spec.argv)}
        ssh = {"config_file": str(self.server.config)}
        server = {"url": "http://127.0.0.1:9", "metrics": False}
        settings = {"host": "gpu01", "ssh": ssh, "server": server, "job": {**job, "python": sys.executable}}
        self.config.write_text(yaml.safe_dump(settings), encoding="utf-8")

    def control(self, host: SshHost) -> JobControl:
        """What the console has."""
        return JobControl(host, self.spec, grace_s=10, journal=self.journal)

    def dry_run(self) -> float:
        """Seconds of ``longwait restart --dry-run`` from nothing."""
        argv = [sys.executable, "-m", "console", "--config", str(self.config)]
        began = time.perf_counter()
        subprocess.run(
            [*argv, "restart", "--script", str(self.script), "--dry-run"], check=True, capture_output=True, env=self.env
        )
        return time.perf_counter() - began

    async def by_hand(self, pid: int, number: int) -> tuple[float, int]:
        """Seconds of the same by hand, and the new process."""
        self.script.write_text(version(number))
        config = ["-F", str(self.server.config)]
        began = time.perf_counter()
        await _run("scp", "-O", "-q", *config, str(self.script), f"gpu01:{self.folder}/job.py.new")
        words = HAND.format(pid=pid, python=shlex.quote(sys.executable))
        said = await _run("ssh", *config, "gpu01", f"cd {shlex.quote(str(self.folder))} && {{ {words}; }}")
        return time.perf_counter() - began, int(said)


async def _run(*argv: str) -> bytes:
    process = await asyncio.create_subprocess_exec(
        *argv, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE
    )
    said, _ = await process.communicate()
    if process.returncode:
        raise SystemExit(f"{argv[0]} failed with status {process.returncode}")
    return said


async def done(control: JobControl, verb: Verb, script: Path | None) -> tuple[float, float, list[Step]]:
    """Seconds of a plan, seconds of its carrying out, and the steps that have ended."""
    began = time.perf_counter()
    plan = await control.plan(verb, script)
    planned = time.perf_counter()
    steps = [step async for step in control.carry_out(plan) if step.state != "running"]
    if steps[-1].state != "done":
        raise SystemExit(f"{plan.title} failed: {plan.refusal or steps[-1].detail}")
    return planned - began, time.perf_counter() - planned, steps


async def measure(bench: Bench, runs: int) -> dict[str, list[float]]:
    """All figures, seconds, taking turns."""
    host = bench.server.host()
    await host.connect()
    control = bench.control(host)
    pid = 0
    taken: dict[str, list[float]] = {}
    try:
        await done(control, Verb.START, None)
        for run in range(runs):
            bench.script.write_text(version(2 * run + 1))
            cold = await asyncio.to_thread(bench.dry_run)
            plan, act, steps = await done(control, Verb.RESTART, bench.script)
            pid = next(step.result.pid for step in reversed(steps) if step.result and step.result.pid)
            row = {"plan, cold `restart --dry-run`": cold, "plan, on a warm connection": plan}
            row |= {"restart, without the plan": act, "plan and restart": plan + act}
            row |= {f"  {step.name}": step.seconds or 0.0 for step in steps}
            row["by hand: scp, then ssh 'kill; cp; nohup'"], pid = await bench.by_hand(pid, 2 * run + 2)
            for name, seconds in row.items():
                taken.setdefault(name, []).append(seconds)
    finally:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        await host.close()
    return taken


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--runs", type=int, default=10)
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as name, serving(Path(name)) as server:
        taken = asyncio.run(measure(Bench(server, Path(name)), chosen.runs))
    goals = {"plan, cold `restart --dry-run`": PLAN_GOAL_S, "plan, on a warm connection": PLAN_GOAL_S}
    goals["restart, without the plan"] = RESTART_GOAL_S
    load = os.getloadavg()[0]
    print(f"{chosen.runs} runs, {os.cpu_count()} cores, load {load:.1f}, script of {len(version(0)) / 1e3:.0f} kB")
    for what, figures in taken.items():
        middle, goal = statistics.median(figures), goals.get(what)
        told = "" if goal is None else f"   goal {goal:.0f} s: {'met' if middle <= goal else 'NOT met'}"
        print(f"{what:<42}{middle:7.2f} s ({min(figures):.2f} to {max(figures):.2f}){told}")


if __name__ == "__main__":
    main()
