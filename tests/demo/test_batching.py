"""The model of continuous batching: its figures, and what must hold whatever is asked of it."""

from __future__ import annotations

import time
from statistics import fmean

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remote.demo.batching import POOL_TOKENS, RATIO_FLOOR, RATIO_START, Engine
from remote.demo.happenings import DecodeReport, Finished, Happening, PrefillDone, Request, Retracted
from remote.demo.lengths import digest_of, law_for


class Clients:
    """Keeps a number of requests in flight, as a batch job does."""

    def __init__(self, engine: Engine, in_flight: int, max_new: int = 10_240, prompt: int = 850) -> None:
        self.engine, self.max_new, self.prompt, self.sent = engine, max_new, prompt, 0
        for _ in range(in_flight):
            self.send()

    def send(self) -> None:
        digest = digest_of(f"prompt {self.sent}")
        length = self.prompt - 200 + int.from_bytes(digest[8:10], "big") % 401
        wanted = law_for(self.max_new).draw(digest)
        self.engine.submit(Request(f"r{self.sent}", length, self.max_new, wanted))
        self.sent += 1

    def play(self, seconds: float, tick: float = 0.5) -> list[Happening]:
        seen: list[Happening] = []
        until = self.engine.now + seconds
        while self.engine.now < until:
            for happening in self.engine.advance(tick):
                seen.append(happening)
                if isinstance(happening, Finished):
                    self.send()
        return seen


def reports(happened: list[Happening], after: float = 0.0) -> list[DecodeReport]:
    return [h for h in happened if isinstance(h, DecodeReport) and h.at > after]


def finished(happened: list[Happening]) -> list[Finished]:
    return [h for h in happened if isinstance(h, Finished)]


def settled_rate(in_flight: int, seconds: float) -> float:
    happened = Clients(Engine(), in_flight).play(seconds)
    return fmean(r.throughput for r in reports(happened, after=seconds / 4))


def test_the_founding_runs_figures() -> None:
    clients = Clients(Engine(), 150)
    began = time.process_time()
    happened = clients.play(2 * 3600.0, tick=1.0)
    assert time.process_time() - began < 4.0, "an hour must cost less than two seconds"
    settled = reports(happened, after=900.0)
    assert 47 <= fmean(r.running for r in settled) <= 52
    assert 0.80 <= fmean(r.token_usage for r in settled) <= 0.83
    assert 98 <= fmean(r.queue for r in settled) <= 102
    assert 830 <= fmean(r.throughput for r in settled) <= 865
    assert 1900 <= fmean(f.tokens for f in finished(happened)) <= 2100
    assert not [h for h in happened if isinstance(h, Retracted)]


def test_early_completions_are_the_short_ones() -> None:
    done = finished(Clients(Engine(), 150).play(1200.0))
    assert fmean(f.tokens for f in done[:20]) < 800
    assert fmean(f.tokens for f in done[-200:]) > 1500


def test_more_requests_in_flight_change_nothing_once_the_pool_is_full() -> None:
    assert settled_rate(300, 2400.0) == pytest.approx(settled_rate(150, 2400.0), rel=0.03)


def test_throughput_rises_with_the_batch() -> None:
    rates = [settled_rate(in_flight, 900.0) for in_flight in (1, 4, 16, 32)]
    assert rates == sorted(rates)
    assert rates[0] < 120


def test_ticks_of_any_length_give_the_same_run() -> None:
    def play(tick: float) -> list[tuple[str, int]]:
        engine = Engine()
        for i in range(60):
            engine.submit(Request(f"r{i}", 800, 4000, 300 + 40 * i))
        out: list[Happening] = []
        while engine.running or engine.queue:
            out += engine.advance(tick)
        return [(f.request.rid, f.tokens) for f in finished(out)]

    assert play(0.05) == play(7.0)


def test_the_first_batch_is_admitted_with_the_high_ratio() -> None:
    engine = Engine()
    clients = Clients(engine, 150)
    clients.play(10.0)
    few = engine.running
    clients.play(120.0)
    assert few < 40
    assert engine.running + engine.queue == 150
    assert engine.running > 50
    assert engine.ratio == RATIO_FLOOR


