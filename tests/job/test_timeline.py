"""A run on a line of time: verdicts, marks and datasets, from what logs date and from what was seen."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from console.job.snapshot import DatasetState, Eta, Judgement, LinkView, LogView, Snapshot, Verdict
from console.job.timeline_changes import MOST, Change, ChangeLog, gravest, told_once
from console.job.timeline_course import Course, Span, once
from console.job.timeline_hindsight import outcomes
from console.job.timeline_marks import ERRORS_EVERY, Mark, Marker, MarkKind, dated_marks, marks_once
from console.job.timeline_view import timeline_of
from tests import samples
from tests.job.builders import Scene, after, steady_run

MINUTE = timedelta(minutes=1)


def change(minutes: float, verdict: Judgement = Judgement.WAIT, cause: str = "kv_limited") -> Change:
    return Change(after(minutes * 60), verdict, cause, "")


def shown(minutes: float, cause: str = "kv_limited", verdict: Judgement = Judgement.WAIT, **more: object) -> Snapshot:
    base = Snapshot(after(minutes * 60), Verdict(verdict, cause, f"{cause}."), link=LinkView("up"))
    return replace(base, **more)  # type: ignore[arg-type]


# ---------------------------------------------------------------- the course


def test_the_course_of_a_run_is_dated_by_its_logs() -> None:
    course = steady_run(30).tracker.snapshot(after(1800)).course
    assert [span.name for span in course.spans] == ["B1_glaive", "B2_dialogue", "B3_magicoder", "B4_longdocs"]
    assert course.spans[0] == Span("B1_glaive", after(0), after(0))
    assert course.spans[2] == Span("B3_magicoder", after(1), None)
    assert course.spans[3] == Span("B4_longdocs")
    assert (course.job_starts, course.server_starts, course.first) == ((after(0),), (after(-600),), after(0))


def test_another_process_of_the_job_is_another_start_of_the_same_run() -> None:
    scene = steady_run(30)
    scene.begin(2400)
    course = scene.tracker.snapshot(after(2460)).course
    assert course.job_starts == (after(0), after(2400))
    assert course.first == after(0)


def test_a_run_that_is_begun_anew_begins_then() -> None:
    scene = Scene()
    scene.ready()
    scene.begin()
    scene.job(60, "  B3_magicoder: done 9998 (0 err), 3,000,000 tokens in 0.01h, all prompts done")
    scene.job(61, "  B4_longdocs: all 4288 prompts done, skipping")
    scene.job(62, "All datasets done: 4 datasets, 3,000,000 tokens in 0.02h")
    scene.begin(4000)
    assert scene.tracker.snapshot(after(4010)).course.first == after(4000)


@given(st.lists(st.integers(0, 10_000)))
def test_starts_are_told_once_and_in_order(seconds: list[int]) -> None:
    kept = once(after(second) for second in seconds)
    assert list(kept) == sorted(kept)
    assert all(b - a > timedelta(minutes=2) for a, b in pairwise(kept))
    assert once(kept) == kept
    assert bool(kept) == bool(seconds)


# ---------------------------------------------------------------- verdicts


def test_a_verdict_counts_when_it_lasts() -> None:
    log = ChangeLog()
    for second in range(60):
        cause = "steady" if second in {20, 21, 22} else "kv_limited"
        log.take(shown(second / 60, cause))
    assert [(each.at, each.cause) for each in log.told] == [(after(0), "kv_limited")]
    for second in range(60, 90):
        log.take(shown(second / 60, "server_down", Judgement.INTERVENE))
    assert [(each.at, each.cause) for each in log.told][1:] == [(after(60), "server_down")]


def test_while_it_connects_nothing_is_judged() -> None:
    log = ChangeLog()
    for second in range(30):
        assert log.take(shown(second / 60, "link_down", Judgement.BLIND, link=LinkView("connecting"))) is None
    assert log.told == []


@given(st.lists(st.tuples(st.integers(0, 500), st.sampled_from(Judgement), st.sampled_from(["a", "b"]))))
def test_changes_of_all_sources_are_told_once(drawn: list[tuple[int, Judgement, str]]) -> None:
    changes = [change(*each) for each in drawn]
    kept = told_once(changes)
    assert [each.at for each in kept] == sorted(each.at for each in kept)
    assert all((a.verdict, a.cause) != (b.verdict, b.cause) for a, b in pairwise(kept))
    assert told_once(kept) == kept
    assert len(kept) <= MOST
    worst = gravest(changes)
    assert (worst is None) == (not changes)


# ---------------------------------------------------------------- marks


def test_the_logs_date_datasets_and_starts() -> None:
    marks = dated_marks(steady_run(10).tracker.snapshot(after(600)))
    assert [(mark.kind, mark.at, mark.name) for mark in marks] == [
        (MarkKind.SERVER_STARTED, after(-600), ""),
        (MarkKind.JOB_STARTED, after(0), ""),
        (MarkKind.ENDED, after(0), "B1_glaive"),
        (MarkKind.ENDED, after(0), "B2_dialogue"),
        (MarkKind.BEGAN, after(1), "B3_magicoder"),
    ]
    assert marks[2].what == "B1_glaive: skipped"


def test_a_link_that_is_lost_and_comes_back_makes_two_marks() -> None:
    marker = Marker()
    told = marker.take(shown(0, link=LinkView("up", since=after(0))))
    assert [mark.kind for mark in told] == [MarkKind.OPENED]
    assert marker.take(shown(1, link=LinkView("lost", since=after(50), reason="timed out"))) == [
        Mark(after(50), MarkKind.LINK_LOST, "link lost: timed out")
    ]
    assert marker.take(shown(2, link=LinkView("connecting", since=after(110)))) == []
    (back,) = marker.take(shown(5, link=LinkView("up", since=after(290))))
    assert (back.kind, back.what, back.count) == (MarkKind.LINK_BACK, "link back after 4 min", 240)
    assert marker.take(shown(6, link=LinkView("up", since=after(290)))) == []


def test_before_the_host_is_reached_nothing_is_marked() -> None:
    assert Marker().take(shown(0, link=LinkView("connecting"))) == []


def test_failed_requests_are_counted_and_told_at_most_once_a_minute() -> None:
    marker = Marker()
    view = samples.healthy().datasets[2]
    told = [
        mark
        for second in range(0, 300, 10)
        for mark in marker.take(
            shown(second / 60, datasets=(replace(view, errors=second // 10, updated_at=after(second)),))
        )
        if mark.kind is MarkKind.ERRORS
    ]
    assert [mark.at for mark in told] == [after(10), after(70), after(130), after(190), after(250)]
    assert sum(mark.count for mark in told) == 25
    assert all(b.at - a.at >= ERRORS_EVERY for a, b in pairwise(told))
    fewer = marker.take(shown(5, datasets=(replace(view, errors=0, updated_at=after(300)),)))
    assert fewer == []  # another process counts from 0 again
    (more,) = marker.take(shown(7, datasets=(replace(view, errors=2, updated_at=after(420)),)))
    assert more.count == 2


def test_what_had_failed_before_a_console_looked_is_no_news() -> None:
    view = replace(samples.healthy().datasets[2], errors=4, updated_at=after(60))
    marker = Marker()
    assert [mark.kind for mark in marker.take(shown(1, datasets=(view,)))] == [MarkKind.OPENED]
    (more,) = marker.take(shown(2, datasets=(replace(view, errors=6, updated_at=after(120)),)))
    assert (more.kind, more.count) == (MarkKind.ERRORS, 2)


def test_a_clock_that_is_put_back_hides_neither_a_change_nor_failures() -> None:
    log = ChangeLog()
    log.take(shown(60))
    kept = [log.take(shown(minutes / 60)) for minutes in range(30)]
    assert [one.at for one in kept if one is not None] == [after(0)]
    marker, view = Marker(), samples.healthy().datasets[2]
    told = [
        marker.take(shown(minute, datasets=(replace(view, errors=errors, updated_at=after(60 * minute)),)))
        for minute, errors in ((60, 0), (61, 1), (5, 2))
    ]
    assert [mark.count for marks in told[1:] for mark in marks] == [1, 1]


def test_processes_health_and_gaps_are_marked() -> None:
    marker, calm = Marker(), samples.healthy()
    marker.take(calm)
    later = replace(calm, at=calm.at + MINUTE)
    failing = replace(calm.health, state="failing", error="timed out", failing_since=later.at)
    (failed,) = marker.take(replace(later, health=failing))
    assert (failed.kind, failed.what) == (MarkKind.HEALTH_FAILS, "health failed: timed out")
    kinds = {mark.kind for mark in marker.take(replace(later, job=replace(calm.job, alive=False, pid=None)))}
    assert kinds == {MarkKind.HEALTH_OK, MarkKind.JOB_GONE}
    started = replace(calm.job, pid=99, started_at=later.at)
    assert [mark.kind for mark in marker.take(replace(later, job=started))] == [MarkKind.JOB_STARTED]
    broken = replace(later, job=started, server=replace(calm.server, trouble="CUDA out of memory"))
    assert [mark.kind for mark in marker.take(broken)] == [MarkKind.SERVER_TROUBLE]
    lost = replace(broken, logs=(LogView("server", lost_bytes=2048),))
    assert [(mark.kind, mark.what) for mark in marker.take(lost)] == [
        (MarkKind.LOG_GAP, "2.0 KiB of the server's log are gone")
    ]
    assert marker.take(lost) == []


def test_a_mark_that_two_sources_tell_counts_once() -> None:
    by_log = Mark(after(0), MarkKind.JOB_STARTED, "the job was started")
    by_table = Mark(after(3), MarkKind.JOB_STARTED, "the job was started")
    other = Mark(after(3600), MarkKind.JOB_STARTED, "the job was started")
    assert marks_once([by_table, other, by_log]) == (by_log, other)
    notes = [Mark(after(second), MarkKind.NOTE, "seen", by="me") for second in (0, 0, 5)]
    assert marks_once(notes) == (notes[0], notes[2])


# ---------------------------------------------------------------- the line of time


def test_the_line_runs_from_the_begin_to_the_late_end_of_the_range() -> None:
    snapshot = steady_run(60).tracker.snapshot(after(3600))
    line = timeline_of(snapshot, (change(0),))
    assert (line.first, line.now) == (after(0), after(3600))
    assert line.eta == (snapshot.eta.low, snapshot.eta.at, snapshot.eta.high)
    assert line.last >= max(view.eta for view in snapshot.datasets if view.eta)
    assert [each.name for each in line.segments] == ["B1_glaive", "B2_dialogue", "B3_magicoder", "B4_longdocs"]
    running, ahead = line.segments[2], line.segments[3]
    assert (running.begin, running.end) == (after(1), snapshot.datasets[2].eta)
    assert (ahead.begin, ahead.end) == (running.end, snapshot.datasets[3].eta)
    assert line.segments_at(after(1800)) == (running,)
    assert line.share(line.first) == 0
    assert line.share(line.last) == 1


def test_a_finished_run_ends_where_it_ended() -> None:
    done = samples.finished()
    assert done.eta.at is not None
    course = Course(job_starts=(done.at - timedelta(hours=20),))
    line = timeline_of(replace(done, course=course), ())
    assert line.last == done.eta.at
    assert line.eta is None
    assert line.now <= line.last


def test_where_nobody_looked_nothing_is_known() -> None:
    line = timeline_of(shown(600), (change(0), change(60, Judgement.WATCH)), (), ((after(7200), after(9000)),))
    assert line.change_at(after(-1)) is None
    known = line.change_at(after(1800))
    assert known is not None
    assert known.verdict is Judgement.WAIT
    assert line.change_at(after(8000)) is None
    back = line.change_at(after(9001))
    assert back is not None
    assert back.verdict is Judgement.WATCH


def test_what_was_before_the_job_is_not_the_runs() -> None:
    snapshot = steady_run(10).tracker.snapshot(after(600))
    old = Mark(after(-90_000), MarkKind.NOTE, "of another run")
    line = timeline_of(snapshot, (), (old,))
    assert old not in line.marks
    assert MarkKind.SERVER_STARTED in {mark.kind for mark in line.marks}


@st.composite
def snapshots(draw: st.DrawFn) -> Snapshot:
    """Any datasets, ends and courses, in whatever order of time."""
    moments = st.none() | st.integers(-10_000, 400_000).map(after)
    names = draw(st.lists(st.sampled_from("ABCDEF"), unique=True))
    view = samples.healthy().datasets[2]
    views = tuple(
        replace(view, name=name, state=draw(st.sampled_from(DatasetState)), eta=draw(moments)) for name in names
    )
    starts = once(draw(st.lists(st.integers(-10_000, 400_000).map(after), max_size=3)))
    spans = tuple(Span(name, draw(moments), draw(moments)) for name in names)
    eta = Eta(draw(moments), draw(moments), draw(moments))
    cause = draw(st.sampled_from(["finished", "steady"]))
    course = Course(spans, starts, starts[:1])
    return shown(draw(st.integers(0, 5_000)), cause, eta=eta, datasets=views, course=course)


@given(snapshots(), st.lists(st.integers(-100, 6_000)), st.floats(0, 1))
def test_any_run_can_be_laid_on_a_line(snapshot: Snapshot, minutes: list[int], share: float) -> None:
    changes = told_once(change(minute, cause=str(minute % 3)) for minute in minutes)
    marks = tuple(Mark(after(minute * 60), MarkKind.NOTE, "x", by=str(minute)) for minute in minutes)
    line = timeline_of(snapshot, changes, marks)
    assert line.first < line.last
    assert line.first <= line.now <= line.last
    assert 0 <= line.share(line.moment(share)) <= 1
    assert line.first <= line.moment(share) <= line.now
    for each in line.segments:
        assert line.first <= each.begin <= each.end
    assert all(line.first <= at <= line.now for at in line.events())


# ---------------------------------------------------------------- how it turned out


def test_an_end_that_came_is_held_to_what_was_told() -> None:
    then = samples.healthy()
    assert then.eta.at is not None
    assert then.eta.high is not None
    ended = then.eta.at + 10 * MINUTE
    third = then.datasets[2]
    assert third.eta is not None
    over = Verdict(Judgement.WAIT, "finished", "Done.")
    course = Course((Span(third.name, None, third.eta),))
    now = replace(then, at=ended + MINUTE, verdict=over, eta=Eta(ended, ended, ended), course=course)
    whole, one = outcomes(then, now)
    assert (whole.held, whole.words) == (True, "the range held; 10 min later than told then")
    assert (one.name, one.came, one.words) == (third.name, third.eta, "as told then")
    late = replace(now, eta=Eta(then.eta.high + MINUTE))
    assert next(outcomes(then, late)).held is False
    assert next(outcomes(then, late)).words.startswith("outside of the range; ")


def test_an_end_that_has_not_come_is_compared_with_what_is_told_now() -> None:
    then = samples.healthy()
    assert then.eta.at is not None
    (same,) = outcomes(then, then)
    assert same.words == "still told so"
    moved = replace(then, eta=replace(then.eta, at=then.eta.at - 90 * MINUTE))
    assert next(outcomes(then, moved)).words == "now told 1 h 30 min earlier than told then"
    assert next(outcomes(then, replace(then, eta=Eta()))).words == ""
    assert list(outcomes(replace(then, eta=Eta(), datasets=()), then)) == []


def test_a_time_that_has_come_is_no_promise() -> None:
    now = datetime(2026, 2, 24, tzinfo=UTC)
    then = Snapshot(now, Verdict(Judgement.WAIT, "finished", ""), Eta(now, now, now))
    assert list(outcomes(then, then)) == []
