"""What can happen to a run: each fault and each harmless thing by name, and how it is put into the calendar."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.judgement import faults_job, faults_server

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench.judgement.spec import FaultSpec
    from bench.judgement.world import World

HAPPENINGS: dict[str, Callable[[World, FaultSpec], float]] = {
    "server_stalled": faults_server.server_stalled,
    "server_down": faults_server.server_down,
    "throughput_60": faults_server.throughput,
    "throughput_30": faults_server.throughput,
    "slow_ramp": faults_server.slow_ramp,
    "retraction_thrash": faults_server.retraction_thrash,
    "error_storm": faults_server.error_storm,
    "server_restart_loop": faults_server.server_restart_loop,
    "job_dead": faults_job.job_dead,
    "disk_full": faults_job.disk_full,
    "resume_broken": faults_job.resume_broken,
    "job_restart_loop": faults_job.job_restart_loop,
    "over_budget": faults_job.over_budget,
    "runaway_completions": faults_job.runaway_completions,
    "concurrency_too_low": faults_job.concurrency_too_low,
    "wrong_script": faults_job.wrong_script,
    "clock_jump": faults_job.clock_jump,
    "operator_restart": faults_job.operator_restart,
}
"""Each puts itself into a world's calendar, and gives the seconds after the start until which the run goes on."""


def arrange(world: World) -> float:
    """Put what is to happen into the calendar; gives until when the run goes on, seconds since the epoch."""
    limits = [HAPPENINGS[event.kind](world, event) for event in world.spec.events]
    return world.spec.begin + min([world.spec.limit_s, *limits])
