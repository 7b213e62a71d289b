"""What is in flight and what has ended, told from the server's log alone."""

from __future__ import annotations

import itertools
import math
import random
from bisect import bisect_right
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from console.job.events import Source
from console.job.flight import Flight, FlightDraft
from console.job.flight_batch import Batch, BatchDraft
from console.job.flight_rank import CLOSELY
from console.job.plan import Plan
from console.job.server_events import Retraction, ServerLoad, ServerPrefill
from console.job.tracker import Tracker
from tests.job.flight_runs import LAWS, T0, run_of, run_until

SEEN = datetime(2026, 12, 1, tzinfo=UTC)
Told = ServerLoad | ServerPrefill | Retraction


def read(*pieces: bytes) -> Tracker:
    tracker = Tracker(Plan())
    for piece in pieces:
        tracker.feed(Source.SERVER, piece, SEEN)
    return tracker


def at(seconds: float) -> datetime:
    return T0 + timedelta(seconds=seconds)


def load(running: int, tokens: int | None, *, rank: str = "", speed: float | None = None) -> ServerLoad:
    return ServerLoad(rank, running, 0, None, tokens, speed)


def prefill(count: int, tokens: int, running: int, *, rank: str = "", cached: int = 0) -> ServerPrefill:
    return ServerPrefill(rank, count, tokens, cached, running, 0, None)


def told(*events: tuple[float, Told], flight: Flight | None = None) -> Flight:
    """A flight after events, one by one."""
    flight = flight or Flight()
    for second, event in events:
        if isinstance(event, ServerLoad):
            flight = flight.loaded(event, at(second))
        elif isinstance(event, ServerPrefill):
            flight = flight.prefilled(event, at(second))
        else:
            flight = flight.retracted(event, at(second))
    return flight


def ages(flight: Flight) -> list[int]:
    return sorted(round(age) for age, _ in flight.in_flight() if age is not None)


RUN = run_until("lognormal", 1, 60)


@given(st.lists(st.integers(0, len(RUN.log)), max_size=8))
@settings(max_examples=15, deadline=None)
def test_bytes_split_anywhere_give_the_same(cuts: list[int]) -> None:
    edges = [0, *sorted(cuts), len(RUN.log)]
    parts = read(*(RUN.log[here:there] for here, there in itertools.pairwise(edges)))
    assert parts.state.server.flight == read(RUN.log).state.server.flight


@given(st.integers(0, len(RUN.lines)), st.integers(0, 40))
@settings(max_examples=15, deadline=None)
def test_lines_read_twice_change_nothing(end: int, again: int) -> None:
    """A reconnection reads some lines once more."""
    lines = [f"{line}\n".encode() for line in RUN.lines]
    twice = read(b"".join(lines[:end]), b"".join(lines[max(0, end - again) : end]), b"".join(lines[end:]))
    assert twice.state.server.flight == read(RUN.log).state.server.flight


def test_frozen_and_thawed() -> None:
    tracker, other = read(RUN.log), Tracker(Plan())
    assert other.thaw(tracker.freeze())
    assert other.state.server.flight == tracker.state.server.flight


def test_one_departure_is_told_exactly() -> None:
    """Three requests of other prompts; that of 200 leaves, since its prompt and 80 tokens are freed."""
    flight = told(
        (0, prefill(1, 100, 0)),
        (0, prefill(1, 200, 1)),
        (0, prefill(1, 400, 2)),
        (2, load(3, 700 + 3 * 40)),
        (4, load(3, 700 + 3 * 80)),
        (6, load(2, 700 - 200 + 2 * 120)),
    )
    ((when, tokens),) = flight.ended(at(0))
    assert when == at(6).timestamp()
    assert tokens == pytest.approx(120, abs=20)
    assert flight.quality() == 1.0
    assert ages(flight) == pytest.approx([120, 120], abs=2)
    assert flight.generated(at(-1)) == pytest.approx(2 * 120 + 100, abs=40)


def test_ages_begin_with_admission() -> None:
    flight = told(
        (0, prefill(2, 200, 0)),
        (2, load(2, 200 + 2 * 40)),
        (4, load(2, 200 + 2 * 80)),
        (6, prefill(1, 500, 2)),
        (6, load(3, 700 + 2 * 120)),
        (8, load(3, 700 + 3 * 40 + 2 * 120)),
    )
    assert ages(flight) == pytest.approx([40, 160, 160], abs=2)


