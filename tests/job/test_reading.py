"""A snapshot as JSON and as plain text."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime

import pytest

from console.job.reading import EXIT_CODES, line, reading, text
from console.job.snapshot import Judgement
from tests import samples

CONTRACT = {
    "at", "verdict", "cause", "headline", "evidence", "action", "since", "next_look", "eta", "eta_low", "eta_high",
    "eta_coverage", "datasets", "server", "health", "link", "job",
}  # fmt: skip


@pytest.mark.parametrize("name", samples.ALL)
def test_every_sample_is_json_and_text(name: str) -> None:
    snapshot = samples.ALL[name]()
    found = reading(snapshot)
    assert set(found) >= CONTRACT
    assert json.loads(json.dumps(found)) == found
    assert datetime.fromisoformat(found["at"]) == snapshot.at
    assert "\n" not in line(snapshot)
    assert snapshot.verdict.headline in text(snapshot)


def test_the_contracts_own_example() -> None:
    found = reading(samples.healthy())
    third = found["datasets"][2]
    assert (third["name"], third["state"], third["done"], third["total"]) == ("B3_magicoder", "running", 3_452, 10_000)
    assert found["server"]["running"] == 50
    assert found["server"]["gen_throughput"] == 846.3
    assert found["action"] is None
    assert found["at"] == "2026-02-24T03:19:40+00:00"


def test_what_is_not_understood_is_told() -> None:
    calm = samples.healthy()
    shapes = tuple((f"shape {number} #", 30 - number) for number in range(20))
    found = reading(replace(calm, logs=(replace(calm.logs[0], shapes=shapes), calm.logs[1])))["logs"]
    assert found[0]["understood"] == 0.97
    assert found[0]["not_understood"] == [{"shape": f"shape {n} #", "count": 30 - n} for n in range(5)]
    assert found[1]["not_understood"] == []


def test_exit_codes() -> None:
    assert {EXIT_CODES[judgement] for judgement in Judgement} == {0, 10, 20, 30}


def test_plain_text_says_what_to_do_and_when_it_ends() -> None:
    assert "To do: Restart the server" in text(samples.intervene())
    assert "Ends in 17 h 26 min (15 h 10 min to 20 h 5 min)" in text(samples.healthy())
    assert "Ends --. The server makes no tokens now" in text(samples.intervene())
    assert "Ends 6 min ago" in text(samples.finished())
    assert line(samples.healthy()).startswith("WAIT (kv_limited): ")
