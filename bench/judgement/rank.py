"""One scheduler of the simulated server: continuous batching, from event to event.

SGLang: a waiting request is admitted when ``prompt + min(max_new, clip)`` fits into ``free - ratio x sum(min(left,
clip))`` over what runs; once one did not fit, nothing is tried until a request leaves. ``ratio`` decays with decode
steps and jumps up at a retraction, in which the requests with the fewest tokens are thrown out until twenty steps fit.
vLLM: a waiting request is admitted when its prompt fits; when the pool is full the newest is preempted.
"""

from __future__ import annotations

import heapq
import math
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from bench.judgement.pace import Pace
    from bench.judgement.server_lines import ServerWriter
    from bench.judgement.spec import ServerSpec

_PREFILL_TOKENS = 8192
_REPORT_STEPS = 40
_RATIO_STEPS = 600
_RETRACT_STEPS = 20
_THRASH_CLIP = 16
_VLLM_WATERMARK = 0.01
_VLLM_REPORT_S = 10.0


class Request:
    """One prompt on its way; ``made`` is what it had made when it joined the batch."""

    __slots__ = ("cached", "cap", "capped", "dataset", "joined", "made", "place", "prompt", "target")

    def __init__(self, dataset: int, place: int, prompt: int, target: int, *, cap: int, cached: int) -> None:
        self.dataset, self.place, self.prompt, self.cap, self.cached = dataset, place, prompt, cap, cached
        self.aim(target)
        self.made = 0
        self.joined = 0

    def aim(self, target: int) -> None:
        """It will make so many tokens, or its cap."""
        self.target = min(target, self.cap)
        self.capped = target >= self.cap


