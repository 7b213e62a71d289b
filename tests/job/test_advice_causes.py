"""Every cause that a person must know of: it is told when it is there, and not of what only looks like it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from console.job.dataset_views import sent_together
from console.job.events import HealthProbe, LinkFact, ProcessFact, Source, SourceFact
from console.job.limits import Limits
from console.job.plan import Plan, PlannedDataset
from console.job.tracker import Tracker
from tests.job.builders import BUDGET, PLAN, Scene, after, announcement, steady_run
from tests.job.test_advice import OK, SILENT, judged

if TYPE_CHECKING:
    from collections.abc import Callable

    from console.job.snapshot import Verdict

NO_PLAN = Plan()


def recorded(minutes: int = 30) -> Scene:
    """A steady run of which there are only logs, as in a replay."""
    return steady_run(minutes)


def goes_on(scene: Scene, begin: int, end: int, *, progress: bool = True, **load: float) -> None:
    """The server works on, and the job tells of its progress every two minutes."""
    run = next(run for run in scene.tracker.state.log.datasets if run.name == scene.tracker.state.log.current)
    done, mean = run.done_run, round(run.mean or 1_500)
    for second in range(begin, end, 4):
        scene.decode(second, **load)  # type: ignore[arg-type]
        if progress and second % 120 == 0:
            done += 50
            scene.progress(second, done, mean)


def verdict(scene: Scene, seconds: float) -> Verdict:
    return scene.tracker.snapshot(after(seconds)).verdict


def words(scene: Scene, seconds: float) -> str:
    found = verdict(scene, seconds)
    return " ".join((found.headline, *found.evidence, found.action or ""))


# The disk -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "lines",
    [
        (
            "Traceback (most recent call last):",
            '  File "a.py", line 1, in f',
            "OSError: [Errno 28] No space left on device",
        ),
        ("ERROR: /data/out/results.jsonl can't be written: the disk is full; make room, then start again.",),
    ],
)
def test_a_full_disk_of_the_job(lines: tuple[str, ...]) -> None:
    scene = recorded()
    scene.job(1_802, *lines)
    assert judged(scene, 1_810) == ("intervene", "disk_full")
    assert "restart the job" in words(scene, 1_820)


def test_a_full_disk_of_the_server() -> None:
    scene = recorded()
    scene.server(1_802, "OSError: [Errno 28] No space left on device: '/data/run/server.log'")
    assert judged(scene, 1_810) == ("intervene", "disk_full")


def test_a_full_disk_is_over_when_the_job_begins_anew_or_goes_on_for_long() -> None:
    scene = recorded()
    scene.job(1_802, "ERROR: write failed: No space left on device")
    scene.job(1_900, "Run started: pid 99, 4 datasets, server http://127.0.0.1:30000", *announcement("B3_magicoder"))
    assert judged(scene, 1_905)[1] != "disk_full"
    scene = recorded()
    scene.job(1_802, "ERROR: could not write the trace: No space left on device")
    goes_on(scene, 1_804, 2_400)
    assert judged(scene, 2_401)[1] != "disk_full"


# Starts -------------------------------------------------------------------------------------------------------------


def crash_and_start(scene: Scene, at: float) -> None:
    scene.server(at, "Scheduler hit an exception: Traceback (most recent call last):")
    scene.ready(at + 20)


def test_a_server_that_starts_again_and_again() -> None:
    scene = recorded()
    for place in range(3):
        crash_and_start(scene, 1_802 + 200 * place)
    assert judged(scene, 2_300) == ("intervene", "restart_loop")
    assert "3 times" in words(scene, 2_300)


def test_a_restart_or_two_are_no_loop() -> None:
    scene = recorded()
    for place in range(2):
        crash_and_start(scene, 1_802 + 200 * place)
    assert judged(scene, 2_100)[1] != "restart_loop"


def test_a_loop_is_over_when_the_newest_process_has_worked_for_long() -> None:
    scene = recorded()
    for place in range(3):
        crash_and_start(scene, 1_802 + 200 * place)
    goes_on(scene, 2_304, 3_400)
    assert judged(scene, 3_401)[1] != "restart_loop"


def test_starts_with_much_done_between_them_are_no_loop() -> None:
    scene = recorded(15)
    for place in range(3):
        begin = 900 + 900 * place
        scene.server(begin + 2, "server_args=ServerArgs(model_path='/models/m', tp_size=8)")
        scene.server(begin + 20, "The server is fired up and ready to roll!")
        goes_on(scene, begin + 24, begin + 900)
    assert judged(scene, 3_500)[1] != "restart_loop"


def test_a_job_that_starts_again_and_again() -> None:
    scene = recorded()
    for place in range(3):
        begin = 1_802 + 90 * place
        scene.job(begin, "Traceback (most recent call last):", "KeyError: 'output_ids'")
        scene.job(begin + 10, f"Run started: pid {place + 20}, 4 datasets, server http://127.0.0.1:30000")
        scene.dataset(begin + 11, "B3_magicoder")
    assert judged(scene, 2_020) == ("intervene", "restart_loop")


# The job's end, by its log alone ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line", ["KeyError: 'output_ids'", "Killed", "srun: error: gpu01: task 0: Exited with exit code 1"]
)
def test_a_job_whose_log_ends_as_a_process_dies(line: str) -> None:
    scene = recorded()
    lines = ("Traceback (most recent call last):", '  File "a.py", line 1, in f', line) if "Key" in line else (line,)
    scene.job(1_800, *lines)
    assert judged(scene, 1_860) == ("intervene", "job_dead")
    assert line in words(scene, 1_860)


def test_a_traceback_that_the_job_survives_is_no_death() -> None:
    scene = recorded()
    scene.job(1_802, "Traceback (most recent call last):", "KeyError: 'output_ids'")
    for second in range(1_804, 2_300, 4):
        scene.decode(second)
        if second == 1_920:
            scene.progress(second, 1_000, 1_500)
        assert judged(scene, second + 1)[1] != "job_dead"


def test_an_error_as_the_last_word_needs_longer_than_a_death() -> None:
    scene = recorded()
    goes_on(scene, 1_804, 1_900)
    scene.job(1_850, "ERROR: prompt 17 given up after 5 attempts: timeout")
    goes_on(scene, 1_900, 1_912, progress=False)
    assert judged(scene, 1_940)[1] != "job_dead"
    assert judged(scene, 2_100) == ("intervene", "job_dead")


def test_a_job_that_speaks_by_the_clock_is_missed() -> None:
    scene = recorded()
    done = 1_000
    for second in range(1_804, 2_600, 4):
        scene.decode(second)
        if second % 60 == 0:
            done += 20
            scene.progress(second, done, 1_500)
    last = 2_580
    assert judged(scene, last + 30)[0] == "wait"
    assert judged(scene, last + 130) == ("intervene", "job_dead")


def test_a_server_that_hangs_under_a_job_that_still_speaks_is_the_servers_fault() -> None:
    scene = recorded()
    for second in range(1_804, 2_600, 4):
        if second <= 2_200:
            scene.decode(second)
        if second % 60 == 0:
            scene.progress(second, 1_000 + min(second, 2_200) // 4, 1_500)
    assert judged(scene, 2_600) == ("intervene", "server_stalled")


def test_a_job_that_stands_still_while_the_server_runs_dry() -> None:
    scene = recorded()
    for place, second in enumerate(range(1_804, 2_004, 4)):
        scene.decode(second, running=max(1, 50 - place), queue=0, usage=0.3, tok_s=500 - 8 * place)
    assert judged(scene, 2_100)[1] != "job_stalled"
    assert judged(scene, 2_180) == ("intervene", "job_stalled")
    assert "150 requests" in words(scene, 2_180)


def test_the_last_requests_of_a_dataset_are_no_job_that_stands_still() -> None:
    scene = recorded()
    scene.progress(1_802, 9_996, 200)
    for second in range(1_804, 2_400, 4):
        scene.decode(second, running=2, queue=0, usage=0.05, tok_s=60)
        assert judged(scene, second + 1)[0] == "wait"


def test_a_dataset_that_has_just_begun_is_no_hang_though_the_server_was_idle_before() -> None:
    scene = recorded()
    scene.job(1_802, "  B3_magicoder: done 4000 (0 err), 10,002,311 tokens in 3.21h, budget reached")
    scene.job(1_803, *announcement("B4_longdocs", "LONG"))
    scene.job(2_400, "  Running 4288 requests (concurrency=32, max_tokens=16384, token_budget=10,000,000)...")
    assert judged(scene, 2_402) == ("wait", "first_progress_pending")


def test_prompts_that_load_for_ever() -> None:
    scene = recorded()
    scene.job(1_802, "  B3_magicoder: done 4000 (0 err), 10,002,311 tokens in 3.21h, budget reached")
    scene.job(1_803, *announcement("B4_longdocs", "LONG"))
    assert judged(scene, 3_600) == ("wait", "dataset_switch")
    assert judged(scene, 5_500) == ("intervene", "job_stalled")


# Errors -------------------------------------------------------------------------------------------------------------


def failing(scene: Scene, begin: int, end: int, *, of_ten: int, each_s: int = 60, count: int = 50) -> None:
    """Each minute so many requests end, of which some fail."""
    done, errors = 1_000, 0
    for second in range(begin, end, 4):
        scene.decode(second)
        if second % each_s == 0:
            done, errors = done + count * (10 - of_ten) // 10, errors + count * of_ten // 10
            scene.progress(second, done, 1_500, errors=errors)


def test_a_storm_of_errors() -> None:
    scene = recorded()
    failing(scene, 1_804, 2_104, of_ten=7)
    assert judged(scene, 2_105) == ("intervene", "error_storm")
    assert "%" in words(scene, 2_105)


def test_a_few_errors_are_none() -> None:
    scene = recorded()
    failing(scene, 1_804, 2_404, of_ten=0)
    scene.progress(2_405, 1_600, 1_500, errors=12)
    assert judged(scene, 2_410)[0] == "wait"


def test_a_tenth_that_fails_is_watched() -> None:
    scene = recorded()
    failing(scene, 1_804, 2_404, of_ten=1)
    assert judged(scene, 2_405) == ("watch", "errors_rising")


def test_a_batch_that_fails_once_is_no_storm() -> None:
    scene = recorded()
    scene.progress(1_802, 1_000, 1_500, errors=150)
    goes_on(scene, 1_804, 1_900)
    assert judged(scene, 1_901) == ("watch", "errors_rising")


def test_attempts_that_fail_without_end_are_a_storm() -> None:
    scene = recorded()
    for second in range(1_804, 2_104, 4):
        scene.decode(second)
        text = "".join(
            f'{{"t":"{after(second).isoformat()}","event":"error","dataset":"B3_magicoder","id":"{second}-{place}",'
            '"kind":"http_500","attempt":1,"final":false,"message":"internal error"}\n'
            for place in range(3)
        )
        scene.tracker.feed(Source.PROGRESS, text.encode(), after(second))
    assert judged(scene, 2_105) == ("intervene", "error_storm")
    assert "tried again" in words(scene, 2_105)


def test_a_job_that_says_that_the_server_fails() -> None:
    scene = recorded()
    scene.job(1_802, "  ERROR: Server fails: 20 prompts in a row failed (http_500); one is tried at a time")
    for second in range(1_804, 1_900, 4):
        scene.decode(second)
    assert judged(scene, 1_830)[1] != "error_storm"
    assert judged(scene, 1_901) == ("intervene", "error_storm")
    scene.job(1_910, "  Server is back: it completes requests again")
    for second in range(1_912, 2_300, 4):
        scene.decode(second)
    assert judged(scene, 2_301)[0] == "wait"


def test_a_job_that_does_not_reach_the_server() -> None:
    scene = recorded()
    scene.job(1_802, "  WARNING: Server gone: connection refused")
    assert judged(scene, 1_810)[1] != "server_down"
    assert judged(scene, 1_840) == ("intervene", "server_down")
    scene.job(1_850, "  Server is back: it answers again")
    scene.decode(1_852)
    assert judged(scene, 1_853)[0] == "wait"


# Health -------------------------------------------------------------------------------------------------------------

BUSY = HealthProbe("/health", ok=False, status=503, latency_s=1.0, error="HTTP 503.")


def seen(scene: Scene) -> Scene:
    scene.tracker.note(LinkFact("up"), after(-700))
    scene.tracker.note(ProcessFact(alive=True, pid=9, started_at=after(-1)), after(1_795))
    return scene


def test_a_503_during_long_prefills_is_no_dead_server() -> None:
    scene = seen(recorded())
    for second in range(1_800, 1_900, 15):
        scene.tracker.note(BUSY, after(second))
    assert judged(scene, 1_900)[1] != "server_down"


def test_health_that_comes_and_goes() -> None:
    scene = seen(recorded())
    for place, second in enumerate(range(1_804, 2_404, 60)):
        scene.tracker.note(OK if place % 2 else SILENT, after(second))
        for step in range(0, 60, 4):
            scene.decode(second + step)
    assert judged(scene, 2_404) == ("watch", "health_flapping")
    assert "Signs of life, for:" in words(scene, 2_404)


# Budgets, resuming, scripts, lengths --------------------------------------------------------------------------------


def at_work(line: str, *, plan: Plan = PLAN, before: tuple[str, ...] = ()) -> Scene:
    """A job that has begun B3 with these words."""
    scene = Scene(plan)
    scene.ready()
    scene.job(0, *announcement("B3_magicoder"), "  B3_magicoder: 10000 prompts tokenized", *before, line)
    for second in range(4, 120, 4):
        scene.decode(second)
    return scene


RUNNING = "  Running 10000 requests (concurrency=150, max_tokens=10240, token_budget=10,000,000)..."


def test_what_was_in_flight_may_go_beyond_the_budget() -> None:
    scene = at_work(RUNNING)
    scene.progress(200, 4_990, 2_000)
    scene.progress(300, 5_040, 2_000)
    scene.decode(304, running=50, queue=40)
    assert judged(scene, 305)[0] == "wait"
    scene.progress(400, 5_140, 2_010)
    scene.decode(404, running=10, queue=0, usage=0.2)
    assert judged(scene, 405)[0] == "wait"


def test_new_requests_after_the_budget_is_met_are_over_it() -> None:
    scene = at_work(RUNNING)
    scene.progress(200, 4_990, 2_000)
    scene.progress(300, 5_010, 2_000)
    scene.progress(400, 5_060, 2_000)
    scene.decode(404, running=50, queue=100)
    assert judged(scene, 405) == ("intervene", "over_budget")
    assert "over its budget" in words(scene, 405)


def test_more_completions_than_were_in_flight_are_over_the_budget() -> None:
    scene = at_work(RUNNING)
    for second, done in ((200, 4_990), (300, 5_010), (400, 5_100), (500, 5_170)):
        scene.progress(second, done, 2_000)
    scene.decode(504, running=20, queue=0)
    assert judged(scene, 505) == ("intervene", "over_budget")


def test_what_a_printed_mean_rounds_away_is_not_over_the_budget() -> None:
    scene = at_work(RUNNING.replace("10000", "400000"), plan=Plan())
    for second, done in ((200, 333_300), (300, 333_400), (400, 333_500), (500, 333_600)):
        scene.progress(second, done, 30, total=400_000)  # a mean of 29.6 would be printed like that
    scene.decode(504, running=50, queue=100)
    assert judged(scene, 505)[0] != "intervene"
    scene.progress(600, 339_500, 30, total=400_000)
    scene.progress(700, 339_600, 30, total=400_000)
    scene.decode(704, running=50, queue=100)
    assert judged(scene, 705) == ("intervene", "over_budget")


def test_a_dataset_whose_budget_was_met_is_not_begun_again() -> None:
    scene = at_work(
        "  Running 5000 requests (concurrency=150, max_tokens=10240, token_budget=10,000,000)...",
        before=("  Resuming: 5000 already done (10,100,000 tokens)",),
    )
    assert judged(scene, 121) == ("intervene", "over_budget")


def test_a_script_without_the_planned_budget_is_the_wrong_one_and_then_over_it() -> None:
    scene = at_work("  Running 10000 requests (concurrency=150, max_tokens=10240)...")
    assert judged(scene, 121) == ("intervene", "wrong_script")
    assert "10,000,000" in words(scene, 121)
    scene.progress(200, 5_020, 2_000)
    scene.decode(204)
    assert judged(scene, 205) == ("intervene", "over_budget")


def planned(**changes: object) -> Plan:
    one = PlannedDataset("B3_magicoder", 10_000, BUDGET, "SHORT", 150, 10_240)
    return Plan(datasets=(replace(one, **changes),), host="gpu01")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("plan", "cause"),
    [
        (planned(), "kv_limited"),
        (planned(concurrency=None, max_tokens=None, budget=None, prompts=None), "kv_limited"),
        (planned(prompts=10_400), "kv_limited"),
        (planned(prompts=30_000), "wrong_script"),
        (planned(budget=2_000_000), "wrong_script"),
        (planned(concurrency=32), "wrong_script"),
        (planned(max_tokens=16_384), "wrong_script"),
        (planned(name="B4_other"), "kv_limited"),
    ],
)
def test_what_the_job_prints_against_the_plan(plan: Plan, cause: str) -> None:
    scene = at_work(RUNNING, plan=plan)
    scene.progress(100, 20, 1_000)
    assert judged(scene, 121)[1] == cause


def test_a_process_that_names_no_budget_where_a_former_one_kept_to_it() -> None:
    scene = at_work(RUNNING, plan=NO_PLAN)
    scene.job(
        200,
        *announcement("B3_magicoder"),
        "  B3_magicoder: 10000 prompts tokenized",
        "  Running 10000 requests (concurrency=150, max_tokens=10240)...",
    )
    scene.decode(210)
    assert judged(scene, 211) == ("intervene", "wrong_script")


def test_a_list_that_leaves_out_what_was_planned() -> None:
    scene = Scene()
    scene.ready()
    said = f'{{"t":"{after(0).isoformat()}","event":"run_started","pid":7,"datasets":["B1_glaive","B2_dialogue"]}}\n'
    scene.tracker.feed(Source.PROGRESS, said.encode(), after(0))
    assert judged(scene, 10) == ("intervene", "wrong_script")
    assert "B4_longdocs" in words(scene, 10)


@pytest.mark.parametrize(
    ("digest", "cause"), [("ab" * 32, "kv_limited"), ("AB" * 32, "kv_limited"), ("cd" * 32, "wrong_script")]
)
def test_a_script_with_another_digest(digest: str, cause: str) -> None:
    scene = at_work(RUNNING, plan=replace(planned(), script_sha256=digest))
    scene.progress(100, 20, 1_000)
    scene.tracker.note(LinkFact("up"), after(-10))
    scene.tracker.note(ProcessFact(alive=True, pid=9, started_at=after(-1), script_sha256="ab" * 32), after(110))
    assert judged(scene, 121)[1] == cause


def test_a_process_that_begins_at_nothing_again() -> None:
    scene = at_work(RUNNING)
    scene.progress(200, 3_000, 1_500)
    scene.job(300, *announcement("B3_magicoder"), "  B3_magicoder: 10000 prompts tokenized", RUNNING)
    scene.decode(310)
    assert judged(scene, 311) == ("intervene", "resume_broken")
    assert "3,000 prompts" in words(scene, 311)


@pytest.mark.parametrize(
    "resumed", ["  Resuming: 3000 already done (4,500,000 tokens)", "  Resuming: 2990 already done (4,480,000 tokens)"]
)
def test_a_process_that_resumes_is_well(resumed: str) -> None:
    scene = at_work(RUNNING)
    scene.progress(200, 3_000, 1_500)
    left = "  Running 7000 requests (concurrency=150, max_tokens=10240, token_budget=10,000,000)..."
    scene.job(300, *announcement("B3_magicoder"), "  B3_magicoder: 10000 prompts tokenized", resumed, left)
    scene.decode(310)
    assert judged(scene, 311)[0] == "wait"


def test_a_process_that_leaves_out_what_is_done_without_a_word_is_well() -> None:
    scene = at_work(RUNNING)
    scene.progress(200, 3_000, 1_500)
    left = "  Running 7000 requests (concurrency=150, max_tokens=10240, token_budget=10,000,000)..."
    scene.job(300, *announcement("B3_magicoder"), "  B3_magicoder: 10000 prompts tokenized", left)
    scene.decode(310)
    assert judged(scene, 311)[0] == "wait"


def test_another_run_after_one_that_did_everything_is_no_broken_resume() -> None:
    scene = at_work(RUNNING, plan=planned())
    scene.job(
        200,
        "  B3_magicoder: done 10000 (0 err), 9,902,311 tokens in 3.21h",
        "All datasets done: 1 datasets, 9,902,311 tokens in 3.21h",
    )
    scene.job(300, *announcement("B3_magicoder"), "  B3_magicoder: 10000 prompts tokenized", RUNNING)
    scene.decode(310)
    assert judged(scene, 311)[0] == "wait"


def completions(scene: Scene, marks: tuple[tuple[int, int, int], ...], *, limit: int = 10_240) -> Scene:
    del limit
    for second, done, mean in marks:
        scene.progress(second, done, mean)
        scene.decode(second + 4)
    return scene


@pytest.mark.parametrize(
    ("line", "marks", "found"),
    [
        # they end by themselves
        (RUNNING, ((200, 50, 900), (300, 100, 1_500), (400, 200, 1_900)), ("wait", "kv_limited")),
        # from the first on, all at the limit: watched, then sure
        (RUNNING, ((200, 50, 10_240),), ("watch", "runaway_completions")),
        (RUNNING, ((200, 50, 10_240), (300, 100, 10_240), (400, 150, 10_240)), ("intervene", "runaway_completions")),
        # two thousand tokens at first, the newest fifty all at the limit
        (RUNNING, ((200, 500, 2_000), (300, 550, 2_749)), ("intervene", "runaway_completions")),
        # a small limit is meant to cut
        (RUNNING.replace("10240", "256"), ((200, 50, 250), (300, 100, 250), (400, 300, 250)), ("wait", "kv_limited")),
        # the last ones of a dataset are its longest
        (RUNNING, ((200, 9_800, 900), (300, 9_860, 957)), ("wait", "kv_limited")),
    ],
)
def test_completions_that_run_into_the_limit(
    line: str, marks: tuple[tuple[int, int, int], ...], found: tuple[str, str]
) -> None:
    scene = completions(at_work(line, plan=NO_PLAN), marks)
    assert judged(scene, marks[-1][0] + 5) == found


@pytest.mark.parametrize(("capped", "found"), [(10, "wait"), (120, "intervene")])
def test_completions_that_run_into_the_limit_by_their_own_word(capped: int, found: str) -> None:
    scene = at_work(RUNNING)
    rows = []
    for place in range(200):
        reason, made = ("length", 10_240) if place >= 200 - capped else ("stop", 1_800)
        rows.append(
            f'{{"event":"completion","t":"{after(120 + place).isoformat()}","dataset":"B3_magicoder","id":"{place}",'
            f'"completion_tokens":{made},"prompt_tokens":800,"finish_reason":"{reason}","seconds":9.5,"attempt":1}}\n'
        )
    scene.tracker.feed(Source.PROGRESS, "".join(rows).encode(), after(321))
    scene.decode(322)
    assert judged(scene, 323)[0] == found


# Clocks, logs that are not seen, the end that slips -----------------------------------------------------------------


def test_a_clock_that_jumps_ahead_under_a_server_that_works() -> None:
    scene = recorded()
    goes_on(scene, 5_404, 5_424, progress=False)
    found = verdict(scene, 5_425)
    assert (found.verdict.value, found.cause) == ("watch", "clock_jump")
    assert "1 h" in found.headline
    goes_on(scene, 5_424, 6_500)
    assert judged(scene, 6_501)[0] == "wait"


def test_a_true_silence_is_no_jump() -> None:
    scene = recorded()
    scene.decode(5_404, tok_s=0.3)
    scene.decode(5_408)
    scene.progress(5_409, 1_000, 1_500)
    assert judged(scene, 5_410)[1] != "clock_jump"


def test_a_clock_that_is_set_back() -> None:
    scene = recorded()
    for second in range(1_804, 2_404, 4):
        scene.decode(second - 3_600, seen=second)
        if second % 120 == 0:
            scene.job(
                second - 3_600, f"  {900 + second}/9998 (0 err) 0.4 req/s avg_comp=1500tok tot=0.1M ETA=1h", seen=second
            )
    found = verdict(scene, 2_405)
    assert (found.verdict.value, found.cause) == ("watch", "clock_jump")
    assert "set back by about 5" in found.headline


def test_a_server_that_is_not_seen_any_more_is_not_spoken_of_as_if_it_were() -> None:
    scene = seen(recorded())
    for source in (Source.SERVER, Source.JOB):
        scene.tracker.note(SourceFact(source, "following", f"/srv/{source}.log"), after(-700))
    scene.tracker.note(SourceFact(Source.SERVER, "unreadable", "/srv/server.log", "Permission denied."), after(1_801))
    done = 1_000
    for second in range(1_920, 2_800, 120):
        done += 60
        scene.progress(second, done, 1_500)
    assert judged(scene, 2_770) == ("watch", "log_quiet")
    assert "Permission denied" in words(scene, 2_770)


def test_a_job_whose_next_line_is_long_due() -> None:
    scene = recorded()
    goes_on(scene, 1_804, 2_500, progress=False)
    assert judged(scene, 2_501)[0] == "wait"
    goes_on(scene, 2_504, 2_900, progress=False)
    assert judged(scene, 2_901) == ("watch", "log_quiet")


# Thresholds and words -----------------------------------------------------------------------------------------------


def test_thresholds_are_the_trackers_own() -> None:
    def stalled(limits: Limits) -> str:
        scene = Scene()
        scene.tracker = Tracker(PLAN, limits=limits)
        scene.begin()
        scene.progress(100, 50, 1_000)
        for second in range(104, 200, 4):
            scene.decode(second)
        return judged(scene, 300)[1]

    assert stalled(Limits()) == "kv_limited"
    assert stalled(Limits(stall_s=60.0)) == "server_stalled"


def test_the_words_of_a_kv_limited_run() -> None:
    scene = Scene()
    scene.ready()
    scene.begin()
    for second in range(8, 200, 4):
        scene.decode(second, running=150, queue=0, tok_s=2_370, usage=0.5)
    for second in range(200, 2_400, 4):
        scene.decode(second, tok_s=846)
        if second % 120 == 0:
            scene.progress(second, second // 2, 1_500)
    found = verdict(scene, 2_401)
    assert found.cause == "kv_limited"
    said = " ".join(found.evidence)
    assert "150 requests are in flight and 50 run: the KV cache (0.82) admits no more." in said
    assert "More concurrency would only lengthen the queue; less would not speed anything up." in said
    assert "846 tok/s is 36 % of this server's peak of 2,370 tok/s" in said


def test_fewer_requests_a_second_because_answers_grow() -> None:
    scene = Scene()
    scene.ready()
    scene.begin()
    done = 0.0
    for second in range(8, 1_804, 4):
        scene.decode(second)
        mean = 700 if second < 1_200 else 2_100
        done += 4 * 846 / mean
        if second % 120 == 0:
            made = 846 * second
            scene.progress(second, round(done), round(made / done))
    found = verdict(scene, 1_805)
    assert (found.verdict.value, found.cause) == ("wait", "completions_growing")
    assert "stayed 846 tok/s" in " ".join(found.evidence)


CASES: tuple[tuple[str, Callable[[], Scene], float], ...] = (
    ("healthy", recorded, 1_801),
    ("seen", lambda: seen(recorded()), 1_801),
)


@pytest.mark.parametrize(("name", "make", "at"), CASES, ids=[name for name, *_ in CASES])
def test_a_healthy_run_offers_nothing(name: str, make: Callable[[], Scene], at: float) -> None:
    del name
    assert verdict(make(), at).options == ()


@pytest.mark.parametrize(
    ("sent", "together"),
    [
        ([], 0),
        ([(63, 150)], 63),
        ([(63, 150), (150, 150)], 150),  # the second has just begun, and is taken for full
        ([(150, 150), (32, 32)], 150),
        ([(150, None), (32, 32)], 182),  # a limit that is not known limits nothing
    ],
)
def test_datasets_that_overlap_share_their_places(sent: list[tuple[int, int | None]], together: int) -> None:
    assert sent_together(sent) == together