def test_a_report_comes_every_so_many_steps() -> None:
    engine = Engine(report_every=40)
    engine.submit(Request("a", 10, 401, 401))
    happened = engine.advance(3600.0)
    assert len(reports(happened)) == 10
    assert engine.decoded_tokens == 400


def test_a_full_pool_throws_requests_out_and_they_still_end() -> None:
    engine = Engine(pool_tokens=8200)
    # Four fit at first; one ends early, when the ratio is low, and two come in for it, which is one too many.
    for i, wanted in enumerate((700, 1900, 1900, 1900, 1900, 1900)):
        engine.submit(Request(f"r{i}", 100, 1900, wanted))
    happened = [h for _ in range(400) for h in engine.advance(1.0)]
    thrown = [h for h in happened if isinstance(h, Retracted)]
    assert thrown
    assert all(h.ratio_after >= h.ratio_before and h.tokens_gained > 0 for h in thrown)
    assert sorted(f.tokens for f in finished(happened)) == [700, *[1900] * 5]
    assert sum(f.retractions for f in finished(happened)) == sum(h.requests for h in thrown)


def test_one_request_larger_than_the_pool_is_cut() -> None:
    engine = Engine(pool_tokens=500)
    engine.submit(Request("big", 400, 4000, 4000))
    (done,) = finished(engine.advance(600.0))
    assert done.cut
    assert done.tokens == 100


def test_a_limit_cuts() -> None:
    engine = Engine()
    engine.submit(Request("a", 10, 5, 50))
    engine.submit(Request("b", 10, 50, 50))
    cut = {f.request.rid: (f.tokens, f.cut) for f in finished(engine.advance(60.0))}
    assert cut == {"a": (5, True), "b": (50, False)}


def test_an_abort_frees_what_was_held() -> None:
    engine = Engine()
    engine.submit(Request("a", 100, 9000, 9000))
    engine.submit(Request("b", 100, 9000, 9000))
    engine.advance(5.0)
    made = engine.abort("a")
    assert made is not None
    assert made > 1
    engine.abort("b")
    assert (engine.running, engine.queue, engine.used_tokens) == (0, 0, 0)
    assert engine.abort("a") is None


def test_an_abort_in_the_queue() -> None:
    engine = Engine()
    engine.submit(Request("a", 100, 9000, 9000))
    assert engine.abort("a") == 0
    assert engine.queue == 0


def test_idle_time_passes_and_resets_the_ratio() -> None:
    engine = Engine()
    engine.submit(Request("a", 10, 2000, 2000))
    engine.advance(1000.0)
    assert engine.ratio == RATIO_START
    assert engine.now == pytest.approx(1000.0)


def test_a_slow_gpu_is_slow() -> None:
    engine = Engine()
    clients = Clients(engine, 32)
    before = reports(clients.play(300.0), after=60.0)
    engine.slowdown = 1 / 0.45
    after = reports(clients.play(300.0))[1:]
    assert fmean(r.throughput for r in after) == pytest.approx(0.45 * fmean(r.throughput for r in before), rel=0.1)


requests = st.lists(st.tuples(st.integers(1, 900), st.integers(1, 900), st.integers(1, 1200)), min_size=1, max_size=25)


@settings(max_examples=60, deadline=None)
@given(asked=requests, pool=st.integers(2000, 9000), tick=st.floats(0.01, 20.0))
def test_nothing_is_lost_and_the_pool_is_never_overdrawn(
    asked: list[tuple[int, int, int]], pool: int, tick: float
) -> None:
    engine = Engine(pool_tokens=pool)
    for i, (prompt, max_new, wanted) in enumerate(asked):
        engine.submit(Request(f"r{i}", prompt, max_new, wanted))
    done: list[Finished] = []
    for _ in range(100_000):
        happened = engine.advance(tick)
        assert 0 <= engine.used_tokens <= pool
        assert all(0 <= h.token_usage <= 1 for h in happened if isinstance(h, PrefillDone | DecodeReport))
        done += finished(happened)
        if not engine.running and not engine.queue:
            break
    assert sorted(f.request.rid for f in done) == sorted(f"r{i}" for i in range(len(asked)))
    assert all(f.tokens == f.request.target for f in done)
    assert engine.used_tokens == 0


def test_the_default_pool_is_the_founding_runs() -> None:
    assert Engine().pool_tokens == POOL_TOKENS == 140_000
