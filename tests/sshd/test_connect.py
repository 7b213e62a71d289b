"""Getting in, or not: the SSH config, keys, host keys, jump hosts; each refusal says what to do."""

from __future__ import annotations

import contextlib
import ssl
import subprocess
from typing import TYPE_CHECKING

import pytest

from remote.errors import CannotConnect, HostKeyRejected, HttpUnavailable, LoginRefused, RemoteError
from remote.ssh import SshHost
from tests.sshd.conftest import keygen
from tests.webserver import http, web_server

if TYPE_CHECKING:
    from pathlib import Path

    from tests.sshd.conftest import Sshd

pytestmark = pytest.mark.sshd


async def _hello(host: SshHost) -> str:
    """Connect, run a command, close."""
    try:
        await host.connect()
        return (await host.run(["echo", "hello"])).text
    finally:
        await host.close()


async def _refusal(host: SshHost) -> RemoteError:
    with pytest.raises(RemoteError) as caught:
        await _hello(host)
    return caught.value


async def test_an_address_without_an_alias(sshd: Sshd) -> None:
    assert await _hello(sshd.host(f"127.0.0.1:{sshd.port}")) == "hello\n"


async def test_without_any_config_file(sshd: Sshd) -> None:
    user = subprocess.run(["id", "-un"], capture_output=True, text=True, check=True).stdout.strip()
    host = SshHost(
        f"{user}@127.0.0.1:{sshd.port}",
        config_files=[],
        known_hosts=[str(sshd.known_hosts)],
        identity=str(sshd.client_key),
    )
    assert await _hello(host) == "hello\n"


async def test_a_key_that_the_host_does_not_know(sshd: Sshd, tmp_path: Path) -> None:
    key = keygen(tmp_path / "stranger")
    error = await _refusal(SshHost("gpu01", config_files=[str(sshd.config)], identity=str(key)))
    assert isinstance(error, LoginRefused)
    assert not error.retryable
    assert str(key) in error.message
    assert "authorized_keys" in error.message


async def test_keys_that_can_not_be_used_are_named(sshd: Sshd, tmp_path: Path) -> None:
    locked = keygen(tmp_path / "locked", passphrase="secret words")  # noqa: S106  (a throwaway key)
    (tmp_path / "broken").write_text("no key\n")
    config = tmp_path / "config"
    config.write_text(
        f"Host box\n  HostName 127.0.0.1\n  Port {sshd.port}\n  IdentitiesOnly yes\n  IdentityFile {tmp_path}/missing\n"
        f"  IdentityFile {locked}\n  IdentityFile {tmp_path}/broken\n  UserKnownHostsFile {sshd.known_hosts}\n"
    )
    error = await _refusal(SshHost("box", config_files=[str(config)]))
    assert isinstance(error, LoginRefused)
    assert f"{tmp_path}/missing does not exist" in error.message
    assert f"ssh-add {locked}" in error.message
    assert f"{tmp_path}/broken is no key" in error.message


async def test_a_locked_key_works_through_an_agent(sshd: Sshd, tmp_path: Path) -> None:
    sock = tmp_path / "agent"
    agent = subprocess.Popen(["ssh-agent", "-D", "-a", str(sock)], stdout=subprocess.DEVNULL)
    try:
        while not sock.is_socket():
            assert agent.poll() is None
        subprocess.run(["ssh-add", "-q", str(sshd.client_key)], env={"SSH_AUTH_SOCK": str(sock)}, check=True)
        config = tmp_path / "config"
        config.write_text(
            f"Host box\n  HostName 127.0.0.1\n  Port {sshd.port}\n  IdentitiesOnly yes\n  IdentityAgent {sock}\n"
            f"  IdentityFile {sshd.client_key}.pub\n  UserKnownHostsFile {sshd.known_hosts}\n"
        )
        assert await _hello(SshHost("box", config_files=[str(config)])) == "hello\n"
    finally:
        agent.terminate()
        agent.wait(5)


async def test_an_unknown_host_key(sshd: Sshd, tmp_path: Path) -> None:
    error = await _refusal(SshHost("gpu01", config_files=[str(sshd.config)], known_hosts=[str(tmp_path / "none")]))
    assert isinstance(error, HostKeyRejected)
    assert "not known yet" in error.message
    assert "`ssh gpu01` once" in error.message


