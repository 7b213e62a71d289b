"""What a person must do now. A full KV cache and a long queue are never among it: they are good while tok/s holds."""

from __future__ import annotations

from console.job.advice_rules import (
    budget_rules,
    failure_rules,
    job_rules,
    length_rules,
    rank_rules,
    restart_rules,
    resume_rules,
    script_rules,
    server_rules,
    storage_rules,
)

RULES = (
    storage_rules.disk_full,
    restart_rules.restart_loop,
    server_rules.server_down,
    job_rules.job_dead,
    server_rules.server_stalled,
    rank_rules.rank_stalled,
    job_rules.job_stalled,
    failure_rules.error_storm,
    resume_rules.resume_broken,
    budget_rules.over_budget,
    script_rules.wrong_script,
    length_rules.runaway_completions,
)
"""In the order in which they are asked: a full disk explains a dead job, a dead server explains one too, and what
stands still outranks what goes wrong."""
