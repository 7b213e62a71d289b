"""A reading as it was kept, back as a snapshot: what the console showed at a moment of the past.

The JSON of ``status --json`` is what is kept, since it is stable: what a later version adds is passed over, what an
earlier one lacked is unknown.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

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
    Option,
    ServerView,
    Snapshot,
    Trend,
    Verdict,
)


class NoReading(ValueError):  # noqa: N818 - what it is, for a sentence
    """What was kept is no reading."""


def snapshot_of(values: object) -> Snapshot:
    """The snapshot that a reading was made of, without what a reading leaves out: charts and courses.

    Args:
        values: What ``json.loads`` gave.

    Raises:
        NoReading: It is none.
    """
    try:
        return _snapshot(_mapping(values))
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise NoReading(f"it is no reading ({error})") from error


def _snapshot(values: Mapping[str, Any]) -> Snapshot:
    at = _at(values["at"])
    if at is None:
        raise NoReading("it has no time")
    return Snapshot(
        at=at,
        verdict=Verdict(
            verdict=Judgement(values["verdict"]),
            cause=str(values["cause"]),
            headline=str(values["headline"]),
            evidence=tuple(map(str, values.get("evidence") or ())),
            action=None if values.get("action") is None else str(values["action"]),
            since=_at(values.get("since")),
            next_look=_at(values.get("next_look")),
            options=tuple(map(_option, values.get("options") or ())),
        ),
        eta=_eta(values),
        datasets=tuple(_dataset(_mapping(each)) for each in values.get("datasets") or ()),
        server=_server(_mapping(values.get("server") or {})),
        health=HealthView(**_some(values.get("health"), HealthView, "checked_at", "failing_since")),
        link=LinkView(**{"state": "", **_some(values.get("link"), LinkView, "since", "next_try_at")}),
        job=JobView(**_some(values.get("job"), JobView, "started_at", "checked_at")),
        logs=tuple(_log(_mapping(each)) for each in values.get("logs") or ()),
        machine=_machine(_mapping(values.get("machine") or {})),
    )


def _mapping(values: object) -> Mapping[str, Any]:
    if not isinstance(values, Mapping):
        raise NoReading("it is no object")
    return values


def _at(text: object) -> datetime | None:
    """A time as readings write it."""
    if text is None:
        return None
    at = datetime.fromisoformat(str(text))
    if at.tzinfo is None:
        raise NoReading("a time has no zone")
    return at.astimezone(UTC)


def _number(value: object) -> float | None:
    """A figure; None for what is none."""
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _some(values: object, view: type, *times: str) -> dict[str, Any]:
    """Of an object's values those that a view has, its times as times; unknown ones are left to the view."""
    had = {} if values is None else _mapping(values)
    known = set(view.__dataclass_fields__)  # type: ignore[attr-defined]  # every view is a dataclass
    plain = (str, int, float, bool)
    found = {name: value for name, value in had.items() if name in known - {*times} and isinstance(value, plain)}
    return {**found, **{name: _at(had.get(name)) for name in times}}


def _option(values: object) -> Option:
    return Option(**{"act": "", "words": "", **_some(values, Option)})


def _eta(values: Mapping[str, Any]) -> Eta:
    return Eta(
        at=_at(values.get("eta")),
        low=_at(values.get("eta_low")),
        high=_at(values.get("eta_high")),
        coverage=float(values.get("eta_coverage") or 0.8),
        basis=str(values.get("eta_basis") or ""),
        tokens_left=None if (left := _number(values.get("tokens_left"))) is None else round(left),
        score=str(values.get("eta_score") or ""),
    )


def _dataset(values: Mapping[str, Any]) -> DatasetView:
    found = _some(values, DatasetView, "eta", "eta_low", "eta_high", "updated_at")
    # A reading's ``mean_completion_tokens`` is what all completions are expected to be, its ``mean_finished_tokens``
    # the mean of the finished ones: the contract's names, which differ from the view's.
    found["expected_completion_tokens"] = _number(values.get("mean_completion_tokens"))
    found["mean_completion_tokens"] = _number(values.get("mean_finished_tokens"))
    found["mean_trend"] = next((each for each in Trend if each == values.get("mean_trend")), Trend.UNKNOWN)
    return DatasetView(**{**found, "name": str(values["name"]), "state": DatasetState(values["state"])})


def _server(values: Mapping[str, Any]) -> ServerView:
    usage = _mapping(values.get("usage_by_rank") or {})
    ranks = tuple((str(rank), float(share)) for rank, share in usage.items())
    queues = tuple((str(kind), int(count)) for kind, count in _mapping(values.get("queues") or {}).items())
    return ServerView(**{**_some(values, ServerView, "updated_at"), "usage_by_rank": ranks, "queues": queues})


_BYTES = ("memory_total", "memory_available", "disk_size", "disk_free")
"""Figures of the host that a reading names with their unit."""


def _machine(values: Mapping[str, Any]) -> MachineView:
    """The host; what its GPUs' tool said in its own words is not kept."""
    found = _some(values, MachineView, "at", "disk_full_at", "gpus_at")
    found |= {name: _number(values.get(f"{name}_bytes")) for name in _BYTES}
    load = [float(each) for each in values.get("load") or ()]
    gpus = tuple(_gpu(_mapping(each)) for each in values.get("gpus") or ())
    return MachineView(**{**found, "load": (load[0], load[1], load[2]) if len(load) == _LOADS else None, "gpus": gpus})


_LOADS = 3
"""The means of 1, 5 and 15 minutes."""


def _gpu(values: Mapping[str, Any]) -> GpuReading:
    memory = {name: _number(values.get(f"{name}_bytes")) for name in ("memory_used", "memory_total")}
    return GpuReading(**{**_some(values, GpuReading), **memory, "index": int(values["index"])})


def _log(values: Mapping[str, Any]) -> LogView:
    shapes = tuple((str(each["shape"]), int(each["count"])) for each in values.get("not_understood") or ())
    return LogView(**{**_some(values, LogView, "updated_at"), "source": str(values["source"]), "shapes": shapes})
