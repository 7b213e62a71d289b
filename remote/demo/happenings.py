"""What the simulated server's scheduler is asked to do, and what it says happened."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Request:
    """One prompt to be completed.

    Attributes:
        rid: Its id, unique among the live ones.
        prompt_tokens: Tokens of the prompt, at least 1.
        max_new_tokens: Tokens it may make at most.
        wanted_tokens: Tokens after which its answer would end by itself; more than ``max_new_tokens`` is cut.
    """

    rid: str
    prompt_tokens: int
    max_new_tokens: int
    wanted_tokens: int

    @property
    def target(self) -> int:
        """Tokens it will make, at least 1."""
        return max(1, min(self.wanted_tokens, self.max_new_tokens))


@dataclass(frozen=True, slots=True)
class PrefillDone:
    """Prompts were computed and their requests joined the running batch.

    Attributes:
        at: Simulated seconds since the engine began.
        requests: How many joined.
        tokens: Prompt tokens computed.
        running: Requests that were decoding already.
        queue: Requests left waiting.
        pending_tokens: Their prompt tokens.
        token_usage: Share of the KV pool in use afterwards, 0 to 1.
        throughput: ``tokens`` over the time since the prefill before, tokens per simulated second.
    """

    at: float
    requests: int
    tokens: int
    running: int
    queue: int
    pending_tokens: int
    token_usage: float
    throughput: float


@dataclass(frozen=True, slots=True)
class DecodeReport:
    """The report that comes every so many decode steps.

    Attributes:
        at: Simulated seconds since the engine began.
        running: Requests in the batch.
        tokens: KV pool tokens in use.
        token_usage: The same as a share, 0 to 1.
        throughput: Tokens decoded since the last report over the time since then, prefill and idle time included.
        queue: Requests waiting.
    """

    at: float
    running: int
    tokens: int
    token_usage: float
    throughput: float
    queue: int


@dataclass(frozen=True, slots=True)
class Finished:
    """A request has all its tokens.

    Attributes:
        at: Simulated seconds since the engine began.
        request: Which.
        tokens: Tokens it made.
        cut: True when a limit ended it, not the answer's own end.
        retractions: How often it was thrown out of the batch on the way.
    """

    at: float
    request: Request
    tokens: int
    cut: bool
    retractions: int


@dataclass(frozen=True, slots=True)
class Retracted:
    """The KV pool was full: requests went back to the queue.

    Attributes:
        at: Simulated seconds since the engine began.
        requests: How many.
        tokens_gained: KV pool tokens freed.
        ratio_before: The new-token ratio until now.
        ratio_after: The one from now on, higher.
    """

    at: float
    requests: int
    tokens_gained: int
    ratio_before: float
    ratio_after: float


Happening = PrefillDone | DecodeReport | Finished | Retracted
