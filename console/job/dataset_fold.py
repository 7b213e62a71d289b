"""One dataset, folded: what each event of the job does to it.

Every function here gives the run back unchanged when the event is old news, so a line read twice changes nothing.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from console.job import job_events as ev
from console.job.dataset_run import FINAL, DatasetRun, ends_after, is_capped
from console.job.marks import Mark, beat, marked
from console.job.snapshot import DatasetState
from console.job.terms import Terms

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from console.job.events import Event


def is_news(at: datetime, known: datetime | None) -> bool:
    """True when nothing is known yet, or what is known is older than ``at``."""
    return known is None or at > known


def _opened(run: DatasetRun) -> DatasetRun:
    return run if run.opened else run.reopened()


def _announced(run: DatasetRun, event: ev.DatasetAnnounced, at: datetime) -> DatasetRun:
    if not is_news(at, run.announced_at):
        return run
    fresh = run.reopened().turned(DatasetState.LOADING, at)
    return replace(fresh, announced_at=at, kind=event.kind or run.kind)


def _tokenized(run: DatasetRun, event: ev.DatasetTokenized, at: datetime) -> DatasetRun:
    if not is_news(at, run.started_at):
        return run
    return replace(_opened(run).turned(DatasetState.LOADING, at), total=event.total)


def _resumed(run: DatasetRun, event: ev.DatasetResumed, at: datetime) -> DatasetRun:
    if not is_news(at, run.started_at):
        return run
    opened = _opened(run)
    return replace(opened, resumed=True, done_before=event.done, tokens_before=event.tokens, tokens=event.tokens)


def _started(run: DatasetRun, event: ev.DatasetStarted, at: datetime) -> DatasetRun:
    if not is_news(at, run.started_at):
        return run
    opened = _opened(run)
    before = _done_before(opened, event.requests)
    started = replace(
        opened.turned(DatasetState.RUNNING, at),
        opened=False,
        started_at=at,
        requests=event.requests,
        done_before=before,
        total=opened.total if opened.total is not None else before + event.requests,
        concurrency=event.concurrency if event.concurrency is not None else opened.concurrency,
        max_tokens=event.max_tokens if event.max_tokens is not None else opened.max_tokens,
        budget=event.budget if event.budget is not None else opened.budget,
        terms=Terms(event.requests, event.concurrency, event.max_tokens, event.budget),
    )
    if before == 0 and not opened.resumed:
        started = replace(started, tokens_before=0, tokens=0)
    return replace(started, trace=opened.trace.add(at, before, started.tokens))


def _done_before(run: DatasetRun, requests: int) -> int:
    """What former processes had done, when this one begins: its own word, else what it leaves out, else nothing.

    A job that resumes says so; one that says nothing and means to do every prompt starts from nothing.
    """
    if run.resumed or run.done_before == 0:
        return run.done_before
    if run.total is not None and requests < run.total:
        return run.total - requests
    return 0 if run.total is not None else run.done_before


def _budget_left(run: DatasetRun, event: ev.BudgetLeft, _at: datetime) -> DatasetRun:
    if run.terms is not None and run.terms.budget is None:
        run = replace(run, terms=replace(run.terms, budget=event.existing + event.remaining))
    if run.done_run:
        return run if run.budget else replace(run, budget=event.existing + event.remaining)
    return replace(run, tokens_before=event.existing, tokens=event.existing, budget=event.existing + event.remaining)


def _progress(run: DatasetRun, event: ev.Progress, at: datetime) -> DatasetRun:
    if not event.total:  # a line that says only what is done: what was known stays
        known = run.requests if run.requests is not None else (run.total or 0) - run.done_before
        event = replace(event, total=max(0, known))
    if _begins_anew(run, event, at):
        run = _unannounced(run, event)
    if run.requests is None and run.total is not None and not run.resumed:
        run = replace(run, done_before=max(0, run.total - event.total))
    run = _running(run, at)
    grown = replace(
        run,
        done_run=max(run.done_run, event.done),
        errors=max(run.errors, event.errors),
        requests=event.total or None,
        total=run.total if run.total is not None or not event.total else run.done_before + event.total,
        first_progress_at=run.first_progress_at or (at if event.done else None),
    )
    if event.done < run.done_run:
        return grown  # an old line, read again: its means are out of date
    grown = replace(
        grown,
        mean=event.mean_completion_tokens if event.mean_completion_tokens is not None else run.mean,
        requests_per_s=event.requests_per_s if event.requests_per_s is not None else run.requests_per_s,
    ).reckoned(event.tokens)
    marks = marked(grown.marks, Mark(at, grown.done_run, grown.tokens))
    trace = grown.trace.add(at, grown.done, grown.tokens)
    return grown if marks is grown.marks and trace is grown.trace else replace(grown, marks=marks, trace=trace)


def _begins_anew(run: DatasetRun, event: ev.Progress, at: datetime) -> bool:
    """A job that says nothing when it begins has begun again: fewer are done, of another number."""
    fewer = not run.opened and run.requests is not None and event.done < run.done_run
    return fewer and event.total != run.requests and is_news(at, run.updated_at)


def _unannounced(run: DatasetRun, event: ev.Progress) -> DatasetRun:
    total = run.total
    before = max(0, total - event.total) if total is not None else 0
    return replace(run.reopened(), opened=False, done_before=before)


def _running(run: DatasetRun, at: datetime) -> DatasetRun:
    """At work, unless the word that says so is older than the dataset's end."""
    if run.state in FINAL and not is_news(at, run.state_at):
        return run
    if run.state is DatasetState.RUNNING and not run.opened:
        return run
    return replace(run.turned(DatasetState.RUNNING, at), opened=False)


