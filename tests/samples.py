"""Example snapshots for tests of the screen: the founding run's eight datasets at seven moments, fixed times.

Every function gives a plain ``Snapshot``; nothing is computed, so that a picture changes only when its code does.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from console.job.machine_facts import GpuReading
from console.job.machine_view import MachineView
from console.job.snapshot import (
    DatasetState,
    DatasetView,
    Eta,
    HealthView,
    JobView,
    Judgement,
    LinkView,
    LogView,
    ServerView,
    Snapshot,
    Verdict,
)

NOW = datetime(2026, 2, 24, 3, 19, 40, tzinfo=UTC)
"""The moment of every sample."""

HOST = "gpu01"
"""The host's name as the operator wrote it."""

GIB = 1024.0**3
"""Bytes."""

BUDGET = 10_000_000
"""Output tokens that each dataset may make."""

_SIZES = (
    ("B1_glaive", "SHORT", 12_000),
    ("B2_dialogue", "SHORT", 10_000),
    ("B3_magicoder", "SHORT", 10_000),
    ("B4_reasoning", "SHORT", 12_000),
    ("B5_mathematics", "SHORT", 12_000),
    ("B6_science", "SHORT", 11_000),
    ("B7_summaries", "SHORT", 12_000),
    ("B8_longdocs", "LONG", 4_288),
)


def _ago(**parts: float) -> datetime:
    return NOW - timedelta(**parts)


def _in(**parts: float) -> datetime:
    return NOW + timedelta(**parts)


def waiting() -> tuple[DatasetView, ...]:
    """The eight datasets before anything is known of them but the plan."""
    return tuple(DatasetView(name, kind=kind, total=total, budget=BUDGET) for name, kind, total in _SIZES)


def _skipped(view: DatasetView, done: int, tokens: int) -> DatasetView:
    return replace(
        view,
        state=DatasetState.SKIPPED,
        done=done,
        done_before=done,
        tokens=tokens,
        mean_completion_tokens=tokens / done,
        updated_at=_ago(hours=2, minutes=19),
    )


def _running_third(view: DatasetView, **figures: object) -> DatasetView:
    base = replace(
        view,
        state=DatasetState.RUNNING,
        done=3_452,
        done_before=2,
        in_flight=150,
        errors=0,
        tokens=6_904_000,
        mean_completion_tokens=1_998.0,
        requests_per_s=0.42,
        concurrency=150,
        max_tokens=10_240,
        eta=_in(hours=1, minutes=1),
        updated_at=_ago(seconds=41),
    )
    return replace(base, **figures)  # type: ignore[arg-type]


def _healthy_datasets() -> tuple[DatasetView, ...]:
    first, second, third, *rest = waiting()
    ends = (4.3, 7.6, 10.9, 14.2, 17.43)
    return (
        _skipped(first, 7_312, 10_004_221),
        _skipped(second, 6_120, 10_001_870),
        _running_third(third),
        *(replace(view, eta=_in(hours=hours)) for view, hours in zip(rest, ends, strict=True)),
    )


def _wave(length: int = 60) -> tuple[float | None, ...]:
    return tuple(846.0 + ((step * 37) % 29 - 14) * 1.3 for step in range(length))


def _server() -> ServerView:
    return ServerView(
        engine="sglang",
        phase="ready",
        running=50,
        queue=98,
        token_usage=0.82,
        gen_throughput=846.3,
        usual_throughput=845.0,
        peak_throughput=864.9,
        retractions=0,
        ranks=1,
        usage_by_rank=(("", 0.82),),
        capacity_tokens=141_312,
        throughput_history=_wave(),
        updated_at=_ago(seconds=1),
    )


def _health() -> HealthView:
    return HealthView(state="ok", path="/health", status=200, latency_s=1.04, checked_at=_ago(seconds=12))


def _link() -> LinkView:
    return LinkView(state="up", since=_ago(hours=2, minutes=25), latency_s=0.038, host=HOST)


def _job() -> JobView:
    return JobView(
        pid=48_213,
        alive=True,
        started_at=_ago(hours=2, minutes=20),
        command="python3 run_inference.py --config batch.json",
        script_sha256="9f2c" * 16,
        checked_at=_ago(seconds=8),
    )


def _logs() -> tuple[LogView, ...]:
    return (
        LogView(
            "server",
            state="following",
            path="/srv/batch/server.log",
            lines=18_204,
            understood=0.97,
            updated_at=_ago(seconds=1),
        ),
        LogView(
            "job",
            state="following",
            path="/srv/batch/run.log",
            lines=88,
            understood=1.0,
            updated_at=_ago(seconds=41),
        ),
    )


