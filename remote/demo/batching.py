"""A model of continuous batching as SGLang does it: KV pool, admission, prefill, decode, retraction.

Pure: no I/O, no clock, no chance. Time is what ``Engine.advance`` is given. Decode steps are taken in groups up to
the next thing that changes the batch, so that an hour of a busy server costs milliseconds.

The rules, after ``sglang/srt/managers/schedule_policy.py`` and ``scheduler.py``:

* A waiting request is admitted when ``prompt + min(max_new, 4096)`` fits into ``free - ratio x sum(min(left, 4096))``,
  the sum over running requests, ``left`` being what each may still make. In one prefill batch every admitted request
  counts in full. Once one did not fit, nothing is tried until a request leaves the batch.
* ``ratio`` falls from 0.7 to 0.098 in 600 decode steps, and starts again when the server was idle.
* When the next step does not fit into the pool, the requests with the fewest tokens made are thrown out until 20
  steps fit; ``ratio`` becomes ``(made + 20 x running) / max_new``, summed over the batch, at most 1.
"""

from __future__ import annotations

import math
from collections import deque
from typing import TYPE_CHECKING

from remote.demo.happenings import DecodeReport, Finished, PrefillDone, Retracted
from remote.demo.slot import CLIP_TOKENS, Slot
from remote.demo.timing import Timing

if TYPE_CHECKING:
    from collections.abc import Iterable

    from remote.demo.happenings import Happening, Request

POOL_TOKENS = 140_000
"""KV pool of the run this was modelled on, tokens."""
RATIO_START = 0.7
RATIO_FLOOR = 0.098
RATIO_STEPS = 600
"""Decode steps in which the new-token ratio falls from its start to its floor."""
RETRACT_STEPS = 20
"""After a retraction so many decode steps fit into the pool."""
PREFILL_TOKENS = 8192
"""Prompt tokens of one prefill batch at most; a longer prompt has a batch of its own."""
REPORT_EVERY = 40
"""Decode steps between two reports, SGLang's default."""


