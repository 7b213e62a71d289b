"""What one log says of one dataset, folded from its events."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from console.job.id_set import IdSet
from console.job.length_counts import LengthCounts
from console.job.snapshot import DatasetState
from console.job.trace import Trace

if TYPE_CHECKING:
    from datetime import datetime

    from console.job.marks import Marks
    from console.job.terms import Terms

AT_WORK = frozenset({DatasetState.LOADING, DatasetState.RUNNING})
"""States in which the job is at a dataset."""

FINAL = frozenset({DatasetState.SKIPPED, DatasetState.BUDGET_REACHED, DatasetState.DONE})
"""States in which nothing of a dataset is left to do."""

_COARSE_STEP = 100_000
"""The job's progress line prints the dataset's tokens in units of 0.1 M."""

NEWEST_ENDS = 64
"""Completions whose ends are remembered one by one."""

_ENDS_MASK = (1 << NEWEST_ENDS) - 1


def ends_after(bits: int, *, capped: bool) -> int:
    """``capped_bits`` after one more completion."""
    return (bits << 1 | capped) & _ENDS_MASK


def is_capped(finish_reason: str, tokens: int, max_tokens: int | None) -> bool:
    """Whether a completion ended because it may not grow longer: by its own word, or by its length."""
    return finish_reason == "length" or (max_tokens is not None and tokens >= max_tokens)


@dataclass(frozen=True, slots=True)
class DatasetRun:
    """One dataset as one log tells it. A *process* is one run of the job's script over it.

    Attributes:
        name: Its name.
        kind: ``SHORT``, ``LONG`` or empty.
        state: Where it stands.
        state_at: Since when.
        opened: A new process turned to it and has not yet sent requests.
        announced_at: When the newest process turned to it.
        started_at: When the newest process began to send its requests.
        resumed: The newest process said what former ones had done.
        done_before: Prompts done by former processes.
        tokens_before: Completion tokens made by former processes; None when not known.
        done_run: Prompts done by the newest process.
        tokens_run: Completion tokens of the newest process, summed over single completions; None without these.
        tokens: Completion tokens in all, the best figure so far; None when not known.
        errors: Requests of the newest process that failed for good.
        requests: Prompts that the newest process means to do.
        total: Prompts in all; None until known.
        budget: Token budget.
        concurrency: Requests in flight at most.
        max_tokens: New tokens of one request at most.
        mean: Mean completion of the newest process as printed, tokens.
        requests_per_s: As printed.
        in_flight: As a heartbeat said; None without one.
        prompt_tokens: Sum of prompt lengths over single completions.
        lengths: Single completions by length, those of former processes included.
        completed: Prompt ids done by the newest process, while it is at this dataset: a completion read twice counts
            once. Given up at the dataset's end, so that only one dataset's ids are ever held.
        failed: Prompt ids that failed for good, likewise.
        first_progress_at: When the newest process first told of a completion.
        updated_at: The newest word on it.
        guessed: True when its times are those at which lines were seen.
        terms: What the newest process said as it began to send its requests; None before.
        former_done: Prompts done in all when the newest process began, as former ones told it.
        former_tokens: Their completion tokens.
        marks: How far the newest process was at moments.
        capped: Of its single completions, how many ended at the length limit.
        capped_tokens: Their tokens.
        capped_bits: Its newest 64 single completions, the newest as the lowest bit: 1 for one at the length limit.
        trace: How far it was over all of its time, in former processes too.
    """

    name: str
    kind: str = ""
    state: DatasetState = DatasetState.WAITING
    state_at: datetime | None = None
    opened: bool = False
    announced_at: datetime | None = None
    started_at: datetime | None = None
    resumed: bool = False
    done_before: int = 0
    tokens_before: int | None = None
    done_run: int = 0
    tokens_run: int | None = None
    tokens: int | None = None
    errors: int = 0
    requests: int | None = None
    total: int | None = None
    budget: int | None = None
    concurrency: int | None = None
    max_tokens: int | None = None
    mean: float | None = None
    requests_per_s: float | None = None
    in_flight: int | None = None
    prompt_tokens: int = 0
    lengths: LengthCounts = field(default_factory=LengthCounts)
    completed: IdSet = field(default_factory=IdSet)
    failed: IdSet = field(default_factory=IdSet)
    first_progress_at: datetime | None = None
    updated_at: datetime | None = None
    guessed: bool = False
    terms: Terms | None = None
    former_done: int = 0
    former_tokens: int = 0
    marks: Marks = ()
    capped: int = 0
    capped_tokens: int = 0
    capped_bits: int = 0
    trace: Trace = field(default_factory=Trace)

    @property
    def done(self) -> int:
        """Prompts done in all."""
        return self.done_before + self.done_run

    @property
    def lost(self) -> int:
        """Prompts that former processes had done and the newest one does again."""
        return 0 if self.opened or self.requests is None else max(0, self.former_done - self.done_before)

    def turned(self, state: DatasetState, at: datetime) -> DatasetRun:
        """In another state from ``at`` on; the time stays when the state does."""
        return self if state is self.state else replace(self, state=state, state_at=at)

    def reopened(self) -> DatasetRun:
        """As a new process finds it: what was done is done before."""
        return replace(
            self,
            opened=True,
            resumed=False,
            done_before=self.done,
            tokens_before=self.tokens,
            done_run=0,
            tokens_run=None,
            errors=0,
            requests=None,
            mean=None,
            requests_per_s=None,
            in_flight=None,
            prompt_tokens=0,
            completed=IdSet(),
            failed=IdSet(),
            first_progress_at=None,
            terms=None,
            former_done=self.done,
            former_tokens=self.tokens or 0,
            marks=(),
            capped=0,
            capped_tokens=0,
            capped_bits=0,
        )

    def closed(self) -> DatasetRun:
        """Without its ids: the process is done with it."""
        return replace(self, completed=IdSet(), failed=IdSet(), in_flight=0, opened=False)

    def reckoned(self, coarse: int | None = None) -> DatasetRun:
        """With the best figure of its tokens: single completions, else count times printed mean.

        ``tokens = tokens_before + done_run x mean``; the mean is printed to one token, so this is good to
        ``done_run / 2`` tokens, where the printed total is good to 50,000. It can lack what former processes made
        when their line was missed; then the printed total is larger by more than its step, and it counts.

        Args:
            coarse: The printed total, in steps of 0.1 M; None when there is none.
        """
        figures = [self.tokens or 0]
        if self.tokens_run is not None:
            figures.append((self.tokens_before or 0) + self.tokens_run)
        elif self.mean is not None:
            figures.append((self.tokens_before or 0) + round(self.done_run * self.mean))
        if coarse is not None and coarse - figures[-1] > _COARSE_STEP:
            figures.append(coarse)
        known = len(figures) > 1 or self.tokens is not None
        return replace(self, tokens=max(figures)) if known else self
