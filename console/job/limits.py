"""The thresholds of advice, in one place."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Where a figure begins to mean something.

    Attributes:
        link_grace_s: Seconds a lost link may take to come back before its figures count as old: a try takes about ten.
        stall_s: Seconds without work that a serving server may take at least: a chunked prefill prints every few
            seconds, and a compilation in the midst of a run takes up to two minutes.
        stall_intervals: And at least this many of its usual intervals between reports.
        first_words_s: Seconds after the link came up in which every log is heard of.
        ramp_s: Seconds after a dataset's start in which the KV cache is still filling, so that it is not yet the limit.
        life_margin_s: Seconds after the end that a log tells of from which on an answer is another server's: a dying
            one may answer a moment longer.
        drain_s: Likewise after it was told to end: it may finish its requests first.
        settle_s: Seconds a log must have been silent before our eyes: a report that is only late in coming to us comes
            within that.
        health_failures: Failed health checks in a row that mean something: one or two fail under long prefills.
        health_failing_s: And seconds since the first of them.
        kv_full: Token usage from which on the KV cache is the limit: SGLang admits conservatively and stays below 0.9.
        budget_near: Share of a budget from which on it is nearly met.
        throughput_low: Share of the usual throughput below which it is low; lesser falls come and go.
        throughput_low_s: Seconds it must hold: shorter dips are prefills.
        errors_new: Errors in ``errors_window_s`` from which on they rise.
        errors_window_s: Seconds.
        idle_s: Seconds the server may be idle with requests in flight: a job retries within a minute or two.
        old_s: Seconds from which on a figure's age is said beside it.
        look_doubt_s: Seconds by which the job's last line must be older than the look that missed its process: the job
            may have been started in between, and a stamp is cut to a whole second.
        first_completions: Completions after which the job prints its first progress line.
    """

    link_grace_s: float = 10.0
    stall_s: float = 120.0
    stall_intervals: float = 6.0
    first_words_s: float = 3.0
    ramp_s: float = 60.0
    life_margin_s: float = 10.0
    drain_s: float = 900.0
    settle_s: float = 30.0
    health_failures: int = 3
    health_failing_s: float = 45.0
    kv_full: float = 0.7
    budget_near: float = 0.97
    throughput_low: float = 0.7
    throughput_low_s: float = 300.0
    errors_new: int = 10
    errors_window_s: float = 600.0
    idle_s: float = 300.0
    old_s: float = 60.0
    look_doubt_s: float = 2.0
    first_completions: int = 50
