"""The panels' words: pure functions of the snapshot, the present and the zone."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from console.job.events import LogLine, Source
from console.job.snapshot import (
    DatasetState,
    Eta,
    HealthView,
    JobView,
    Judgement,
    LinkView,
    LogView,
    ServerView,
    Verdict,
)
from console.panels import dataset_columns, log_words, logs, progress, server, status, verdict, words
from console.screens.help import PANELS
from tests import samples
from tests.console.fakes_ui import FakeControl, FakeFeed, make_app, screen_text, shown

if TYPE_CHECKING:
    from console.panels.panel import Panel

NOW = samples.NOW
BERLIN = timezone(timedelta(hours=1), "CET")


def ago(**parts: float) -> datetime:
    return NOW - timedelta(**parts)


@pytest.mark.parametrize(
    ("at", "zone", "said"),
    [
        (None, UTC, "--"),
        (NOW, UTC, "03:19"),
        (NOW, BERLIN, "04:19"),
        (NOW + timedelta(days=1), UTC, "Wed 03:19"),
        (NOW + timedelta(days=9), UTC, "5 Mar 03:19"),
    ],
)
def test_a_clock_time_names_the_day_when_it_is_not_today(at: datetime | None, zone: tzinfo, said: str) -> None:
    assert words.clock(at, NOW, zone) == said


def test_only_stale_figures_tell_their_age() -> None:
    assert not words.as_of(ago(seconds=60), NOW, UTC)
    assert not words.as_of(None, NOW, UTC)
    assert not words.is_stale(ago(seconds=89), NOW, usual_s=60)
    assert words.is_stale(ago(seconds=91), NOW, usual_s=60)
    assert not words.is_stale(ago(seconds=59), NOW, usual_s=5)
    assert words.as_of(ago(minutes=4), NOW, UTC) == "as of 03:15, 4 min old"


def test_with_a_lost_link_nothing_is_newer_than_the_loss() -> None:
    lost = LinkView(state="lost", since=ago(minutes=4))
    assert words.seen_until(NOW, lost) == ago(minutes=4)
    assert words.seen_until(ago(minutes=9), lost) == ago(minutes=9)
    assert words.seen_until(None, lost) is None
    assert words.seen_until(NOW, replace(lost, state="up")) == NOW


def test_the_end_is_a_range_with_the_time_left() -> None:
    eta = Eta(NOW + timedelta(hours=23), NOW + timedelta(hours=20), NOW + timedelta(hours=30), basis="unused")
    phrases = words.ending(eta, NOW, UTC)
    assert phrases[0] == "23 h left (20 h to 1 d 6 h) · Ends Wed 02:19 (23:19 to Wed 09:19), 80 % sure"
    assert list(phrases) == sorted(phrases, key=len, reverse=True)
    assert all(phrase.startswith("23 h left") for phrase in phrases)


def test_without_a_range_the_end_is_one_time() -> None:
    assert words.ending(Eta(NOW + timedelta(hours=2)), NOW, UTC)[0] == "Ends 05:19, 2 h left"
    assert not words.span_left(Eta(NOW + timedelta(hours=2)), NOW)


def test_an_unknown_end_says_why() -> None:
    said = words.ending(Eta(basis="No progress line has come yet."), NOW, UTC)
    assert said == ("Ends --  No progress line has come yet.",)


def test_a_finished_run_has_ended() -> None:
    assert words.ending(samples.finished().eta, NOW, UTC) == ("Ended 03:13, 6 min ago",)
    assert words.has_ended(samples.finished().eta, NOW)


@given(st.integers(0, 200), st.lists(st.text(max_size=30), max_size=6))
def test_what_is_put_side_by_side_fits_but_for_the_first(width: int, parts: list[str]) -> None:
    said = words.fitting(width, *parts)
    first = next((part for part in parts if part), "")
    assert said.startswith(first)
    assert said == first or cell_len(said) <= width


def test_figures_unknown_are_dashes_and_never_zero() -> None:
    assert server.requests(ServerView(), (), 80) == "-- running · -- queued · -- retracted"
    assert server.throughput(ServerView()) == "--"


def test_every_state_has_sign_and_tone() -> None:
    assert set(dataset_columns.SIGNS) == set(progress.TONES) == set(DatasetState)
    assert set(verdict.TONES) == set(Judgement)


def test_the_summary_counts_the_run() -> None:
    assert progress.summary(samples.warned().datasets) == "2 of 8 ended · 26.9 M of 80.0 M tok · 41 errors"
    assert progress.summary(samples.connecting().datasets) == "0 of 8 ended · -- of 80.0 M tok · -- errors"
    assert progress.summary(()) == "none known yet"


def test_what_to_do_stays_in_sight() -> None:
    now = samples.intervene()
    assert verdict.foot(now.verdict).startswith("Do: Restart the server")
    assert not verdict.foot(Verdict(Judgement.WAIT, "kv_limited", "x"))


def test_beside_the_word_stand_cause_since_and_when_to_look_again() -> None:
    now = samples.healthy().verdict
    said = verdict.asides(now, NOW, UTC)
    assert said[0] == "kv limited · since 01:14, 2 h 5 min · look again in 1 h 1 min (04:20)"
    assert list(said) == sorted(said, key=len, reverse=True)
    assert verdict.asides(Verdict(Judgement.WAIT, "steady", "x"), NOW, UTC)[0] == "steady"


@given(st.floats(0, 4e6), st.floats(0, 4e6), st.floats(0, 4e6), st.sampled_from([0.5, 0.8, 0.95]), st.integers(8, 200))
def test_any_end_fits_or_is_as_short_as_it_gets(mid: float, low: float, high: float, sure: float, width: int) -> None:
    at, first, last = (NOW + timedelta(seconds=seconds) for seconds in (mid, low, high))
    phrases = words.ending(Eta(at, first, last, coverage=sure), NOW, UTC)
    said = words.first_fitting(width, *phrases)
    assert said in phrases
    assert len(said) <= width or said == phrases[-1]


@pytest.mark.parametrize(
    ("view", "state", "word", "detail"),
    [
        (LinkView(state="up", since=ago(hours=1), latency_s=0.038), "ok", "up", "38 ms · 1 h"),
        (LinkView(state="connecting", attempt=3), "busy", "connecting", "try 3"),
        (samples.link_lost().link, "bad", "lost", "next try in 18 s · 4 min ago · The host has not answered for 12 s."),
        (LinkView(state="refused", reason="Key refused."), "bad", "refused", "Key refused."),
    ],
)
def test_the_link_in_words(view: LinkView, state: str, word: str, detail: str) -> None:
    assert status.link(view, NOW) == (state, word, detail)


@pytest.mark.parametrize(
    ("view", "state", "word", "detail"),
    [
        (HealthView(), "unknown", "--", "not asked yet"),
        (HealthView(state="asking"), "busy", "asking", ""),
        (HealthView("ok", status=200, latency_s=1.0, checked_at=ago(seconds=75)), "ok", "ok", "1.0 s · 1 min ago"),
        (HealthView("ok", status=200, latency_s=1.04, checked_at=ago(seconds=12)), "ok", "ok", "1.0 s · 12 s ago"),
        (
            HealthView("ok", status=200, latency_s=1.0, checked_at=ago(minutes=4)),
            "unknown",
            "was ok",
            "1.0 s · 4 min ago",
        ),
        (HealthView("failing", status=503, checked_at=ago(seconds=9)), "bad", "failing", "answered 503 · 9 s ago"),
    ],
)
def test_health_in_words(view: HealthView, state: str, word: str, detail: str) -> None:
    assert status.health(view, NOW) == (state, word, detail)


def test_a_server_that_starts_is_no_fault_and_neither_is_a_job_before_the_run() -> None:
    failing = HealthView("failing", error="Connection refused.", checked_at=ago(seconds=9))
    shown = status.health(failing, NOW, starting=True)
    assert shown == ("starting", "starting", "no answer yet · 9 s ago")
    assert status.health(failing, NOW, seen=False, starting=True)[:2] == ("unknown", "failed")
    assert status.health(HealthView("ok", latency_s=1.0, checked_at=ago(seconds=9)), NOW, starting=True)[0] == "ok"
    assert status.job(JobView(alive=False), NOW, starting=True)[:2] == ("starting", "not up")
    assert status.job(JobView(alive=False), NOW, seen=False, starting=True)[0] == "unknown"
    assert status.job(JobView(alive=False, finished="failed"), NOW, starting=True)[:2] == ("warn", "ended")
    assert status.job(JobView(pid=7, alive=True, checked_at=ago(seconds=8)), NOW, starting=True)[0] == "ok"


@pytest.mark.parametrize(
    ("cause", "phase", "sign"),
    [
        ("starting", "weights", "↑"),
        ("starting", "starting", "↑"),
        ("starting", "", "✗"),  # nothing has been seen of the run, and nothing says that a server comes up
        ("starting", "ready", "✗"),
        ("server_down", "weights", "✗"),
    ],
)
async def test_the_lamps_follow_the_verdict_while_a_server_loads(cause: str, phase: str, sign: str) -> None:
    feed = FakeFeed()
    app = make_app(feed, FakeControl())
    calm = samples.healthy()
    loading = replace(
        calm,
        verdict=replace(calm.verdict, cause=cause),
        server=replace(calm.server, phase=phase),
        health=HealthView("failing", error="Connection refused.", checked_at=ago(seconds=9)),
    )
    async with app.run_test(size=(120, 36)) as pilot:
        await shown(pilot, feed, loading)
        assert [each for each in "↑✗✓" if f"{each} health" in screen_text(app)] == [sign]


@pytest.mark.parametrize(
    ("view", "state", "word"),
    [
        (JobView(), "unknown", "--"),
        (JobView(pid=7, alive=True, started_at=ago(hours=2), checked_at=ago(seconds=8)), "ok", "up"),
        (JobView(pid=7, alive=True, checked_at=ago(minutes=4)), "unknown", "was up"),
        (JobView(alive=False, finished="done"), "ok", "ended"),
        (JobView(alive=False, finished="stopped"), "warn", "ended"),
        (JobView(alive=False), "bad", "gone"),
    ],
)
def test_the_job_in_words(view: JobView, state: str, word: str) -> None:
    assert status.job(view, NOW)[:2] == (state, word)


def test_ranks_are_written_out_when_there_are_several() -> None:
    one = ServerView(usage_by_rank=(("", 0.82),))
    many = ServerView(usage_by_rank=tuple((f"DP{rank}", 0.5) for rank in range(10)))
    assert not server.ranks(one)
    assert server.ranks(many) == "KV by rank " + " ".join(["0.50"] * 8) + " and 2 more"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("[2026-02-24 03:19:40] Decode batch", "Decode batch"),
        ("[2026-02-24 03:19:40 DP1 TP0] Decode batch", "DP1 TP0 Decode batch"),
        ("INFO 02-24 03:19:40 [loggers.py:1] Engine", "INFO [loggers.py:1] Engine"),
        ("50/9998 (0 err)", "50/9998 (0 err)"),
    ],
)
def test_a_pane_writes_its_own_time_in_place_of_the_line_s(text: str, shown: str) -> None:
    line = logs.as_text(LogLine(Source.SERVER, text, NOW), BERLIN)
    assert (line.stamp, line.text) == ("04:19:40", shown)


@given(st.text(max_size=200), st.text(max_size=10))
def test_any_line_becomes_a_text(text: str, level: str) -> None:
    assert logs.as_text(LogLine(Source.JOB, text, NOW, level), UTC).level in logs.LEVELS


@given(st.text(max_size=20))
def test_any_filter_is_a_pattern(typed: str) -> None:
    pattern = logs.as_pattern(typed)
    assert (pattern is None) == (not typed)


def test_a_broken_expression_is_taken_as_it_stands() -> None:
    pattern = logs.as_pattern("(0 ERR")
    assert pattern is not None
    assert pattern.search("50/9998 (0 err)")


@pytest.mark.parametrize(
    ("log", "note"),
    [
        (None, "no line yet"),
        (LogView("job", "following", updated_at=NOW), ""),
        (LogView("job", "missing", path="/srv/run.log"), "missing · /srv/run.log"),
        (
            LogView("job", "following", updated_at=ago(minutes=2), lost_bytes=1200),
            "newest line 2 min old · 1,200 bytes lost",
        ),
        (LogView("job", "following", understood=0.2, updated_at=NOW), "understood 20 %"),
    ],
)
def test_a_log_says_how_it_is_seen(log: LogView | None, note: str) -> None:
    assert logs.state_note(log, NOW) == note


@pytest.mark.parametrize(
    ("share", "lines", "brief"),
    [
        (1.0, 1, "understood 1 line"),
        (1.0, 1_234, "understood all"),
        (0.97, 18_204, "understood 97 %"),
        (1 - 1 / 10_000_000, 10_000_000, "understood 99 %"),
        (1 / 3_000, 3_000, "understood under 1 %"),
        (0.01, 100, "understood 1 %"),
        (0.0, 7, "understood none"),
    ],
)
def test_a_share_of_lines_is_all_or_none_only_when_it_is(share: float, lines: int, brief: str) -> None:
    said = log_words.understood(LogView("job", "following", lines=lines, understood=share))
    assert said[-1] == brief
    assert list(said) == sorted(said, key=len, reverse=True)


def test_what_is_understood_is_said_in_as_many_words_as_fit() -> None:
    log = LogView("job", "following", lines=18_204, understood=0.97, updated_at=NOW)
    assert log_words.understood(LogView("job", "following")) == ()
    assert log_words.reading_notes(log) == (
        "understood 97 % of 18,204 lines (u: the rest)",
        "understood 97 % of 18,204 lines",
        "understood 97 %",
    )


def test_a_log_that_is_hardly_read_says_so_once() -> None:
    log = LogView("job", "following", lines=50, understood=0.2, updated_at=NOW)
    assert (logs.state_note(log, NOW), log_words.reading_notes(log)[0]) == (
        "understood 20 %",
        "u: which lines are not",
    )


@pytest.mark.parametrize("panel", PANELS)
def test_each_panel_explains_itself(panel: type[Panel]) -> None:
    assert panel.HELP.startswith(f"### {panel.TITLE}")


def test_what_is_asked_seldom_is_old_only_when_it_is_overdue() -> None:
    seldom = status.Usual(health_s=600, look_s=600)
    for minutes, state in ((14, "ok"), (16, "unknown")):
        asked = ago(minutes=minutes)
        assert status.health(HealthView("ok", status=200, latency_s=1.0, checked_at=asked), NOW, seldom)[0] == state
        assert status.job(JobView(pid=7, alive=True, checked_at=asked), NOW, seldom)[0] == state


def test_how_far_the_run_is_counts_what_is_left_and_not_the_budgets() -> None:
    views = (replace(samples.healthy().datasets[0], tokens=3_000_000, budget=10_000_000),)
    assert words.far(views, Eta(tokens_left=1_000_000)) == "75 % done"
    assert words.far(views, Eta(tokens_left=1)) == "99 % done"
    assert words.far(views, Eta(tokens_left=0)) == "100 % done"
    assert words.far(views, Eta()) == ""
    assert words.far((), Eta(tokens_left=0)) == ""
    assert "3.0 M of ~4.0 M tok" in progress.summary(views, 1_000_000)
    assert "3.0 M tok" in progress.summary(views, 0)
    assert "3.0 M of 10.0 M tok" in progress.summary(views)


def test_without_a_link_no_lamp_says_that_all_is_well() -> None:
    healthy = samples.healthy()
    assert status.health(healthy.health, NOW, seen=False)[:2] == ("unknown", "was ok")
    assert status.job(healthy.job, NOW, seen=False)[:2] == ("unknown", "was up")
    assert status.job(replace(healthy.job, alive=False), NOW, seen=False)[0] == "unknown"
    assert status.health(replace(healthy.health, state="failing"), NOW, seen=False)[0] == "unknown"