class Rank:
    """A scheduler with its KV pool; ``plan`` says when its next work ends, ``commit`` takes that work in."""

    def __init__(self, number: int, spec: ServerSpec, pace: Pace, writer: ServerWriter) -> None:
        self.number, self.spec, self._pace, self._writer = number, spec, pace, writer
        self.pool = float(spec.pool)
        self.clip = spec.clip
        self.ratio_floor = spec.ratio_floor
        self.ratio = spec.ratio_start
        self.halt_at = math.inf
        self.queue: deque[Request] = deque()
        self.decoded = 0
        self.first = 0
        self._heap: list[tuple[int, int, Request]] = []
        self._order = 0
        self._long: dict[Request, None] = {}  # those that may come closer than the clip to their cap
        self._held = 0
        self._step = 0
        self._full = False
        self._steps = 0
        self._joining: list[Request] = []
        self._began = 0.0
        self._each = 0.0
        self._reported = (0, 0, 0.0)
        self._prefilled_at = 0.0
        self._vllm = spec.engine == "vllm"
        self.prompt_tokens = 0
        self.preempted = 0
        self._thrashes = False
        self._leaked = 0.0

    @property
    def running(self) -> int:
        """Requests in the batch."""
        return len(self._heap)

    @property
    def held(self) -> float:
        """Tokens in the pool, pages counted whole."""
        return self._held + self._leaked + len(self._heap) * (self.spec.page - 1) / 2

    @property
    def usage(self) -> float:
        """Share of the pool in use."""
        return min(1.0, self.held / self.spec.pool)

    def begin(self, now: float) -> None:
        """The server is up."""
        self._reported, self._prefilled_at = (0, 0, now), now

    def thrash(self, leaked: float) -> None:
        """A share of the pool is never freed any more, and it admits too much to the rest, and throws it out again."""
        self._thrashes, self._leaked = True, leaked * self.pool
        self.clip, self.ratio, self.ratio_floor = _THRASH_CLIP, 0.0, 0.0
        self._full = False

    # ---- what to do next

    def plan(self, now: float) -> float:
        """Decide what is done from ``now`` on; gives when it ends, infinity when there is nothing to do."""
        self._began, self._steps, self._joining = now, 0, []
        if now >= self.halt_at or not (self._heap or self.queue):
            if not self._heap:
                self.ratio = self.spec.ratio_start
            return math.inf
        factor = self._pace.factor(now)
        pause = self._pace.stall(now)
        self._joining = self._choose()
        if self._joining:
            tokens = sum(r.prompt - r.cached + r.made for r in self._joining)
            self._prefill_line(now + pause, tokens)
            took = (self.spec.prefill_s + tokens / self.spec.prefill_rate) * factor
        else:
            took = self._plan_decode(now, factor)
        end = now + pause + took
        return end if end <= self.halt_at else math.inf

    def _plan_decode(self, now: float, factor: float) -> float:
        while len(self._heap) > 1 and self.pool - self.held < len(self._heap):
            self._make_room(now)
        n, spec = len(self._heap), self.spec
        one = factor * (spec.step_s + spec.request_s * n + spec.token_s * self.held)
        steps = self._heap[0][0] - self._step
        room = int((self.pool - self.held) // n)
        if self._vllm:
            until = (now // _VLLM_REPORT_S + 1) * _VLLM_REPORT_S
            steps = min(steps, int((until - now) / one) + 1)
        else:
            steps = min(steps, self._reported[0] + _REPORT_STEPS - self._step)
        steps = self._steps = max(1, min(steps, room))
        self._each = one + factor * spec.token_s * n * (steps - 1) / 2
        return steps * self._each

    def cut_short(self, now: float) -> float | None:
        """Something arrived: decode steps end at the next one's end; gives when, None when nothing changes."""
        if self._joining or self._steps <= 1 or not self._each:
            return None
        steps = max(1, math.ceil((now - self._began) / self._each))
        if steps >= self._steps:
            return None
        self._steps = steps
        return max(now, self._began + steps * self._each)

    def commit(self, now: float) -> list[Request]:
        """The work that was planned is done; gives the requests that are finished."""
        if self._joining:
            self._join()
        elif self._steps:
            self._decode(now)
        done: list[Request] = []
        while self._heap and self._heap[0][0] <= self._step:
            request = heapq.heappop(self._heap)[2]
            self._let_go(request)
            request.made = request.target
            done.append(request)
        self._steps, self._joining = 0, []
        return done

    # ---- admission and prefill

    def _choose(self) -> list[Request]:
        chosen: list[Request] = []
        if self._full or not self.queue:
            return chosen
        room = self._room()
        tokens = 0
        while self.queue and len(self._heap) + len(chosen) < self.spec.max_running:
            request = self.queue[0]
            holds = request.prompt + request.made
            need = holds + (1 if self._vllm else min(request.cap - request.made, self.clip))
            self._full = need > room and bool(chosen or self._heap)
            if self._full or (chosen and tokens + holds - request.cached > _PREFILL_TOKENS):
                break
            chosen.append(self.queue.popleft())
            room -= need
            tokens += holds - request.cached
        return chosen

    def _room(self) -> float:
        if self._vllm:
            return self.pool * (1 - _VLLM_WATERMARK) - self.held
        step, clip = self._step, self.clip
        future = clip * len(self._heap)
        for r in self._long:
            left = r.cap - (r.made + step - r.joined)
            if left < clip:
                future -= clip - left
        return self.pool - self.held - self.ratio * future

    def _prefill_line(self, now: float, tokens: int) -> None:
        cached = sum(r.cached for r in self._joining)
        apart, self._prefilled_at = max(0.01, now - self._prefilled_at), now
        self.prompt_tokens += tokens + cached
        self._writer.prefill(self, now, len(self._joining), (tokens, cached), tokens / apart)

    def _join(self) -> None:
        for request in self._joining:
            request.made += 1
            request.joined = self._step
            self._order += 1
            heapq.heappush(self._heap, (self._step + request.target - request.made, self._order, request))
            self._held += request.prompt + request.made
            if request.target > request.cap - self.clip:
                self._long[request] = None
        self.first += len(self._joining)

    # ---- decode

    def _decode(self, now: float) -> None:
        made = len(self._heap) * self._steps
        self._step += self._steps
        self._held += made
        self.decoded += made
        self.ratio = max(
            self.ratio_floor, self.ratio - self._steps * (self.spec.ratio_start - self.spec.ratio_floor) / _RATIO_STEPS
        )
        if not self._vllm and self._step - self._reported[0] >= _REPORT_STEPS:
            _, tokens, at = self._reported
            self._reported = (self._step, self.decoded, now)
            self._writer.decode(self, now, (self.decoded - tokens) / max(0.01, now - at))

    def _make_room(self, now: float) -> None:
        """Throw out by the engine's rule until there is room again."""
        before, held = self.ratio, self._held
        if self._vllm:
            thrown = [max(self._heap, key=lambda entry: entry[1])[2]]
        else:
            order = sorted((r for _, _, r in self._heap), key=lambda r: r.made + self._step - r.joined, reverse=True)
            thrown = []
            free = self.pool - self.held
            while len(order) > 1 and free < _RETRACT_STEPS * len(order):
                request = order.pop()
                free += request.prompt + request.made + self._step - request.joined
                thrown.append(request)
        for request in thrown:
            self.take_out(request)
            self.queue.appendleft(request)
        self.preempted += len(thrown)
        if self._vllm:
            return
        made = sum(r.made + self._step - r.joined for _, _, r in self._heap)
        allowed = sum(r.cap for _, _, r in self._heap)
        if not self._thrashes:
            self.ratio = min(1.0, max(self.ratio_floor, (made + _RETRACT_STEPS * len(self._heap)) / (allowed + 1)))
        self._writer.retracted(self, now, (len(thrown), int(held - self._held)), (before, self.ratio))

    def take_out(self, request: Request) -> bool:
        """Take a request out of the batch or the queue; what it made stays known. False when it is not here."""
        for number, (_, _, known) in enumerate(self._heap):
            if known is request:
                self._heap[number] = self._heap[-1]
                self._heap.pop()
                heapq.heapify(self._heap)
                self._let_go(request)
                return True
        for waiting in (self.queue, self._joining):
            if request in waiting:
                waiting.remove(request)
                return True
        return False

    def redraw(self, dice: Random, length: Callable[[Request, int], int]) -> None:
        """Let all that has not happened yet be another.

        Args:
            dice: Where chance comes from.
            length: ``length(request, made)`` is the request's new length, more than ``made``: what is planned stays as
                it is, so the steps under way count as made but for the last.
        """
        self._pace.redraw(dice)
        for request in (*self.queue, *self._joining):
            request.aim(length(request, request.made))
        heap = []
        for _, order, request in self._heap:
            request.aim(length(request, request.made + self._step + max(0, self._steps - 1) - request.joined))
            heap.append((request.joined + request.target - request.made, order, request))
            self._long.pop(request, None)
            if request.target > request.cap - self.clip:
                self._long[request] = None
        heapq.heapify(heap)
        self._heap = heap

    def _let_go(self, request: Request) -> None:
        request.made += self._step - request.joined
        request.joined = self._step
        self._held -= request.prompt + request.made
        self._long.pop(request, None)
        self._full = False
