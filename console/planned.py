"""What the settings say of a run before its logs do."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from msgspec.structs import asdict

from console.job.limits import Limits
from console.job.plan import Plan, PlannedDataset

if TYPE_CHECKING:
    from console.config import Settings


def plan_of(settings: Settings) -> Plan:
    """What the settings say of the run before its logs do."""
    datasets = tuple(PlannedDataset(**asdict(each)) for each in settings.datasets)
    digest = settings.job.script_sha256 or ""
    plan = Plan(datasets=datasets, host=settings.host, engine=settings.server.engine, script_sha256=digest)
    return plan if settings.timezone is None else replace(plan, zone=ZoneInfo(settings.timezone))


def limits_of(settings: Settings | None) -> Limits:
    """The thresholds of advice that the settings name; the usual ones without settings."""
    return Limits() if settings is None else Limits(**asdict(settings.judgement))
