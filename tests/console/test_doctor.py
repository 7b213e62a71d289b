"""The doctor's looks at a host: whatever the host says, a check comes of it."""

from __future__ import annotations

from typing import TYPE_CHECKING
from unittest.mock import ANY

import pytest
from msgspec import structs

from console.config import JobSettings, ServerSettings, Settings
from console.doctor_host import check_clock, check_files, check_key, check_lingering, check_python
from console.session import now
from tests.fakes import FakeHost

if TYPE_CHECKING:
    from console.doctor_host import Check

NOISES = [b"", b"Welcome to gpu01!\n", b"file writable 12\nfolder\n"]
SETTINGS = Settings(
    host="gpu01",
    server=ServerSettings(log=("/s.log",), api_key_env="LW_DOCTOR_KEY"),
    job=JobSettings(log="/j.log", dir="/run", command=("python3", "run_inference.py")),
)


def states(checks: list[Check]) -> list[tuple[str, str]]:
    return [(check.name, check.state) for check in checks]


@pytest.mark.parametrize("noise", NOISES)
async def test_files_behind_whatever_a_login_prints(noise: bytes) -> None:
    host = FakeHost()
    told = b"longwait-doctor file fixed 120\nlongwait-doctor missing fixed\nlongwait-doctor folder writable\n"
    host.expect_run(["sh", "-c", ANY, "longwait-doctor", "/s.log", "/j.log", "/run"], stdout=noise + told)
    checks = await check_files(host, SETTINGS)
    assert states(checks) == [("server.log", "ok"), ("job.log", "fail"), ("job.dir", "ok")]
    assert "120 bytes" in checks[0].detail
    assert "picked up by itself" in checks[1].remedies[0]


async def test_a_host_that_runs_nothing_is_a_failed_check(tmp_path: object) -> None:
    del tmp_path
    host = FakeHost()
    host.expect_run(["sh", "-c", ...], stdout=b"This account is not available.\n", times=None)
    host.expect_run(["python3", "-c", ...], stdout=b"This account is not available.\n", status=1, times=None)
    checks = [
        *await check_files(host, SETTINGS),
        *await check_clock(host, SETTINGS, now),
        *await check_python(host, SETTINGS),
    ]
    assert {check.state for check in checks} == {"fail"}
    assert "not available" in checks[0].detail + checks[1].detail


@pytest.mark.parametrize(
    ("told", "state", "words"),
    [
        (b"longwait-doctor 3 11 7\nlongwait-doctor 0.28.1\n", "ok", "httpx 0.28.1"),
        (b"noise\nlongwait-doctor 3 11 7\nlongwait-doctor none\n", "fail", "no httpx"),
        (b"longwait-doctor 3 6 9\nlongwait-doctor none\n", "fail", "is 3.6.9"),
    ],
)
async def test_the_jobs_python(told: bytes, state: str, words: str) -> None:
    host = FakeHost()
    host.expect_run(["python3", "-c", ...], stdout=told, times=None)
    check = (await check_python(host, SETTINGS))[1]
    assert (check.state, words in check.detail) == (state, True)


async def test_another_program_needs_no_httpx() -> None:
    host = FakeHost()
    host.expect_run(["python3", "-c", ...], stdout=b"longwait-doctor 3 11 7\nlongwait-doctor none\n", times=None)
    job = structs.replace(SETTINGS.job, command=("python3", "other.py"))
    checks = await check_python(host, structs.replace(SETTINGS, job=job))
    assert {check.state for check in checks} == {"ok"}


@pytest.mark.parametrize(("told", "state"), [(b"hi\nLinger=yes\n", "ok"), (b"Linger=no\n", "warn"), (b"", "ok")])
async def test_lingering(told: bytes, state: str) -> None:
    host = FakeHost()
    host.expect_run(["sh", "-c", ...], stdout=told)
    assert [check.state for check in await check_lingering(host)] == [state]


def test_a_key_that_is_named_and_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LW_DOCTOR_KEY", raising=False)
    assert states(check_key(SETTINGS)) == [("API key", "fail")]
    monkeypatch.setenv("LW_DOCTOR_KEY", "sekret")
    assert states(check_key(SETTINGS)) == [("API key", "ok")]
    monkeypatch.setenv("LW_DOCTOR_KEY", "sek\rret")
    assert "sek" not in check_key(SETTINGS)[0].detail
