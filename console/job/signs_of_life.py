"""What speaks for a live server and what against it, each with its weight: one sign alone proves little.

A health check that answers counts for little while no token is made (vLLM's is a flag, SGLang's may be answered by the
tokenizer), and one that fails counts for little while tokens are made (long prefills starve it). Made tokens prove
life: a counter that moves, a report that shows work, a count of the job's that grows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from console.job.units import duration

if TYPE_CHECKING:
    from console.job.advice_rules.context import Context

_FRESH_S = 90.0
"""Older than this, a sign of life says nothing of now: the slowest of what is asked comes once a minute."""


@dataclass(frozen=True, slots=True)
class Sign:
    """One sign.

    Attributes:
        name: What it is.
        lives: Whether it speaks for life now.
        proves: Whether it is made tokens, rather than an answer.
        age_s: How old it is; None for one that is always of now.
    """

    name: str
    lives: bool
    proves: bool
    age_s: float | None = None

    def words(self) -> str:
        """The sign and its age."""
        return self.name if self.age_s is None else f"{self.name} ({duration(self.age_s)} ago)"


def signs(ctx: Context) -> tuple[Sign, ...]:
    """Every sign that can be seen, those that prove life first."""
    state, found = ctx.state, []
    if ctx.job_grown_s is not None:
        found.append(_aged("the job's progress", ctx.job_grown_s, ctx.stall_limit_s))
    if state.server.metrics.moved_at is not None:
        found.append(_aged("the server's counters", ctx.since(state.server.metrics.moved_at), _FRESH_S))
    if state.server.progressed_at is not None:
        age_s = ctx.since(state.server_clock.on_our_clock(state.server.progressed_at))
        found.append(_aged("work in the server's log", age_s, ctx.stall_limit_s))
    return (*found, *_answers(ctx))


def _aged(name: str, age_s: float, fresh_s: float) -> Sign:
    return Sign(name, age_s <= max(fresh_s, _FRESH_S), proves=True, age_s=age_s)


def _answers(ctx: Context) -> tuple[Sign, ...]:
    """The health check, as two signs: that somebody answers at all, and what is answered."""
    health = ctx.state.host.health
    if health.probe is None or health.at is None:
        return ()
    age_s = ctx.since(health.at)
    fresh = age_s <= 2 * _FRESH_S
    probe = health.probe
    token = "a generated token" if "generate" in probe.path else "health"
    port = Sign("the port", fresh and probe.status is not None, proves=False, age_s=age_s)
    words = token if probe.ok or probe.status is None else f"{token} (HTTP {probe.status})"
    return port, Sign(words, fresh and probe.ok, proves="generate" in probe.path, age_s=age_s)


def agreement(found: tuple[Sign, ...]) -> str | None:
    """Which signs speak for life and which against it, in a sentence; None when there is none."""
    if not found:
        return None
    alive = [sign.words() for sign in found if sign.lives]
    dead = [sign.words() for sign in found if not sign.lives]
    parts = [f"for: {', '.join(alive)}"] if alive else []
    parts += [f"against: {', '.join(dead)}"] if dead else []
    return f"Signs of life, {'; '.join(parts)}."
