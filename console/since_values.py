"""What happened since somebody last looked, as plain values: what ``report --since`` prints as JSON. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from console.job.decision import iso

if TYPE_CHECKING:
    from console.job.snapshot import Eta
    from console.job.timeline_changes import Change
    from console.job.timeline_marks import Mark
    from console.since import Since


def since_values(told_since: Since) -> dict[str, Any]:
    """It as plain values, ready for ``json.dumps``: times are ISO 8601 in UTC, the unknown is None."""
    eta = told_since.eta
    return {
        "from": iso(told_since.begin),
        "to": iso(told_since.end),
        "seconds": round(told_since.seconds),
        "happened": told_since.happened,
        "verdict_before": None if told_since.before is None else _change(told_since.before),
        "verdicts": [_change(change) for change in told_since.changes],
        "verdict_now": _change(told_since.now),
        "datasets_began": [_mark(mark) for mark in told_since.began],
        "datasets_ended": [_mark(mark) for mark in told_since.ended],
        "prompts_done": told_since.done,
        "requests_failed": dict(told_since.failed),
        "marks": [_mark(mark) for mark in told_since.marks],
        "link_lost": [{"from": iso(begin), "to": iso(end)} for begin, end in told_since.gaps],
        "not_watched": [{"from": iso(begin), "to": iso(end)} for begin, end in told_since.unwatched],
        "eta": {
            "then": _eta(eta.then if eta else None),
            "now": _eta(eta.now if eta else None),
            "moved_s": None if eta is None or eta.moved_s is None else round(eta.moved_s),
            "reasons": list(eta.reasons) if eta else [],
        },
        "acts": [entry.values() for entry in told_since.acts],
        "notes": [entry.values() for entry in told_since.notes],
    }


def _change(change: Change) -> dict[str, Any]:
    return {
        "at": iso(change.at),
        "verdict": change.verdict.value,
        "cause": change.cause,
        "headline": change.headline or None,
    }


def _mark(mark: Mark) -> dict[str, Any]:
    return {"at": iso(mark.at), "kind": mark.kind.value, "what": mark.what, "name": mark.name or None}


def _eta(eta: Eta | None) -> dict[str, Any]:
    return {
        "eta": iso(eta.at if eta else None),
        "eta_low": iso(eta.low if eta else None),
        "eta_high": iso(eta.high if eta else None),
    }
