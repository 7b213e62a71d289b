"""What is believed of how long completions are."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from datetime import timedelta
from itertools import accumulate, pairwise
from statistics import fmean, median

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from console.job.dataset_run import DatasetRun
from console.job.events import Completion, Source, Stamped
from console.job.fold import fold
from console.job.job_events import DatasetStarted
from console.job.job_merge import merged
from console.job.length_belief import _unseen, belief, belief_key
from console.job.length_counts import LengthCounts
from console.job.length_data import data_of
from console.job.length_fit import _blended, draws, moved
from console.job.length_law import LONGEST, LengthLaw, edges_up_to, law_of, scaled
from console.job.length_prior import LengthPrior, prior_of
from console.job.plan import Plan
from console.job.server_state import ServerState
from console.job.snapshot import DatasetState
from console.job.state import State
from tests.job.flight_runs import CAP, LAWS, T0, FlightRun, drawn, mean_of, run_until
from tests.job.test_flight import SEEN, read

WIDE = LengthPrior(math.log(1_500), 1.0)


def exponential(mean: float, cap: int = 100_000) -> LengthLaw:
    return law_of("gamma", [math.exp(-edge / mean) for edge in edges_up_to(cap)], cap)


def at_work(done: int, tokens: int | None, **more: object) -> DatasetRun:
    run = DatasetRun(
        "A", "SHORT", DatasetState.RUNNING, T0, started_at=T0, updated_at=T0 + timedelta(hours=10), done_run=done,
        tokens=tokens, tokens_before=0, requests=10_000, concurrency=150, max_tokens=CAP,
    )  # fmt: skip
    return replace(run, **more)  # type: ignore[arg-type]  # fields by name


# ---- laws


def test_an_exponential_law_forgets() -> None:
    law = exponential(1_000.0)
    assert law.mean == pytest.approx(1_000, rel=0.01)
    assert law.mean_left(0) == pytest.approx(1_000, rel=0.01)
    assert law.mean_left(3_000) == pytest.approx(1_000, rel=0.03)
    assert law.residual_mean_equilibrium == pytest.approx(1_000, rel=0.02)
    assert law.survival(1_000) == pytest.approx(math.exp(-1), abs=0.003)
    assert law.quantile(0.5) == pytest.approx(1_000 * math.log(2), rel=0.02)


def test_a_law_ends_at_its_cap() -> None:
    law = exponential(1_000.0, cap=1_000)
    assert law.cut == pytest.approx(math.exp(-1))
    assert law.mean == pytest.approx(1_000 * (1 - math.exp(-1)), rel=0.01)
    assert law.survival(1_000) == 0
    assert law.mean_left(1_000) == 0
    assert law.mean_left(999) <= 1
    assert law.quantile(0.9) == 1_000


@given(st.floats(0, 12_000), st.lists(st.floats(0, 12_000), max_size=30))
def test_shares_alive_in_one_go(age: float, more: list[float]) -> None:
    law = exponential(1_000.0, cap=10_000)
    more.sort()
    assert law.survivals(age, more) == pytest.approx([law.survival(age + x) for x in more])


@given(st.lists(st.floats(0, 1), min_size=72, max_size=72), st.floats(0, 1), st.floats(0, 9_999))
def test_laws_of_any_form(shares: list[float], p: float, age: float) -> None:
    law = law_of("lognormal", [1.0, *sorted(shares, reverse=True)], 10_000)
    assert 0 <= law.mean <= 10_000
    assert 0 <= law.mean_left(age) <= 10_000 - age
    length = law.quantile(p)
    assert 0 <= length <= 10_000
    assert law.survival(length) <= 1 - p + 1e-6
    assert scaled(law, 0.5).mean <= law.mean + 1e-6


# ---- fits


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(("count", "error"), [(100, 0.2), (3_000, 0.04)])
def test_finished_ones_alone_give_their_mean(law: str, count: int, error: float) -> None:
    """A sample without bias: all that were sent have finished."""
    dice = random.Random(count)
    lengths = [float(drawn(law, dice)) for _ in range(count)]
    laws = draws(data_of(CAP, [(length, 1.0) for length in lengths], ()), WIDE)
    assert fmean(each.mean for each in laws) == pytest.approx(fmean(lengths), rel=error)


@given(
    st.lists(st.floats(0, 300), min_size=72, max_size=72),
    st.lists(st.tuples(st.floats(0, 1e4), st.floats(0, 1e4)), min_size=1, max_size=72),
)
@example([248.1] * 72, [(1.0, 1.0)] * 3).via("the least number there is")
def test_what_was_seen_makes_a_law_of_any_that_hardly_leaves_anything(
    dies: list[float], seen: list[tuple[float, float]]
) -> None:
    """An odd one out may live so long that the law leaves less than a number holds in full, or nothing."""
    kept = tuple(math.exp(-gone) for gone in accumulate(dies, initial=0.0))
    rest, died = [some for some, _ in seen], [some for _, some in seen]
    survival = _blended(kept, 25.0, rest, died)
    assert len(survival) == len(kept)
    assert all(0 <= later <= former <= 1 for former, later in pairwise(survival))


def test_two_humps_are_seen() -> None:
    dice = random.Random(1)
    lengths = [dice.gauss(500, 40) if dice.random() < 0.6 else dice.gauss(5_000, 300) for _ in range(2_000)]
    laws = draws(data_of(CAP, [(length, 1.0) for length in lengths], ()), WIDE)
    assert fmean(law.survival(2_000) for law in laws) == pytest.approx(0.4, abs=0.04)
    assert fmean(law.mean_left(1_000) for law in laws) == pytest.approx(4_000, rel=0.05)


def test_those_in_flight_make_it_longer() -> None:
    ended = [(length, 1.0) for length in range(100, 600, 10)]
    alone = draws(data_of(CAP, ended, ()), WIDE)
    beside = draws(data_of(CAP, ended, [(600.0, 50.0)]), WIDE)
    assert fmean(law.mean for law in beside) > 1.5 * fmean(law.mean for law in alone)


def width(count: int, seed: int) -> float:
    """How wide the draws' central 80 % are, as a log-ratio, after so many finished requests."""
    dice = random.Random(f"{count}:{seed}")
    laws = draws(data_of(CAP, [(float(drawn("gamma", dice)), 1.0) for _ in range(count)], ()), WIDE)
    means = sorted(law.mean for law in laws)
    return math.log(means[43] / means[4])


