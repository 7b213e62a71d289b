"""The record of a decision says what was known, and what would change it; the unknown is left out."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC
from itertools import pairwise

import pytest

from console.job.decision import GROWTH, Length, Lengths, decide, decision_values, limited_by, would_change
from console.job.decision_words import SHOWN_LENGTHS, sections, trajectory, verdict_line
from console.job.limits import Limits
from console.job.snapshot import Judgement, LinkView, Option, ServerView, Snapshot, Verdict
from tests import samples
from tests.job.builders import T0, Scene, after

LIMITS = Limits()


def words(title: str, snapshot: Snapshot, lengths: tuple[Length, ...] = ()) -> str:
    """A section's sentences, one below the other; empty when it is left out."""
    found = [part for part in sections(decide(snapshot, lengths, LIMITS), UTC) if part.title == title]
    return "\n".join(line for part in found for line in part.lines)


def lengths_of(*told: tuple[int, int], dataset: str = "B3_magicoder") -> Lengths:
    """What is collected of a run whose job printed these counts and means, one a minute."""
    scene, lengths = Scene(), Lengths()
    scene.ready()
    scene.begin()
    scene.dataset(1, dataset)
    for minute, (done, mean) in enumerate(told, start=1):
        scene.progress(60 * minute, done, mean)
        lengths.take(after(60 * minute), scene.tracker.state)
        lengths.take(after(60 * minute + 30), scene.tracker.state)
    return lengths


def test_lengths_are_kept_as_they_grow() -> None:
    told = lengths_of((50, 217), (100, 788), (150, 1232), (200, 1500)).told()
    assert [(each.done, each.mean) for each in told] == [(50, 217), (100, 788), (150, 1232), (200, 1500)]
    assert {each.dataset for each in told} == {"B3_magicoder"}
    assert told[0].at == after(60)  # when it was told, not when it was looked at again


def test_of_ten_thousand_few_are_kept_and_the_newest_always() -> None:
    told = lengths_of(*((done, 2000) for done in range(50, 10_001, 50))).told()
    assert (told[0].done, told[-1].done) == (50, 10_000)
    assert len(told) < 30
    assert all(later.done >= each.done * GROWTH for each, later in pairwise(told[:-1]))


def test_a_handful_is_told_only_while_it_is_the_newest() -> None:
    assert [each.done for each in lengths_of((3, 80)).told()] == [3]
    assert [each.done for each in lengths_of((3, 80), (50, 217)).told()] == [50]
    assert Lengths().told() == ()


def test_each_dataset_has_its_own_trajectory_and_ends_with_its_last() -> None:
    first = [Length(after(60 * n), "B1", 50 * n, 100.0 * n) for n in range(1, 20)]
    second = [Length(after(3600), "B2", 50, 300.0)]
    lines = list(trajectory([*first, *second], UTC))
    assert lines[0].startswith("B1: 100 → 200 → 300")
    assert lines[0].count("→") == SHOWN_LENGTHS - 1
    assert "→ 1,900 tokens on average (50 to 950 completions, Tue 2026-02-24 02:01 UTC to" in lines[0]
    assert lines[1] == "B2: 300 tokens on average (50, Tue 2026-02-24 03:00 UTC)."


@pytest.mark.parametrize(
    ("figures", "said"),
    [
        ({}, ""),
        ({"running": 0, "queue": 0}, ""),
        ({"running": 50, "queue": 98, "token_usage": 0.82}, "0.82: the KV cache is the limit"),
        ({"running": 50, "queue": 98, "token_usage": 0.4}, "there is room in the KV cache"),
        ({"running": 50, "queue": 98}, "admits no more at once"),
        ({"running": 1, "queue": 0, "token_usage": 0.9}, "1 request run and 0 wait: the number of requests in flight"),
    ],
)
def test_what_limits_the_throughput(figures: dict[str, float], said: str) -> None:
    snapshot = replace(samples.healthy(), server=ServerView(**figures))  # type: ignore[arg-type]
    limit = limited_by(snapshot, LIMITS)
    assert said in limit
    assert bool(limit) is bool(said)


def test_what_would_change_it_names_the_thresholds_it_is_judged_by() -> None:
    calm = samples.healthy()
    said = " ".join(would_change(calm, LIMITS))
    assert calm.server.usual_throughput is not None
    assert f"Below {round(LIMITS.throughput_low * calm.server.usual_throughput):,} tok/s" in said
    assert "10 failed requests within 10 min" in said
    stricter = " ".join(would_change(calm, replace(LIMITS, errors_new=3, stall_s=600.0)))
    assert "3 failed requests" in stricter
    assert "No report of work for 10 min" in stricter
    unknown = replace(calm, server=ServerView(), datasets=())
    assert would_change(unknown, LIMITS) == ("The server's process ends, or the job's.",)


@pytest.mark.parametrize("verdict", list(Judgement))
def test_every_verdict_says_what_would_change_it(verdict: Judgement) -> None:
    snapshot = replace(samples.healthy(), verdict=Verdict(verdict, "x", "y"))
    assert would_change(snapshot, LIMITS)
    assert would_change(replace(snapshot, verdict=Verdict(verdict, "finished", "y")), LIMITS)


def test_the_record_reads_like_the_operators_own() -> None:
    calm = samples.healthy()
    server = calm.server
    throughput = words("Throughput", calm)
    assert f"Now: {server.gen_throughput:,.0f} tok/s" in throughput
    assert "Usual for this batch" in throughput
    assert "the KV cache is the limit" in words("Bottleneck", calm)
    assert "80 % range" in words("End of the run", calm)
    assert "It rests on: " in words("End of the run", calm)
    assert "Health: ok; /health answered 200" in words("Health and link", calm)
    assert "Link to gpu01: up." in words("Health and link", calm)
    assert words("Decision", calm).startswith(verdict_line(calm, UTC))
    for sentence in calm.verdict.evidence:
        assert sentence in words("Decision", calm)


def test_what_is_not_known_is_left_out_or_said() -> None:
    nothing = Snapshot(T0, Verdict(Judgement.WAIT, "starting", "Nothing has been seen of the run yet."))
    titles = [part.title for part in sections(decide(nothing, (), LIMITS), UTC)]
    assert titles == ["End of the run", "Health and link", "Decision", "What would change the decision"]
    assert words("Health and link", replace(nothing, link=LinkView(state=""))).splitlines() == [
        "Health: not asked.",
        "Link: a recording has none.",
        "Job: its process was not looked for.",
    ]


def test_what_touching_it_would_cost_is_named() -> None:
    calm = samples.healthy()
    costly = replace(
        calm.verdict, options=(Option("restart_job", "Restart the job: 8 minutes of the end.", 90_000, 8.0),)
    )
    assert (
        words("What touching it would cost", replace(calm, verdict=costly)) == "Restart the job: 8 minutes of the end."
    )


@pytest.mark.parametrize("name", ["healthy", "warned", "intervene", "link_lost", "finished"])
def test_every_moment_makes_a_whole_record(name: str) -> None:
    snapshot = getattr(samples, name)()
    decision = decide(snapshot, (Length(T0, "B1", 50, 217.0),), LIMITS)
    for part in sections(decision, UTC):
        assert all(len(row) == len(part.head) for row in part.rows)
        assert not any("None" in text for text in (*part.lines, *(cell for row in part.rows for cell in row)))
    values = decision_values(decision)
    assert values["verdict"] == snapshot.verdict.verdict.value
    assert values["completion_lengths"] == [{"at": T0.isoformat(), "dataset": "B1", "done": 50, "mean": 217.0}]
    assert values["would_change"]
