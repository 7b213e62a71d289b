"""Replay: the same reading as live, and nothing from after the moment."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from click.testing import CliRunner, Result

from bench.make_log import Mix, server_log
from console.cli import cli
from console.job.events import Source
from console.job.timeline import HeldBytes, record
from console.replay_checkpoints import Checkpoints
from console.replay_files import Given, load
from console.replay_moments import BadMoment, moments_of
from console.replay_walk import Replay
from tests.console.recordings import Written, a_run
from tests.job.builders import T0, after

DATA = Path(__file__).parents[1] / "data" / "logs"


def replayed(*args: str) -> Result:
    return CliRunner().invoke(cli, ["replay", *args], catch_exceptions=False)


def readings(*args: str) -> list[dict[str, object]]:
    done = replayed(*args, "--json")
    assert done.exit_code == 0, done.output
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_a_healthy_run_waits_with_its_figures(tmp_path: Path) -> None:
    (reading,) = readings(*a_run().files(tmp_path), "--at", "end")
    assert (reading["verdict"], reading["cause"]) == ("wait", "kv_limited")
    assert reading["at"] == after(40 * 60 - 4).isoformat()
    server = reading["server"]
    assert isinstance(server, dict)
    assert (server["running"], server["queue"], server["token_usage"]) == (50, 98, 0.82)
    assert reading["eta"] is not None


def test_nothing_that_was_logged_later_matters(tmp_path: Path) -> None:
    scene = a_run()
    files = scene.files(tmp_path)
    moments = ["start+20m", "start+35m", after(700).isoformat(), "end"]
    whole = readings(*files, "--at", ",".join(moments))
    for taken in whole:
        cut = datetime.fromisoformat(str(taken["at"]))
        for name, text in scene.logs.items():
            kept = [line for line in text.splitlines(keepends=True) if line[1:20] <= f"{cut:%Y-%m-%d %H:%M:%S}"]
            (tmp_path / f"{name}.log").write_text("".join(kept), encoding="utf-8")
        assert readings(*files, "--at", str(taken["at"])) == [taken]


def test_the_jobs_own_zone_counts_for_both_logs_and_an_option_for_more(tmp_path: Path) -> None:
    scene = Written("Asia/Tokyo")
    scene.logs["job"] = f"{scene.stamp(-5)} Time zone: Asia/Tokyo (UTC+09:00)\n"
    scene.ready()
    scene.begin()
    scene.decode(60)
    files = scene.files(tmp_path)
    assert readings(*files, "--at", "end")[0]["at"] == after(60).isoformat()
    (tmp_path / "job.log").write_text("", encoding="utf-8")
    assert readings(*files, "--at", "end", "--tz", "Asia/Tokyo")[0]["at"] == after(60).isoformat()


def test_a_job_log_without_stamps_is_dated_by_its_durations(tmp_path: Path) -> None:
    (tmp_path / "job.log").write_text(
        "Processing: B3 (SHORT)\n  B3: 1000 prompts tokenized\n"
        "  Running 1000 requests (concurrency=150, max_tokens=10240, token_budget=10,000,000)...\n"
        "  50/1000 (0 err) 0.5 req/s avg_comp=900tok tot=0.0M ETA=1.9h\n"
        "  B3: done 1000 (0 err), 2,000,000 tokens in 0.50h\nProcessing: B4 (SHORT)\n"
        "  30/1000 (0 err) 0.5 req/s avg_comp=900tok tot=0.0M ETA=1.9h\n",
        encoding="utf-8",
    )
    log = record(Source.JOB, HeldBytes((tmp_path / "job.log").read_bytes()), UTC, T0, T0)
    assert log.guessed
    assert [(at - T0).total_seconds() for at in log.times] == [0, 0, 0, 100, 1800, 1800, 1860]
    done = replayed("--job-log", str(tmp_path / "job.log"), "--at", "end", "--json")
    assert "guessed" in done.stderr


@pytest.mark.parametrize(
    ("words", "seconds"),
    [
        ("start", [0]),
        ("end", [3600]),
        ("start+90s,end-30m", [90, 1800]),
        ("start+1h30m", [5400]),
        ("every=25m", [1500, 3000, 3600]),
        ("2026-02-24T02:10:00+00:00", [600]),
        ("2026-02-24T02:10:00", [600]),
    ],
)
def test_moments(words: str, seconds: list[int]) -> None:
    lines = f"[{T0:%Y-%m-%d %H:%M:%S}] a\n[{T0 + timedelta(hours=1):%Y-%m-%d %H:%M:%S}] b\n"
    log = record(Source.SERVER, HeldBytes(lines.encode()), UTC, T0)
    assert [(at - T0).total_seconds() for at in moments_of(words, [log])] == seconds


@pytest.mark.parametrize("words", ["", "soon", "every=", "every=0m", "start+", "start*2h", "2026-13-01"])
def test_what_is_no_moment_is_said(words: str) -> None:
    with pytest.raises(BadMoment, match="--at"):
        moments_of(words, [record(Source.SERVER, HeldBytes(b"[2026-02-24 03:00:00] a\n"), UTC, T0)])


def test_wrong_calls_are_a_sentence(tmp_path: Path) -> None:
    missing = replayed("--server-log", str(tmp_path / "none"), "--at", "end")
    assert (missing.exit_code, "No such file" in missing.stderr) == (2, True)
    assert replayed("--at", "end", "--tz", "Mars/Base").exit_code == 2
    assert replayed("--at", "sometime").exit_code == 2


def test_no_logs_or_empty_ones_are_a_reading_too(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    for args in ([], ["--server-log", str(tmp_path / "empty")]):
        assert readings(*args, "--at", "end")[0]["verdict"] in {"wait", "blind"}


@pytest.mark.parametrize("name", sorted(path.name for path in DATA.glob("*.log")))
def test_every_recorded_log_replays(name: str) -> None:
    recording = load(Given(DATA / name, None, None, ZoneInfo("UTC")), None)
    replay = Replay(recording.logs, recording.fresh)
    for at in moments_of("every=1m", recording.logs):
        assert replay.at(at).at == at


def test_days_of_a_log_pass_in_seconds_of_work(tmp_path: Path) -> None:
    (tmp_path / "server.log").write_bytes(server_log(6.0, Mix(), 3))  # from midnight to a little past six
    taken = readings("--server-log", str(tmp_path / "server.log"), "--at", "every=15m")
    assert len(taken) == 25
    assert all(reading["server"] for reading in taken)


def test_a_moment_reads_the_same_from_wherever_it_is_come_to(tmp_path: Path) -> None:
    files = a_run(minutes=95).files(tmp_path)
    recording = load(Given(Path(files[1]), Path(files[3]), None, None), None)
    moments = [after(seconds) for seconds in (300, 1_801, 2_700, 3_630, 4_999, 5_400)]
    alone = [Replay(recording.logs, recording.fresh).at(moment) for moment in moments]
    replay = Replay(recording.logs, recording.fresh, Checkpoints())
    for place in (5, 0, 3, 2, 2, 4, 1, 5, 0):
        assert replay.at(moments[place]) == alone[place]


def test_going_back_passes_few_points_of_the_grid(tmp_path: Path) -> None:
    files = a_run(minutes=95).files(tmp_path)
    recording = load(Given(Path(files[1]), None, None, None), None)
    replay = Replay(recording.logs, recording.fresh, Checkpoints())
    assert sum(1 for _ in replay.towards(after(5_400))) == 101  # the server began ten minutes before the job
    assert sum(1 for _ in replay.towards(after(5_000))) <= 30
    assert sum(1 for _ in replay.towards(after(600))) <= 30
    assert sum(1 for _ in replay.towards(after(5_200))) <= 30  # and on again, by the checkpoints that are there


def test_what_was_logged_at_the_very_moment_counts(tmp_path: Path) -> None:
    (first,) = readings(*a_run().files(tmp_path), "--at", "start")
    assert [log["lines"] > 0 for log in first["logs"]] == [True, False]  # type: ignore[attr-defined]
