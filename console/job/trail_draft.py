"""The job's completions and heartbeats, folded by the thousand: a working copy that changes in place.

``console.job.job_state.apply_job`` says what each of them means, one at a time; this gives the same for a run of them,
of one dataset that is at work. A test compares the two.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from console.job.dataset_run import ends_after, is_capped
from console.job.events import Completion, Heartbeat
from console.job.id_set import IdSetDraft
from console.job.length_counts import LengthCountsDraft
from console.job.marks import Mark, beat
from console.job.series import SeriesDraft
from console.job.snapshot import DatasetState

if TYPE_CHECKING:
    from datetime import datetime

    from console.job.dataset_run import DatasetRun
    from console.job.job_state import JobTrail

HOT = frozenset({Completion, Heartbeat})
"""The kinds of events that a draft folds."""


class TrailDraft:
    """A job at work on one dataset, changing in place.

    Args:
        trail: What is known.
        run: Its dataset at work, as ``at_work`` gives it.
    """

    def __init__(self, trail: JobTrail, run: DatasetRun) -> None:
        self._trail, self._run = trail, run
        self._ids, self._lengths = IdSetDraft(run.completed), LengthCountsDraft(run.lengths)
        self._done, self._run_errors, self._in_flight = run.done_run, run.errors, run.in_flight
        self._tokens_run, self._tokens, self._mean = run.tokens_run, run.tokens or 0, run.mean
        self._before, self._prompt_tokens = run.tokens_before or 0, run.prompt_tokens
        self._first_at, self._run_at, self._trail_at = run.first_progress_at, run.updated_at, trail.updated_at
        self._finished = trail.finished
        others = [each for each in trail.datasets if each.name != run.name]
        self._tokens_elsewhere = sum([each.tokens or 0 for each in others])
        self._errors_elsewhere = sum([each.errors for each in others])
        self._done_elsewhere = run.done_before + sum([each.done for each in others])
        self._capped, self._capped_tokens, self._bits = run.capped, run.capped_tokens, run.capped_bits
        self._marks, self._longest = run.marks, run.max_tokens
        self._trace, self._done_before = run.trace, run.done_before
        self._token_series, self._error_series = SeriesDraft(trail.tokens), SeriesDraft(trail.errors)
        self._changed = False

    @staticmethod
    def at_work(trail: JobTrail, name: str) -> DatasetRun | None:
        """The dataset of that name when it is at work already, so that its events only add to its figures."""
        run = trail.find(name)
        running = run is not None and run.state is DatasetState.RUNNING and not run.opened
        return run if running and trail.current == name else None

    def completion(self, event: Completion, at: datetime) -> None:
        """One request that ended well; nothing when it was counted before."""
        if not self._ids.add(event.prompt_id):
            return
        self._done = max(self._done, self._ids.size)
        self._tokens_run = made = (self._tokens_run or 0) + event.completion_tokens
        self._mean = made / self._ids.size
        self._tokens = max(self._tokens, self._before + made)
        self._prompt_tokens += event.prompt_tokens
        self._lengths.add(event.completion_tokens, event.finish_reason)
        self._first_at = self._first_at or at
        capped = is_capped(event.finish_reason, event.completion_tokens, self._longest)
        self._bits = ends_after(self._bits, capped=capped)
        if capped:
            self._capped += 1
            self._capped_tokens += event.completion_tokens
        self._told(at)

    def heartbeat(self, event: Heartbeat, at: datetime) -> None:
        """The job's own counts; nothing when they are older than the newest word."""
        if self._run_at is not None and at < self._run_at:
            return
        self._done = max(self._done, event.done)
        self._run_errors = max(self._run_errors, event.errors)
        self._in_flight = event.in_flight
        self._tokens = max(self._tokens, event.tokens)
        self._first_at = self._first_at or (at if event.done else None)
        self._marks = beat(self._marks, Mark(at, self._done, self._tokens))
        self._trace = self._trace.add(at, self._done_before + self._done, self._tokens)
        self._told(at)

    def freeze(self) -> JobTrail:
        """The trail as it stands."""
        if not self._changed:
            return self._trail
        run = replace(
            self._run,
            completed=self._ids.freeze(),
            done_run=self._done,
            errors=self._run_errors,
            in_flight=self._in_flight,
            tokens_run=self._tokens_run,
            mean=self._mean,
            tokens=self._tokens,
            prompt_tokens=self._prompt_tokens,
            lengths=self._lengths.freeze(),
            first_progress_at=self._first_at,
            updated_at=self._run_at,
            guessed=False,
            marks=self._marks,
            trace=self._trace,
            capped=self._capped,
            capped_tokens=self._capped_tokens,
            capped_bits=self._bits,
        )
        return replace(
            self._trail,
            datasets=self._trail.having(run),
            tokens=self._token_series.freeze(),
            errors=self._error_series.freeze(),
            finished=self._finished,
            updated_at=self._trail_at,
        )

    def _told(self, at: datetime) -> None:
        """What every piece of news does."""
        self._changed = True
        if self._run_at is None or at > self._run_at:
            self._run_at = at
        if self._trail_at is None or at > self._trail_at:
            self._trail_at = at
        if self._finished and (self._trail.finished_at is None or at > self._trail.finished_at):
            self._finished = ""
        if total := self._tokens_elsewhere + self._tokens:
            self._token_series.add(at, total)
        self._error_series.add(at, self._errors_elsewhere + self._run_errors, self._done_elsewhere + self._done)
