"""Runs drawn at random: healthy ones, and ones to which something happens."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from bench.judgement.laws import LengthLaw, dice_of
from bench.judgement.spec import DatasetSpec, JobSpec, RunSpec, ServerSpec

if TYPE_CHECKING:
    from random import Random

CAPS = {"SHORT": 10_240, "LONG": 16_384}
"""``max_tokens`` by kind, as the job's script has them."""
_NAMES = ("glaive", "math", "magicoder", "oasst", "tulu", "code", "science", "longform", "chat", "agents")


def healthy(seed: int, hours: float | None = None) -> RunSpec:
    """A run to which nothing happens.

    Args:
        seed: Of everything.
        hours: About how long; None draws it: most 2 to 15 hours, one in eight up to 60.
    """
    dice = dice_of("healthy", seed)
    server = draw_server(dice)
    job = draw_job(dice)
    if hours is None:
        hours = math.exp(dice.uniform(math.log(2), math.log(15))) if dice.random() < 0.875 else dice.uniform(15, 60)  # noqa: PLR2004 - the share named above
    return RunSpec(seed, "healthy", server, job, draw_datasets(dice, server, hours))


def draw_server(dice: Random) -> ServerSpec:
    """A server: its pool limits the batch in most."""
    ranks = dice.choice((1, 1, 1, 1, 2, 4))
    return ServerSpec(
        engine="sglang",
        shape=dice.choice(("0.5.9", "0.5.9", "0.4.6")),
        pool=round(math.exp(dice.uniform(math.log(90_000), math.log(600_000))) / ranks),
        ranks=ranks,
        step_s=dice.uniform(0.008, 0.024) * math.sqrt(ranks),
        request_s=dice.uniform(0.000_3, 0.001_2) * ranks,
        token_s=dice.uniform(1e-8, 1e-7),
        prefill_rate=dice.uniform(6_000, 40_000),
        noise=dice.choice((0.01, 0.02, 0.03, 0.05)),
        noise_tau_s=dice.uniform(60, 900),
        stalls_per_h=dice.choice((0.0, 0.3, 1.0, 3.0)),
        stall_s=dice.uniform(2.0, 12.0),
        page=dice.choice((1, 1, 16, 64)),
        startup_s=dice.choice((0.0, 180.0, 420.0)),
        access_s=dice.choice((0.0, 0.0, 60.0)),
    )


def draw_job(dice: Random) -> JobSpec:
    """A job's script, and what the config knows of the run."""
    current = dice.random() < 0.6  # noqa: PLR2004 - the share of runs with our own script
    return JobSpec(
        script="current" if current else "plain",
        zone=dice.choice(("UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata")),
        progress_s=60.0 if current else 0.0,
        budget_rule="expected" if current else dice.choice(("met", "met", "cut")),
        eta_rule="tokens" if current else "requests",
        plan_kind=dice.random() < 0.8,  # noqa: PLR2004 - as above
        plan_prompts=dice.random() < 0.9,  # noqa: PLR2004 - as above
    )


def draw_law(dice: Random, mean: float, cap: int) -> LengthLaw:
    """A distribution of about this mean."""
    drift = dice.choice((-0.6, -0.3, 0.3, 0.6)) if dice.random() < 0.15 else 0.0  # noqa: PLR2004 - the share that drifts
    shape = dice.choice(
        ("lognormal", "lognormal", "lognormal", "gamma", "weibull", "pareto", "mixture", "capped", "fixed")
    )
    if shape == "capped":
        return LengthLaw("lognormal", cap * dice.uniform(0.5, 0.9), dice.uniform(0.5, 0.9))
    spreads = {
        "lognormal": dice.uniform(0.5, 1.2),
        "gamma": dice.uniform(0.7, 3.0),
        "weibull": dice.uniform(0.7, 1.6),
        "pareto": dice.uniform(1.4, 2.5),
        "mixture": dice.uniform(0.3, 0.6),
        "fixed": dice.uniform(0.04, 0.15),
    }
    law = LengthLaw(shape, mean, spreads[shape], drift=drift)
    if shape != "mixture":
        return law
    share, ratio = dice.uniform(0.1, 0.5), dice.uniform(4.0, 12.0)
    low = mean / (1 - share + share * ratio)
    return LengthLaw("mixture", low, spreads[shape], second=low * ratio, share=share, drift=drift)


