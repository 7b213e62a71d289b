"""What an inference server says in its log.

The two kinds that come by the ten thousand are tuples: a frozen dataclass takes four times as long to make.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class EngineSeen:
    """The log shows which engine writes it; a new start of it resets what is known of the server.

    Attributes:
        engine: ``sglang``, ``vllm``, ``llamacpp`` or ``trtllm``.
        version: As printed; empty when not.
        started: True when the line is the first of a new process.
    """

    engine: str
    version: str = ""
    started: bool = False


@dataclass(frozen=True, slots=True)
class ServerPhase:
    """A step of the server's life.

    Attributes:
        phase: ``weights``, ``kv_cache``, ``graphs``, ``warmup``, ``http_up``, ``ready`` or ``draining``.
        share: 0 to 1 where the phase has a bar, else None.
    """

    phase: str
    share: float | None = None


@dataclass(frozen=True, slots=True)
class ServerCapacity:
    """What the server can hold, per DP rank.

    Attributes:
        max_total_tokens: KV pool size, tokens.
        max_running: Requests it will run at once; None when not said.
        context_length: Tokens of one request at most; None when not said.
    """

    max_total_tokens: int
    max_running: int | None = None
    context_length: int | None = None


class ServerLoad(NamedTuple):
    """One report of one scheduler: SGLang's ``Decode batch`` or vLLM's stats line.

    Attributes:
        rank: The scheduler: ``DP0``, ``000``; empty for a single one.
        running: Requests in the running batch.
        queue: Requests waiting in the scheduler; None when the line does not say.
        token_usage: Share of the KV pool in use, 0 to 1 (hybrid pools: the highest); None when not said.
        tokens: Tokens held in the pool; None when not said.
        gen_throughput: Generated tokens a second since the scheduler's last report; None when not said.
        suspect_throughput: True when the figure spans idle or prefill time and is falsely low.
        preemptions: vLLM's ``Preemptions: n`` in the interval.
        prompt_tokens_s: Prompt tokens computed a second in the interval, as vLLM's line says; 0 where the report does
            not tell: SGLang's prefill lines do.
        accept_length: Tokens per request and verify step of speculative decoding, the bonus token included; None when
            not said.
        cache_hit_rate: Share of the prompt tokens found in the prefix cache, 0 to 1, as vLLM's line says; None where
            the report does not tell: SGLang's prefill lines do.
    """

    rank: str
    running: int
    queue: int | None
    token_usage: float | None
    tokens: int | None
    gen_throughput: float | None
    suspect_throughput: bool = False
    preemptions: int = 0
    prompt_tokens_s: float = 0.0
    accept_length: float | None = None
    cache_hit_rate: float | None = None


class ServerPrefill(NamedTuple):
    """SGLang's ``Prefill batch``: one chunk of prompt work."""

    rank: str
    new_requests: int
    new_tokens: int
    cached_tokens: int
    running: int | None
    queue: int | None
    token_usage: float | None


@dataclass(frozen=True, slots=True)
class Retraction:
    """The server took requests out of the running batch for want of KV cache."""

    rank: str
    count: int


@dataclass(frozen=True, slots=True)
class ServerTrouble:
    """The server's log says that it failed.

    Attributes:
        kind: ``crash``, ``watchdog``, ``oom``, ``nccl``, ``sigquit``, ``engine_dead``, ``start_failed``, ``health``,
            ``disk``.
        message: The line, shortened.
        fatal: True when the server does not survive it.
    """

    kind: str
    message: str
    fatal: bool


@dataclass(frozen=True, slots=True)
class ServerStopping:
    """The server was told to end (SIGTERM) or ended in order."""

    message: str
