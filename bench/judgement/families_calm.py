"""Healthy runs in which something looks like a fault: no alarm is due."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bench.judgement.families import draw_datasets, draw_job, draw_server, healthy, speed_of
from bench.judgement.laws import LengthLaw, dice_of
from bench.judgement.spec import DatasetSpec, FaultSpec, JobSpec, RunSpec

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random


def calm(kind: str, seed: int) -> RunSpec:
    """A healthy run of 3 to 7 hours with one such thing.

    Args:
        kind: One of ``CALM``.
        seed: Of everything.
    """
    dice = dice_of("calm", kind, seed)
    server, job = draw_server(dice), draw_job(dice)
    spec = RunSpec(seed, f"calm:{kind}", server, job, draw_datasets(dice, server, dice.uniform(3, 7)))
    return CALM[kind](spec, dice)


def _each(spec: RunSpec, **changes: object) -> RunSpec:
    return replace(spec, datasets=tuple(replace(each, **changes) for each in spec.datasets))  # type: ignore[arg-type]  # fields by name


def _bursts(spec: RunSpec, dice: Random) -> RunSpec:
    return _each(spec, bursts=dice.uniform(0.1, 0.3))


def _switches(spec: RunSpec, dice: Random) -> RunSpec:
    """Many short datasets, each with minutes of tokenizing before it."""
    one = spec.datasets[0]
    count = dice.randint(8, 14)
    prompts = max(3 * one.concurrency, one.prompts // count)
    datasets = tuple(
        replace(one, name=f"S{number}", prompts=prompts, budget=None, done_before=0, tokens_before=0, load_s=load)
        for number, load in enumerate(dice.uniform(60, 400) for _ in range(count))
    )
    return replace(spec, datasets=datasets)


def _tail(spec: RunSpec, dice: Random) -> RunSpec:
    """A few answers run to the cap, while the others are short: at the end one or two run alone for long."""
    datasets = tuple(
        replace(
            each,
            law=LengthLaw("mixture", 400.0, 0.5, second=2.0 * each.max_tokens, share=dice.uniform(0.005, 0.02)),
            prompts=max(3 * each.concurrency, each.prompts),
            budget=None,
            done_before=0,
            tokens_before=0,
        )
        for each in spec.datasets[:2]
    )
    return _sized(replace(spec, datasets=datasets), 4.0)


def _first_batch(spec: RunSpec, dice: Random) -> RunSpec:
    """All first answers are long: the first progress line is late."""
    datasets = tuple(
        replace(
            each,
            law=LengthLaw("fixed", 0.6 * each.max_tokens, dice.uniform(0.05, 0.15)),
            done_before=0,
            tokens_before=0,
        )
        for each in spec.datasets[:3]
    )
    return _sized(replace(spec, datasets=datasets), 6.0)


def _sized(spec: RunSpec, hours: float) -> RunSpec:
    """With as many prompts as take about so many hours together."""
    datasets = []
    for each in spec.datasets:
        speed = speed_of(spec.server, each.law, each.max_tokens, each.concurrency, each.prompt_mean)
        mean, _ = each.law.capped_mean(each.max_tokens)
        prompts = max(2 * each.concurrency, round(hours * 3600 / len(spec.datasets) * speed / mean))
        datasets.append(replace(each, prompts=prompts, budget=None))
    return replace(spec, datasets=tuple(datasets))


def _kv_full(spec: RunSpec, dice: Random) -> RunSpec:
    """Admission is bold, so that the pool is full to the brim and requests are retracted now and then."""
    server = replace(
        spec.server, pool=round(120_000 / spec.server.ranks), ratio_floor=dice.uniform(0.02, 0.05), clip=2048
    )
    return replace(spec, server=server)


def _errors(spec: RunSpec, dice: Random) -> RunSpec:
    return _each(spec, bad=dice.uniform(0.000_5, 0.003))


def _loading(spec: RunSpec, dice: Random) -> RunSpec:
    return _each(spec, load_s=dice.uniform(600, 1800))


def _restart(spec: RunSpec, dice: Random) -> RunSpec:
    at = dice.uniform(3000, 9000)
    return replace(spec, events=(FaultSpec("operator_restart", at, span_s=dice.uniform(30, 300)),))


def _health(spec: RunSpec, dice: Random) -> RunSpec:
    return replace(spec, server=replace(spec.server, access_s=60.0, health_noise=dice.uniform(0.05, 0.15)))


def _late(spec: RunSpec, dice: Random) -> RunSpec:
    return replace(spec, server=replace(spec.server, late=dice.uniform(0.005, 0.03)))


def _vllm(spec: RunSpec, _: Random) -> RunSpec:
    return replace(spec, server=replace(spec.server, engine="vllm", page=16, max_running=256))


def _ranks(spec: RunSpec, dice: Random) -> RunSpec:
    ranks = dice.choice((4, 8))
    pool = round(spec.server.pool * spec.server.ranks / ranks)
    return replace(spec, server=replace(spec.server, ranks=ranks, pool=max(40_000, pool)))


def _no_stamps(spec: RunSpec, _: Random) -> RunSpec:
    return replace(spec, job=replace(spec.job, stamps=False))


def _no_plan(spec: RunSpec, _: Random) -> RunSpec:
    return replace(spec, job=replace(spec.job, plan_datasets=False))


def _roomy(spec: RunSpec, dice: Random) -> RunSpec:
    """The pool is never full: concurrency is the limit, as is right for long prompts on a large server."""
    return replace(
        spec,
        server=replace(spec.server, pool=round(2_500_000 / spec.server.ranks)),
        datasets=tuple(replace(each, concurrency=dice.choice((16, 24, 32))) for each in spec.datasets),
    )


def _founding(spec: RunSpec, dice: Random) -> RunSpec:
    """The run that this program was made for, at a tenth of its length: eight datasets, 150 and 32 at a time."""
    means = [dice.uniform(900, 3200) for _ in range(8)]
    datasets = tuple(
        DatasetSpec(
            f"B{number + 1}",
            "LONG" if number == 7 else "SHORT",  # noqa: PLR2004 - the last of eight
            10_000 if number < 7 else 3_288,  # noqa: PLR2004 - as above
            1_500_000,
            32 if number == 7 else 150,  # noqa: PLR2004 - as above
            16_384 if number == 7 else 10_240,  # noqa: PLR2004 - as above
            LengthLaw("lognormal", mean, dice.uniform(0.7, 1.1)),
        )
        for number, mean in enumerate(means)
    )
    server = replace(spec.server, pool=140_000, ranks=1, step_s=0.0092, request_s=0.000_83, token_s=6e-8, page=1)
    return replace(spec, server=server, job=JobSpec(), datasets=datasets)


def _smooth_end(spec: RunSpec, _: Random) -> RunSpec:
    """An ordinary one, looked at for an hour after its end."""
    return replace(spec, after_s=3600.0)


CALM: dict[str, Callable[[RunSpec, Random], RunSpec]] = {
    "prefill_bursts": _bursts,
    "dataset_switch": _switches,
    "tail": _tail,
    "first_batch": _first_batch,
    "kv_full": _kv_full,
    "few_errors": _errors,
    "slow_loading": _loading,
    "operator_restart": _restart,
    "health_noise": _health,
    "late_lines": _late,
    "vllm": _vllm,
    "ranks": _ranks,
    "no_stamps": _no_stamps,
    "no_plan": _no_plan,
    "roomy": _roomy,
    "founding": _founding,
    "after_end": _smooth_end,
}
"""What looks like a fault and is none."""

__all__ = ["CALM", "calm", "healthy"]