async def test_no_known_hosts_file_does_not_mean_no_check(sshd: Sshd) -> None:
    config = sshd.add_config("Host gpu01\n  UserKnownHostsFile none\n")
    error = await _refusal(SshHost("gpu01", config_files=[str(config)]))
    assert isinstance(error, HostKeyRejected)


@pytest.mark.parametrize("kind", ["ed25519", "rsa"])
async def test_a_changed_host_key(sshd: Sshd, tmp_path: Path, kind: str) -> None:
    subprocess.run(["ssh-keygen", "-q", "-t", kind, "-N", "", "-f", str(tmp_path / "other")], check=True)
    key = " ".join((tmp_path / "other.pub").read_text().split()[:2])
    known = tmp_path / "known"
    known.write_text(f"not a line of this file\n[127.0.0.1]:{sshd.port} {key}\n")
    error = await _refusal(SshHost("gpu01", config_files=[str(sshd.config)], known_hosts=[str(known)]))
    assert isinstance(error, HostKeyRejected)
    assert f'ssh-keygen -R "[127.0.0.1]:{sshd.port}"' in error.message


async def test_a_revoked_host_key(sshd: Sshd, tmp_path: Path) -> None:
    known = tmp_path / "known"
    line = sshd.known_hosts.read_text()
    known.write_text(f"{line}@revoked {line}")
    error = await _refusal(SshHost("gpu01", config_files=[str(sshd.config)], known_hosts=[str(known)]))
    assert isinstance(error, HostKeyRejected)
    assert "revoked" in error.message


async def test_hashed_known_hosts(sshd: Sshd, tmp_path: Path) -> None:
    known = tmp_path / "known"
    known.write_text(sshd.known_hosts.read_text())
    subprocess.run(["ssh-keygen", "-H", "-f", str(known)], check=True, capture_output=True)
    assert "127.0.0.1" not in known.read_text()
    assert await _hello(SshHost("gpu01", config_files=[str(sshd.config)], known_hosts=[str(known)])) == "hello\n"


async def test_a_refused_port(sshd: Sshd) -> None:
    async with web_server(b"") as web:
        port = web.port
    error = await _refusal(sshd.host(f"127.0.0.1:{port}"))
    assert type(error) is CannotConnect
    assert error.retryable
    assert f"nothing listens on port {port}" in error.message


async def test_a_name_that_does_not_exist(sshd: Sshd) -> None:
    error = await _refusal(sshd.host("no-such-host.invalid"))
    assert type(error) is CannotConnect
    assert "can't be resolved" in error.message


async def test_a_host_that_accepts_and_says_nothing(sshd: Sshd) -> None:
    async with web_server(None) as web:
        error = await _refusal(sshd.host(f"127.0.0.1:{web.port}", connect_timeout_s=0.3))
    assert type(error) is CannotConnect
    assert "did not answer in 0.3 s" in error.message


async def test_a_port_that_is_not_ssh(sshd: Sshd) -> None:
    async with web_server(http(b"hello")) as web:
        error = await _refusal(sshd.host(f"127.0.0.1:{web.port}", connect_timeout_s=1))
    assert isinstance(error, CannotConnect)


@pytest.mark.parametrize(
    ("address", "config"),
    [("", ""), ("gpu01:99999", ""), ("gpu01", "Host gpu01\n  Port many\n"), ("gpu01", 'Host gpu01\n  User "x\n')],
)
async def test_an_address_or_config_that_makes_no_sense(sshd: Sshd, address: str, config: str) -> None:
    error = await _refusal(SshHost(address, config_files=[str(sshd.add_config(config))]))
    assert type(error) is CannotConnect
    assert "SSH config" in error.message


async def test_jump_hosts(sshd: Sshd) -> None:
    jumps = f"Host far\n  HostName 127.0.0.1\n  Port {sshd.port}\n  ProxyJump gpu01,127.0.0.1:{sshd.port}\n"
    config = sshd.add_config(jumps)
    host = SshHost("far", config_files=[str(config)])
    await host.connect()
    try:
        assert (await host.run(["echo", "far"])).text == "far\n"
        async with web_server(http(b"ok")) as web:
            assert (await host.fetch(f"http://127.0.0.1:{web.port}/")).body == b"ok"
        sshd.cut()
        assert "far" in await host.wait_lost()
    finally:
        await host.close()


