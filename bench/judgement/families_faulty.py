"""Runs that something goes wrong in, one kind of it each."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bench.judgement.families import draw_datasets, draw_job, draw_server
from bench.judgement.laws import LengthLaw, dice_of
from bench.judgement.spec import FaultSpec, RunSpec

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random


@dataclass(frozen=True, slots=True)
class Fault:
    """A kind of fault, and what is to be said of it.

    Attributes:
        right: Causes that name it.
        least: The least verdict that counts as found: ``watch`` or ``intervene``.
        also: Causes that are true meanwhile, though they do not name it.
        make: Puts it into a run.
        hours: About how long the run would be without it.
    """

    right: frozenset[str]
    least: str
    make: Callable[[RunSpec, Random], RunSpec]
    hours: float = 5.0
    also: frozenset[str] = frozenset()


def faulty(kind: str, seed: int) -> RunSpec:
    """A run with one fault.

    Args:
        kind: One of ``FAULTS``.
        seed: Of everything.
    """
    dice = dice_of("faulty", kind, seed)
    fault = FAULTS[kind]
    server, job = draw_server(dice), draw_job(dice)
    spec = RunSpec(seed, f"fault:{kind}", server, job, draw_datasets(dice, server, fault.hours))
    return fault.make(_fresh(spec), dice)


def _at(kind: str, *variants: str, size: float = 0.0) -> Callable[[RunSpec, Random], RunSpec]:
    """At some time in the run, in one of some variants."""

    def make(spec: RunSpec, dice: Random) -> RunSpec:
        at = dice.uniform(2400, 7200)
        variant = dice.choice(variants) if variants else ""
        return replace(spec, events=(FaultSpec(kind, at, variant, size),))

    return make


def _stalled(spec: RunSpec, dice: Random) -> RunSpec:
    spec = _at("server_stalled", "", "", "watchdog")(spec, dice)
    return replace(spec, server=replace(spec.server, access_s=dice.choice((0.0, 60.0))))


def _down(spec: RunSpec, dice: Random) -> RunSpec:
    return _at("server_down", "crash", "oom", "nccl", "killed", "sigterm")(spec, dice)


def _down_vllm(spec: RunSpec, dice: Random) -> RunSpec:
    server = replace(spec.server, engine="vllm", page=16, max_running=256)
    return replace(_at("server_down", "vllm")(spec, dice), server=server)


def _ramp(spec: RunSpec, dice: Random) -> RunSpec:
    at, span = dice.uniform(3600, 7200), dice.uniform(3600, 3 * 3600)
    return replace(spec, events=(FaultSpec("slow_ramp", at, size=0.7, span_s=span),))


def _storm(spec: RunSpec, dice: Random) -> RunSpec:
    return _at("error_storm", size=dice.choice((0.5, 0.8, 1.0)))(spec, dice)


def _thrash(spec: RunSpec, dice: Random) -> RunSpec:
    """On a server whose pool is the limit, by answers that are long, and whose prefill is dear."""
    laws = (LengthLaw("lognormal", dice.uniform(1_500, 3_000), 0.8) for _ in spec.datasets)
    datasets = tuple(replace(each, law=law, concurrency=150) for each, law in zip(spec.datasets, laws, strict=True))
    spec = replace(spec, datasets=datasets)
    server = replace(spec.server, pool=round(110_000 / spec.server.ranks), prefill_rate=dice.uniform(3_000, 6_000))
    return replace(_at("retraction_thrash", size=dice.uniform(0.6, 0.75))(spec, dice), server=server)


def _over_budget(spec: RunSpec, dice: Random) -> RunSpec:
    """Each dataset holds one and a half to three times what its budget allows."""
    datasets = []
    for each in spec.datasets:
        mean, _ = each.law.capped_mean(each.max_tokens)
        budget = max(50_000, round(each.prompts * mean / dice.uniform(1.5, 3.0)))
        datasets.append(replace(each, budget=budget))
    job = replace(spec.job, prints_budget=False, script="plain", plan_budget=True, progress_s=0.0)
    return replace(spec, job=job, datasets=tuple(datasets), events=(FaultSpec("over_budget"),))


def _fresh(spec: RunSpec) -> RunSpec:
    return replace(spec, datasets=tuple(replace(each, done_before=0, tokens_before=0) for each in spec.datasets))


def _runaway(spec: RunSpec, dice: Random) -> RunSpec:
    spec = replace(spec, limit_s=14 * 3600.0)
    at = -1 if dice.random() < 0.5 or len(spec.datasets) == 1 else 1  # noqa: PLR2004 - half of them
    return replace(spec, events=(FaultSpec("runaway_completions", dice.uniform(2400, 7200), dataset=at),))


def _few(spec: RunSpec, dice: Random) -> RunSpec:
    """The second dataset (or the only one) is sent a handful at a time, on a pool that holds many times as many."""
    number = min(1, len(spec.datasets) - 1)
    server = replace(spec.server, pool=max(spec.server.pool, round(400_000 / spec.server.ranks)))
    event = FaultSpec("concurrency_too_low", size=dice.choice((2, 4, 6)), dataset=number)
    return replace(spec, server=server, events=(event,), limit_s=20 * 3600.0)


def _wrong(spec: RunSpec, dice: Random) -> RunSpec:
    """The config says another budget, or another number of prompts, than the script prints."""
    number = min(1, len(spec.datasets) - 1)
    each = spec.datasets[number]
    mean, _ = each.law.capped_mean(each.max_tokens)
    if dice.random() < 0.5:  # noqa: PLR2004 - half of them
        budget = each.budget or round(each.prompts * mean * 0.6)
        datasets = (*spec.datasets[:number], replace(each, budget=budget), *spec.datasets[number + 1 :])
        changes: dict[str, object] = {"budget": budget * dice.choice((4, 10))}
        spec = replace(spec, datasets=datasets, job=replace(spec.job, plan_budget=True))
    else:
        changes = {"prompts": each.prompts * dice.choice((3, 10))}
        spec = replace(spec, job=replace(spec.job, plan_prompts=True))
    event = FaultSpec("wrong_script", dataset=number)
    return replace(spec, events=(event,), plan_changes={each.name: changes})


def _jump(spec: RunSpec, dice: Random) -> RunSpec:
    return _at("clock_jump", size=dice.choice((-3600.0, 3600.0, -600.0)))(spec, dice)


def _causes(*names: str) -> frozenset[str]:
    return frozenset(names)


_SLOW = _causes("throughput_low", "throughput_collapsed", "eta_slipping")

FAULTS: dict[str, Fault] = {
    "server_stalled": Fault(_causes("server_stalled"), "intervene", _stalled),
    "server_down": Fault(_causes("server_down"), "intervene", _down),
    "server_down_vllm": Fault(_causes("server_down"), "intervene", _down_vllm),
    "job_dead": Fault(_causes("job_dead"), "intervene", _at("job_dead", "traceback", "traceback", "killed", "error")),
    "job_silent": Fault(_causes("job_dead", "job_stalled"), "intervene", _at("job_dead", "silent")),
    "throughput_60": Fault(_SLOW, "watch", _at("throughput_60", size=0.6), 8.0),
    "throughput_30": Fault(_SLOW, "intervene", _at("throughput_30", size=0.3), 8.0),
    "slow_ramp": Fault(_SLOW, "watch", _ramp, 12.0),
    "retraction_thrash": Fault(_causes("retraction_thrash", "throughput_collapsed"), "intervene", _thrash),
    "error_storm": Fault(_causes("error_storm"), "intervene", _storm),
    "over_budget": Fault(_causes("over_budget", "wrong_script"), "intervene", _over_budget, 2.5),
    "resume_broken": Fault(_causes("resume_broken"), "intervene", _at("resume_broken")),
    "runaway_completions": Fault(_causes("runaway_completions"), "intervene", _runaway),
    "disk_full": Fault(_causes("disk_full"), "intervene", _at("disk_full", "", "traceback")),
    "job_restart_loop": Fault(_causes("restart_loop"), "intervene", _at("job_restart_loop"), also=_causes("job_dead")),
    "server_restart_loop": Fault(
        _causes("restart_loop"), "intervene", _at("server_restart_loop"), also=_causes("server_down")
    ),
    "concurrency_too_low": Fault(_causes("concurrency_too_low", "wrong_script"), "intervene", _few, 2.5),
    "wrong_script": Fault(_causes("wrong_script", "over_budget"), "intervene", _wrong, 2.5),
    "clock_jump": Fault(_causes("clock_jump"), "watch", _jump),
}
"""Every kind of fault that logs can show."""
