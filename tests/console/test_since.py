"""What happened since somebody last looked: of two readings and what is known of the time between, and in words."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from console.absence import UNFOCUSED, UNTOUCHED, Absence
from console.job.snapshot import DatasetState, Eta, Judgement, Snapshot
from console.job.timeline_changes import Change, told_once
from console.job.timeline_course import Course, Span
from console.job.timeline_marks import Mark, MarkKind
from console.journal import Entry, Kind
from console.since import Known, Since, since
from console.since_values import since_values
from console.since_words import SHORT, card, ending, notice, sections, title
from tests import samples
from tests.widgets.stage import NASTY

NOW = samples.NOW
BEGIN = NOW - timedelta(hours=2)


def ago(minutes: float) -> datetime:
    return NOW - timedelta(minutes=minutes)


def clock(at: datetime | None) -> str:
    return "--" if at is None else f"{at:%H:%M}"


def then_of(now: Snapshot, minutes: float = 120, **more: object) -> Snapshot:
    """The same run, so many minutes ago."""
    return replace(now, **{"at": ago(minutes), **more})  # type: ignore[arg-type]


def lines(told: Since) -> str:
    return "\n".join(f"{word}: {said}" for word, said in card(told, clock))


# ---------------------------------------------------------------- what happened


def test_of_a_calm_run_nothing_is_told_but_that() -> None:
    now = samples.healthy()
    held = Change(ago(300), now.verdict.verdict, now.verdict.cause, "")
    told = since(then_of(now), now, Known((held,)), BEGIN)
    assert not told.happened
    assert (told.before, told.changes, told.done, told.failed) == (held, (), 0, ())
    assert notice(told, clock) == ("You were away for 2 h: nothing happened; WAIT kv limited; ends 20:45.")
    assert "verdict: WAIT kv limited, all the time" in lines(told)


def test_verdicts_are_told_one_after_the_other() -> None:
    now = samples.healthy()
    changes = (
        Change(ago(300), Judgement.WAIT, "kv_limited", ""),
        Change(ago(100), Judgement.WATCH, "retractions", "Requests are thrown back."),
        Change(ago(40), Judgement.WAIT, "kv_limited", ""),
    )
    told = since(then_of(now), now, Known(changes), BEGIN)
    assert told.happened
    assert "verdict: WAIT kv limited → 01:39 WATCH retractions → 02:39 WAIT kv limited" in lines(told)
    many = tuple(Change(ago(100 - n), Judgement.WATCH, str(n), "") for n in range(9))
    assert f"→ {9 - SHORT} changes →" in lines(since(then_of(now), now, Known(many), BEGIN))


def test_datasets_prompts_and_errors_are_counted_between_the_two_readings() -> None:
    now = samples.healthy()
    third = now.datasets[2]
    before = (
        *now.datasets[:1],
        replace(now.datasets[1], state=DatasetState.RUNNING, done=6_000, errors=1),
        replace(third, state=DatasetState.WAITING, done=2, errors=0),
        *now.datasets[3:],
    )
    course = Course((Span("B2_dialogue", ago(400), ago(90)), Span("B3_magicoder", ago(90), None)))
    later = replace(now, course=course, datasets=(*now.datasets[:2], replace(third, errors=12), *now.datasets[3:]))
    told = since(then_of(now, datasets=before), later, Known(), BEGIN)
    assert [mark.name for mark in told.ended] == ["B2_dialogue"]
    assert [mark.name for mark in told.began] == ["B3_magicoder"]
    assert told.done == 120 + 3_450
    assert told.failed == (("B3_magicoder", 12),)
    assert "ended: 01:49 B2_dialogue: skipped" in lines(told)
    assert "errors: 12 requests failed: B3_magicoder 12" in lines(told)


def test_without_a_reading_of_then_the_marks_tell_what_they_can() -> None:
    now = samples.healthy()
    marks = [
        Mark(ago(60), MarkKind.ERRORS, "B3: 4 requests failed", "B3", 4),
        Mark(ago(50), MarkKind.ERRORS, "B3: 2 requests failed", "B3", 2),
        Mark(ago(500), MarkKind.ERRORS, "B3: 9 requests failed", "B3", 9),
    ]
    for then in (None, then_of(now, 500), then_of(now, datasets=())):
        told = since(then, now, Known((), marks), BEGIN)
        assert told.done is None
        assert told.failed == (("B3", 6),)
        assert "done" not in dict(card(told, clock))


def test_the_links_gaps_are_told_with_their_length() -> None:
    lost = [
        Mark(ago(110), MarkKind.LINK_LOST, "link lost"),
        Mark(ago(100), MarkKind.LINK_BACK, "link back"),
        Mark(ago(30), MarkKind.LINK_LOST, "link lost"),
    ]
    told = since(None, samples.link_lost(), Known((), lost), BEGIN)
    assert told.gaps == ((ago(110), ago(100)), (ago(30), None))
    assert "link: lost 2 times, 40 min in all, the last time at 02:49, and still is" in lines(told)


def test_acts_and_notes_are_told_with_who_did_them() -> None:
    entries = [
        Entry(ago(90), Kind.ACTION, "Restart the job", "old script", "The job is restarted.", "me@desk", act="1"),
        Entry(ago(91), Kind.INTENT, "stop", user="me@desk", act="1"),
        Entry(ago(80), Kind.NOTE, "looks good", user="you@lab"),
        Entry(ago(70), Kind.VERDICT, "WAIT (steady)"),
        Entry(ago(700), Kind.NOTE, "long ago", user="you@lab"),
    ]
    told = since(None, samples.healthy(), Known(entries=entries), BEGIN)
    assert "done by: 01:49 me@desk: Restart the job: The job is restarted. (why: old script)" in lines(told)
    assert "notes: 01:59 you@lab: looks good" in lines(told)
    assert "long ago" not in lines(told)


# ---------------------------------------------------------------- the end


def test_an_end_that_moved_is_told_with_what_differs_in_that_direction() -> None:
    now = samples.healthy()
    assert now.eta.at is not None
    third = replace(now.datasets[2], expected_completion_tokens=1_600.0)
    server = replace(now.server, usual_throughput=990.0)
    earlier = replace(now.eta, at=now.eta.at - timedelta(hours=3))
    then = then_of(now, eta=earlier, server=server, datasets=(third,))
    longer = replace(now, datasets=(replace(now.datasets[2], expected_completion_tokens=2_000.0),))
    told = since(then, longer, Known(), BEGIN)
    assert told.happened
    assert told.eta is not None
    assert told.eta.moved_s == 3 * 3600
    assert told.eta.reasons == (
        "845 tok/s are usual, 990 tok/s were",
        "completions of B3_magicoder are expected to be 2,000 tokens long, 1,600 were",
    )
    assert ending(told.eta, clock) == (
        "20:45 (80 %: 18:29 to 23:24), 3 h later than told then (17:45): 845 tok/s are usual, 990 tok/s were; "
        "completions of B3_magicoder are expected to be 2,000 tokens long, 1,600 were"
    )
    # What would have made it later is no reason for an earlier end.
    sooner = since(replace(then, eta=replace(now.eta, at=now.eta.at + timedelta(hours=3))), longer, Known(), BEGIN)
    assert sooner.eta is not None
    assert sooner.eta.reasons == ()
    assert "3 h earlier than told then" in ending(sooner.eta, clock)


def test_an_end_that_stays_is_told_as_such() -> None:
    now = samples.healthy()
    told = since(then_of(now), now, Known(), BEGIN)
    assert told.eta is not None
    assert ending(told.eta, clock).endswith(", as was told then")
    none = since(None, replace(now, eta=Eta(basis="No tokens are made now.")), Known(), BEGIN)
    assert none.eta is None
    lost = since(then_of(now), replace(now, eta=Eta(basis="No tokens are made now.")), Known(), BEGIN)
    assert lost.eta is not None
    assert ending(lost.eta, clock) == "-- No tokens are made now.; 20:45 was told then"


def test_a_restart_is_named_when_the_end_moved_later() -> None:
    now = replace(samples.healthy(), course=Course(job_starts=(ago(400), ago(60))))
    assert now.eta.at is not None
    then = then_of(now, eta=replace(now.eta, at=now.eta.at - timedelta(hours=1)))
    told = since(then, now, Known(), BEGIN)
    assert told.eta is not None
    assert told.eta.reasons == ("the job was started",)
    assert "happened: 02:19 the job was started" in lines(told)


# ---------------------------------------------------------------- values and words


@st.composite
def pasts(draw: st.DrawFn) -> tuple[Snapshot | None, Snapshot, Known, datetime]:
    """Any two readings, and anything that is known of the time between."""
    now, then = (samples.ALL[draw(st.sampled_from(sorted(samples.ALL)))]() for _ in range(2))
    minutes = st.integers(-60, 600).map(ago)
    texts = st.text(max_size=20) | st.just(NASTY)
    changes = st.lists(st.builds(Change, minutes, st.sampled_from(Judgement), texts, texts), max_size=8).map(told_once)
    marks = st.lists(st.builds(Mark, minutes, st.sampled_from(MarkKind), texts, texts, st.integers(0, 9)), max_size=8)
    entries = st.lists(st.builds(Entry, minutes, st.sampled_from(Kind), texts, texts, texts, texts), max_size=8)
    known = Known(draw(changes), draw(marks), draw(entries), ((ago(50), ago(20)),))
    return draw(st.none() | st.just(replace(then, at=ago(130)))), now, known, draw(minutes)


@given(pasts())
def test_of_any_past_something_is_told_and_it_is_data(
    drawn: tuple[Snapshot | None, Snapshot, Known, datetime],
) -> None:
    then, now, known, begin = drawn
    told = since(then, now, known, begin)
    assert told.begin <= told.end
    times = [each.at for each in told.changes]
    times += [each.at for each in (*told.marks, *told.began, *told.ended)]
    times += [each.at for each in (*told.acts, *told.notes)]
    assert all(told.begin < at <= told.end for at in times)
    for lost, back in told.gaps:
        assert told.begin < lost
        assert back is None or lost <= back
    assert told.done is None or told.done >= 0
    assert all(count > 0 for _, count in told.failed)
    values = since_values(told)
    assert json.loads(json.dumps(values)) == values
    assert values["happened"] == told.happened
    assert title(told, clock)
    assert notice(told, clock)
    assert next(iter(card(told, clock)))[0] == "verdict"
    assert sections(told, clock)
    acted = [said for word, said in card(told, clock) if word in {"done by", "notes"}]
    assert not any(sign in said for said in acted for sign in "\x1b\n\u202e")


# ---------------------------------------------------------------- who looks


def test_a_look_elsewhere_is_no_absence() -> None:
    absence = Absence(NOW)
    absence.left(NOW + timedelta(minutes=1))
    assert not absence.came(NOW + timedelta(minutes=1) + UNFOCUSED - timedelta(seconds=1))
    absence.left(NOW + timedelta(minutes=10))
    assert absence.came(NOW + timedelta(minutes=10) + UNFOCUSED)
    assert absence.away == (NOW + timedelta(minutes=10), NOW + timedelta(minutes=10) + UNFOCUSED)


def test_the_first_key_after_a_while_ends_an_absence() -> None:
    absence = Absence(NOW)
    assert not absence.touched(NOW + UNTOUCHED - timedelta(seconds=1))
    assert absence.touched(NOW + 2 * UNTOUCHED)
    assert absence.away == (NOW + UNTOUCHED - timedelta(seconds=1), NOW + 2 * UNTOUCHED)
    assert not absence.touched(NOW + 2 * UNTOUCHED + timedelta(seconds=1))


def test_a_key_that_brings_the_focus_tells_once() -> None:
    absence = Absence(NOW)
    absence.left(NOW)
    assert absence.touched(NOW + UNFOCUSED)
    assert not absence.came(NOW + UNFOCUSED)


@given(st.lists(st.tuples(st.sampled_from(["left", "came", "touched"]), st.integers(-100, 2_000)), max_size=30))
def test_an_absence_lasts_long_enough_and_ends_in_the_present(steps: list[tuple[str, int]]) -> None:
    absence, at = Absence(NOW), NOW
    for verb, seconds in steps:
        at += timedelta(seconds=seconds)  # also back: clocks are set
        if getattr(absence, verb)(at):
            assert absence.away is not None
            begin, end = absence.away
            assert end == at
            assert end - begin >= UNFOCUSED
        assert absence.last >= NOW


def test_the_title_says_how_long_it_was() -> None:
    told = since(None, samples.healthy(), Known(), BEGIN)
    assert title(told, clock) == "Since you last looked, 2 h ago (01:19)"
