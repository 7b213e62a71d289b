"""Verdicts do not flutter, and none is kept that is plainly over."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from console.job.events import LinkFact
from console.job.limits import Limits
from console.job.plan import Plan
from console.job.snapshot import Judgement, Verdict
from console.job.tracker import Tracker
from console.job.verdict_memory import VerdictMemory
from tests.job.builders import PLAN, after, steady_run

T0 = datetime(2026, 2, 24, tzinfo=UTC)
LIMITS = Limits()
WAIT, WATCH, INTERVENE, BLIND = Judgement.WAIT, Judgement.WATCH, Judgement.INTERVENE, Judgement.BLIND


def said(verdict: Judgement, cause: str) -> Verdict:
    return Verdict(verdict, cause, f"{cause}.", (f"{cause}: a figure.",))


KV, STEADY = said(WAIT, "kv_limited"), said(WAIT, "steady")
LOW, ERRORS = said(WATCH, "throughput_low"), said(WATCH, "errors_rising")
COLLAPSED, DOWN = said(INTERVENE, "throughput_collapsed"), said(INTERVENE, "server_down")


def shown(*told: tuple[float, Verdict]) -> list[tuple[str, datetime | None]]:
    """The causes shown when the rules answer so, with the time since when."""
    memory, causes = VerdictMemory(), []
    for seconds, found in told:
        now = T0 + timedelta(seconds=seconds)
        memory = memory.after(found, now, LIMITS)
        verdict = memory.verdict(found, now)
        causes.append((verdict.cause, verdict.since))
    return causes


def causes(*told: tuple[float, Verdict]) -> list[str]:
    return [cause for cause, _ in shown(*told)]


@pytest.mark.parametrize("graver", [LOW, COLLAPSED, DOWN])
def test_a_graver_verdict_is_taken_at_once(graver: Verdict) -> None:
    assert causes((0, KV), (1, graver)) == ["kv_limited", graver.cause]


def test_what_wavers_is_held_until_it_stays_away() -> None:
    told = causes((0, LOW), (60, KV), (120, LOW), (180, KV), (299, KV), (300, KV), (301, KV))
    assert told == ["throughput_low"] * 5 + ["kv_limited"] * 2


@pytest.mark.parametrize(
    "fact", [DOWN, said(INTERVENE, "job_dead"), said(INTERVENE, "disk_full"), said(WATCH, "log_quiet")]
)
def test_a_fact_is_over_when_it_is_over(fact: Verdict) -> None:
    assert causes((0, fact), (1, KV)) == [fact.cause, "kv_limited"]


def test_an_intervention_is_held_before_a_watch() -> None:
    assert causes((0, COLLAPSED), (60, LOW), (299, LOW), (300, LOW))[1:] == ["throughput_collapsed"] * 2 + [
        "throughput_low"
    ]


def test_of_two_watches_the_first_is_kept_while_it_wavers() -> None:
    assert causes((0, LOW), (60, ERRORS), (100, LOW), (160, ERRORS), (290, ERRORS))[1:] == ["throughput_low"] * 3 + [
        "errors_rising"
    ]


def test_a_fact_of_the_same_gravity_is_taken_at_once() -> None:
    assert causes((0, COLLAPSED), (1, DOWN)) == ["throughput_collapsed", "server_down"]


def test_reasons_to_wait_waver_too() -> None:
    assert causes((0, KV), (60, STEADY), (100, KV), (279, STEADY), (280, STEADY))[1:] == ["kv_limited"] * 3 + ["steady"]
    assert causes((0, STEADY), (1, KV)) == ["steady", "kv_limited"]
    assert causes((0, KV), (1, said(WAIT, "dataset_switch"))) == ["kv_limited", "dataset_switch"]


def test_blind_is_blind_and_what_was_before_is_not_said_again() -> None:
    blind = said(BLIND, "link_down")
    assert causes((0, LOW), (1, blind), (2, KV)) == ["throughput_low", "link_down", "kv_limited"]


def test_a_run_that_is_done_is_done() -> None:
    assert causes((0, COLLAPSED), (1, said(WAIT, "finished"))) == ["throughput_collapsed", "finished"]


def test_since_is_when_it_began_and_stays_while_it_is_held() -> None:
    told = shown((0, KV), (10, LOW), (60, KV), (120, LOW), (400, KV))
    assert [since for _, since in told] == [T0, *[T0 + timedelta(seconds=10)] * 3, T0 + timedelta(seconds=400)]


def test_a_verdict_that_is_held_says_so_and_what_is_seen_now() -> None:
    memory = VerdictMemory().after(LOW, T0, LIMITS)
    now = T0 + timedelta(seconds=90)
    held = memory.after(KV, now, LIMITS).verdict(KV, now)
    assert held.evidence == ("Last seen 2 min ago; it is given up when it stays away.", "kv_limited: a figure.")
    waits = VerdictMemory().after(KV, T0, LIMITS).after(STEADY, now, LIMITS).verdict(STEADY, now)
    assert (waits.cause, waits.evidence) == ("kv_limited", STEADY.evidence)


ANSWERS = st.sampled_from([KV, STEADY, LOW, ERRORS, COLLAPSED, said(INTERVENE, "error_storm")])


@given(st.lists(ANSWERS, min_size=10, max_size=400), st.sampled_from([1, 5, 60]))
@settings(max_examples=60, deadline=None)
def test_nothing_flutters(answers: list[Verdict], step: int) -> None:
    """Whatever wavers about a threshold: a verdict that was lowered had been away for as long as it is held."""
    told = [(place * step, answer) for place, answer in enumerate(answers)]
    gravity = {WAIT: 0, WATCH: 1, INTERVENE: 2}
    of = {
        each.cause: gravity[each.verdict]
        for each in (KV, STEADY, LOW, ERRORS, COLLAPSED, said(INTERVENE, "error_storm"))
    }
    hold = {1: LIMITS.hold_watch_s, 2: LIMITS.hold_intervene_s}
    seen = causes(*told)
    for place, (old, new) in enumerate(pairwise(seen)):
        at = (place + 1) * step
        if of[new] < of[old]:
            recent = [answer.cause for second, answer in told if at - hold[of[old]] < second <= at]
            assert old not in recent
    for (_, answer), cause in zip(told, seen, strict=True):
        assert of[cause] >= of[answer.cause]


@given(st.lists(st.sampled_from([KV, LOW, COLLAPSED]), min_size=3, max_size=12))
@settings(max_examples=40, deadline=None)
def test_asking_each_second_and_each_minute_come_to_the_same(minutes: list[Verdict]) -> None:
    """Answers that hold for whole minutes, asked at their ends: the grid shows what the seconds show then."""
    by_minute = causes(*((60 * place, answer) for place, answer in enumerate(minutes)))
    seconds = [(60 * (place - 1) + second, answer) for place, answer in enumerate(minutes) for second in range(1, 61)]
    by_second = dict(zip([at for at, _ in seconds], causes(*seconds), strict=True))
    assert [by_second[60 * place] for place in range(len(minutes))] == by_minute


def test_a_restarted_console_goes_on_with_it() -> None:
    scene = steady_run(30)
    scene.progress(1_802, 1_000, 1_500, errors=150)
    scene.decode(1_804)
    assert scene.tracker.snapshot(after(1_805)).verdict.cause == "errors_rising"
    again = Tracker(PLAN)
    assert again.thaw(scene.tracker.freeze())
    verdict = again.snapshot(after(1_810)).verdict
    assert (verdict.cause, verdict.since) == ("errors_rising", after(1_805))


def test_a_lost_link_is_no_verdict_of_before() -> None:
    tracker = Tracker(Plan(host="gpu01"))
    tracker.note(LinkFact("up"), T0)
    tracker.note(LinkFact("lost", "No answer."), T0 + timedelta(seconds=5))
    assert tracker.snapshot(T0 + timedelta(seconds=60)).verdict.verdict is BLIND