class Engine:
    """The scheduler and its GPU.

    Args:
        pool_tokens: KV pool, tokens.
        report_every: Decode steps between two ``DecodeReport``.
        timing: What work costs.
    """

    def __init__(
        self, *, pool_tokens: int = POOL_TOKENS, report_every: int = REPORT_EVERY, timing: Timing | None = None
    ) -> None:
        self.pool_tokens = pool_tokens
        self.slowdown = 1.0
        """Every duration is multiplied by it; 1 is a healthy GPU."""
        self.now = 0.0
        """Simulated seconds since the engine began."""
        self.ratio = RATIO_START
        """The share of their allowance that running requests are expected to use."""
        self.used_tokens = 0
        """Tokens in the KV pool."""
        self.decoded_tokens = 0
        """Tokens made by decode steps so far."""
        self.prefilled_tokens = 0
        """Prompt tokens computed so far."""
        self._report_every = report_every
        self._timing = timing or Timing()
        self._queue: deque[Slot] = deque()
        self._batch: list[Slot] = []
        self._full = False
        self._credit = 0.0
        self._step = 0
        self._last_report = (0, 0, 0.0)
        self._last_prefill = 0.0

    @property
    def running(self) -> int:
        """Requests in the running batch."""
        return len(self._batch)

    @property
    def queue(self) -> int:
        """Requests waiting."""
        return len(self._queue)

    @property
    def token_usage(self) -> float:
        """Share of the KV pool in use, 0 to 1."""
        return self.used_tokens / self.pool_tokens

    def submit(self, request: Request) -> None:
        """Put a request at the end of the queue."""
        self._queue.append(Slot(request))

    def abort(self, rid: str) -> int | None:
        """Take a request out, wherever it is; the tokens it had made, or None when it is not here."""
        for slot in self._batch:
            if slot.request.rid == rid:
                self._drop(slot)
                return slot.made
        for slot in self._queue:
            if slot.request.rid == rid:
                self._queue.remove(slot)
                return slot.made
        return None

    def advance(self, seconds: float) -> list[Happening]:
        """Let simulated time pass.

        Work begun is finished: an operation that is longer than what is left of ``seconds`` runs to its end, and the
        next call begins so much later.

        Args:
            seconds: How much, simulated.

        Returns:
            What happened, in order.
        """
        self._credit += seconds
        happened: list[Happening] = []
        while self._credit > 0:
            if joining := self._choose():
                happened.append(self._prefill(joining))
            elif not self._batch:
                self._idle()
            elif self.pool_tokens - self.used_tokens < len(self._batch):
                happened.append(self._make_room())
            else:
                happened.extend(self._decode())
            happened.extend(self._finish())
        return happened

    def _spend(self, seconds: float) -> None:
        self._credit -= seconds * self.slowdown
        self.now += seconds * self.slowdown

    def _idle(self) -> None:
        self.now += self._credit
        self._credit = 0.0
        self.ratio = RATIO_START

    def _choose(self) -> list[Slot]:
        """Admit from the head of the queue what fits now, at most one prefill batch."""
        chosen: list[Slot] = []
        if self._full or not self._queue:
            return chosen
        room = self.pool_tokens - self.used_tokens - self.ratio * sum(s.future_at(self._step) for s in self._batch)
        tokens = 0
        while self._queue:
            slot = self._queue[0]
            held = slot.request.prompt_tokens + slot.made
            needed = held + min(slot.request.max_new_tokens - slot.made, CLIP_TOKENS)
            # An empty server takes the head whatever it needs: nothing would ever make more room.
            self._full = needed > room and bool(chosen or self._batch)
            if self._full or (chosen and tokens + held > PREFILL_TOKENS):
                break
            chosen.append(self._queue.popleft())
            room -= needed
            tokens += held
        return chosen

    def _prefill(self, joining: list[Slot]) -> PrefillDone:
        """Compute the prompts (of retracted requests also what they had made); each gives its first new token."""
        tokens = sum(s.request.prompt_tokens + s.made for s in joining)
        running = len(self._batch)
        for slot in joining:
            slot.made += 1
            slot.joined = self._step
        self._batch.extend(joining)
        self.used_tokens += tokens + len(joining)
        self.prefilled_tokens += tokens
        self._spend(self._timing.prefill(tokens))
        gap, self._last_prefill = self.now - self._last_prefill, self.now
        pending = sum(s.request.prompt_tokens for s in self._queue)
        return PrefillDone(
            self.now, len(joining), tokens, running, len(self._queue), pending, self.token_usage, tokens / gap
        )

    def _decode(self) -> Iterable[DecodeReport]:
        """Take decode steps until a request ends, a report is due, the pool is full, or the time is used up."""
        n, timing = len(self._batch), self._timing
        one = timing.decode(n, self.used_tokens)
        since_report = self._step - self._last_report[0]
        steps = min(
            max(1, min(s.ends_at() for s in self._batch) - self._step),
            max(1, self._report_every - since_report),
            (self.pool_tokens - self.used_tokens) // n,
            max(1, math.ceil(self._credit / (one * self.slowdown))),
        )
        self._spend(timing.decode(n, self.used_tokens, steps))
        self._step += steps
        self.used_tokens += n * steps
        self.decoded_tokens += n * steps
        self.ratio = max(RATIO_FLOOR, self.ratio - steps * (RATIO_START - RATIO_FLOOR) / RATIO_STEPS)
        return (self._report(),) if since_report + steps >= self._report_every else ()

    def _report(self) -> DecodeReport:
        _, tokens, at = self._last_report
        throughput = (self.decoded_tokens - tokens) / (self.now - at)
        self._last_report = (self._step, self.decoded_tokens, self.now)
        return DecodeReport(
            self.now, len(self._batch), self.used_tokens, self.token_usage, throughput, len(self._queue)
        )

    def _finish(self) -> list[Finished]:
        ended = [slot for slot in self._batch if slot.ends_at() <= self._step]
        return [self._end(slot, cut=slot.request.wanted_tokens > slot.request.max_new_tokens) for slot in ended]

    def _end(self, slot: Slot, *, cut: bool) -> Finished:
        self._drop(slot)
        return Finished(self.now, slot.request, slot.made, cut, slot.retractions)

    def _drop(self, slot: Slot) -> None:
        """Take a request out of the batch and free what it holds."""
        self._batch.remove(slot)
        slot.leave(self._step)
        self.used_tokens -= slot.request.prompt_tokens + slot.made
        self._full = False

    def _make_room(self) -> Retracted | Finished:
        """Throw out the requests that lose least; the last one of a batch ends instead, for want of any more room."""
        if len(self._batch) == 1:
            return self._end(self._batch[0], cut=True)
        before, used = self.ratio, self.used_tokens
        order = sorted(self._batch, key=lambda s: (s.tokens_at(self._step), -s.request.prompt_tokens), reverse=True)
        thrown = 0
        while len(order) > 1 and self.pool_tokens - self.used_tokens < RETRACT_STEPS * len(order):
            slot = order.pop()
            self._drop(slot)
            slot.retractions += 1
            self._queue.appendleft(slot)
            thrown += 1
        made = sum(s.tokens_at(self._step) for s in order)
        allowed = sum(s.request.max_new_tokens for s in order)
        self.ratio = min(1.0, max(before, (made + RETRACT_STEPS * len(order)) / (allowed + 1)))
        return Retracted(self.now, thrown, used - self.used_tokens, before, self.ratio)
