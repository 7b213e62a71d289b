"""Whether to touch the run."""

from __future__ import annotations

from dataclasses import replace

import pytest

from console.job.events import HealthProbe, LinkFact, ProcessFact, ServerMetrics, Source, SourceFact
from console.job.plan import Plan
from console.job.snapshot import Judgement, Snapshot
from tests.job.builders import Scene, after, announcement, steady_run

OK = HealthProbe("/health", ok=True, status=200, latency_s=1.0)
REFUSED = HealthProbe("/health", ok=False, status=None, latency_s=None, error="Connection refused.")
SILENT = HealthProbe("/health", ok=False, status=None, latency_s=None, error="No answer in 25 s.")


def judged(scene: Scene, seconds: float) -> tuple[str, str]:
    verdict = scene.tracker.snapshot(after(seconds)).verdict
    assert verdict.headline
    assert (verdict.action is not None) == (verdict.verdict is Judgement.INTERVENE)
    return verdict.verdict.value, verdict.cause


def watched(minutes: int = 30) -> Scene:
    """A steady run on a host that is seen."""
    scene = steady_run(minutes)
    end = after(minutes * 60)
    scene.tracker.note(LinkFact("up"), after(-700))
    scene.tracker.note(ProcessFact(alive=True, pid=9, started_at=after(-1)), end)
    scene.tracker.note(OK, end)
    for source in (Source.SERVER, Source.JOB):
        scene.tracker.note(SourceFact(source, "following", f"/srv/{source}.log"), after(-700))
    return scene


def test_a_saturated_run_is_left_alone() -> None:
    scene = watched()
    taken = scene.tracker.snapshot(after(1_801))
    assert (taken.verdict.verdict, taken.verdict.cause) == (Judgement.WAIT, "kv_limited")
    assert taken.verdict.evidence[0] == "150 requests are in flight and 50 run: the KV cache (0.82) admits no more."
    assert "usual for this batch" in taken.verdict.evidence[1]
    scene.decode(1_804, usage=1.0, queue=100, running=48)
    assert judged(scene, 1_805) == ("wait", "kv_limited")


def test_before_anything_is_seen() -> None:
    assert judged(Scene(), 0) == ("wait", "starting")
    scene = Scene()
    scene.tracker.note(LinkFact("connecting", attempt=1), after(0))
    assert judged(scene, 1) == ("blind", "link_down")


def test_a_server_that_loads() -> None:
    scene = Scene()
    scene.server(0, "server_args=ServerArgs(model_path='/models/m', tp_size=8)", "Load weight begin. avail mem=78.5 GB")
    assert judged(scene, 200) == ("wait", "starting")


def test_the_first_batch_takes_minutes() -> None:
    scene = Scene()
    scene.ready()
    scene.begin()
    for second in range(8, 240, 4):
        scene.decode(second, tok_s=600 + second)
    taken = scene.tracker.snapshot(after(241))
    assert (taken.verdict.verdict, taken.verdict.cause) == (Judgement.WAIT, "first_progress_pending")
    assert taken.verdict.next_look is not None
    assert taken.verdict.next_look > after(241)
    assert taken.verdict.since == after(1)


def test_between_two_datasets() -> None:
    scene = watched()
    scene.job(
        1_802,
        "  B3_magicoder: done 4000 (0 err), 10,002,311 tokens in 3.21h, budget reached",
        *announcement("B4_longdocs", "LONG"),
    )
    assert judged(scene, 1_900) == ("wait", "dataset_switch")


def test_the_tail_of_a_dataset_is_no_fault() -> None:
    scene = watched()
    scene.progress(1_802, 9_950, 200)
    scene.decode(1_804, running=40, queue=0, tok_s=500, usage=0.4)
    assert judged(scene, 1_805) == ("wait", "tail_drain")


def test_a_budget_nearly_met() -> None:
    scene = watched()
    scene.progress(1_802, 4_990, 1_990)
    assert judged(scene, 1_805) == ("wait", "budget_nearly_met")


def test_few_requests_at_once() -> None:
    scene = Scene()
    scene.ready()
    scene.begin()
    scene.progress(100, 50, 1_000)
    for second in range(104, 200, 4):
        scene.decode(second, running=150, queue=0, usage=0.3)
    assert judged(scene, 201) == ("wait", "concurrency_limited")


def test_a_run_that_is_done_needs_nothing() -> None:
    scene = Scene(Plan())
    scene.ready()
    scene.dataset(0, "B3_magicoder")
    scene.decode(8)
    scene.job(60, "  B3_magicoder: done 9998 (4 err), 9,902,311 tokens in 3.21h, all done")
    scene.tracker.note(ProcessFact(alive=False), after(90))
    assert judged(scene, 4_000) == ("wait", "finished")
    assert scene.tracker.snapshot(after(4_000)).eta.tokens_left == 0


