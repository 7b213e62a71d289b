"""A large script on its way over a real OpenSSH server: how far it is, and what arrives."""

from __future__ import annotations

import hashlib
import os
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from console import act_upload
from console.act_upload import upload, upload_words
from console.job.transfer import Transfer
from remote.errors import CommandFailed
from remote.files import PutResult, put_file
from remote.sending import Sends

if TYPE_CHECKING:
    from pathlib import Path

    from tests.sshd.conftest import Sshd

pytestmark = pytest.mark.sshd


def utc_now() -> datetime:
    return datetime.now(UTC)


async def test_what_is_sent_is_counted_and_arrives_whole(sshd: Sshd, tmp_path: Path) -> None:
    host = sshd.host()
    await host.connect()
    assert isinstance(host, Sends)
    data, seen = os.urandom(8_000_000), list[int]()
    put = await put_file(host, sys.executable, str(tmp_path / "big.py"), data, sent=seen.append)
    await host.close()
    assert put.sha256 == hashlib.sha256(data).hexdigest()
    assert (tmp_path / "big.py").read_bytes() == data
    assert seen == sorted(seen)
    assert seen[-1] == len(data)
    assert len(seen) > 50
    assert any(0 < count < len(data) for count in seen)


async def test_the_act_tells_how_far_it_is(sshd: Sshd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(act_upload, "TOLD_EVERY_S", 0.01)
    host = sshd.host()
    await host.connect()
    data = os.urandom(8_000_000)
    told = [each async for each in upload(host, sys.executable, str(tmp_path / "big.py"), data, utc_now)]
    await host.close()
    words, last = told[:-1], told[-1]
    assert isinstance(last, PutResult)
    assert last.changed
    assert words
    assert all(isinstance(each, str) for each in words)
    assert any("of 8,000 kB" in each or "are sent" in each for each in words if isinstance(each, str))


async def test_a_refusal_is_told_as_ever(sshd: Sshd, tmp_path: Path) -> None:
    host = sshd.host()
    await host.connect()
    with pytest.raises(CommandFailed, match="not an ordinary file"):
        await put_file(host, sys.executable, str(tmp_path), os.urandom(3_000_000), sent=lambda _: None)
    with pytest.raises(CommandFailed):
        await put_file(host, "/no/such/python", str(tmp_path / "x"), os.urandom(3_000_000), sent=lambda _: None)
    await host.close()


def test_the_words() -> None:
    since, now = datetime(2026, 2, 24, tzinfo=UTC), datetime(2026, 2, 24, 0, 0, 10, tzinfo=UTC)
    assert upload_words(Transfer(50_000_000, 200_000_000, since, now)) == "50,000 of 200,000 kB, 5,000 kB/s, 30 s left"
    assert upload_words(Transfer(0, 200_000_000, since, now)) == "0 of 200,000 kB"
    assert upload_words(Transfer(7, 7, since, now)) == "all 0 kB are sent; the host writes and compares them"