def _completion(run: DatasetRun, event: ev.Completion, at: datetime) -> DatasetRun:
    if event.prompt_id in run.completed or (run.state in FINAL and not is_news(at, run.state_at)):
        return run
    run = _running(run, at)
    completed = run.completed.add(event.prompt_id)
    tokens_run = (run.tokens_run or 0) + event.completion_tokens
    capped = is_capped(event.finish_reason, event.completion_tokens, run.max_tokens)
    return replace(
        run,
        capped=run.capped + capped,
        capped_tokens=run.capped_tokens + (event.completion_tokens if capped else 0),
        capped_bits=ends_after(run.capped_bits, capped=capped),
        completed=completed,
        done_run=max(run.done_run, len(completed)),
        tokens_run=tokens_run,
        mean=tokens_run / len(completed),
        tokens=max(run.tokens or 0, (run.tokens_before or 0) + tokens_run),
        prompt_tokens=run.prompt_tokens + event.prompt_tokens,
        lengths=run.lengths.add(event.completion_tokens, event.finish_reason),
        first_progress_at=run.first_progress_at or at,
        updated_at=at if run.updated_at is None else max(at, run.updated_at),
    )


def _request_failed(run: DatasetRun, event: ev.RequestFailed, _at: datetime) -> DatasetRun:
    if not event.final or event.prompt_id in run.failed:
        return run
    failed = run.failed.add(event.prompt_id)
    return replace(run, failed=failed, errors=max(run.errors, len(failed)))


def _heartbeat(run: DatasetRun, event: ev.Heartbeat, at: datetime) -> DatasetRun:
    if run.updated_at is not None and at < run.updated_at:
        return run
    run = _running(run, at)
    done, tokens = max(run.done_run, event.done), max(run.tokens or 0, event.tokens)
    return replace(
        run,
        done_run=done,
        errors=max(run.errors, event.errors),
        in_flight=event.in_flight,
        tokens=tokens,
        first_progress_at=run.first_progress_at or (at if event.done else None),
        marks=beat(run.marks, Mark(at, done, tokens)),
        trace=run.trace.add(at, run.done_before + done, tokens),
    )


_ENDS = {"budget": DatasetState.BUDGET_REACHED, "all_done": DatasetState.DONE}


def _finished(run: DatasetRun, event: ev.DatasetFinished, at: datetime) -> DatasetRun:
    if run.announced_at is not None and at < run.announced_at:
        return run
    ended = run.turned(_ENDS.get(event.reason, DatasetState.STOPPED), at)
    return replace(
        ended.closed(),
        done_run=max(run.done_run, event.done),
        errors=max(run.errors, event.errors),
        tokens=event.tokens if event.tokens is not None else run.tokens,
    )


def _skipped(run: DatasetRun, event: ev.DatasetSkipped, at: datetime) -> DatasetRun:
    fresh = run.closed().turned(DatasetState.SKIPPED, at)
    fresh = fresh if event.done is None else replace(fresh, done_before=event.done, done_run=0)
    if event.reason == "all_done" and event.total is not None and event.done is None:
        fresh = replace(fresh, done_before=event.total, done_run=0)
    return replace(
        fresh,
        total=event.total if event.total is not None else run.total,
        tokens=event.tokens if event.tokens is not None else run.tokens,
        budget=event.budget if event.budget is not None else run.budget,
    )


DATASET_HANDLERS: dict[type[Event], Callable[[DatasetRun, Event, datetime], DatasetRun]] = {
    ev.DatasetAnnounced: _announced,  # type: ignore[dict-item]  # each handler gets only events of its key
    ev.DatasetTokenized: _tokenized,  # type: ignore[dict-item]
    ev.DatasetResumed: _resumed,  # type: ignore[dict-item]
    ev.DatasetStarted: _started,  # type: ignore[dict-item]
    ev.BudgetLeft: _budget_left,  # type: ignore[dict-item]
    ev.Progress: _progress,  # type: ignore[dict-item]
    ev.Completion: _completion,  # type: ignore[dict-item]
    ev.RequestFailed: _request_failed,  # type: ignore[dict-item]
    ev.Heartbeat: _heartbeat,  # type: ignore[dict-item]
    ev.DatasetFinished: _finished,  # type: ignore[dict-item]
    ev.DatasetSkipped: _skipped,  # type: ignore[dict-item]
}
"""What each event does to its dataset; every event in it has a ``name``."""