def test_a_server_that_hangs() -> None:
    scene = watched()
    assert judged(scene, 1_880) == ("wait", "kv_limited")
    taken = scene.tracker.snapshot(after(1_960))
    assert (taken.verdict.verdict, taken.verdict.cause) == (Judgement.INTERVENE, "server_stalled")
    assert taken.verdict.action is not None
    assert "150 requests in flight" in taken.verdict.action
    assert taken.eta.at is None
    assert taken.verdict.since == after(1_796)


def test_a_hang_found_when_the_console_opens_is_first_watched() -> None:
    scene = Scene()
    scene.tracker.note(LinkFact("up"), after(3_999))
    scene.begin(seen=4_000)
    scene.progress(100, 50, 1_000, seen=4_000)
    for second in range(104, 200, 4):
        scene.decode(second, seen=4_000)
    assert judged(scene, 4_001) == ("watch", "log_quiet")
    assert judged(scene, 4_040) == ("intervene", "server_stalled")


def test_a_hang_found_when_the_link_is_back_is_first_watched() -> None:
    scene = watched()
    scene.tracker.note(LinkFact("lost"), after(1_801))
    scene.tracker.note(LinkFact("up"), after(5_000))
    for second in range(1_804, 2_000, 4):
        scene.decode(second, seen=5_001)
    assert judged(scene, 5_003) == ("watch", "log_quiet")
    assert judged(scene, 5_040) == ("intervene", "server_stalled")
    scene.decode(5_044)
    assert judged(scene, 5_045) == ("wait", "kv_limited")


def test_a_log_in_another_zone_is_no_hang() -> None:
    scene = Scene(zone="Asia/Tokyo")  # read as UTC: nine hours ahead
    scene.ready()
    scene.begin()
    scene.progress(100, 50, 1_000)
    for second in range(104, 400, 4):
        scene.decode(second)
    assert judged(scene, 401) == ("wait", "kv_limited")
    assert judged(scene, 800) == ("intervene", "server_stalled")
    scene = Scene(zone="America/New_York")  # five hours behind
    scene.ready()
    scene.begin()
    scene.progress(100, 50, 1_000)
    for second in range(104, 400, 4):
        scene.decode(second)
    assert judged(scene, 401) == ("wait", "kv_limited")
    assert judged(scene, 800) == ("intervene", "server_stalled")


def test_a_frozen_engine_behind_a_healthy_page() -> None:
    scene = Scene()
    scene.begin()
    scene.progress(100, 50, 1_000)
    page = ServerMetrics("vllm", 40, 60, 0.9, None, 10_000.0, 0.0)
    for second in range(104, 200, 10):
        scene.tracker.note(replace(page, generation_tokens=second * 800.0), after(second))
    assert judged(scene, 201) == ("wait", "kv_limited")
    for second in range(204, 500, 10):
        scene.tracker.note(replace(page, generation_tokens=194 * 800.0), after(second))
        scene.tracker.note(OK, after(second))
    assert judged(scene, 500) == ("intervene", "server_stalled")


@pytest.mark.parametrize("probe", [REFUSED, SILENT])
def test_a_server_that_does_not_answer(probe: HealthProbe) -> None:
    scene = watched()
    for second in range(1_800, 1_860, 15):
        scene.tracker.note(probe, after(second))
    assert judged(scene, 1_860) == ("intervene", "server_down")


def test_health_that_fails_while_tokens_are_made_is_watched() -> None:
    scene = watched()
    for second in range(1_800, 1_860, 15):
        scene.tracker.note(SILENT, after(second))
        scene.decode(second + 1)
    assert judged(scene, 1_860) == ("watch", "health_flapping")


def test_a_crash_in_the_log() -> None:
    scene = watched()
    scene.server(1_801, "Scheduler hit an exception: Traceback (most recent call last):")
    assert judged(scene, 1_810) == ("intervene", "server_down")
    assert scene.tracker.snapshot(after(1_810)).server.trouble


@pytest.mark.parametrize("end", ["Scheduler hit an exception: Traceback (most recent call last):", "SIGTERM received."])
def test_a_log_that_tells_of_the_end_of_a_server_that_answers_is_the_wrong_log(end: str) -> None:
    scene = watched()
    scene.server(1_801, end)
    scene.tracker.note(OK, after(1_805))
    assert judged(scene, 1_806) == ("intervene", "server_down")
    for second in range(1_860, 3_001, 60):
        scene.tracker.note(OK, after(second))
    taken = scene.tracker.snapshot(after(3_001))
    assert (taken.verdict.verdict, taken.verdict.cause) == (Judgement.WATCH, "log_quiet")
    assert "server.log" in " ".join(taken.verdict.evidence)