def test_what_ran_before_the_log_began_is_of_unknown_age() -> None:
    flight = told((0, load(5, 5_000)), (2, prefill(1, 300, 5)), (2, load(6, 5_500)), (4, load(6, 5_740)))
    assert (None, 5) in flight.in_flight()
    assert ages(flight) == pytest.approx([40], abs=20)


def test_a_new_server_has_nothing_in_flight() -> None:
    tracker = read(RUN.log)
    ended = tracker.state.server.flight.ended()
    line = f"[{RUN.until + timedelta(seconds=60):%Y-%m-%d %H:%M:%S}] server_args=ServerArgs(model_path='m')\n"
    tracker.feed(Source.SERVER, line.encode(), SEEN)
    assert tracker.state.server.flight.in_flight() == ()
    assert tracker.state.server.flight.ended() == ended


def test_what_was_thrown_out_comes_back_with_its_age() -> None:
    begun: list[tuple[float, Told]] = [
        (0, prefill(1, 1_000, 0)),
        (0, prefill(1, 1_000, 1)),
        (1, load(2, 2_000 + 2 * 40)),
    ]
    steady: list[tuple[float, Told]] = [(2.0 * turn, load(2, 2_000 + 2 * 40 * turn)) for turn in range(2, 20)]
    flight = told(*begun, *steady, (38.5, Retraction("", 1)), (40, load(1, 1_000 + 20 * 40)))
    assert ages(flight) == pytest.approx([760, 800], abs=25)
    flight = told((42, prefill(1, 1_000 + 760, 1)), (42, load(2, 1_000 + 21 * 40 + 1_760 + 40)), flight=flight)
    assert ages(flight) == pytest.approx([780, 840], abs=40)
    assert flight.ended() == []


def test_aborted_requests_tell_nothing() -> None:
    """Thirty requests of all ages vanish at once: the job was killed."""
    begun: list[tuple[float, Told]] = [(3.0 * turn, prefill(1, 100, turn)) for turn in range(30)]
    loads: list[tuple[float, Told]] = [(3.0 * turn + 2, load(turn + 1, None)) for turn in range(30)]
    flight = told(*sorted([*begun, *loads], key=lambda entry: entry[0]))
    assert len(ages(flight)) == 30
    after = told((95, prefill(4, 400, 0)), (98, load(4, None)), flight=flight)
    assert after.ended(at(90)) == []
    assert len(after.in_flight()) == 4


def test_a_gap_in_the_log_makes_ages_unknown() -> None:
    flight = told(
        (0, prefill(2, 200, 0)), (2, load(2, 280)), (4, load(2, 360)), (900, load(2, 400, speed=40.0)),
    )  # fmt: skip
    assert flight.in_flight() == ((None, 2),)
    assert flight.ended() == []


def test_chunks_of_a_long_prompt_are_one_request() -> None:
    flight = told(
        (0, prefill(1, 8_192, 0)), (1, prefill(1, 8_192, 0)), (2, prefill(2, 3_000, 0)), (4, load(2, 19_384 + 80)),
    )  # fmt: skip
    assert len(flight.in_flight()) == 2
    assert (None, 1) not in flight.in_flight()


def test_a_server_that_prints_no_admissions() -> None:
    flight = told(*[(10.0 * turn, load(8, None, speed=100.0)) for turn in range(7)])
    assert flight.in_flight() == ((None, 8),)
    assert flight.generated(at(0)) == pytest.approx(6_000, rel=0.1)


def test_schedulers_are_told_apart() -> None:
    flight = told(
        (0, prefill(1, 100, 0, rank="DP0")), (0, prefill(2, 100, 0, rank="DP1")), (2, load(1, 140, rank="DP0")),
        (2, load(2, 180, rank="DP1")), (4, load(1, 180, rank="DP0")), (6, load(1, 180, rank="DP1")),
    )  # fmt: skip
    assert len(flight.in_flight()) == 2
    assert len(flight.ended()) == 1


def test_a_scheduler_that_says_no_more_has_nothing_in_flight() -> None:
    flight = told(
        (0, prefill(1, 100, 0, rank="DP0")), (0, prefill(1, 100, 0, rank="DP1")), (2, load(1, 140, rank="DP0")),
        (2, load(1, 140, rank="DP1")), *[(4.0 * turn, load(1, 140 + 40 * turn, rank="DP1")) for turn in range(1, 10)],
    )  # fmt: skip
    assert ages(flight) == pytest.approx([400], abs=2)


