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
        job_lag_s: Likewise for the job's counts, which it tells of once a minute or seldomer.
        drain_s: Likewise after it was told to end: it may finish its requests first.
        settle_s: Seconds a log must have been silent before our eyes: a report that is only late in coming to us comes
            within that.
        health_failures: Failed health checks in a row that mean something: one or two fail under long prefills.
        health_failing_s: And seconds since the first of them.
        kv_full: Token usage from which on the KV cache is the limit: SGLang admits conservatively and stays below 0.9.
        budget_near: Share of a budget from which on it is nearly met.
        throughput_low: Share of the throughput expected at the present load below which it is low.
        throughput_low_s: Seconds after which to look again.
        throughput_less: Likewise for a lesser fall that the cumulative sum over hours finds.
        throughput_collapsed: Share of the expected throughput at which a person must look, by both windows.
        throughput_collapsed_s: Seconds for which it must have lasted.
        throughput_sunk: Share that counts as much once it has lasted for an hour and a half.
        collapse_sure: How sure a fall must be for that.
        retractions_per_min: Requests retracted a minute that are many: about one is fine (SGLang's tuning guide).
        retractions_rise: By how many times they must exceed what was usual in the hours before.
        retractions_many: Requests retracted a minute that are worth a word even while throughput holds ...
        throughput_holds: ... at this share of what is expected.
        thrash_per_min: Requests retracted a minute from which on they may be why throughput fell.
        thrash_share: Share of the expected throughput at or below which they thrash.
        thrash_made: Share of what the dataset made before at or below which they do.
        thrash_churn: Times a minute that a running request is retracted, from which on little of its work stands.
        idle_share: Share of the time in which a server with requests in flight makes nothing that is worth a word.
        few_share: Share of the requests in flight of which the running ones are few though none waits.
        under_s: Seconds for which either must hold.
        gain_sure: Throughput at another concurrency over the present one's that is worth a restart, by the low end of
            its 80 % range, where other datasets were sent many times as many at once ...
        gain_plain: ... and where they were not: a concurrency that was chosen is touched only for more ...
        few_at_once: ... and only up to so many requests at once.
        odd_one: By how many times another dataset of the same kind must exceed it to show a slip; for another kind
            two and a half times as many.
        gain_left_s: Seconds of work that the dataset must still have for that.
        gain_saved_s: Seconds that it must save at least ...
        gain_over_cost: ... and so many times what it costs.
        gain_little: Throughput at half as much concurrency again that is little gained.
        errors_new: Errors in ``errors_window_s`` from which on they rise.
        errors_window_s: Seconds.
        idle_s: Seconds the server may be idle with requests in flight: a job pauses a minute before another attempt.
        guessed_s: Likewise where the job's times are guessed, and may be off by minutes.
        old_s: Seconds from which on a figure's age is said beside it.
        look_doubt_s: Seconds by which the job's last line must be older than the look that missed its process: the job
            may have been started in between, and a stamp is cut to a whole second.
        first_completions: Completions after which the job prints its first progress line.
        health_busy_s: Seconds for which health may answer with an error (503): long prefills starve it, and who answers
            is there.
        errors_share: Share of the requests that ended in ``errors_window_s`` from which on errors rise: a few prompts
            of every set fail.
        storm_errors: Failures in ``storm_s`` that are many.
        storm_s: Seconds.
        storm_share: Share of the requests that failed for good from which on they are a storm, and not worth going on.
        storm_tries_share: Likewise of attempts, failed ones that are tried again included.
        storm_span_s: Seconds between the first and the last of them: a restart of the server fails a whole batch once.
        server_fails_s: Seconds for which the job may say that the server fails before it is a storm.
        over_margin: Share of the concurrency that requests in flight may be off by: counts and loads are not of the
            same second.
        over_least: Completions beyond the budget from which on it is asked whether new requests are sent.
        resume_lost: Prompts done again that mean that resuming failed: a result or two may have been cut off.
        resume_lost_share: Likewise as a share of the dataset.
        capped_share: Share of the completions at the length limit, or of the limit in a mean, that is nearly all.
        capped_least: Completions that must show it before it is watched.
        capped_sure: And before it is said to be a fault.
        capped_small: A limit of so many tokens is meant to cut; it is judged only when the share rises.
        restarts: Starts in ``restart_window_s`` that are a loop when little is made between them.
        restarts_many: Starts in it that are one in any case.
        restart_window_s: Seconds.
        restart_least: Completions a start below which little is made.
        restart_calm_s: Seconds of work since the newest start after which the loop is over.
        ending_s: Seconds of silence after a line by which a process dies, the server idle: then the job is dead.
        trouble_s: Likewise after any other line of trouble, or while the server still works.
        beat_s: A job that speaks at least this often is missed when it does not.
        beats: So many of its longest pauses must pass.
        job_due: A job is silent for too long after so many of its usual intervals ...
        job_due_s: ... and so many seconds.
        loading_s: Seconds that the prompts of a dataset may take to load.
        switch_s: Seconds between a dataset's end and the next one's beginning.
        disk_s: Seconds for which a line about a full disk counts while the job goes on.
        clock_s: Seconds for which a clock that jumped is watched: then the times are known again.
        slip_s: Seconds over which the end is looked at.
        slip: It slips when it moved by so many times the later half of its former range ...
        slip_share: ... and by this share of the time that was left.
        growing_s: Seconds of the two windows in which completions are compared.
        growing_fall: Fall of req/s from one to the next that is worth a word ...
        growing_flat: ... while tok/s changed by no more than this share.
        hold_wait_s: Seconds for which a reason to wait stays after it was last seen.
        hold_watch_s: Seconds for which a watch stays after it was last seen.
        hold_intervene_s: Seconds for which an intervention stays after it was last seen; a fault that is visibly over
            goes at once.
    """

    link_grace_s: float = 10.0
    stall_s: float = 120.0
    stall_intervals: float = 6.0
    first_words_s: float = 3.0
    ramp_s: float = 60.0
    life_margin_s: float = 10.0
    job_lag_s: float = 150.0
    drain_s: float = 900.0
    settle_s: float = 30.0
    health_failures: int = 3
    health_failing_s: float = 45.0
    kv_full: float = 0.7
    budget_near: float = 0.97
    throughput_low: float = 0.8
    throughput_low_s: float = 300.0
    throughput_less: float = 0.88
    throughput_collapsed: float = 0.68
    throughput_collapsed_s: float = 600.0
    throughput_sunk: float = 0.78
    collapse_sure: float = 0.999
    retractions_per_min: float = 1.0
    retractions_rise: float = 2.0
    retractions_many: float = 6.0
    throughput_holds: float = 0.92
    thrash_per_min: float = 2.0
    thrash_share: float = 0.72
    thrash_made: float = 0.70
    thrash_churn: float = 0.5
    idle_share: float = 0.4
    few_share: float = 0.5
    under_s: float = 900.0
    gain_sure: float = 1.4
    gain_plain: float = 2.0
    few_at_once: int = 8
    odd_one: float = 4.0
    gain_left_s: float = 3_600.0
    gain_saved_s: float = 1_800.0
    gain_over_cost: float = 10.0
    gain_little: float = 1.12
    errors_new: int = 10
    errors_window_s: float = 600.0
    idle_s: float = 150.0
    guessed_s: float = 1_800.0
    old_s: float = 60.0
    look_doubt_s: float = 2.0
    first_completions: int = 50
    health_busy_s: float = 300.0
    errors_share: float = 0.05
    storm_errors: int = 20
    storm_s: float = 300.0
    storm_share: float = 0.2
    storm_tries_share: float = 0.5
    storm_span_s: float = 60.0
    server_fails_s: float = 60.0
    over_margin: float = 0.1
    over_least: int = 20
    resume_lost: int = 50
    resume_lost_share: float = 0.01
    capped_share: float = 0.9
    capped_least: int = 50
    capped_sure: int = 100
    capped_small: int = 1_024
    restarts: int = 3
    restarts_many: int = 6
    restart_window_s: float = 3_600.0
    restart_least: int = 20
    restart_calm_s: float = 900.0
    ending_s: float = 20.0
    trouble_s: float = 180.0
    beat_s: float = 90.0
    beats: float = 1.5
    job_due: float = 6.0
    job_due_s: float = 900.0
    loading_s: float = 3_600.0
    switch_s: float = 1_800.0
    disk_s: float = 300.0
    clock_s: float = 900.0
    slip_s: float = 10_800.0
    slip: float = 2.5
    slip_share: float = 0.15
    growing_s: float = 600.0
    growing_fall: float = 0.3
    growing_flat: float = 0.1
    hold_wait_s: float = 180.0
    hold_watch_s: float = 180.0
    hold_intervene_s: float = 300.0
