"""What another concurrency would bring: words for people, values for machines, on recordings and on the live run."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner, Result

from console.cli import cli
from console.job.snapshot import Eta
from console.job.what_if import WhatIf
from console.whatif import saved_s, values, words
from tests import samples
from tests.console.recordings import a_run
from tests.job.builders import T0

if TYPE_CHECKING:
    from pathlib import Path

LESS = WhatIf(
    60,
    present=150,
    running_now=90.0,
    running=60.0,
    limit="concurrency",
    made_now=2000.0,
    made=1500.0,
    made_low=1400.0,
    made_high=1600.0,
    time_share=1 / 3,
    time_share_low=0.25,
    time_share_high=0.43,
    minutes_lost=8.0,
    tokens_lost=90_000,
)
MORE = replace(LESS, concurrency=300, running=120.0, made=2500.0, made_low=2250.0, made_high=2750.0, time_share=-0.2)
SAME = replace(LESS, concurrency=300, running=90.0, limit="kv", made=2000.0, made_low=2000.0, made_high=2000.0, time_share=0.0)  # fmt: skip
TEN_HOURS = replace(samples.healthy(), eta=Eta(at=samples.NOW + timedelta(hours=10)))


def asked(*args: str) -> Result:
    return CliRunner().invoke(cli, ["whatif", *args], catch_exceptions=False)


def test_a_gain_stands_beside_its_price() -> None:
    assert list(words(MORE, TEN_HOURS)) == [
        "Now: 150 requests are in flight and 90 run, which makes 2,000 tok/s.",
        (
            "With a concurrency of 300: 120 would run (all that are sent), which makes 2,500 tok/s "
            "(2,250 tok/s to 2,750 tok/s, four times out of five)."
        ),
        (
            "It would take 20 % less time, 2 h of what is left. "
            "The restart would cost 8 min: 90.0 k tokens in flight are made again."
        ),
        "In all the end would come 1 h 52 min earlier.",
    ]


def test_a_loss_is_called_one() -> None:
    said = list(words(LESS, TEN_HOURS))
    assert said[2].startswith("It would take 33 % more time, 3 h 20 min of what is left.")
    assert said[3] == "In all the end would come 3 h 28 min later."


def test_a_limit_that_stays_brings_nothing() -> None:
    said = list(words(SAME, TEN_HOURS))
    assert "90 would run (the KV cache holds no more), which makes 2,000 tok/s." in said[1]
    assert said[2].startswith("Nothing is gained: as many requests would run as now. The restart would cost 8 min")
    assert len(said) == 3


def test_the_unknown_is_no_number() -> None:
    nothing = replace(samples.healthy(), eta=Eta())
    assert saved_s(MORE, nothing) is None
    said = " ".join(words(replace(MORE, present=None, minutes_lost=None, tokens_lost=None), nothing))
    assert "Requests are in flight and 90 run" in said
    assert "It would take 20 % less time. The restart would cost --" in said
    assert "In all" not in said
    assert list(words(WhatIf(60, unknown="No work was seen."), nothing)) == [
        "No answer for a concurrency of 60: No work was seen."
    ]


def test_values_are_plain_and_whole() -> None:
    told = values(MORE, TEN_HOURS)
    assert json.loads(json.dumps(told)) == told
    assert (told["concurrency"], told["made"], told["minutes_saved"]) == (300, 2500.0, 120.0)
    assert set(told) == {"at", "minutes_saved", *WhatIf.__slots__}


def test_recorded_logs_answer_for_a_moment(tmp_path: Path) -> None:
    files = a_run().files(tmp_path)
    done = asked("--concurrency", "300", *files)
    assert done.exit_code == 0, done.output
    assert "150 requests are in flight and 50 run" in done.stdout
    assert "With a concurrency of 300: 50 would run (the KV cache holds no more)" in done.stdout
    assert "Nothing is gained" in done.stdout
    less = json.loads(asked("--concurrency", "20", *files, "--moment", "start+40m", "--json").stdout)
    assert (less["running"], less["limit"]) == (20.0, "concurrency")
    assert less["made"] < less["made_now"]
    assert less["time_share"] > 0


def test_no_work_is_no_answer(tmp_path: Path) -> None:
    (tmp_path / "server.log").write_text(f"[{T0:%Y-%m-%d %H:%M:%S}] The server is fired up and ready to roll!\n")
    done = asked("--concurrency", "300", "--server-log", str(tmp_path / "server.log"))
    assert (done.exit_code, done.stdout.startswith("No answer for a concurrency of 300: ")) == (1, True)


@pytest.mark.parametrize("args", [(), ("--concurrency", "0"), ("--concurrency", "9", "--moment", "soon")])
def test_wrong_calls_are_usage(tmp_path: Path, args: tuple[str, ...]) -> None:
    assert asked(*args, *a_run(minutes=1).files(tmp_path)).exit_code == 2


def test_the_live_run_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    a_run().files(tmp_path)
    (tmp_path / "longwait.yaml").write_text(
        f"host: local\ntimezone: UTC\nserver: {{log: [{tmp_path}/server.log]}}\njob: {{log: {tmp_path}/job.log}}\n",
        encoding="utf-8",
    )
    done = asked("--concurrency", "300", "--config", str(tmp_path / "longwait.yaml"), "--timeout", "20")
    # The recording ended long ago, so nothing can be said of the present; what counts is that it was looked at.
    assert (done.exit_code, done.stdout) == (
        1,
        "No answer for a concurrency of 300: No work of the server was seen in the last half hour.\n",
    )
