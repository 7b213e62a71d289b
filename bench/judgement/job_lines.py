"""What the batch job writes: its log and ``progress.jsonl``."""

from __future__ import annotations

import json
from collections import deque
from typing import TYPE_CHECKING

from bench.judgement.stamps import utc

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench.judgement.rank import Request
    from bench.judgement.spec import DatasetSpec, JobSpec
    from bench.judgement.stamps import LocalTime
    from bench.judgement.truth import Written

_WINDOW_S = 900.0
_RULE = "=" * 60
_MINUTE_S = 59.5


def span(seconds: float | None) -> str:
    """``45s``, ``12m``, ``1.9h``; ``?`` when not known."""
    if seconds is None:
        return "?"
    if seconds < _MINUTE_S:
        return f"{seconds:.0f}s"
    return f"{seconds / 60:.0f}m" if seconds < 60 * _MINUTE_S else f"{seconds / 3600:.1f}h"


class Counts:
    """One dataset's counts in one process, and what the script prints of them.

    Args:
        spec: The dataset.
        todo: Prompts that this process means to do.
        before: Completions and tokens of former processes.
        now: When it began.
    """

    def __init__(self, spec: DatasetSpec, todo: int, before: tuple[int, int], now: float) -> None:
        self.spec, self.todo, self.before, self.began = spec, todo, before, now
        self.done = self.errors = self.new_tokens = 0
        self._window: deque[tuple[float, int, int]] = deque([(now, 0, 0)])

    @property
    def tokens(self) -> int:
        """Completion tokens of the dataset in all."""
        return self.before[1] + self.new_tokens

    def expected(self) -> float:
        """Tokens that a request in flight is taken to make: the mean so far."""
        count = self.before[0] + self.done
        return min(self.tokens / count, self.spec.max_tokens) if count else 0.0

    def sample(self, now: float) -> None:
        """Note the counts for the rates."""
        self._window.append((now, self.done, self.new_tokens))
        while len(self._window) > 2 and now - self._window[1][0] >= _WINDOW_S:  # noqa: PLR2004 - two make a rate
            self._window.popleft()

    def line(self, now: float, rule: str, budget: int | None) -> str:
        """A progress line."""
        then, done, tokens = self._window[0]
        apart = max(now - then, 1e-3)
        requests_per_s, tokens_per_s = (self.done - done) / apart, (self.new_tokens - tokens) / apart
        left = self.todo - self.done - self.errors
        eta = None
        if rule == "requests":
            rate = (self.done + self.errors) / max(now - self.began, 1e-3)
            eta = left / rate if rate else None
        elif self.done and tokens_per_s > 0:
            work = left * self.new_tokens / self.done
            eta = max(0.0, work if budget is None else min(work, budget - self.tokens)) / tokens_per_s
        mean = f"{self.new_tokens / self.done:.0f}" if self.done else "?"
        slow = 0 < requests_per_s < 0.095  # noqa: PLR2004 - what rounds to 0.1 is 0.1
        return (
            f"  {self.done}/{self.todo} ({self.errors} err) {requests_per_s:.{2 if slow else 1}f} req/s "
            f"avg_comp={mean}tok tot={self.tokens / 1e6:.1f}M ETA={span(eta)}"
        )


