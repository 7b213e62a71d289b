"""Tokens that the requests in flight have made so far, by what the KV pool holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.job.prompts import mean_prompt

if TYPE_CHECKING:
    from console.job.dataset_run import DatasetRun
    from console.job.server_state import ServerState


def tokens_in_flight(server: ServerState, run: DatasetRun) -> float | None:
    """Tokens that the running requests have made so far; None when it can't be known.

    ``pool tokens - running x mean prompt``: the KV pool holds prompts and what was made after them. The mean prompt is
    that of the completions in ``progress.jsonl``, else of the server's prefill lines, else of the prompt
    tokens that it computed.
    """
    prompt = _mean_prompt(server, run)
    held = [_held(server, report.load.tokens, report.load.token_usage) for _, report in server.fresh_ranks()]
    known = [tokens for tokens in held if tokens is not None]
    if prompt is None or not known or len(known) < len(held):
        return None
    return max(0.0, sum(known) - (server.log_running() or 0) * prompt)


def _held(server: ServerState, tokens: int | None, usage: float | None) -> float | None:
    if tokens is not None:
        return tokens
    return usage * server.capacity.max_total_tokens if usage is not None and server.capacity else None


def _mean_prompt(server: ServerState, run: DatasetRun) -> float | None:
    if len(run.completed):
        return run.prompt_tokens / len(run.completed)
    if server.prompts:
        return server.prompt_tokens / server.prompts
    return mean_prompt(server.minutes, run)  # a server that prints no admissions (vLLM)
