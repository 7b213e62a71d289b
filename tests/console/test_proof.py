"""The proof after a start: what counts at once, what is waited for, and what is told only when it is certain."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from console.job import proof_items as names
from console.job.proof import GpuSeen, Item, Proof, begin, look
from console.job.proof_facts import Before, Begun, Mark, Range, before_from, before_of, range_of
from console.job.snapshot import DatasetState, DatasetView, JobView, ServerView, Snapshot
from tests import samples

if TYPE_CHECKING:
    from collections.abc import Iterable

NOW = samples.NOW
SHA = "ab" * 32
PID = 50_001


def later(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def old() -> Snapshot:
    """The run before: two datasets met, the third at 3,452."""
    return samples.healthy()


BEGUN = Begun(NOW, PID, NOW - timedelta(seconds=1), SHA, before_of(old(), old(), ()))


def seen(seconds: float, *changed: DatasetView, **parts: Any) -> Snapshot:
    """The run some seconds after the start: the process lives, and some datasets have changed."""
    news = {view.name: view for view in changed}
    base = old()
    job = JobView(pid=PID, alive=True, started_at=BEGUN.started_at, script_sha256=SHA, checked_at=later(seconds))
    server = replace(base.server, updated_at=later(seconds))
    datasets = tuple(news.get(view.name, view) for view in base.datasets)
    given = {"at": later(seconds), "job": job, "server": server, "datasets": datasets, "first_due": None, **parts}
    return replace(base, **given)


def third(seconds: float, done: int = 3_452, before: int = 3_452, **parts: Any) -> DatasetView:
    """The dataset at work, as the new process tells of it."""
    given = {"done": done, "done_before": before, "errors": 0, "updated_at": later(seconds), **parts}
    return replace(old().datasets[2], **given)


def skipped(place: int, seconds: float) -> DatasetView:
    view = old().datasets[place]
    return replace(view, state=DatasetState.SKIPPED, done_before=view.done, updated_at=later(seconds))


def proven(*snapshots: Snapshot, begun: Begun = BEGUN, gpu: GpuSeen | None = None) -> Proof:
    found = begin(begun)
    for snapshot in snapshots:
        found = look(found, snapshot, gpu)
    return found


def states(proof: Proof) -> dict[str, str]:
    return {item.name: item.state for item in proof.items}


def item(proof: Proof, name: str) -> Item:
    return next(each for each in proof.items if each.name == name)


def all_well(seconds: float = 240.0) -> Iterable[Snapshot]:
    yield seen(1)
    yield seen(3, skipped(0, 2), skipped(1, 2), replace(third(3), state=DatasetState.LOADING))
    yield seen(20, skipped(0, 2), skipped(1, 2), third(20))
    yield seen(seconds, skipped(0, 2), skipped(1, 2), third(seconds, done=3_502))


def test_the_checklist_fills_itself() -> None:
    snapshots = list(all_well())
    assert set(states(begin(BEGUN)).values()) == {"waiting"}
    first = proven(*snapshots[:1])
    assert states(first) == {
        names.PROCESS: "ok",
        names.SCRIPT: "ok",
        names.BUDGETS: "waiting",
        names.COUNTS: "waiting",
        names.FIRST: "waiting",
        names.SPEED: "waiting",
        names.ERRORS: "waiting",
        names.GPU: "ok",
    }
    assert states(proven(*snapshots[:2]))[names.BUDGETS] == "ok"
    third_look = proven(*snapshots[:3])
    assert item(third_look, names.COUNTS).detail == "B3_magicoder at 3,452 of 10,000 (3,452 before)"
    assert states(third_look)[names.FIRST] == "waiting"
    assert not third_look.ended
    last = proven(*snapshots)
    assert set(states(last).values()) == {"ok"}
    assert last.ended
    assert last.outcome == "Proven: 8 of 8."
    assert item(last, names.BUDGETS).detail == "B1_glaive, B2_dialogue skipped"
    assert item(last, names.FIRST).detail == "B3_magicoder 3,502 of 10,000"


def test_what_the_old_process_said_proves_nothing() -> None:
    stale = seen(30, third(-60, done=3_500, before=2), skipped(0, -60))
    assert states(proven(stale))[names.FIRST] == "waiting"
    assert states(proven(stale))[names.BUDGETS] == "waiting"
    assert states(proven(stale))[names.COUNTS] == "waiting"


def test_a_process_table_from_before_the_start_proves_nothing() -> None:
    before = replace(seen(1), job=JobView(pid=48_213, alive=True, checked_at=later(-5), script_sha256="cd" * 32))
    assert states(proven(before))[names.PROCESS] == "waiting"
    assert states(proven(before))[names.SCRIPT] == "waiting"


@pytest.mark.parametrize(
    ("job", "words"),
    [
        (JobView(alive=False, checked_at=later(2)), "process 50001 has ended"),
        (JobView(pid=7, alive=True, checked_at=later(2)), "process 7 runs in place of 50001"),
    ],
)
def test_a_process_that_is_gone_ends_the_proof(job: JobView, words: str) -> None:
    proof = proven(seen(1), seen(2, job=job))
    assert words in item(proof, names.PROCESS).detail
    assert proof.ended
    assert proof.outcome.startswith("Not as it should be: the process lives: ")
    assert look(proof, seen(3), None) is proof


def test_another_script_is_told() -> None:
    job = replace(seen(2).job, script_sha256="cd" * 32)
    proof = proven(seen(2, job=job))
    assert item(proof, names.SCRIPT).detail == "cdcdcdcd runs, and abababab was sent"
    assert [each.name for each in proof.failed] == [names.SCRIPT]


def test_a_job_without_a_script_has_none_to_prove() -> None:
    proof = proven(seen(2), begun=replace(BEGUN, sha256=None))
    assert item(proof, names.SCRIPT).state == "unknown"


def test_a_dataset_that_runs_again_is_told() -> None:
    again = replace(old().datasets[0], state=DatasetState.RUNNING, done_before=7_312, updated_at=later(9))
    proof = proven(seen(10, again))
    assert item(proof, names.BUDGETS).state == "failed"
    assert "B1_glaive runs again" in item(proof, names.BUDGETS).detail


def test_a_job_that_passes_finished_datasets_without_a_word_honours_them() -> None:
    proof = proven(seen(10, third(9)))
    assert item(proof, names.BUDGETS).detail == "B1_glaive, B2_dialogue left out"
    assert item(proof, names.BUDGETS).state == "ok"


def test_a_dataset_over_its_budget_counts_as_met() -> None:
    over = replace(old(), datasets=(replace(third(-9), tokens=10_500_000, updated_at=later(-9)),))
    begun = replace(BEGUN, before=before_of(over, over, ()))
    running = replace(seen(10), datasets=(third(9, tokens=10_500_000),))
    assert item(proven(running, begun=begun), names.BUDGETS).state == "failed"


def test_results_begun_anew_are_told_and_stay_told() -> None:
    proof = proven(seen(20, third(20, done=0, before=0)), seen(9_000, third(9_000, done=4_000, before=0)))
    assert item(proof, names.COUNTS) == Item(names.COUNTS, "failed", "B3_magicoder is at 0, and 3,452 were done before")


def test_a_run_with_nothing_left_to_do_is_proven() -> None:
    whole = tuple(skipped(place, 5) for place in range(8))
    proof = proven(replace(seen(6), datasets=whole))
    assert item(proof, names.COUNTS).state == "ok"
    assert item(proof, names.FIRST) == Item(names.FIRST, "ok", "nothing was left to do")


def test_nothing_is_said_of_a_first_line_before_it_is_late() -> None:
    due = (later(100), later(180))
    pending = [seen(seconds, third(20), first_due=due) for seconds in (25, 100, 180, 260)]
    for count in range(1, len(pending) + 1):
        found = item(proven(*pending[:count]), names.FIRST)
        assert (found.state, found.due) == ("waiting", due)
    late = proven(*pending, seen(261, third(20), first_due=due))
    assert item(late, names.FIRST).state == "failed"
    came = proven(*pending, seen(261, third(255, done=3_502), first_due=None))
    assert (item(came, names.FIRST).state, item(came, names.FIRST).due) == ("ok", due)


def test_a_first_line_of_which_nobody_knows_when_it_is_due_is_given_up() -> None:
    assert item(proven(seen(3_599, third(20))), names.FIRST).state == "waiting"
    assert item(proven(seen(3_601, third(20))), names.FIRST).state == "unknown"
    assert item(proven(seen(3_601, third(20))), names.ERRORS).state == "unknown"


def slow(seconds: float, made: float | None = 400.0, running: int | None = 50) -> Snapshot:
    server = replace(old().server, gen_throughput=made, running=running, updated_at=later(seconds))
    return seen(seconds, third(20), server=server)


def test_a_throughput_that_stays_low_is_told_after_some_minutes() -> None:
    assert item(proven(slow(21)), names.SPEED).state == "waiting"
    assert item(proven(slow(21), slow(200)), names.SPEED).state == "waiting"
    found = item(proven(slow(21), slow(202)), names.SPEED)
    assert found.state == "failed"
    assert found.detail.startswith("400 tok/s; 8")
    assert item(proven(slow(21), slow(190, made=840.0)), names.SPEED).state == "ok"


def test_a_throughput_with_another_load_is_not_compared() -> None:
    found = item(proven(slow(21, running=10), slow(202, running=10)), names.SPEED)
    assert found.state == "unknown"
    assert "can't be compared" in found.detail


def test_a_report_from_before_the_start_is_no_throughput() -> None:
    stale = seen(30, third(20), server=old().server)
    assert item(proven(stale), names.SPEED).state == "waiting"
    assert item(proven(stale, replace(stale, at=later(400))), names.SPEED).state == "unknown"


def test_where_nothing_was_usual_nothing_is_compared() -> None:
    begun = replace(BEGUN, before=replace(BEGUN.before, throughput=None))
    assert item(proven(slow(21), begun=begun), names.SPEED).state == "unknown"


def test_errors_are_told_at_once() -> None:
    proof = proven(seen(30, third(29, errors=3)))
    assert item(proof, names.ERRORS) == Item(names.ERRORS, "failed", "3 requests failed for good since the start")


def test_errors_of_the_old_process_are_not_the_new_ones() -> None:
    before = replace(old(), datasets=(replace(old().datasets[2], errors=5),))
    begun = replace(BEGUN, before=before_of(before, before, ()))
    still = replace(seen(5), datasets=before.datasets)
    assert item(proven(still, begun=begun), names.ERRORS).state == "waiting"


@pytest.mark.parametrize(
    ("pids", "gpu", "seconds", "state"),
    [
        (None, None, 1, "unknown"),
        ((), None, 1, "ok"),
        ((1, 2), None, 1, "waiting"),
        ((1, 2), GpuSeen(), 1, "ok"),
        ((1, 2), GpuSeen(((1, 900),)), 60, "waiting"),
        ((1, 2), GpuSeen(((1, 900),)), 61, "failed"),
        ((1, 2), GpuSeen(error="nvidia-smi hangs"), 1, "unknown"),
    ],
)
def test_gpu_memory_of_the_old_job(
    pids: tuple[int, ...] | None, gpu: GpuSeen | None, seconds: float, state: str
) -> None:
    begun = replace(BEGUN, before=replace(BEGUN.before, gpu_pids=pids))
    assert item(proven(seen(seconds), begun=begun, gpu=gpu), names.GPU).state == state


def test_what_is_settled_stays_settled() -> None:
    proof = proven(*all_well(), seen(500, third(500, errors=9)))
    assert set(states(proof).values()) == {"ok"}


def test_a_log_without_stamps_has_the_consoles_times() -> None:
    ahead = replace(BEGUN, started_at=NOW + timedelta(minutes=5))
    assert item(proven(seen(20, third(20)), begun=ahead), names.COUNTS).state == "ok"


def test_an_unfinished_proof_says_how_far_it_is() -> None:
    assert proven(seen(1)).outcome == "3 of 8 proven, the rest is awaited."
    unseen = replace(BEGUN, before=replace(BEGUN.before, gpu_pids=None))
    assert proven(*all_well(), begun=unseen).outcome.endswith("what can't be seen: GPU memory is freed.")


# -- what is compared with


def test_what_was_before_survives_the_journal() -> None:
    before = before_of(old(), old(), (3, 4))
    assert before.marks[0] == Mark("B1_glaive", 7_312, met=True, updated_at=old().datasets[0].updated_at)
    assert before.marks[2].met is False
    assert before_from(json.loads(json.dumps(before.values()))) == before
    assert before_from(json.loads(json.dumps(Before().values()))) == Before()


@pytest.mark.parametrize("values", [None, {}, {"marks": [1]}, {"throughput": "x"}, {"gpu_pids": 3}, {"server_at": "y"}])
def test_what_cannot_be_read_is_not_known(values: dict[str, Any] | None) -> None:
    assert before_from(values) == Before()


def test_the_range_from_before() -> None:
    assert range_of(ServerView()) is None
    assert range_of(ServerView(usual_throughput=100.0)) == Range(80.0, 120.0)
    wide = range_of(ServerView(throughput_history=(None, *(float(n) for n in range(100, 201))), running=50))
    assert wide == Range(110.0, 190.0, 50)
    assert before_of(None, None, None) == Before()
