"""Answers, data sets and scenarios: decided by their input alone."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean

import pytest

from remote.demo.datasets import DATASETS, job_config, prompts_of, write_all
from remote.demo.lengths import LONG, SHORT, SLOW_START, VOCABULARY, LengthLaw, answer, digest_of, law_for
from remote.demo.scenarios import RAMP_S, SCENARIOS, Trouble

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def write(folder: Path) -> None:
    config = job_config("http://127.0.0.1:1", folder / "out", folder / "prompts")
    write_all(config, folder / "job.json", folder / "out", folder / "prompts", NOW)


def test_ids_and_text_have_digests_of_their_own() -> None:
    assert digest_of([1, 2, 3]) == digest_of((1, 2, 3)) != digest_of([12, 3])
    assert digest_of("a") != digest_of("b")


@pytest.mark.parametrize(("law", "low", "high"), [(SHORT, 1900, 2100), (LONG, 3000, 3400), (SLOW_START, 3900, 4100)])
def test_lengths_have_the_mean_they_claim(law: LengthLaw, low: float, high: float) -> None:
    lengths = [law.draw(digest_of(str(i))) for i in range(4000)]
    assert low < fmean(lengths) < high
    assert min(lengths) >= 16


def test_the_law_follows_the_limit() -> None:
    assert law_for(10_240) is SHORT
    assert law_for(16_384) is LONG
    assert law_for(10_240, slow_start=True) is SLOW_START


def test_an_answer_has_as_many_ids_and_words_as_tokens() -> None:
    text, ids = answer(digest_of("x"), 300)
    assert len(ids) == len(text.split()) == 300
    assert all(0 <= token < VOCABULARY for token in ids)


def test_the_data_sets_are_the_same_every_time(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        write(tmp_path / name)
    for path in sorted((tmp_path / "one").rglob("*.jsonl")):
        twin = tmp_path / "two" / path.relative_to(tmp_path / "one")
        assert path.read_bytes() == twin.read_bytes()


def test_two_sets_have_their_budget_and_one_is_begun(tmp_path: Path) -> None:
    write(tmp_path)
    done: dict[str, int] = {}
    for path in (tmp_path / "out").glob("*/results.jsonl"):
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        assert all(len(row["output_ids"]) == row["completion_tokens"] for row in rows)
        known = {prompt_id for prompt_id, _ in prompts_of(next(d for d in DATASETS if d.name == path.parent.name))}
        assert {row["id"] for row in rows} < known
        done[path.parent.name] = sum(row["completion_tokens"] for row in rows)
    budgets = {d.name: d.budget for d in DATASETS}
    assert set(done) == {"B1_glaive", "B2_orca", "B3_magicoder"}
    assert [name for name in sorted(done) if done[name] >= budgets[name]] == ["B1_glaive", "B2_orca"]


def test_the_job_is_as_the_founding_run() -> None:
    config = job_config("http://127.0.0.1:1", Path("out"), Path("prompts"))
    sets = config["datasets"]
    assert isinstance(sets, list)
    assert [entry["concurrency"] for entry in sets] == [150] * 7 + [32]
    assert [entry["max_tokens"] for entry in sets] == [10_240] * 7 + [16_384]
    assert all(entry["token_budget"] > 0 and entry["limit"] is None for entry in sets)


def test_prompts_differ_and_have_about_the_right_length() -> None:
    for dataset in DATASETS:
        prompts = list(prompts_of(dataset))
        assert (
            len({tuple(ids) for _, ids in prompts}) == len({prompt_id for prompt_id, _ in prompts}) == dataset.prompts
        )
        assert fmean(len(ids) for _, ids in prompts) == pytest.approx(dataset.prompt_tokens, rel=0.05)


def test_nothing_goes_wrong_by_default() -> None:
    trouble = Trouble()
    assert trouble.scenario == SCENARIOS[0] == "kv-limited"
    assert not trouble.hung(math.inf)
    assert not trouble.fails(math.inf, 1)
    assert trouble.slowdown(math.inf) == 1.0
    assert not trouble.slow_start


def test_troubles_come_when_they_are_due() -> None:
    assert [Trouble("server-hang", 10).hung(t) for t in (9.9, 10.0)] == [False, True]
    assert [Trouble("error-storm", 10).fails(t, 1) for t in (9.9, 10.0)] == [False, True]
    slow = Trouble("slow-gpu", 10)
    assert slow.slowdown(10) == 1.0
    assert 1.0 < slow.slowdown(10 + RAMP_S / 2) < slow.slowdown(10 + RAMP_S) == pytest.approx(1 / 0.45)
