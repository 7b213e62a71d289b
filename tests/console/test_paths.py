"""Where a path of the config is on the host."""

from __future__ import annotations

from pathlib import Path

import pytest

from console.config import JobSettings, Settings
from console.paths import followed_path


@pytest.mark.parametrize(
    ("folder", "log", "over_ssh"),
    [
        (None, "/data/job.log", "/data/job.log"),
        (None, "job.log", "job.log"),
        (None, "~/run/job.log", "run/job.log"),
        ("/data/run", "job.log", "/data/run/job.log"),
        ("/data/run/", "out/job.log", "/data/run/out/job.log"),
        ("/data/run", "/other/job.log", "/other/job.log"),
        ("/data/run", "~/job.log", "job.log"),
        ("~/run", "job.log", "run/job.log"),
        ("run", "job.log", "run/job.log"),
    ],
)
def test_a_path_of_the_job(folder: str | None, log: str, over_ssh: str) -> None:
    assert followed_path(Settings(host="gpu01", job=JobSettings(log=log, dir=folder)), log) == over_ssh


def test_on_this_machine_the_home_is_spelt_out() -> None:
    settings = Settings(host="local", job=JobSettings(log="~/job.log"))
    assert followed_path(settings, "~/job.log") == str(Path.home() / "job.log")
    assert followed_path(settings, None) is None


def test_a_path_of_the_server_does_not_begin_in_the_jobs_folder() -> None:
    settings = Settings(host="gpu01", job=JobSettings(log="job.log", dir="/data/run"))
    assert followed_path(settings, "server.log") == "server.log"