@pytest.mark.parametrize("count", [10, 100, 1_000])
def test_draws_are_as_wide_as_what_is_known_is_little(count: int) -> None:
    """As wide as the standard error of a mean says; the law's coefficient of variation is 0.71."""
    assert median(width(count, seed) for seed in range(5)) == pytest.approx(2.56 * 0.71 / math.sqrt(count), rel=0.3)


def test_later_sums_move_the_laws() -> None:
    laws = draws(data_of(CAP, [(1_000.0, 100.0)], ()), WIDE)
    later = moved(laws, 100, (900, 2_000.0))
    assert fmean(law.mean for law in later) == pytest.approx(1_900, rel=0.05)


# ---- beliefs


def by_logs(run: FlightRun) -> tuple[DatasetRun, ServerState]:
    """A job's count and sum of what is finished, beside the server's log."""
    done = len(run.ended)
    return at_work(done, sum(run.ended), updated_at=run.until), read(run.log).state.server


@pytest.mark.parametrize(("finished", "worst"), [(50, 0.15), (100, 0.09), (200, 0.06)])
def test_by_logs_alone(finished: int, worst: float) -> None:
    """Five laws, two runs of each: the median error beside that of the plain mean; ranges hold more often than not."""
    errors, plain, held = [], [], []
    for law in LAWS:
        for seed in range(2):
            run = run_until(law, seed, finished)
            found = belief(*by_logs(run), WIDE, run.until)
            assert found is not None
            assert found.source == "flight"
            errors.append(abs(found.mean / mean_of(law) - 1))
            plain.append(abs(fmean(run.ended) / mean_of(law) - 1))
            held.append(found.low <= mean_of(law) <= found.high)
    assert median(errors) < worst
    assert median(plain) > 1.5 * median(errors)
    assert sum(held) >= 5


