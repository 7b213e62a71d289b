"""What the settings say of a run before its logs do."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from console.job.plan import Plan, PlannedDataset

if TYPE_CHECKING:
    from console.config import Settings


def plan_of(settings: Settings) -> Plan:
    """What the settings say of the run before its logs do."""
    datasets = tuple(PlannedDataset(d.name, d.prompts, d.budget, d.kind) for d in settings.datasets)
    plan = Plan(datasets=datasets, host=settings.host, engine=settings.server.engine)
    return plan if settings.timezone is None else replace(plan, zone=ZoneInfo(settings.timezone))
