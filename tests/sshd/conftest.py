"""A real OpenSSH server on loopback, with throwaway keys, for the whole run."""

from __future__ import annotations

import contextlib
import getpass
import os
import shutil
import signal
import socket
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest

from remote.ssh import SshHost
from tests.jobbox import Box, job_box

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

SSHD = "/usr/sbin/sshd"
_START_S = 10.0


@dataclass(frozen=True)
class Sshd:
    """The running server and how to reach it."""

    folder: Path
    port: int
    pid: int

    @property
    def config(self) -> Path:
        return self.folder / "ssh_config"

    @property
    def known_hosts(self) -> Path:
        return self.folder / "known_hosts"

    @property
    def client_key(self) -> Path:
        return self.folder / "client_key"

    def host(self, alias: str = "gpu01", **settings: float) -> SshHost:
        """A host that is reached with this server's config alone."""
        return SshHost(alias, config_files=[str(self.config)], **settings)  # type: ignore[arg-type]  # floats only here

    def add_config(self, text: str) -> Path:
        """A config of its own for one test, before the common one."""
        path = self.folder / f"ssh_config_{abs(hash(text))}"
        path.write_text(text + "\n" + self.config.read_text())
        return path

    def sessions(self) -> list[psutil.Process]:
        """The processes that serve live connections, and all their descendants."""
        with contextlib.suppress(psutil.NoSuchProcess):
            return psutil.Process(self.pid).children(recursive=True)
        return []

    def _session_heads(self) -> list[psutil.Process]:
        return [p for p in self.sessions() if _is_sshd(p)]

    def cut(self) -> None:
        """Kill what serves the live connections; the server stays."""
        for process in self._session_heads():
            _signal(process, signal.SIGKILL)

    def pause(self) -> None:
        """Make the live connections silent, as a dead network does."""
        for process in self._session_heads():
            _signal(process, signal.SIGSTOP)

    def resume(self) -> None:
        """Let them go on."""
        for process in self._session_heads():
            _signal(process, signal.SIGCONT)


def _is_sshd(process: psutil.Process) -> bool:
    with contextlib.suppress(psutil.NoSuchProcess):
        return process.name().startswith("sshd")
    return False


def _signal(process: psutil.Process, number: int) -> None:
    with contextlib.suppress(psutil.NoSuchProcess):
        process.send_signal(number)


def keygen(path: Path, passphrase: str = "") -> Path:
    """A throwaway key pair."""
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", passphrase, "-C", "test", "-f", str(path)], check=True)
    return path


def _free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port: int = sock.getsockname()[1]
        return port


def _write_server(folder: Path, port: int) -> Path:
    keygen(folder / "host_key")
    keygen(folder / "client_key")
    shutil.copy(folder / "client_key.pub", folder / "authorized_keys")
    host_key = " ".join((folder / "host_key.pub").read_text().split()[:2])
    (folder / "known_hosts").write_text(f"[127.0.0.1]:{port} {host_key}\n")
    config = folder / "sshd_config"
    config.write_text(
        f"ListenAddress 127.0.0.1\nPort {port}\nHostKey {folder}/host_key\nPidFile none\n"
        f"AuthorizedKeysFile {folder}/authorized_keys\nStrictModes no\nPasswordAuthentication no\n"
        "KbdInteractiveAuthentication no\nPubkeyAuthentication yes\nPermitRootLogin prohibit-password\nUsePAM no\n"
        "AllowTcpForwarding yes\nX11Forwarding no\nPrintMotd no\nLogLevel ERROR\nMaxStartups 100\n"
    )
    (folder / "ssh_config").write_text(
        f"Host gpu01\n  HostName 127.0.0.1\n  Port {port}\n\n"
        f"Host *\n  User {getpass.getuser()}\n  IdentityFile {folder}/client_key\n  IdentitiesOnly yes\n"
        f"  UserKnownHostsFile {folder}/known_hosts\n  GlobalKnownHostsFile none\n"
    )
    return config


def _await_port(port: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + _START_S
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.02)
    pytest.fail(f"sshd did not start: {process.stderr.read().decode() if process.stderr else ''}")


@contextlib.contextmanager
def serving(folder: Path) -> Iterator[Sshd]:
    """A server with its files in an empty folder; nothing of it is left afterwards."""
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)  # privilege separation: sshd refuses to start as root without it
    port = _free_port()
    config = _write_server(folder, port)
    log = folder / "sshd.log"
    process = subprocess.Popen([SSHD, "-D", "-E", str(log), "-f", str(config)], stderr=subprocess.PIPE)
    server = Sshd(folder, port, process.pid)
    try:
        _await_port(port, process)
        yield server
    finally:
        left = server.sessions()
        process.terminate()
        process.communicate(timeout=5)
        for child in left:
            _signal(child, signal.SIGKILL)
        _gone, alive = psutil.wait_procs(left, timeout=5)
        assert not alive, f"processes of the SSH server are left: {alive}"


@pytest.fixture(scope="session")
def sshd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sshd]:
    if not Path(SSHD).exists():
        if os.environ.get("CI"):
            pytest.fail("install openssh-server: these tests must run in CI")
        pytest.skip("install openssh-server to run these tests")
    with serving(tmp_path_factory.mktemp("sshd")) as server:
        yield server


@pytest.fixture
async def host(sshd: Sshd) -> AsyncIterator[SshHost]:
    """A connected host; closed afterwards."""
    host = sshd.host()
    await host.connect()
    yield host
    await host.close()


@pytest.fixture
async def other(sshd: Sshd) -> AsyncIterator[SshHost]:
    """A second host that the test connects itself: after the first one was cut, or beside it."""
    host = sshd.host()
    yield host
    await host.close()


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Box]:
    """A job in a folder of a name that any shell would take apart."""
    with job_box(tmp_path / "run -x 'q' $(touch pwned)\nline") as made:
        yield made
