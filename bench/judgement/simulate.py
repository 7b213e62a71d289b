"""A run as it would have been recorded, from its description: ``simulate(spec)``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.judgement.faults import arrange
from bench.judgement.truth import SimRun
from bench.judgement.world import World

if TYPE_CHECKING:
    from bench.judgement.spec import RunSpec


def simulate(spec: RunSpec) -> SimRun:
    """Let a run happen; the same description gives the same bytes."""
    world = World(spec)
    limit = arrange(world)
    world.run(limit)
    truth = world.truth
    if truth.fault and truth.end is None:
        truth.watch_until = world.shown(min(limit, world.schedule.now) if world.schedule.over else limit)
    else:
        truth.watch_until = (truth.end if truth.end is not None else world.schedule.now) + spec.after_s
    return SimRun(world.server_log, world.job_log, world.events, config_of(spec), truth)


def config_of(spec: RunSpec) -> dict[str, object]:
    """What the operator's ``longwait.yaml`` says of the run."""
    config: dict[str, object] = {
        "host": "gpu01",
        "server": {"log": "/data/run/server.log"},
        "job": {"log": "/data/run/job.log", "progress": "/data/run/out/progress.jsonl"},
        "timezone": spec.job.zone,
    }
    datasets = []
    for dataset in spec.datasets:
        entry: dict[str, object] = {"name": dataset.name}
        if spec.job.plan_prompts:
            entry["prompts"] = dataset.prompts
        if spec.job.plan_budget and dataset.budget is not None:
            entry["budget"] = dataset.budget
        if spec.job.plan_kind:
            entry["kind"] = dataset.kind
        entry |= dict(spec.plan_changes.get(dataset.name, {}))
        datasets.append(entry)
    if spec.job.plan_datasets:
        config["datasets"] = datasets
    return config