def healthy() -> Snapshot:
    """Hours into the run: B1 and B2 skipped, B3 runs, the KV cache is the limit; nothing is to be done."""
    return Snapshot(
        at=NOW,
        verdict=Verdict(
            Judgement.WAIT,
            "kv_limited",
            "Don't intervene: the KV cache is the limit, and the server runs at its usual speed.",
            evidence=(
                "150 requests are in flight and 50 run: the KV cache (0.82) admits no more.",
                "846 tok/s generated, usual for this batch.",
                "0 errors; health answered 12 s ago in 1.0 s.",
            ),
            since=_ago(hours=2, minutes=5),
            next_look=_in(hours=1, minutes=1),
        ),
        eta=Eta(
            at=_in(hours=17, minutes=26),
            low=_in(hours=15, minutes=10),
            high=_in(hours=20, minutes=5),
            basis="53.1 M tokens left at 846 tok/s; 5 datasets have not begun, so the range is wide.",
            tokens_left=53_096_000,
        ),
        datasets=_healthy_datasets(),
        server=_server(),
        health=_health(),
        link=_link(),
        job=_job(),
        logs=_logs(),
    )


def connecting() -> Snapshot:
    """The first frame: the plan is known, the host is not reached yet."""
    return Snapshot(
        at=NOW,
        verdict=Verdict(
            Judgement.BLIND,
            "link_down",
            f"Nothing is known yet: connecting to {HOST}.",
            since=_ago(seconds=2),
        ),
        eta=Eta(basis="Nothing has been seen of the run yet."),
        datasets=waiting(),
        link=LinkView(state="connecting", since=_ago(seconds=2), attempt=1, host=HOST),
        logs=(LogView("server"), LogView("job")),
    )


def starting() -> Snapshot:
    """The server loads, the job has begun B3, and no progress line has come yet."""
    first, second, third, *rest = waiting()
    return Snapshot(
        at=NOW,
        verdict=Verdict(
            Judgement.WAIT,
            "first_progress_pending",
            "Don't intervene: the first batch began all at once, so its first progress line takes minutes.",
            evidence=(
                "150 requests of B3_magicoder were sent 2 min ago; the first progress line comes after 50 completions.",
                "61 tok/s generated so far; 50 requests run, 98 wait.",
            ),
            since=_ago(minutes=2),
            next_look=_in(minutes=3),
        ),
        eta=Eta(basis="No progress line has come yet; the first is expected within 3 min."),
        datasets=(
            _skipped(first, 7_312, 10_004_221),
            _skipped(second, 6_120, 10_001_870),
            replace(
                third,
                state=DatasetState.RUNNING,
                done=2,
                done_before=2,
                tokens=1_012,
                in_flight=150,
                concurrency=150,
                max_tokens=10_240,
                updated_at=_ago(minutes=2),
            ),
            *rest,
        ),
        server=replace(
            _server(),
            gen_throughput=61.2,
            usual_throughput=None,
            peak_throughput=61.2,
            throughput_history=(None,) * 56 + (12.0, 33.5, 48.8, 61.2),
        ),
        health=_health(),
        link=replace(_link(), since=_ago(minutes=4)),
        job=replace(_job(), started_at=_ago(minutes=3)),
        logs=_logs(),
    )


def warned() -> Snapshot:
    """Errors rise: worth a look, no reason to act."""
    calm = healthy()
    return replace(
        calm,
        verdict=Verdict(
            Judgement.WATCH,
            "errors_rising",
            "Keep an eye on it: 37 requests failed in the last 10 min, 4 before that.",
            evidence=(
                "41 errors of 3,452 requests in B3_magicoder (1.2 %).",
                "Most are timeouts of 600 s; the server answers health in 1.0 s.",
                "846 tok/s generated, usual for this batch.",
            ),
            since=_ago(minutes=7),
            next_look=_in(minutes=8),
        ),
        datasets=tuple(
            replace(view, errors=41) if view.state is DatasetState.RUNNING else view for view in calm.datasets
        ),
    )


