"""The line shapes of ``run_inference.py``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from console.job.figures import NUMBER, count, magnitude, real, seconds, whole
from console.job.formats import Format, quiet
from console.job.job_events import (
    BudgetLeft,
    DatasetAnnounced,
    DatasetFinished,
    DatasetResumed,
    DatasetSkipped,
    DatasetStarted,
    DatasetTokenized,
    JobZone,
    Progress,
    RunFinished,
    RunStarted,
)
from console.job.runner_notes import NOTE

if TYPE_CHECKING:
    from console.job.events import Event

_PAIR = re.compile(r"([A-Za-z_]{1,30})=([^\s,)]{1,30}(?:,[0-9]{3})*)")
_RATE = re.compile(r"([0-9.]{1,16}) req/s")


def _pairs(text: str) -> dict[str, str]:
    """``key=value`` pairs, each by itself: a key that is missing or cut takes no other with it."""
    return {key: value.rstrip(".") for key, value in _PAIR.findall(text)}


def _announced(found: re.Match[str]) -> tuple[Event, ...]:
    return (DatasetAnnounced(found["name"], found["kind"] or ""),)


def _tokenized(found: re.Match[str]) -> tuple[Event, ...]:
    return (DatasetTokenized(found["name"], count(found["total"])),)


def _resumed(found: re.Match[str]) -> tuple[Event, ...]:
    return (DatasetResumed("", count(found["done"]), count(found["tokens"])),)


def _started(found: re.Match[str]) -> tuple[Event, ...]:
    said = _pairs(found["rest"])
    numbers = (whole(said.get(key)) for key in ("concurrency", "max_tokens", "token_budget"))
    return (DatasetStarted("", count(found["requests"]), *numbers),)


def _left(found: re.Match[str]) -> tuple[Event, ...]:
    left = count(found["left"])
    return (BudgetLeft("", count(found["tokens"]), -left if found["minus"] else left),)


def _progress(found: re.Match[str]) -> tuple[Event, ...]:
    said = _pairs(found["rest"])
    rate = _RATE.search(found["rest"])
    tokens = magnitude(said.get("tot"))
    return (
        Progress(
            found.groupdict().get("name", ""),
            count(found["done"]),
            count(found["total"]),
            count(found["errors"]),
            requests_per_s=real(rate[1]) if rate else None,
            mean_completion_tokens=real(said.get("avg_comp", "").removesuffix("tok")),
            tokens=None if tokens is None else round(tokens),
            eta_s=seconds(said.get("ETA")),
        ),
    )


def _finished(found: re.Match[str]) -> tuple[Event, ...]:
    why = (found["why"] or "").lower()
    reason = "budget" if "budget" in why else "stopped" if "stop" in why else "errors" if "error" in why else "all_done"
    return (
        DatasetFinished(
            found["name"],
            count(found["done"]),
            count(found["errors"]),
            whole(found["tokens"]),
            seconds(found["took"]),
            reason,
        ),
    )


def _budget_met(found: re.Match[str]) -> tuple[Event, ...]:
    return (DatasetSkipped(found["name"], "budget", tokens=whole(found["tokens"]), budget=whole(found["budget"])),)


def _all_done(found: re.Match[str]) -> tuple[Event, ...]:
    total = whole(found["total"])
    return (DatasetSkipped(found["name"], "all_done", done=total, total=total),)


def _zone(found: re.Match[str]) -> tuple[Event, ...] | None:
    offset = int(found["hours"]) * 3600 + int(found["minutes"] or 0) * 60
    if offset >= 24 * 3600:
        return None
    return (JobZone(found["name"].strip(), -offset if found["sign"] in "-\u2212" else offset),)


def _run_started(found: re.Match[str]) -> tuple[Event, ...]:
    return (RunStarted(whole(found["pid"])),)


def _done(_: re.Match[str]) -> tuple[Event, ...]:
    return (RunFinished("done"),)


def _stopped(_: re.Match[str]) -> tuple[Event, ...]:
    return (RunFinished("stopped"),)


_NAME = r"^\s*(?P<name>\S(?:.*\S)?)"

FORMATS = (
    Format(
        "progress",
        " err)",
        re.compile(rf"^\s*(?P<done>{NUMBER})/(?P<total>{NUMBER}) \((?P<errors>{NUMBER}) err\)(?P<rest>.*)$"),
        _progress,
        (
            "  50/9998 (0 err) 0.3 req/s avg_comp=1232tok tot=0.1M ETA=1.9h",
            "0/9998 (0 err) 0.0 req/s avg_comp=0tok tot=0.0M ETA=?",
            "9998/9998 (4 err) 0.4 req/s avg_comp=788tok tot=1.2B ETA=45s",
        ),
    ),
    Format(
        "progress by name",
        " err)",
        re.compile(rf"{_NAME}: (?P<done>{NUMBER})/(?P<total>{NUMBER}) \((?P<errors>{NUMBER}) err\)(?P<rest>.*)$"),
        _progress,
        (
            "  B3_magicoder: 9950/9998 (0 err) 0.3 req/s avg_comp=1232tok tot=9.9M ETA=2m",
            "a: b: 0/12 (1 err) 0.0 req/s avg_comp=?tok tot=0.0M ETA=?",
        ),
    ),
    Format(
        "done",
        ": done ",
        re.compile(
            rf"{_NAME}: done (?P<done>{NUMBER}) \((?P<errors>{NUMBER}) err\), (?P<tokens>{NUMBER}) tokens"
            rf" in (?P<took>[0-9.]+[a-z]+)(?:, (?P<why>.+))?$"
        ),
        _finished,
        (
            "  B3_magicoder: done 8123 (4 err), 10,002,311 tokens in 3.21h, budget reached",
            "  B3_magicoder: done 8123 (4 err), 10,002,311 tokens in 3.21h, budget reached, 2,311 tokens over",
            "  B4: done 8123 (0 err), 9,002,311 tokens in 3.21h",
        ),
    ),
    Format(
        "budget met",
        ": budget already met (",
        re.compile(rf"{_NAME}: budget already met \((?P<tokens>{NUMBER}) of (?P<budget>{NUMBER}) tokens\), skipping"),
        _budget_met,
        ("  B1_glaive: budget already met (10,004,221 of 10,000,000 tokens), skipping",),
    ),
    Format(
        "all done",
        " prompts done, skipping",
        re.compile(rf"{_NAME}: all (?P<total>{NUMBER}) prompts done, skipping$"),
        _all_done,
        ("  B1_glaive: all 10000 prompts done, skipping",),
    ),
    Format(
        "tokenized",
        " prompts tokenized",
        re.compile(rf"{_NAME}: (?P<total>{NUMBER}) prompts tokenized$"),
        _tokenized,
        ("  B3_magicoder: 10000 prompts tokenized", "a: b: 10,000 prompts tokenized"),
    ),
    Format(
        "resuming",
        "Resuming: ",
        re.compile(rf"^\s*Resuming: (?P<done>{NUMBER}) already done \((?P<tokens>{NUMBER}) tokens\)"),
        _resumed,
        ("  Resuming: 2 already done (1,012 tokens)",),
    ),
    Format(
        "running",
        " requests (",
        re.compile(rf"^\s*Running (?P<requests>{NUMBER}) requests \((?P<rest>[^()]*)"),
        _started,
        (
            "  Running 9998 requests (concurrency=150, max_tokens=10240, token_budget=10,000,000)...",
            "Running 500 requests (concurrency=32, max_tokens=16384)...",
        ),
    ),
    Format(
        "existing tokens",
        "Existing tokens: ",
        re.compile(rf"^\s*Existing tokens: (?P<tokens>{NUMBER}), remaining budget: (?P<minus>-?)(?P<left>{NUMBER})"),
        _left,
        ("  Existing tokens: 1,012, remaining budget: 9,998,988",),
    ),
    Format(
        "loading",
        "Loading and tokenizing prompts for ",
        re.compile(r"^\s*Loading and tokenizing prompts for .*"),
        quiet,
        ("Loading and tokenizing prompts for B3_magicoder...",),
    ),
    Format(
        "processing",
        "Processing: ",
        re.compile(r"^\s*Processing: (?!\s*[0-9]{1,3}%\|)(?P<name>\S.{0,400}?)(?: \((?P<kind>[^()]{0,100})\))?$"),
        _announced,
        ("Processing: B3_magicoder (SHORT)", "  Processing: a (b) c (LONG)", "Processing: plain"),
    ),
    Format(
        "zone",
        "Time zone: ",
        re.compile(
            r"^\s*Time zone: (?P<name>.*?) ?\(?(?:UTC|GMT)"
            r"(?P<sign>[+\u2212-])(?P<hours>[0-9]{1,2}):?(?P<minutes>[0-9]{2})?\)?$"
        ),
        _zone,
        ("Time zone: Europe/Berlin (UTC+01:00)", "Time zone: UTC (UTC+00:00)", "Time zone: (UTC-03:30)"),
    ),
    Format(
        "run started",
        "Run started: pid ",
        re.compile(r"^\s*Run started: pid (?P<pid>[0-9]{1,10})\b"),
        _run_started,
        ("Run started: pid 8123, 8 datasets, server http://127.0.0.1:30000",),
    ),
    Format(
        "run done",
        "All datasets done",
        re.compile(r"^\s*All datasets done"),
        _done,
        ("All datasets done: 8 datasets, 71,204,113 tokens in 31.20h",),
    ),
    Format(
        "run stopped",
        "Stopped by SIG",
        re.compile(r"^\s*Stopped by SIG[A-Z]+"),
        _stopped,
        ("Stopped by SIGTERM: 120 requests finished, 30 given up",),
    ),
    NOTE,
)
"""The job's own shapes, the commonest first."""