def test_with_single_completions() -> None:
    run = run_until("lognormal", 3, 200)
    known, server = by_logs(run)
    counts = LengthCounts()
    for tokens in run.ended:
        counts = counts.add(tokens, "length" if tokens >= CAP else "stop")
    found = belief(replace(known, lengths=counts, tokens_run=sum(run.ended)), server, WIDE, run.until)
    assert found is not None
    assert found.source == "progress"
    assert found.mean == pytest.approx(mean_of("lognormal"), rel=0.12)


def test_the_same_again() -> None:
    run = run_until("gamma", 1, 50)
    known, server = by_logs(run)
    one, other = (belief(known, server, WIDE, run.until) for _ in range(2))
    assert one is not None
    assert other is not None
    assert (one.mean, one.low, one.high) == (other.mean, other.low, other.high)
    assert belief_key(known, server) == belief_key(known, server)
    assert belief_key(known, server) != belief_key(replace(known, done_run=51), server)


def test_by_sums_alone() -> None:
    """No server's log: 150 in flight, 100 finished. The finished ones are too short; the range is wide and says so."""
    found = belief(at_work(100, 100 * 800), ServerState(), WIDE, SEEN)
    assert found is not None
    assert found.source == "totals"
    assert found.mean > 1_000
    assert found.high > 1.5 * found.low


def test_before_anything_is_finished() -> None:
    found = belief(at_work(0, None), ServerState(), LengthPrior(math.log(2_000), 0.5), SEEN)
    assert found is not None
    assert found.source == "prior"
    assert found.low < 1_500
    assert found.high > 2_000
    unknown = belief(DatasetRun("A"), ServerState(), None, SEEN)
    assert unknown is None
    by_limit = belief(DatasetRun("A", max_tokens=10_240), ServerState(), None, SEEN)
    assert by_limit is not None
    assert by_limit.high > 5 * by_limit.low


def test_what_rests_on_the_form_of_a_law_alone_is_told() -> None:
    laws = (exponential(1_000.0, CAP),)
    for reached, share in ((120, math.exp(-0.12)), (1_000, math.exp(-1)), (8_000, 0.0)):
        assert _unseen(data_of(CAP, [(100.0, 50)], [(float(reached), 50)]), laws) == pytest.approx(share, abs=0.05)
    assert _unseen(data_of(CAP, [], [(120.0, 50)]), laws) == 0.0  # nobody has ended: the prior is wide


def test_answers_that_never_end_are_expected_once_some_outlive_what_the_others_tell() -> None:
    """A hundred ended between 200 and 2,000 tokens; ten go on at 4,000 to 9,000, and none has come to the limit."""
    dice = random.Random(7)
    ended = [(dice.lognormvariate(math.log(600), 0.6), 1.0) for _ in range(100)]
    running = [(4_000.0 + 550 * number, 1.0) for number in range(10)]
    cuts = [law.cut for law in draws(data_of(CAP, ended, running), WIDE)]
    assert 0.04 < median(cuts) < 0.14
    none = [law.cut for law in draws(data_of(CAP, ended[:20], [(600.0, 10.0)]), WIDE)]
    assert median(none) < 0.01
    assert max(none) > 0.01  # it may be all the same


def test_without_a_limit_nothing_is_said_of_answers_that_never_end() -> None:
    ended = [(400.0 + 10 * number, 1.0) for number in range(60)]
    laws = draws(data_of(LONGEST, ended, ()), WIDE)
    assert max(law.mean for law in laws) < 2_000


