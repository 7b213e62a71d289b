"""The cipher that costs least is taken, unless the user's config says which."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from remote.ssh import SshHost

if TYPE_CHECKING:
    from tests.sshd.conftest import Sshd

pytestmark = pytest.mark.sshd


@pytest.mark.parametrize(
    ("config", "cipher"),
    [("", "aes128-gcm@openssh.com"), ("Ciphers aes256-ctr", "aes256-ctr"), ("Ciphers +aes256-ctr", "chacha20")],
)
async def test_the_cipher(sshd: Sshd, config: str, cipher: str) -> None:
    host = SshHost("gpu01", config_files=[str(sshd.add_config(config))])
    await host.connect()
    assert host._route is not None
    assert host._route.connection.get_extra_info("recv_cipher").startswith(cipher)
    await host.close()
