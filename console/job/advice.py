"""Whether to touch the run: the first rule that answers, most urgent first.

Blind wins over everything: nothing is concluded from old figures. A run that is done needs nothing, whatever its
server does. Then what a person must do now, then what may be off, then why it is right to wait.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.job.advice_rules import blind, intervene, speed_rules, wait, watch

if TYPE_CHECKING:
    from collections.abc import Callable

    from console.job.advice_rules.context import Context
    from console.job.snapshot import Verdict

RULES: tuple[Callable[[Context], Verdict | None], ...] = (
    *blind.RULES,
    wait.finished,
    *intervene.RULES,
    *speed_rules.INTERVENE_RULES,
    *watch.RULES,
    *speed_rules.WATCH_RULES,
    *watch.LATE_RULES,
    *wait.RULES,
    *speed_rules.WAIT_RULES,
    *wait.LATE_RULES,
)
"""Every rule, in the order in which they are asked."""

NO_END = frozenset({"server_down", "server_stalled", "job_dead", "job_stalled", "restart_loop"})
"""Causes while which no tokens are made, so that no end can be told."""


def judge(ctx: Context) -> Verdict:
    """The verdict now. Its ``since`` is None where only one who remembers the verdict before can tell it."""
    for rule in RULES:
        verdict = rule(ctx)
        if verdict is not None:
            return verdict
    return wait.steady(ctx)