@pytest.mark.parametrize("law", LAWS)
def test_beside_the_truth(law: str) -> None:
    """Sums of what ended and of what is in flight, over some runs, and how many."""
    off: list[float] = []
    for seed in range(3):
        run = run_until(law, seed, 200)
        flight = read(run.log).state.server.flight
        ended = [tokens for _, tokens in flight.ended()]
        assert 0.9 * 200 <= len(ended) <= 200
        off.append(sum(ended) / len(ended) / (sum(run.ended) / 200) - 1)
        known = ages(flight)
        assert len(known) == pytest.approx(len(run.ages), rel=0.35)
    assert abs(sorted(off)[1]) < 0.06


def test_those_that_came_last_may_have_left_all_the_same() -> None:
    """Eight came in the second of the line that shows five fewer: there is nobody else who could have left."""
    draft = BatchDraft(Batch())
    draft.join(1_040.0, 8, 500.0)
    left = draft.leave(5, 2_510.0, 1_020.0, 1_040.0, 40.0)
    assert [made for made, _ in left] == [1.0] * 5
    assert len(draft.flying) == 3


@pytest.mark.parametrize(("mean", "sigma", "words"), [(300, 0.9, 1_500), (400, 0.6, 2_500)])
def test_short_answers_to_long_prompts_do_not_end_with_their_first_words(mean: int, sigma: float, words: int) -> None:
    """Prompts differ more than answers are long, and several leave between two lines: which ones, only chance tells.

    It must not tell of answers of one token, of which it would then expect ever more.
    """
    dice = random.Random(f"{mean}:{words}")
    lengths = lambda: max(1, int(dice.lognormvariate(math.log(mean) - sigma * sigma / 2, sigma)))  # noqa: E731
    prompts = lambda: max(20, int(dice.lognormvariate(math.log(words), 0.4)))  # noqa: E731
    run = run_of(lengths, prompts, 500)
    ended = sorted(one.tokens for one in read(run.log).state.server.flight.departed() if one.apart)
    assert len(ended) > 400
    true = sorted(run.ended[: len(ended)])
    short = [sum(tokens < 0.05 * mean for tokens in told) / len(told) for told in (ended, true)]
    assert short[0] < short[1] + 0.04
    apart = max(
        abs(bisect_right(ended, tokens) / len(ended) - bisect_right(true, tokens) / len(true))
        for tokens in (*ended, *true)
    )
    assert apart < 0.2  # the greatest difference between the two distributions (Kolmogorov and Smirnov)


def test_it_stays_bounded() -> None:
    """Ten thousand departures, forty at once: records, ages and marks keep to their limits; counts are right."""
    draft, clock = FlightDraft(Flight()), 0.0
    for turn in range(1_000):
        clock += 4.0
        draft.prefill(prefill(10, 1_000, 30 if turn else 0), at(clock))
        draft.load(load(40, 40_000), at(clock + 1))
    flight = draft.freeze()
    assert flight.count == pytest.approx(10_000, rel=0.02)
    assert sum(count for _, count in flight.in_flight()) == 40
    assert sum(map(len, flight.chunks)) + len(flight.tail) < 8_300
    assert flight.ranks[0][1].left <= 0
    apart = [one for one in flight.departed() if one.apart]
    assert sum(one.requests for one in apart) <= CLOSELY + 40
    assert len(flight.marks) <= 1_000 * 4 / 60 + 2


def test_telling_apart_begins_anew_with_a_new_data_set() -> None:
    draft = FlightDraft(Flight())
    for turn in range(100):
        draft.prefill(prefill(10, 1_000, 30 if turn else 0), at(4.0 * turn))
        draft.load(load(40, 40_000), at(4.0 * turn + 1))
    assert draft.freeze().only_counts()
    for left in (20, 3):
        draft.load(load(left, left * 1_000), at(500.0 - left))
    draft.prefill(prefill(10, 1_000, 0), at(600.0))
    draft.load(load(10, 1_400), at(602.0))
    flight = draft.freeze()
    assert not flight.only_counts()
    assert ages(flight) == [40] * 10
    ended, open_ages = flight.told_apart(at(599.0))
    assert (ended, len(open_ages)) == ([], 10)
