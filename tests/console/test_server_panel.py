"""The server's pane: what a full cache means, the chart and its span, ranks, and what gives way where there is less room."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, timedelta

import pytest

from console.app import LongwaitApp
from console.facts import SnapshotTaken
from console.job.curve import Curve
from console.job.envelope import Envelope
from console.job.series import Series, SeriesDraft
from console.job.snapshot import Eta, JobView, RankView, ServerView, Snapshot
from console.kept import SPAN, Kept
from console.panels import server_words as words
from console.panels.server import DEFAULT_SPAN, ServerPanel
from console.panels.words import STALE_S
from console.replay_commands import REPLAYED
from tests import samples
from tests.console.fakes_ui import FakeFeed, main_screen, make_app, until
from tests.widgets.stage import screen_text
from widgets.chart import Chart
from widgets.trend import Trend


def curve(seconds: int) -> Curve:
    """So many seconds of throughput up to the moment of the samples, one figure each 5 s, with a dip a minute ago."""
    draft = SeriesDraft(Series(envelope=Envelope()))
    for second in range(-seconds, 0, 5):
        draft.add(samples.NOW + timedelta(seconds=second), 250.0 if second == -60 else 846.0, 50)
    return Curve(draft.freeze())


def snapshot(seconds: int = 7200, ranks: int = 1, **more: object) -> Snapshot:
    calm = samples.healthy()
    names = [f"DP{number}" for number in range(ranks)] if ranks > 1 else [""]
    usages = [0.5 + number / 100 for number in range(ranks)]
    views = tuple(RankView(name, 50, 12, usage, 105.0) for name, usage in zip(names, usages, strict=True))
    server = replace(
        calm.server,
        curve=curve(seconds),
        kv="fine",
        rank_views=views,
        usage_by_rank=tuple(zip(names, usages, strict=True)),
        **more,  # type: ignore[arg-type]
    )
    return replace(calm, server=server)


async def shown(app: LongwaitApp, feed: FakeFeed, pilot: object, taken: Snapshot) -> str:
    feed.put(SnapshotTaken(taken))
    for _ in range(3):
        await pilot.pause()  # type: ignore[attr-defined]
    return screen_text(app)


def console() -> tuple[LongwaitApp, FakeFeed]:
    feed = FakeFeed()
    return LongwaitApp(feed, None, host="gpu01", clock=lambda: samples.NOW, zone=UTC), feed


async def test_the_keys_choose_the_span_and_stop_at_either_end() -> None:
    app, feed = console()
    async with app.run_test(size=(120, 36)) as pilot:
        await shown(app, feed, pilot, snapshot())
        panel, chart = app.screen.query_one(ServerPanel), app.screen.query_one("#chart", Chart)
        assert panel.span == DEFAULT_SPAN == "1 h"
        assert "1 h · min 250, max 846" in screen_text(app)
        assert chart.begins == "02:19"
        for key, span, begins in (
            ("[", "5 min", "03:14"),
            ("[", "5 min", "03:14"),
            ("]", "1 h", "02:19"),
            ("]", "all", "00:20"),
            ("]", "all", "00:20"),
        ):
            await pilot.press(key)
            await pilot.pause()
            assert (panel.span, chart.begins) == (span, begins)
        assert "all, 3 h wide" in screen_text(app)


async def test_a_short_past_says_that_it_is_all_there_is() -> None:
    app, feed = console()
    async with app.run_test(size=(120, 36)) as pilot:
        assert "15 min, all so far" in await shown(app, feed, pilot, snapshot(700))


async def test_where_there_is_less_room_a_line_stands_for_the_chart_and_has_the_same_span() -> None:
    app, feed = console()
    async with app.run_test(size=(80, 24)) as pilot:
        text = await shown(app, feed, pilot, snapshot())
        assert "tok/s 1 h" in text
        assert app.screen.query_one("#trend", Trend).display
        assert not app.screen.query_one("#chart", Chart).display
        await pilot.press("[")
        await pilot.pause()
        assert "tok/s 5 min" in screen_text(app)
        await pilot.resize_terminal(108, 24)
        await pilot.pause()
        assert "846 250..846" in screen_text(app)  # of the figures, not of the means that are drawn


async def test_all_ranks_are_there_when_the_pane_fills_the_screen() -> None:
    app, feed = console()
    async with app.run_test(size=(80, 24)) as pilot:
        text = await shown(app, feed, pilot, snapshot(ranks=8))
        assert "DP5" not in text
        await pilot.press("3", "3")
        await pilot.pause()
        whole = screen_text(app)
        assert all(f"DP{number}" in whole for number in range(8))
        assert "0.57" in whole
        assert "mean 0.54 of 8 ranks" in whole
        await pilot.press("escape")
        await pilot.pause()
        assert "DP5" not in screen_text(app)


async def test_the_gauge_is_calm_until_retractions_rise_and_throughput_falls() -> None:
    app, feed = console()
    async with app.run_test(size=(120, 36)) as pilot:
        assert "full is fine: tok/s holds" in await shown(app, feed, pilot, snapshot(token_usage=0.99))
        assert not app.screen.query(".-warn")
        text = await shown(app, feed, pilot, replace(snapshot(), server=replace(snapshot().server, kv="strained")))
        assert "retractions rise and tok/s falls" in text
        assert "0.82 !" in text
        assert len(app.screen.query("Gauge.-warn")) == 1


async def test_what_only_some_servers_tell_is_said_where_there_is_room() -> None:
    app, feed = console()
    taken = snapshot(accept_length=2.31, cache_hit_rate=0.34, queues=(("grammar", 12),))
    async with app.run_test(size=(120, 36)) as pilot:
        text = await shown(app, feed, pilot, taken)
        assert "accept length 2.31 · prefix cache hits 34 % · waiting for grammar 12" in text


def test_the_span_is_remembered_and_restored() -> None:
    kept, panel = Kept(), ServerPanel(UTC)
    for span in ("5 min", "all", "1 h"):
        panel.span = span
        panel.remember(kept)
        other = ServerPanel(UTC)
        other.restore(kept)
        assert other.span == span
    kept.put(SPAN, 77.0)
    panel.restore(kept)
    assert panel.span == DEFAULT_SPAN


@pytest.mark.parametrize(
    ("width", "said"),
    [
        (80, "50 running · 98 queued · 41 retracted (3/h) · 150 of 150 in flight"),
        (62, "50 running · 98 queued · 41 retracted · 150 of 150 in flight"),
        (50, "50 running · 98 queued · 41 retracted (3/h)"),
        (38, "50 running · 98 queued · 41 retracted"),
        (22, "50 running · 98 queued"),
        (5, "50 running"),
    ],
)
def test_what_gives_way_first_of_the_requests(width: int, said: str) -> None:
    view = replace(samples.healthy().server, retractions=41, retractions_last_hour=3)
    assert words.requests(view, samples.healthy().datasets, width) == said


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        ([], ""),
        ([(63, 150)], "63 of 150 in flight"),
        ([(63, None)], ""),
        ([(63, 150), (87, 150)], "150 of 150 in flight"),
        ([(150, 150), (87, 150)], "150 of 150 in flight"),
        ([(150, 150), (32, 32)], "150 of 150 in flight"),
        ([(150, None), (32, 32)], "182 in flight"),
    ],
)
def test_requests_in_flight_are_those_of_all_datasets_at_work(sent: list[tuple[int, int | None]], said: str) -> None:
    view = samples.waiting()[0]
    views = [replace(view, in_flight=flying, concurrency=limit) for flying, limit in sent]
    assert words.in_flight([view, *views]) == said


def test_nothing_known_is_said_as_such() -> None:
    nothing = ServerView()
    assert words.against(nothing) == words.extras(nothing) == words.limits(None) == ""
    assert words.usage_note(nothing, 80) == ""
    assert words.phase(nothing) == "not seen yet"
    assert words.span_words(None, "1 h") == "1 h"


def test_in_a_replay_the_brackets_go_through_time_and_others_choose_the_span() -> None:
    keys = {command.id: command.key for command in REPLAYED}
    assert (keys["hour-back"], keys["hour-on"]) == ("[", "]")
    assert (keys["span-shorter"], keys["span-longer"]) == ("(", ")")
    assert [command.id for command in REPLAYED if command.key in {"[", "]", "(", ")"}] == [
        "hour-back",
        "hour-on",
        "span-shorter",
        "span-longer",
    ]


@pytest.mark.parametrize("size", [(80, 24), (120, 36), (200, 50)])
async def test_the_chart_grows_with_the_pane_that_fills_the_screen(size: tuple[int, int]) -> None:
    feed = FakeFeed()
    app = make_app(feed)
    async with app.run_test(size=size) as pilot:
        feed.put(SnapshotTaken(samples.healthy()))
        await pilot.press("3", "3")
        await until(pilot, lambda: main_screen(app).query_one("#chart").size.height >= min(24, size[1] - 6))


def rested(seconds: float, **parts: object) -> Snapshot:
    """A run whose server has last reported so many seconds ago."""
    calm = samples.healthy()
    last = replace(calm.server, updated_at=samples.NOW - timedelta(seconds=seconds))
    return replace(calm, server=last, **parts)  # type: ignore[arg-type]


def over_by_eta() -> Eta:
    end = samples.NOW - timedelta(seconds=10)
    return Eta(end, end, end)


@pytest.mark.parametrize(
    ("parts", "seconds"),
    [
        ({"verdict": replace(samples.healthy().verdict, cause="finished")}, words.RESTING_S),
        ({"eta": over_by_eta()}, words.RESTING_S),
        ({"job": JobView(alive=False, finished="stopped")}, words.RESTING_S),
        ({"job": JobView(alive=False)}, words.RESTING_S),
        ({}, STALE_S),
        ({"job": JobView()}, STALE_S),
    ],
)
def test_the_last_figures_of_a_run_that_has_ended_are_old_at_once(parts: dict[str, object], seconds: float) -> None:
    assert words.stale_s(rested(1.0, **parts), samples.NOW) == seconds


async def test_the_figures_of_a_run_that_has_ended_say_how_old_they_are() -> None:
    app, feed = console()
    async with app.run_test(size=(120, 36)) as pilot:
        assert "as of" not in await shown(app, feed, pilot, rested(12.0))
        ended = {"verdict": replace(samples.healthy().verdict, cause="finished")}
        assert "Server · as of 03:19, 12 s old" in await shown(app, feed, pilot, rested(12.0, **ended))
        assert app.screen.query_one(ServerPanel).has_class("-old")
        # Somebody else has the server work on: its figures are of now.
        assert "as of" not in await shown(app, feed, pilot, rested(1.0, **ended))
        assert not app.screen.query_one(ServerPanel).has_class("-old")