def test_a_prior_is_wider_for_a_dataset_of_another_size() -> None:
    """How lengths go with sizes is not well known from two of one size."""
    others = [replace(ended_run(name, "SHORT", 1_000), total=1_000) for name in "ab"]
    same, far = (prior_of(others, "SHORT", 10_240, None, prompts) for prompts in (1_000, 30_000))
    assert far.spread > 1.5 * same.spread
    assert far.log_mean < same.log_mean


def test_what_former_processes_did_counts() -> None:
    run = DatasetRun(
        "A", state=DatasetState.LOADING, done_before=2_000, tokens_before=2_000 * 700, tokens=2_000 * 700,
        max_tokens=CAP,
    )  # fmt: skip
    found = belief(run, ServerState(), WIDE, SEEN)
    assert found is not None
    assert found.mean == pytest.approx(700, rel=0.1)
    assert math.log(found.high / found.low) < 0.2


# ---- what is expected


def ended_run(name: str, kind: str, mean: int) -> DatasetRun:
    return DatasetRun(name, kind, DatasetState.DONE, done_run=1_000, tokens=1_000 * mean)


def test_nothing_known_is_wide() -> None:
    prior = prior_of((), "SHORT", 10_240)
    assert prior.datasets == 0
    assert prior.spread == 0.8
    assert prior_of((), "SHORT", None).spread > prior.spread


def test_the_same_class_counts_most() -> None:
    others = [ended_run("a", "SHORT", 1_000), ended_run("b", "LONG", 4_000)]
    short, long = prior_of(others, "SHORT", 10_240), prior_of(others, "LONG", 16_384)
    assert 1_000 < math.exp(short.log_mean) < 2_000 < math.exp(long.log_mean) < 4_000
    assert short.datasets == 2
    assert prior_of(others, "", 10_240).spread > short.spread > 0.5


def test_the_spread_between_datasets_is_learned() -> None:
    alike = [ended_run(str(number), "SHORT", 1_000 + number) for number in range(8)]
    apart = [ended_run(str(number), "SHORT", 300 * 2**number) for number in range(8)]
    assert prior_of(alike, "SHORT", None).spread < 0.4
    assert prior_of(apart, "SHORT", None).spread > 1.0


def test_a_dataset_at_work_counts_by_what_is_believed_of_it() -> None:
    """The mean of its first finished answers is far too small; without a better figure it does not count."""
    begun = replace(ended_run("a", "SHORT", 200), state=DatasetState.RUNNING, done_run=100, concurrency=150)
    assert prior_of([begun], "SHORT", 10_240).datasets == 0
    assert math.exp(prior_of([begun], "SHORT", 10_240, {"a": 2_000.0}).log_mean) == pytest.approx(2_000)


# ---- single completions


def test_completions_are_counted_once() -> None:
    def completion(number: int) -> Completion:
        return Completion("A", str(number), 10, 100 * (1 + number), "length" if number == 9 else "stop", 1.0)

    told = [Stamped(T0, DatasetStarted("A", 40)), *(Stamped(T0 + timedelta(seconds=1 + n), completion(n)) for n in range(10))]  # fmt: skip
    once = fold(State(), told, Source.PROGRESS, SEEN)
    twice = fold(once, told, Source.PROGRESS, SEEN)
    for state in (once, twice):
        (run,) = merged(state.log, state.progress, Plan())
        assert run.lengths.size == 10
        assert run.lengths.cut == 1
        assert sum(length * count for length, count in run.lengths.lengths()) == pytest.approx(4_500, rel=0.03)


@given(st.lists(st.integers(0, 200_000), max_size=50))
def test_any_length_has_a_bin(lengths: list[int]) -> None:
    counts = LengthCounts()
    for tokens in lengths:
        counts = counts.add(tokens, "stop")
    assert counts.size == len(lengths)