class JobWriter:
    """Writes the job's log and events.

    Args:
        spec: The script.
        log: Its log.
        events: Its ``progress.jsonl``.
        clock: Prints times.
        shown: True time to the time that the host's clock shows.
    """

    def __init__(
        self, spec: JobSpec, log: Written, events: Written, clock: LocalTime, shown: Callable[[float], float]
    ) -> None:
        self._spec, self._log, self._events, self._clock, self._shown = spec, log, events, clock, shown

    def line(self, now: float, text: str) -> None:
        """One line of the log."""
        at = self._shown(now)
        self._log.put(at, f"[{self._clock.iso(at)}] {text}" if self._spec.stamps else text)

    def bare(self, now: float, text: str) -> None:
        """A line that is not the script's own: an interpreter's traceback, a shell's word."""
        self._log.put(self._shown(now), text)

    def event(self, now: float, event: str, **said: object) -> None:
        """One line of ``progress.jsonl``."""
        if self._spec.progress_jsonl:
            at = self._shown(now)
            self._events.put(at, json.dumps({"t": utc(at), "event": event, **said}))

    def completion(self, now: float, name: str, request: Request, seconds: float) -> None:
        """A completion's event, the commonest one."""
        if self._spec.progress_jsonl:
            at = self._shown(now)
            why = "length" if request.capped else "stop"
            self._events.put(
                at,
                f'{{"t": "{utc(at)}", "event": "completion", "dataset": "{name}", "id": "{name}-{request.place:06}", '
                f'"completion_tokens": {request.target}, "prompt_tokens": {request.prompt}, "finish_reason": "{why}", '
                f'"seconds": {seconds:.3f}, "attempt": 1}}',
            )

    def run_started(self, now: float, pid: int, names: list[str]) -> None:
        """A process begins."""
        if self._spec.script == "current":
            if self._spec.stamps:
                self.line(now, self._clock.line)
            self.line(now, f"Run started: pid {pid}, {len(names)} datasets, server http://127.0.0.1:30000")
        zone = {"zone": self._clock.zone, "utc_offset_s": self._clock.offset_s}
        self.event(now, "run_started", pid=pid, version=1, **zone, datasets=names)

    def announced(self, now: float, spec: DatasetSpec) -> None:
        """It turns to a dataset."""
        self.line(now, _RULE)
        self.line(now, f"Processing: {spec.name} ({spec.kind})")
        self.line(now, _RULE)

    def skipped(self, now: float, spec: DatasetSpec, done: int, tokens: int, *, budget: bool) -> None:
        """A dataset that needs nothing."""
        if budget:
            text = f"  {spec.name}: budget already met ({tokens:,} of {spec.budget or 0:,} tokens), skipping"
        else:
            text = f"  {spec.name}: all {spec.prompts} prompts done, skipping"
        self.line(now, text)
        total = None if budget else spec.prompts
        reason = "budget" if budget else "all_done"
        self.event(
            now,
            "dataset_skipped",
            dataset=spec.name,
            reason=reason,
            done=done,
            total=total,
            tokens=tokens,
            budget=spec.budget,
        )

    def started(self, now: float, counts: Counts, said: dict[str, int | None], *, resumed: bool) -> None:
        """Its requests are about to be sent; ``said`` holds concurrency, max_tokens and budget as printed."""
        spec, (done, tokens) = counts.spec, counts.before
        self.line(now, f"  {spec.name}: {spec.prompts} prompts tokenized")
        if resumed and done:
            self.line(now, f"  Resuming: {done} already done ({tokens:,} tokens)")
        limits = f"concurrency={said['concurrency']}, max_tokens={said['max_tokens']}"
        budget = said["budget"]
        if self._spec.prints_budget:
            words = "none" if budget is None else f"{budget:,}"
            self.line(now, f"  Running {counts.todo} requests ({limits}, token_budget={words})...")
            if budget is not None:
                self.line(now, f"  Existing tokens: {tokens:,}, remaining budget: {budget - tokens:,}")
        else:
            self.line(now, f"  Running {counts.todo} requests ({limits})...")
        self.event(
            now,
            "dataset_started",
            dataset=spec.name,
            kind=spec.kind.lower(),
            total=spec.prompts,
            todo=counts.todo,
            done=done,
            tokens=tokens,
            **said,
        )

    def finished(self, now: float, counts: Counts, reason: str) -> None:
        """A dataset's end."""
        tail = {"budget": ", budget reached", "stopped": ", stopped"}.get(reason, "")
        took = now - counts.began
        name = counts.spec.name
        self.line(
            now,
            f"  {name}: done {counts.done} ({counts.errors} err), {counts.tokens:,} tokens in {took / 3600:.2f}h{tail}",
        )
        figures = {"done": counts.done, "errors": counts.errors, "tokens": counts.tokens}
        self.event(now, "dataset_finished", dataset=name, **figures, seconds=round(took, 3), reason=reason)
