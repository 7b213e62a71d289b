"""What touching the run would cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from console.job.limits import Limits
from console.job.reading import reading, text
from console.job.touching import Cost, cost, other_concurrency, restart_job, restart_server
from tests.job.builders import Scene, after, steady_run

if TYPE_CHECKING:
    from console.job.dataset_run import DatasetRun

LIMITS = Limits()


def at_work(scene: Scene) -> DatasetRun:
    trail = scene.tracker.state.log
    found = trail.find(trail.current)
    assert found is not None
    return found


def test_what_is_in_flight_is_made_again() -> None:
    scene = steady_run(30)
    scene.server(
        1_801,
        "Prefill batch, #new-seq: 1, #new-token: 800, #cached-token: 0, token usage: 0.82, #running-req: 49, #queue-req: 98",
    )
    scene.decode(1_802)
    found = cost(scene.tracker.state.server, at_work(scene), 150, 846.0, LIMITS)
    assert found.tokens is not None
    assert 20_000 < found.tokens < 141_312  # at most what the pool holds
    assert found.again_s == pytest.approx(found.tokens / 846.0, rel=0.01)
    minutes = found.minutes(server=False)
    assert minutes == pytest.approx(((found.again_s or 0) + (found.prompts_s or 0) + found.ramp_s) / 60)


def test_a_server_whose_start_was_seen_costs_that_long() -> None:
    scene = Scene()
    scene.ready(-600)
    scene.begin()
    assert scene.tracker.state.server.life.load_s == 60.0
    found = cost(scene.tracker.state.server, None, None, 846.0, LIMITS)
    assert found.server_s == 60.0
    assert found.minutes(server=True) == pytest.approx((60 + LIMITS.ramp_s / 2) / 60)
    assert "its last start took 1 min" in restart_server(found).words


def test_the_unknown_is_said() -> None:
    found = Cost(150, None, None, 3.0, None, 30.0)
    assert found.minutes(server=False) is None
    job, server = restart_job(found, 52), restart_server(found)
    assert "52 finished prompts are kept, the 150 requests in flight are made again" in job.words
    assert "not known" in job.words
    assert "has not been seen" in server.words
    assert (job.minutes_lost, server.tokens_lost) == (None, None)


def test_another_concurrency_costs_a_restart_of_the_job() -> None:
    found = Cost(32, 30_000, 60.0, 0.0, None, 30.0)
    option = other_concurrency(found, more=True, gain="64 at once would make 12 % more.")
    assert (option.act, option.minutes_lost) == ("raise_concurrency", 1.5)
    assert (
        "64 at once would make 12 % more. It needs a restart of the job. The end moves by about 2 min." in option.words
    )
    assert other_concurrency(found, more=False, gain="Nothing.").act == "lower_concurrency"


def test_between_two_datasets_nothing_is_lost() -> None:
    scene = Scene()
    found = cost(scene.tracker.state.server, None, None, 846.0, LIMITS)
    assert (found.tokens, found.again_s) == (0, 0.0)


def test_options_stand_beside_what_is_to_be_done() -> None:
    scene = steady_run(30)
    taken = scene.tracker.snapshot(after(2_000))
    assert taken.verdict.cause == "server_stalled"
    assert [option.act for option in taken.verdict.options] == ["restart_server", "restart_job"]
    options = reading(taken)["options"]
    assert [option["act"] for option in options] == ["restart_server", "restart_job"]
    assert set(options[0]) == {"act", "words", "tokens_lost", "minutes_lost"}
    assert "What it would cost: Restarting the server:" in text(taken)
