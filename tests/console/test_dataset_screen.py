"""One dataset over the screen: charts and figures with units and sources, its keys, live and in a replay."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from console.feed import Feed
from console.job.dataset_detail import DatasetDetail, PathPoint, Said
from console.job.dataset_detail_lengths import LengthBin, Lengths
from console.job.failure_kinds import FailureKind
from console.job.snapshot import DatasetState, DatasetView, ServerView
from console.job.told import Told
from console.panels.dataset_charts import course, course_title, length_marks, lengths_title, no_lengths, ticks
from console.panels.dataset_words import Figure, figures
from console.panels.figure_list import LABEL, laid_out
from console.screens.dataset import DatasetScreen
from console.screens.help import HelpScreen
from remote.local import LocalHost
from tests import samples
from tests.console.fakes_ui import FakeFeed, main_screen, make_app, notices, screen_text, shown, until
from tests.console.recordings import a_run
from tests.console.test_feed import JOB_LINES, settings_for, utc_now, watching
from tests.console.test_replay_screen import Played
from tests.job.builders import after
from widgets.band import RangeBand
from widgets.histogram import Histogram

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from textual.pilot import Pilot

NOW = samples.NOW
VIEW = replace(
    samples.healthy().datasets[2],
    eta_low=NOW + timedelta(minutes=45),
    eta_high=NOW + timedelta(minutes=80),
    expected_completion_tokens=2_310.0,
    budget_share=0.43,
    errors=41,
)
NAMES = tuple(view.name for view in samples.healthy().datasets)


def ago(hours: float) -> datetime:
    return NOW - timedelta(hours=hours)


def told(hours_ago: float, low: float, middle: float, high: float) -> Told:
    return Told(ago(hours_ago), *(NOW + timedelta(hours=each) for each in (low, middle, high)))


DETAIL = DatasetDetail(
    name=VIEW.name,
    at=NOW,
    place=2,
    names=NAMES,
    lengths=Lengths(
        bins=tuple(LengthBin(100 * 1.5**place, 150 * 1.5**place, 40.0 * place, 3.0) for place in range(11)),
        source="progress",
        counted=2_200,
        capped=12,
        judged=3_450,
        capped_tokens=122_880,
        ages=(12.0, 980.0, 9_870.0),
        ageless=4,
    ),
    path=(PathPoint(ago(2.3), 0.0), PathPoint(ago(1.0), 0.3), PathPoint(NOW, 0.69)),
    said=(
        Said(0.0, told(2.0, -0.5, 2.0, 5.0)),
        Said(0.3, told(1.0, 0.5, 1.0, 2.0)),
        Said(0.69, told(0, 0.75, 1.0, 1.3)),
    ),
    expected=(2_190.0, 2_430.0),
    failures=(FailureKind("timeout", 38, 30), FailureKind("http_500", 9, 0)),
    tokens_run=6_902_988,
    prompt_tokens=2_800_000,
    over_budget=0,
    at_work=1,
    has_progress=True,
    has_server=True,
)
SERVER = samples.healthy().server


def said(
    view: DatasetView = VIEW, detail: DatasetDetail | None = DETAIL, server: ServerView = SERVER
) -> dict[str, Figure]:
    return {one.label: one for one in figures(view, detail, server, NOW, UTC)}


# ------------------------------------------------------------ words


def test_every_figure_has_a_unit_and_a_source() -> None:
    found = said()
    assert found["Prompts"].text == (
        "3,452 of 10,000 done (35 %); 2 of them by former processes of the job; the budget will end it at about 4,300"
    )
    assert found["Prompts"].source == "job's log, progress.jsonl, 41 s ago"
    assert found["Tokens"].text == (
        "6.9 M completion tokens of a budget of 10.0 M (69 %); 10.9 k more made by what is in flight; prompts took 2.8 M"
    )
    assert found["Length"].text == "1,998 tok/req on average; 2,310 tok/req expected of all (2,190 to 2,430)"
    assert found["Limits"].text == ("at most 10,240 new tok a request (max_tokens), 150 requests at once (concurrency)")
    assert found["In flight"].text == (
        "150 requests sent and not answered; the server runs 50, 98 wait in it; 3 of known age have made 12 to 9,870 tok,"
        " 980 in the middle; 4 of unknown age"
    )
    assert found["Errors"] == Figure(
        "Errors",
        "41 given up for good (1.2 %); failed attempts by kind, all processes: timeout 38 (30 for good), http_500 9",
        "progress.jsonl",
        alert=True,
    )
    assert found["Over"].text == (
        "12 of 3,450 completions ended at the length cap (0.3 %, 122.9 k tok); no token beyond the budget"
    )
    assert found["End"].text == "1 h 1 min left: 04:20, 80 % sure 04:04 to 04:39; said first, at 01:19: 02:49 to 08:19"
    assert "Not told" not in found


def test_what_the_logs_at_hand_do_not_tell_is_said() -> None:
    bare = replace(DETAIL, lengths=Lengths(), has_progress=False, failures=(), path=(), said=())
    assert said(detail=bare)["Not told"].text == (
        "No progress.jsonl is read: errors have no kinds, and lengths are no more than the server's log shows."
        " Single lengths: neither log lets requests be told apart."
        " Ages of what is in flight: the server's log does not show what joined and left."
        " How far it was before: no line of the job at hand tells that."
    )
    some = replace(DETAIL, lengths=replace(DETAIL.lengths, source="server", counted=640), at_work=2)
    assert said(detail=some)["Not told"].text == (
        "Lengths of 2,810 completions: the server's log lets only the first some hundred of a dataset be told apart."
        " Which of the requests in flight are its own: 2 datasets are at work."
    )
    assert said(detail=None)["Not told"].text == "Nothing has been looked up yet."


def test_tokens_beyond_the_budget_are_named_with_their_share() -> None:
    assert said(detail=replace(DETAIL, over_budget=400_000))["Over"].text.endswith(
        "400.0 k tok beyond the budget (4.0 %)"
    )


def test_many_kinds_of_errors_are_summed() -> None:
    kinds = tuple(FailureKind(f"http_5{place:02}", 20 - place) for place in range(9))
    assert said(detail=replace(DETAIL, failures=kinds))["Errors"].text.endswith("http_505 15, 3 other kinds 39")


def test_of_what_has_ended_it_is_said_when_and_how_often_the_ranges_held() -> None:
    ended = replace(VIEW, state=DatasetState.BUDGET_REACHED, done=4_300)
    found = said(ended, replace(DETAIL, ended_at=NOW))
    assert found["End"].text == "ended 03:19, now; of 3 ranges said before, 1 held"
    assert "the budget left out 5,700" in found["Prompts"].text
    assert "In flight" not in found


def test_of_what_has_not_begun_nothing_is_made_up() -> None:
    waiting = samples.waiting()[7]
    found = said(waiting, DatasetDetail(waiting.name, NOW, 7, NAMES, Lengths()))
    assert found["Prompts"] == Figure("Prompts", "4,288 to do; it has not begun", "the plan")
    assert found["Errors"].text == "-- given up for good"
    assert found["End"].text == "can't be told now"
    assert "Not told" not in found


VIEWS = st.builds(
    DatasetView,
    st.text(max_size=20),
    state=st.sampled_from(DatasetState),
    done=st.integers(0, 10**6),
    done_before=st.integers(0, 10**6),
    total=st.none() | st.integers(0, 10**6),
    errors=st.integers(0, 10**6),
    tokens=st.none() | st.integers(0, 10**10),
    budget=st.none() | st.integers(0, 10**10),
    max_tokens=st.none() | st.integers(0, 10**6),
    mean_completion_tokens=st.none() | st.floats(0, 1e6),
    expected_completion_tokens=st.none() | st.floats(0, 1e6),
    budget_share=st.none() | st.floats(0.01, 0.99),
    eta=st.none() | st.datetimes(datetime(2026, 1, 1), datetime(2027, 1, 1), timezones=st.just(UTC)),  # noqa: DTZ001 - the zone is given beside them
    updated_at=st.none() | st.just(NOW),
)
MOMENTS = st.integers(-(10**6), 10**6).map(lambda second: NOW + timedelta(seconds=second))
DETAILS = st.builds(
    lambda way, ranges, ended: replace(
        DETAIL,
        path=tuple(PathPoint(at, share) for at, share in sorted(way)),
        said=tuple(Said(share, Told(*moments)) for share, moments in sorted(ranges, key=lambda one: one[0])),
        ended_at=ended,
    ),
    st.lists(st.tuples(MOMENTS, st.floats(0, 1)), max_size=6),
    st.lists(st.tuples(st.floats(0, 1), st.tuples(MOMENTS, MOMENTS, MOMENTS, MOMENTS)), max_size=6),
    st.none() | MOMENTS,
)


@given(VIEWS, st.none() | DETAILS)
@settings(deadline=None)
def test_any_dataset_can_be_put_into_words_and_charts(view: DatasetView, detail: DatasetDetail | None) -> None:
    assert all(one.label and one.text for one in figures(view, detail, SERVER, NOW, UTC))
    assert no_lengths(view, detail)
    assert lengths_title(detail)
    assert course_title(detail)
    assert all(mark.at > 0 for mark in length_marks(view))
    if detail is not None:
        way = course(view, detail, NOW, UTC)
        assert way.reach[0] < way.reach[1]
        assert all(way.reach[0] <= at <= way.reach[1] for at, _ in way.curve)
        assert all(way.reach[0] <= at <= way.reach[1] for at, _ in way.ticks)


@given(st.lists(st.text("ab c1 s", min_size=1, max_size=80), min_size=1, max_size=4), st.integers(1, 120))
def test_figures_are_laid_out_within_the_width(texts: list[str], width: int) -> None:
    rows = laid_out([Figure("Label", text, "the log, 5 s ago") for text in texts], width).plain.split("\n")
    assert all(cell_len(row) <= max(width, LABEL) for row in rows)


def test_a_unit_stays_with_its_figure_and_the_source_is_dim() -> None:
    content = laid_out([Figure("Age", "it took 17 s", "log")], LABEL + 26)
    assert content.plain == "Age        it took 17 s · log"
    narrow = laid_out([Figure("Age", "so it took it more than 17 s")], LABEL + 26)
    assert narrow.plain == "Age        so it took it more than\n           17 s"
    dim = [content.plain[span.start : span.end] for span in content.spans if "muted" in str(span.style)]
    assert dim == [" · log"]


# ------------------------------------------------------------ charts


def test_the_axis_of_time_reaches_from_the_first_request_to_the_latest_end() -> None:
    way = course(VIEW, DETAIL, NOW, UTC)
    assert way.reach[0] == ago(2.3).timestamp()
    latest = NOW + timedelta(hours=1.3)
    assert latest.timestamp() < way.reach[1] < (latest + timedelta(hours=4)).timestamp()
    assert way.end is None
    assert [span.share for span in way.spans] == [0.0, 0.3, 0.69]


def test_where_no_end_can_be_told_none_is_drawn_for_now() -> None:
    way = course(replace(VIEW, eta=None), DETAIL, NOW, UTC)
    assert [span.share for span in way.spans] == [0.0, 0.3, 0.69]
    assert way.spans[-1].low > way.reach[1]


def test_an_end_said_long_ago_does_not_squeeze_what_is_known() -> None:
    far = replace(DETAIL, said=(Said(0.0, told(2.0, 1.0, 100.0, 1_000.0)), *DETAIL.said[1:]))
    assert course(VIEW, far, NOW, UTC).reach[1] < (NOW + timedelta(hours=6)).timestamp()


@pytest.mark.parametrize(
    ("seconds", "zone", "named"),
    [
        (90, "UTC", ["03:19:40", "03:21:10", "03:19:50"]),
        (7_200, "UTC", ["03:20", "05:10", "03:30"]),
        (100_000, "UTC", ["Wed 25", "06:00", "06:00"]),
        (100_000, "America/New_York", ["Tue 24", "Wed 25", "00:00"]),
    ],
)
def test_times_on_the_axis_are_round_ones_of_the_operators_zone(seconds: int, zone: str, named: Sequence[str]) -> None:
    first = NOW.timestamp()
    found = [text for _, text in ticks(first, first + seconds, ZoneInfo(zone))]
    assert len(found) <= 13
    assert found[: len(named)] == named or set(named[:2]) <= set(found)


def test_only_midnight_itself_is_named_by_its_day() -> None:
    midnight = NOW.replace(hour=0, minute=0, second=0)
    first = midnight.timestamp() - 15
    found = sorted(ticks(first, first + 60, UTC))
    assert [text for _, text in found] == ["23:59:50", "Tue 24", "00:00:10", "00:00:20", "00:00:30", "00:00:40"]


def test_the_axis_follows_the_clock_on_the_wall_where_summer_time_begins() -> None:
    zone = ZoneInfo("Europe/Berlin")
    first = datetime(2026, 3, 29, 0, 30, tzinfo=zone).timestamp()
    found = sorted(ticks(first, first + 6 * 3600, zone))
    assert [text for _, text in found] == [f"{datetime.fromtimestamp(at, zone):%H:%M}" for at, _ in found]
    assert [text for _, text in found][:4] == ["00:30", "01:00", "01:30", "03:00"]
    assert found[-1][1] == "07:30"


# ------------------------------------------------------------ the screen


async def opened(pilot: Pilot[None], feed: FakeFeed) -> DatasetScreen:
    """Open the dataset at work."""
    await shown(pilot, feed, replace(samples.healthy(), datasets=(*samples.healthy().datasets[:2], VIEW, *samples.waiting()[3:])))  # fmt: skip
    await pilot.press("2", "enter")
    await until(pilot, lambda: isinstance(pilot.app.screen, DatasetScreen), "the dataset")
    await pilot.pause()
    assert isinstance(pilot.app.screen, DatasetScreen)
    return pilot.app.screen


@pytest.mark.parametrize("size", [(80, 24), (120, 36), (200, 50), (60, 30), (40, 12), (20, 8)])
async def test_it_fits_every_size(size: tuple[int, int]) -> None:
    feed = FakeFeed(details={VIEW.name: DETAIL})
    app = make_app(feed)
    async with app.run_test(size=size) as pilot:
        await opened(pilot, feed)
        rows = screen_text(app).splitlines()
        assert len(rows) == size[1]
        assert "B3_magicoder" in rows[1]
        if size[0] >= 60:
            text = "\n".join(rows)
            for part in ("WAIT", "3,452/10,000 prompts", "Lengths: 2,200 completions", "Done over time", "Prompts"):
                assert part in text
            assert "┃ cap 10,240 tok" in text
            assert "▼ mean 1,998 tok" in text
            assert "░" in text


async def test_a_new_snapshot_is_drawn_while_it_is_open_and_nothing_is_looked_up_when_it_is_closed() -> None:
    feed = FakeFeed(details={VIEW.name: DETAIL})
    app = make_app(feed)
    async with app.run_test(size=(120, 36)) as pilot:
        screen = await opened(pilot, feed)
        looked = len(feed.detailed)
        feed.details[VIEW.name] = replace(DETAIL, lengths=replace(DETAIL.lengths, counted=2_300))
        newer = replace(samples.healthy(), datasets=(replace(VIEW, done=3_502),))
        await shown(pilot, feed, newer)
        await until(pilot, lambda: "2,300 completions" in screen_text(app), "the newer detail")
        assert "3,502 of 10,000" in screen_text(app)
        assert len(feed.detailed) == looked + 1
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is main_screen(app), "all panes")
        looked = len(feed.detailed)
        await shown(pilot, feed, samples.healthy())
        assert len(feed.detailed) == looked
        assert not screen.is_attached


def grown(second: int) -> DatasetDetail:
    """The dataset some seconds later: what is in flight has grown, what is new has begun."""
    bins = (
        LengthBin(1.0 + second % 7, 9.0, 0.0, 2.0),
        *DETAIL.lengths.bins,
        LengthBin(8_650.0, 9_000.0 + 30 * second, 0, 1),
    )
    return replace(DETAIL, lengths=replace(DETAIL.lengths, bins=bins, counted=2_200 + second))


async def test_the_scale_of_lengths_keeps_still_while_answers_come_in_and_only_ever_widens() -> None:
    feed = FakeFeed(details={VIEW.name: grown(0)})
    app = make_app(feed)
    async with app.run_test(size=(120, 36)) as pilot:
        screen = await opened(pilot, feed)
        chart = screen.query_one(Histogram)
        first = chart.reach
        assert first == (1.0, 15_000.0)  # the cap of 10,240 lies in it
        for second in range(1, 6):
            feed.details[VIEW.name] = grown(second)
            await shown(pilot, feed, replace(samples.healthy(), datasets=(replace(VIEW, done=3_452 + second),)))
            await until(pilot, lambda at=second: f"{2_200 + at:,} completions" in screen_text(app), "the newer")  # type: ignore[misc]
            assert chart.reach == first
        feed.details[VIEW.name] = replace(DETAIL, lengths=replace(DETAIL.lengths, counted=3_000))
        await shown(pilot, feed, replace(samples.healthy(), datasets=(replace(VIEW, done=3_999, max_tokens=40_000),)))
        await until(pilot, lambda: "3,000 completions" in screen_text(app), "a wider one")
        assert chart.reach == (1.0, 50_000.0)


async def test_the_keys_go_to_the_neighbours_and_round_and_back() -> None:
    feed = FakeFeed(details={VIEW.name: DETAIL})
    app = make_app(feed)
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await opened(pilot, feed)
        for key, name in (("right", NAMES[3]), ("l", NAMES[4]), ("left", NAMES[3]), ("h", NAMES[2]), ("h", NAMES[1]), ("left", NAMES[0]), ("left", NAMES[7]), ("right", NAMES[0])):  # fmt: skip
            await pilot.press(key)
            await pilot.pause()
            assert screen.dataset == name
            assert name in screen_text(app).splitlines()[1]
            assert feed.detailed[-1] == name
        for key in ("question_mark", "escape"):
            await pilot.press(key)
            await until(pilot, lambda at=key: isinstance(app.screen, HelpScreen) == (at != "escape"), key)  # type: ignore[misc]
        await pilot.press("enter")
        await until(pilot, lambda: app.screen is main_screen(app), "all panes")


async def test_it_scrolls_and_can_be_copied() -> None:
    feed = FakeFeed(details={VIEW.name: DETAIL})
    app = make_app(feed)
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await opened(pilot, feed)
        page = screen.query_one("#page")
        assert page.max_scroll_y > 0
        for key in ("j", "down"):
            before = page.scroll_y
            await pilot.press(key)
            await until(pilot, lambda was=before: page.scroll_y > was, key)  # type: ignore[misc]
        await pilot.press("Y")
        await until(pilot, lambda: bool(notices(app)), "a word")
        assert notices(app)[-1].startswith("Copied ")


async def test_a_lost_link_dims_it_and_says_so_above() -> None:
    feed = FakeFeed(details={VIEW.name: DETAIL})
    app = make_app(feed)
    async with app.run_test(size=(120, 36)) as pilot:
        screen = await opened(pilot, feed)
        await shown(pilot, feed, samples.link_lost())
        await until(pilot, lambda: "BLIND  The host can't be seen" in screen_text(app), "the verdict")
        assert screen.has_class("-old")


async def test_a_dataset_that_is_gone_is_said() -> None:
    feed = FakeFeed()
    app = make_app(feed)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot, feed)
        await shown(pilot, feed, replace(samples.healthy(), datasets=samples.waiting()[3:]))
        await until(pilot, lambda: "not among those of the run any more" in screen_text(app), "a sentence")
        await pilot.pause()
        assert "Prompts" not in screen_text(app)  # figures of what is gone would seem to be of now
        await shown(pilot, feed, samples.healthy())
        await until(pilot, lambda: "Prompts" in screen_text(app), "its figures, now that it is back")
        await shown(pilot, feed, replace(samples.healthy(), datasets=samples.waiting()[3:]))
        await pilot.press("right")
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is main_screen(app), "all panes")


async def test_text_from_the_host_is_no_markup() -> None:
    feed = FakeFeed()
    app = make_app(feed)
    name = "[b]B3[/b] \x1b[31m"
    async with app.run_test(size=(120, 36)) as pilot:
        await shown(pilot, feed, replace(samples.healthy(), datasets=(replace(VIEW, name=name),)))
        feed.details[name] = replace(DETAIL, failures=(FailureKind("[/]\x1b]0;x\x07", 3),))
        await pilot.press("enter")
        await until(pilot, lambda: "[b]B3[/b]" in screen_text(app), "the name as it is")
        await until(pilot, lambda: "[/] 3" in screen_text(app), "the kind as it is")


# ------------------------------------------------------------ where it comes from


async def test_the_live_feed_looks_closely(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    (tmp_path / "job.log").write_text(JOB_LINES, encoding="utf-8")
    feed = Feed(LocalHost(), settings_for(tmp_path), clock=utc_now)
    async with watching(feed) as watcher:
        seen = await watcher.until(lambda now: any(view.state is DatasetState.RUNNING for view in now.datasets))
        name = next(view.name for view in seen.datasets if view.state is DatasetState.RUNNING)
        detail = feed.detail(name)
    assert detail is not None
    assert detail.name == name
    assert detail.path
    assert feed.detail("no such dataset") is None


async def test_a_replay_shows_the_dataset_as_of_its_moment(tmp_path: Path) -> None:
    played = Played(a_run().given(tmp_path))
    assert played.feed.detail("B3_magicoder") is None
    async with played.app.run_test(size=(120, 36)) as pilot:
        await played.paused_at(pilot, 1_530)
        detail = played.feed.detail("B3_magicoder")
        assert detail is not None
        assert detail.at == after(1_530)
        assert detail.path[-1].at <= detail.at
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(played.app.screen, DatasetScreen), "the dataset")
        await until(pilot, lambda: bool(played.app.screen.query_one(RangeBand).curve), "its way")
        early = played.app.screen.query_one(RangeBand).curve
        played.feed.go_to_share(1.0)
        await until(pilot, lambda: len(played.app.screen.query_one(RangeBand).curve) > len(early), "a later moment")
        assert not played.app.screen.query_one(Histogram).bins