def intervene() -> Snapshot:
    """The server hangs with requests in flight."""
    calm = healthy()
    return replace(
        calm,
        verdict=Verdict(
            Judgement.INTERVENE,
            "server_stalled",
            "Intervene: the server holds 50 running requests and has made no token for 12 min.",
            evidence=(
                "150 requests are in flight; the server's last report is 12 min old, usual is one in 4 s.",
                "Health has failed since 11 min ago: no answer in 25 s.",
                "The link is up and the server's log is followed, so the silence is the server's.",
            ),
            action="Restart the server, then the job: the job resumes, and the 150 requests in flight are made again.",
            since=_ago(minutes=10),
        ),
        eta=Eta(basis="The server makes no tokens now, so no end can be told."),
        server=replace(_server(), gen_throughput=None, updated_at=_ago(minutes=12)),
        health=HealthView(
            state="failing",
            checked_at=_ago(seconds=9),
            error="No answer in 25 s.",
            failing_since=_ago(minutes=11),
        ),
        logs=(replace(_logs()[0], updated_at=_ago(minutes=12)), replace(_logs()[1], updated_at=_ago(minutes=13))),
    )


def link_lost() -> Snapshot:
    """The connection broke four minutes ago; every figure is that old."""
    calm = healthy()
    old = _ago(minutes=4)
    return replace(
        calm,
        verdict=Verdict(
            Judgement.BLIND,
            "link_down",
            f"The host can't be seen: the link to {HOST} was lost 4 min ago. The job goes on without it.",
            evidence=("The last figures are 4 min old; nothing is concluded from them.",),
            since=old,
            next_look=_in(seconds=18),
        ),
        server=replace(_server(), updated_at=old),
        health=replace(_health(), checked_at=_ago(minutes=4, seconds=11)),
        link=LinkView(
            state="lost",
            since=old,
            reason="The host has not answered for 12 s.",
            attempt=6,
            next_try_at=_in(seconds=18),
            host=HOST,
        ),
        job=replace(_job(), checked_at=_ago(minutes=4, seconds=7)),
        logs=tuple(replace(log, updated_at=old) for log in _logs()),
    )


def finished() -> Snapshot:
    """The whole run is done."""
    ends = (10_004_221, 10_001_870, 10_002_311, 10_000_984, 10_006_102, 10_003_377, 10_001_250, 9_412_008)
    dones = (7_312, 6_120, 4_988, 5_120, 3_790, 5_470, 8_862, 4_280)
    views = [
        replace(
            view,
            state=DatasetState.BUDGET_REACHED,
            done=done,
            tokens=tokens,
            mean_completion_tokens=tokens / done,
            updated_at=_ago(minutes=6),
        )
        for view, done, tokens in zip(waiting(), dones, ends, strict=True)
    ]
    views[0] = replace(views[0], state=DatasetState.SKIPPED)
    views[1] = replace(views[1], state=DatasetState.SKIPPED)
    views[7] = replace(views[7], state=DatasetState.DONE, done=4_280, errors=8)
    return Snapshot(
        at=NOW,
        verdict=Verdict(
            Judgement.WAIT,
            "finished",
            "The run is done: nothing is left to do.",
            evidence=("8 of 8 datasets are done; 79.4 M tokens; 8 errors.",),
            since=_ago(minutes=6),
        ),
        eta=Eta(at=_ago(minutes=6), low=_ago(minutes=6), high=_ago(minutes=6), basis="The run is done.", tokens_left=0),
        datasets=tuple(views),
        server=replace(_server(), running=0, queue=0, token_usage=0.0, gen_throughput=None, updated_at=_ago(minutes=6)),
        health=_health(),
        link=_link(),
        job=JobView(pid=None, alive=False, started_at=_ago(hours=20), checked_at=_ago(seconds=8), finished="done"),
        logs=_logs(),
    )


ALL = {
    "connecting": connecting,
    "starting": starting,
    "healthy": healthy,
    "warned": warned,
    "intervene": intervene,
    "link_lost": link_lost,
    "finished": finished,
}
"""Every sample by name, for parametrised tests."""


def gpus(count: int, **more: object) -> tuple[GpuReading, ...]:
    """So many cards, of a kind; fields by name are the same on each."""
    one = GpuReading(0, "NVIDIA H100 80GB HBM3", 0.97, 74.2 * GIB, 79.6 * GIB, 61.0, 640.0, 700.0)
    return tuple(replace(one, index=number, temperature_c=61.0 + number, **more) for number in range(count))  # type: ignore[arg-type]


def machine(count: int = 8, **more: object) -> MachineView:
    """The host twenty seconds ago, with so many cards; fields by name are put in."""
    known = MachineView(
        at=NOW - timedelta(seconds=20),
        load=(12.3, 11.9, 11.2),
        cores=128,
        memory_total=2000 * GIB,
        memory_available=1600 * GIB,
        disk="/data",
        disk_size=7000 * GIB,
        disk_free=512 * GIB,
        gpus=gpus(count),
        gpus_at=NOW - timedelta(seconds=20),
    )
    return replace(known, **more)  # type: ignore[arg-type]
