"""All that one demo host consists of: SSH server, simulated server, data sets, job."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import socket
import sys
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

import asyncssh

from remote.demo import gpus, simserver
from remote.demo.datasets import DATASETS, job_config, write_all
from remote.demo.host_settings import Places
from remote.demo.processes import marked, sweep
from remote.demo.sshserver import SshServer, user_name
from remote.demo.startup import NOTICE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from remote.demo.host_settings import Settings

HOST_ALIAS = "longwait-demo"
"""The host's name in the ``ssh_config`` that is written."""
_CHILD_S = 1.0


class Box:
    """The demo host.

    Args:
        settings: What was asked for.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._places = Places(settings.folder)
        self._host_key = asyncssh.generate_private_key("ssh-ed25519")
        self._client_key = asyncssh.generate_private_key("ssh-ed25519")
        self._ssh = SshServer(settings.folder, user_name(), self._host_key, self._client_key)
        self._socket = socket.socket()
        self._children: list[asyncio.subprocess.Process] = []

    async def open(self) -> dict[str, object]:
        """Start the SSH server; the description of the host."""
        self._socket.bind(("127.0.0.1", 0))
        for folder in (self._places.folder, self._places.run, self._places.keys, self._places.tools):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        gpus.write_tool(self._places.tools, self._places.server_log)
        await self._ssh.start()
        config = self._write_ssh_files()
        return self._describe(config)

    async def play(self) -> None:
        """Bring the server and the job up, then do what the scenario wants; returns when nothing is left to do."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._bring_up())
            if self._settings.scenario == "link-cut":
                tasks.create_task(self._cut_link())

    async def close(self) -> list[int]:
        """End all that was started; ids of processes that could not be ended."""
        await self._ssh.stop()
        left = await asyncio.to_thread(sweep, self._places.folder)
        for child in self._children:
            await _ended(child)
        self._socket.close()
        return left

    @property
    def _server_url(self) -> str:
        return f"http://127.0.0.1:{self._socket.getsockname()[1]}"

    def _write_ssh_files(self) -> Path:
        keys = self._places.keys
        self._client_key.write_private_key(keys / "id_ed25519")
        (keys / "id_ed25519").chmod(0o600)
        public = self._host_key.export_public_key().decode().strip()
        (keys / "known_hosts").write_text(f"[127.0.0.1]:{self._ssh.port} {public}\n", encoding="ascii")
        config = keys / "config"
        rows = {
            "HostName": "127.0.0.1",
            "Port": self._ssh.port,
            "User": self._ssh.user,
            "IdentityFile": f'"{keys / "id_ed25519"}"',
            "IdentitiesOnly": "yes",
            "UserKnownHostsFile": f'"{keys / "known_hosts"}"',
            "StrictHostKeyChecking": "yes",
        }
        body = "".join(f"    {name} {value}\n" for name, value in rows.items())
        config.write_text(f"Host {HOST_ALIAS}\n{body}", encoding="utf-8")
        return config

    def _describe(self, ssh_config: Path) -> dict[str, object]:
        places = self._places
        sets = [{"name": d.name, "kind": d.kind, "prompts": d.prompts, "budget": d.budget} for d in DATASETS]
        return {
            "simulated": NOTICE,
            "ssh_port": self._ssh.port,
            "user": self._ssh.user,
            "client_key": str(places.keys / "id_ed25519"),
            "known_hosts": str(places.keys / "known_hosts"),
            "ssh_config": str(ssh_config),
            "server_url": self._server_url,
            "server_log": str(places.server_log),
            "job_log": str(places.job_log),
            "progress": str(places.out / "progress.jsonl"),
            "job_dir": str(places.run),
            "script": str(places.script),
            "command": places.command,
            "new_script": str(self._settings.script),
            "datasets": sets,
        }

    async def _bring_up(self) -> None:
        server = await self._start_server()
        await asyncio.to_thread(self._write_job)
        if server.stdout is not None and await server.stdout.readline():
            await self._start_job()

    async def _start_server(self) -> asyncio.subprocess.Process:
        settings = self._settings
        argv = [
            *(sys.executable, "-m", simserver.__name__),
            *("--fd", str(self._socket.fileno())),
            *("--log", str(self._places.server_log)),
            *("--speed", str(settings.speed)),
            *("--scenario", settings.scenario),
            *("--trouble-after-s", str(settings.trouble_after_s)),
            *("--startup-s", str(settings.startup_s)),
            *("--parent-pid", str(os.getpid())),
        ]
        extra = {"PYTHONPATH": str(Path(__file__).parents[2])}
        keep = (self._socket.fileno(),)
        return await self._start(argv, stdout=asyncio.subprocess.PIPE, keep=keep, extra=extra)

    def _write_job(self) -> None:
        places = self._places
        shutil.copyfile(self._settings.running_script, places.script)
        config = job_config(self._server_url, places.out, places.prompts)
        write_all(config, places.config, places.out, places.prompts, datetime.now().astimezone())

    async def _start_job(self) -> None:
        with self._places.job_log.open("ab") as log:
            await self._start(self._places.command, stdout=log.fileno(), stderr=log.fileno())

    async def _start(
        self,
        argv: Sequence[str],
        *,
        stdout: int,
        stderr: int | None = None,
        keep: tuple[int, ...] = (),
        extra: Mapping[str, str] = MappingProxyType({}),
    ) -> asyncio.subprocess.Process:
        process = await asyncio.create_subprocess_exec(
            *argv,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            cwd=self._places.run,
            env={**marked(self._places.folder), **extra},
            pass_fds=keep,
            start_new_session=True,
        )
        self._children.append(process)
        return process

    async def _cut_link(self) -> None:
        await asyncio.sleep(self._settings.trouble_after_s)
        await self._ssh.stop()
        await asyncio.sleep(self._settings.cut_s)
        await self._ssh.start()


async def _ended(child: asyncio.subprocess.Process) -> None:
    """Wait for a child; where processes can't be searched for, this is what ends it."""
    for end in (child.terminate, child.kill):
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(child.wait(), _CHILD_S)
            return
        with contextlib.suppress(ProcessLookupError):
            end()
    await child.wait()