async def test_a_jump_host_that_can_not_reach_the_host(sshd: Sshd) -> None:
    config = sshd.add_config("Host far\n  HostName 127.0.0.1\n  Port 1\n  ProxyJump gpu01\n")
    error = await _refusal(SshHost("far", config_files=[str(config)]))
    assert type(error) is CannotConnect
    assert "jump host" in error.message


async def test_a_jump_host_that_refuses_is_named(sshd: Sshd) -> None:
    config = sshd.add_config("Host gate\n  HostName 127.0.0.1\n  Port 1\n\nHost far\n  ProxyJump gate\n")
    error = await _refusal(SshHost("far", config_files=[str(config)]))
    assert "gate (127.0.0.1:1), on the way to far" in error.message


async def test_jump_hosts_in_a_circle(sshd: Sshd) -> None:
    config = sshd.add_config("Host one\n  ProxyJump two\n\nHost two\n  ProxyJump one\n")
    assert "circle" in (await _refusal(SshHost("one", config_files=[str(config)]))).message


async def test_a_host_that_is_its_own_jump_host_is_reached_directly(sshd: Sshd) -> None:
    config = sshd.add_config("Host *\n  ProxyJump gpu01\n")
    assert await _hello(SshHost("gpu01", config_files=[str(config)])) == "hello\n"


async def test_a_proxy_command(sshd: Sshd) -> None:
    config = sshd.add_config(
        f"Host far\n  HostName 127.0.0.1\n  Port {sshd.port}\n"
        f"  ProxyCommand sh -c 'echo noise >&2; exec ssh -F {sshd.config} -W %h:%p gpu01'\n"
    )
    assert await _hello(SshHost("far", config_files=[str(config)])) == "hello\n"


async def test_settings_meant_for_a_person_do_no_harm(sshd: Sshd) -> None:
    config = sshd.add_config(
        "Host gpu01\n  ForwardAgent yes\n  ForwardX11Trusted yes\n  RemoteCommand false\n  RequestTTY force\n"
        "  SendEnv LANG\n  ControlMaster auto\n  ControlPath ~/.ssh/%C\n  AddKeysToAgent yes\n"
    )
    assert await _hello(SshHost("gpu01", config_files=[str(config)])) == "hello\n"


async def test_http_through_the_connection(sshd: Sshd) -> None:
    host = sshd.host()
    await host.connect()
    try:
        async with web_server(http(b"x" * 300_000)) as web:
            url = f"http://127.0.0.1:{web.port}/metrics"
            assert len((await host.fetch(url)).body) == 300_000
            assert (await host.fetch(url, method="POST", body=b"{}")).status == 200
            port = web.port
        with pytest.raises(HttpUnavailable, match=f"Nothing listens on 127.0.0.1:{port} on gpu01"):
            await host.fetch(f"http://127.0.0.1:{port}/")
        async with web_server(None) as web:
            with pytest.raises(HttpUnavailable, match="no whole answer"):
                await host.fetch(f"http://127.0.0.1:{web.port}/", timeout_s=0.3)
        assert (await host.run(["echo", "still there"])).text == "still there\n"
    finally:
        await host.close()


async def test_tls_through_the_connection(sshd: Sshd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    files = ["-addext", "subjectAltName=DNS:localhost", "-keyout", str(tmp_path / "key"), "-out", str(tmp_path / "crt")]
    with contextlib.suppress(FileNotFoundError):
        subprocess.run(["openssl", "req", *words, *files], check=True, capture_output=True)
    if not (tmp_path / "crt").exists():
        pytest.skip("install openssl to run this test")
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(tmp_path / "crt", tmp_path / "key")
    host = sshd.host()
    await host.connect()
    try:
        async with web_server(http(b"sealed"), tls) as web:
            url = f"https://localhost:{web.port}/"
            with pytest.raises(HttpUnavailable, match="certificate"):
                await host.fetch(url)
            monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "crt"))
            assert (await host.fetch(url)).body == b"sealed"
    finally:
        await host.close()