def test_the_kv_cache_is_not_the_limit_while_the_first_batch_still_fills_it() -> None:
    scene = Scene()
    scene.ready()
    scene.begin(0)
    scene.progress(4, 3, 300)
    scene.decode(5, running=62, queue=88, usage=0.57)
    assert judged(scene, 6)[1] != "kv_limited"
    scene.decode(90, running=50, queue=98, usage=0.57)
    assert judged(scene, 91) == ("wait", "kv_limited")


def test_a_job_that_died() -> None:
    scene = watched()
    scene.tracker.note(ProcessFact(alive=False), after(1_800))
    taken = scene.tracker.snapshot(after(1_805))
    assert (taken.verdict.verdict, taken.verdict.cause) == (Judgement.INTERVENE, "job_dead")
    assert "finished prompts are kept" in (taken.verdict.action or "")


def test_a_job_that_was_started_after_the_look_is_not_dead() -> None:
    scene = Scene()
    scene.ready()
    scene.tracker.note(LinkFact("up"), after(0))
    scene.tracker.note(ProcessFact(alive=False), after(5))
    scene.begin(6)
    assert judged(scene, 7)[1] != "job_dead"
    scene.tracker.note(ProcessFact(alive=False), after(20))
    assert judged(scene, 21) == ("intervene", "job_dead")


def test_a_job_that_waits_for_what_the_server_does_not_have() -> None:
    scene = watched()
    idle = ServerMetrics("sglang", 0, 0, 0.0, 0.0, 10_000.0, 0.0)
    for second in range(1_800, 2_200, 20):
        scene.tracker.note(idle, after(second))
    assert judged(scene, 2_190) == ("intervene", "job_stalled")


def test_old_figures_conclude_nothing() -> None:
    scene = watched()
    scene.tracker.note(LinkFact("lost", "The host has not answered for 12 s.", 1, after(1_840)), after(1_801))
    assert judged(scene, 1_805) == ("wait", "kv_limited")
    assert judged(scene, 1_815) == ("blind", "link_down")
    assert judged(scene, 9_000) == ("blind", "link_down")
    scene.tracker.note(LinkFact("up"), after(9_000))
    assert judged(scene, 9_001)[0] != "blind"


def test_logs_that_cannot_be_read() -> None:
    scene = watched()
    for source in (Source.SERVER, Source.JOB):
        scene.tracker.note(SourceFact(source, "unreadable", f"/srv/{source}.log", "Permission denied."), after(1_801))
    assert judged(scene, 2_400) == ("blind", "logs_unreadable")


def test_errors_that_rise() -> None:
    scene = watched()
    done = scene.tracker.snapshot(after(1_800)).datasets[2].done - 2
    scene.progress(1_810, done + 1, 1_500, errors=37)
    scene.decode(1_812)
    assert judged(scene, 1_815) == ("watch", "errors_rising")
    for second in range(1_816, 2_700, 4):
        scene.decode(second)
    assert judged(scene, 2_700)[0] == "wait"


def test_throughput_that_falls() -> None:
    scene = watched()
    for second in range(1_804, 2_300, 4):
        scene.decode(second, tok_s=400)
    assert judged(scene, 2_301) == ("watch", "throughput_low")


def test_the_verdict_remembers_since_when_it_holds() -> None:
    scene = watched()
    seen: list[Snapshot] = [scene.tracker.snapshot(after(second)) for second in (1_801, 1_830, 1_860)]
    assert {taken.verdict.since for taken in seen} == {after(1_801)}


def test_a_dataset_that_fills_free_places_is_no_batch_that_began_at_once() -> None:
    scene = Scene()
    scene.ready()
    scene.begin()
    scene.job(600, "  9900/9998 (0 err) 0.4 req/s avg_comp=900tok tot=8.9M ETA=0.1h")
    scene.job(
        610,
        "Processing: B4_longdocs (LONG)",
        "  B4_longdocs: 4288 prompts tokenized",
        "  Running 4288 requests (concurrency=150, max_tokens=16384, token_budget=10,000,000)...",
        "  B3_magicoder: 9910/9998 (0 err) 0.4 req/s avg_comp=900tok tot=8.9M ETA=0.1h",
    )
    for second in range(600, 660, 3):
        scene.decode(second, running=60, queue=90)
    verdict = scene.tracker.snapshot(after(660)).verdict
    assert verdict.cause != "first_progress_pending"
    assert not any("238 requests" in sentence or "300 requests" in sentence for sentence in verdict.evidence)