def draw_datasets(dice: Random, server: ServerSpec, hours: float) -> tuple[DatasetSpec, ...]:
    """Datasets that take about so many hours together; some end by their budget, some by their prompts."""
    count = min(dice.choice((1, 2, 3, 4, 5, 6, 8, 8, 10)), max(1, int(hours)))
    middle, spread = math.exp(dice.uniform(math.log(500), math.log(3_000))), dice.uniform(0.2, 0.7)
    budgets = dice.random() < 0.7  # noqa: PLR2004 - the share of runs with budgets
    shares = [dice.uniform(0.5, 1.5) for _ in range(count)]
    level = hours * 3600 / sum(shares)
    same = dice.random() < 0.6  # noqa: PLR2004 - the share of these with one budget for all
    made: list[DatasetSpec] = []
    common = 0.0
    for number, share in enumerate(shares):
        kind = "LONG" if dice.random() < 0.25 else "SHORT"  # noqa: PLR2004 - as in benchmark mixes
        concurrency = dice.choice((128, 150, 150, 200, 64)) if kind == "SHORT" else dice.choice((32, 32, 48, 24))
        cap = CAPS[kind]
        mean = middle * math.exp(dice.gauss(0.0, spread)) * (2.2 if kind == "LONG" else 1.0)
        law = draw_law(dice, min(mean, cap * 0.6), cap)
        prompt = dice.choice((150.0, 400.0, 800.0, 1600.0)) * (2.0 if kind == "LONG" else 1.0)
        speed = speed_of(server, law, cap, concurrency, prompt)
        work = share * level * speed
        common = common or work
        budget = (common if same else work) if budgets and dice.random() < 0.9 else None  # noqa: PLR2004 - as above
        expected, _ = law.capped_mean(cap)
        prompts = (budget or work) / expected * (dice.uniform(0.5, 2.5) if budget else 1.0)
        prompts = max(3 * concurrency, round(prompts))
        made.append(
            DatasetSpec(
                f"B{number + 1}_{_NAMES[number % len(_NAMES)]}",
                kind,
                prompts,
                None if budget is None else max(50_000, round(budget / 10_000) * 10_000),
                concurrency,
                cap,
                law,
                prompt_mean=prompt,
                prompt_sigma=dice.uniform(0.2, 0.7),
                prefix=dice.choice((0, 0, 0, 300)),
                load_s=math.exp(dice.uniform(math.log(3), math.log(120))),
                bad=dice.choice((0.0, 0.0, 0.0, 0.000_5)),
            )
        )
    return _resumed(dice, made)


def _resumed(dice: Random, datasets: list[DatasetSpec]) -> tuple[DatasetSpec, ...]:
    """In some runs an earlier process has done a part."""
    from dataclasses import replace  # noqa: PLC0415

    if dice.random() >= 0.2:  # noqa: PLR2004 - the share of resumed runs
        return tuple(datasets)
    whole = dice.randint(0, len(datasets) - 1)
    out = []
    for number, dataset in enumerate(datasets):
        part = 1.0 if number < whole else dice.uniform(0.1, 0.8) if number == whole else 0.0
        mean, _ = dataset.law.capped_mean(dataset.max_tokens)
        total = min(dataset.prompts, (dataset.budget or math.inf) / mean)
        done = min(dataset.prompts, round(total * part))
        tokens = round(done * mean)
        if part == 1.0 and dataset.budget is not None and done < dataset.prompts:
            tokens = max(tokens, dataset.budget + dice.randint(100, 5_000))
        out.append(replace(dataset, done_before=done, tokens_before=tokens))
    return tuple(out)


def speed_of(server: ServerSpec, law: LengthLaw, cap: int, concurrency: int, prompt: float) -> float:
    """About how many tokens a second it makes: for scaling a run, not for judging one."""
    _, age = law.capped_mean(cap)
    holds = prompt + age + server.ratio_floor * min(cap, server.clip)
    each = min(concurrency / server.ranks, 0.95 * server.pool / holds)
    each = max(1.0, each)
    step = server.step_s + server.request_s * each + server.token_s * each * (prompt + age)
    mean, _ = law.capped_mean(cap)
    prefill = each * (prompt / server.prefill_rate + server.prefill_s) / mean
    return server.ranks * each / (step + prefill)
