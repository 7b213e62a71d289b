"""The datasets' pane: bars in parts, figures by the room there is, a cursor, and what is at work in sight."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, timedelta
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from console.job.snapshot import DatasetState, DatasetView, LinkView, Trend
from console.panels import dataset_columns as columns
from console.panels.dataset_columns import Parts, laid, parts
from console.panels.progress import ProgressPanel
from console.screens.dataset import DatasetScreen
from tests import samples
from tests.console.fakes_ui import FakeFeed, main_screen, make_app, notices, screen_text, shown, until

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from console.app import LongwaitApp
    from console.job.snapshot import Snapshot

NOW = samples.NOW
RUNNING = replace(
    samples.healthy().datasets[2],
    eta_low=NOW + timedelta(minutes=45),
    eta_high=NOW + timedelta(hours=2, minutes=10),
    mean_trend=Trend.RISING,
    budget_share=0.5,
)


def run_of(*views: DatasetView) -> Snapshot:
    return replace(samples.healthy(), datasets=views)


def a_long_run(at_work: int, count: int = 30) -> Snapshot:
    """So many datasets, one of which runs."""
    first = replace(RUNNING, state=DatasetState.BUDGET_REACHED)
    views = [
        replace(first if place < at_work else RUNNING if place == at_work else samples.waiting()[3], name=f"B{place}")
        for place in range(count)
    ]
    return run_of(*views)


def pane_rows(app: LongwaitApp) -> list[str]:
    region = main_screen(app).query_one(ProgressPanel).region
    return [row[region.x : region.right] for row in screen_text(app).splitlines()[region.y : region.bottom]]


# ------------------------------------------------------------ the figures


def test_tokens_name_a_common_scale_once() -> None:
    assert columns.made(6_904_000, 10_000_000) == "6.9/10.0 M tok"
    assert columns.made(1_012, 10_000_000) == "1.0 k/10.0 M tok"
    assert columns.made(None, 10_000_000) == "--/10.0 M tok"
    assert columns.made(950, None) == "950 tok"


@pytest.mark.parametrize(
    ("minutes", "said"),
    [
        ((45, 130), "ends 04:04..05:29"),
        ((45, 1_400), "ends 04:04..Wed 02:39"),
        ((1_500, 1_600), "ends Wed 04:19..05:59"),
    ],
)
def test_a_range_names_its_day_once(minutes: tuple[int, int], said: str) -> None:
    low, high = (NOW + timedelta(minutes=each) for each in minutes)
    view = replace(RUNNING, eta_low=low, eta_high=high)
    assert columns.ends_between(view, NOW, UTC) == said


def test_without_a_range_the_middle_stands_and_what_has_ended_says_so() -> None:
    assert columns.ends_between(replace(RUNNING, eta_low=None), NOW, UTC) == "ends 04:20"
    assert columns.ends_between(DatasetView("x"), NOW, UTC) == "ends --"
    assert columns.ends_between(replace(RUNNING, state=DatasetState.DONE), NOW, UTC) == "ended"


@pytest.mark.parametrize(
    ("trend", "said"),
    [
        (Trend.RISING, "1,998 tok/req ↗"),
        (Trend.FALLING, "1,998 tok/req ↘"),
        (Trend.FLAT, "1,998 tok/req →"),
        (Trend.UNKNOWN, "1,998 tok/req"),
    ],
)
def test_the_mean_says_how_it_moves(trend: Trend, said: str) -> None:
    assert columns.mean(replace(RUNNING, mean_trend=trend)) == said


def test_figures_unknown_are_dashes_and_never_zero() -> None:
    bare = laid([DatasetView("x"), replace(RUNNING, errors=1)], NOW, UTC, 300).rows[0]
    assert [figure.strip() for figure in bare] == ["--/--", "ends --", "-- err", "-- tok/req", "-- tok", "--"]


@pytest.mark.parametrize(
    ("width", "figures", "worded"),
    [
        (170, ["3,452/10,000", "ends 04:04..05:29", "3 err", "1,998 tok/req ↗", "6.9/10.0 M tok", "0.42 req/s"], True),
        (112, ["3,452/10,000", "ends 04:04..05:29", "3 err", "1,998 tok/req ↗", "6.9/10.0 M tok"], True),
        (92, ["3,452/10,000", "ends 04:04..05:29", "3 err", "1,998 tok/req ↗"], True),
        (78, ["3,452/10,000", "ends 04:04..05:29", "3 err", "1,998 tok ↗"], False),
        (68, ["3,452/10,000", "ends 04:20", "3 err", "1,998 tok ↗"], False),
        (64, ["3,452/10,000", "ends 04:20", "3 err"], True),
        (56, ["3,452/10,000", "ends 04:20", "3 err"], False),
        (48, ["69 %", "ends 04:20", "3 err"], False),
        (44, ["69 %", "ends 04:20", "3 err"], False),
        (26, ["69 %", "3 err"], False),
    ],
)
def test_what_gives_way_first(width: int, figures: list[str], worded: bool) -> None:
    lines = laid([replace(RUNNING, errors=3)], NOW, UTC, width)
    assert list(lines.rows[0]) == figures
    assert lines.worded is worded
    assert lines.rows[0][lines.errors or 0] == "3 err"


def test_errors_take_no_room_while_there_are_none() -> None:
    assert laid([RUNNING], NOW, UTC, 170).errors is None
    assert not any("err" in figure for figure in laid([RUNNING], NOW, UTC, 170).rows[0])


VIEWS = st.builds(
    DatasetView,
    st.text(max_size=40),
    state=st.sampled_from(DatasetState),
    done=st.integers(0, 20_000),
    done_before=st.integers(0, 20_000),
    total=st.none() | st.integers(1, 20_000),
    in_flight=st.none() | st.integers(0, 20_000),
    errors=st.integers(0, 3_000),
    tokens=st.none() | st.integers(0, 10**8),
    budget=st.none() | st.integers(1, 10**8),
    mean_completion_tokens=st.none() | st.floats(0, 1e6),
    budget_share=st.none() | st.floats(0.01, 0.99),
    mean_trend=st.sampled_from(Trend),
    updated_at=st.none() | st.just(NOW),
)


@given(st.lists(VIEWS, max_size=6), st.integers(0, 250))
@settings(max_examples=80, deadline=None)
def test_columns_line_up_at_any_width(views: list[DatasetView], width: int) -> None:
    lines = laid(views, NOW, UTC, width)
    assert len(lines.rows) == len(views)
    for place in range(len(lines.rows[0]) if views else 0):
        assert len({cell_len(row[place]) for row in lines.rows}) == 1


@given(VIEWS)
def test_the_parts_of_a_bar_follow_one_another(view: DatasetView) -> None:
    bar = parts(view)
    assert 0 <= bar.before <= (bar.done or 0.0) <= 1
    assert 0 <= bar.flight <= 1
    assert (bar.done is None) == (not columns.is_seen(view) or (view.share is None and not view.total))


def test_the_whole_bar_is_its_prompts_and_the_budget_a_mark_on_it() -> None:
    assert parts(replace(RUNNING, done_before=1_726)) == Parts(0.1726, 0.3452, 0.015, 0.5)
    ended = replace(RUNNING, state=DatasetState.BUDGET_REACHED, done=5_000, in_flight=0)
    assert parts(ended) == Parts(0.0002, 0.5, 0.0, 0.5)
    assert parts(replace(ended, state=DatasetState.DONE, budget_share=None)) == Parts(0.0004 / 1.0, 1.0, 0.0, None)


def test_where_the_prompts_are_not_known_the_whole_is_the_budget() -> None:
    assert parts(replace(RUNNING, total=None)).done == pytest.approx(0.6904)
    told = DatasetView(
        "B1", state=DatasetState.SKIPPED, total=12_000, tokens=10_004_221, budget=10_000_000, updated_at=NOW
    )
    assert parts(told).done == 1.0, "a line that says that the budget is met tells no count"


# ------------------------------------------------------------ the pane


@pytest.mark.parametrize("size", [(60, 24), (80, 24), (120, 36), (200, 50), (40, 12), (20, 8)])
async def test_at_every_size_it_shows_name_sign_and_share(size: tuple[int, int]) -> None:
    feed = FakeFeed()
    app = make_app(feed)
    async with app.run_test(size=size) as pilot:
        await shown(pilot, feed, run_of(replace(RUNNING, errors=3)))
        row = next((row for row in pane_rows(app) if "B3" in row), "")
        if size[1] >= 24:
            assert "▶" in row
            assert "━" in row
            assert "3 err" in row


async def test_the_bar_has_three_parts_and_the_budgets_mark() -> None:
    feed = FakeFeed()
    app = make_app(feed)
    async with app.run_test(size=(120, 36)) as pilot:
        await shown(pilot, feed, run_of(replace(RUNNING, done_before=1_500)))
        row = next(row for row in pane_rows(app) if "B3" in row)
        bar = "".join(sign for sign in row if sign in "═━╍─┃┈")
        assert bar == "".join(sorted(bar, key="═━╍─┃┈".index))
        assert set(bar) == set("═━╍─┃┈")
        assert abs(bar.index("┃") / len(bar) - 0.5) <= 1.5 / len(bar)


async def test_what_is_at_work_stays_in_sight() -> None:
    feed = FakeFeed()
    app = make_app(feed)
    async with app.run_test(size=(80, 24)) as pilot:
        for at_work in (0, 12, 29, 3):
            await shown(pilot, feed, a_long_run(at_work))
            await until(pilot, lambda at=at_work: any(f" B{at} " in row for row in pane_rows(app)), f"B{at_work}")  # type: ignore[misc]


async def test_lines_are_laid_anew_only_when_there_is_something_new(monkeypatch: pytest.MonkeyPatch) -> None:
    laid: list[int] = []
    lay = ProgressPanel._show_lines

    def counted(pane: ProgressPanel, views: Sequence[DatasetView], now: datetime) -> None:
        laid.append(len(views))
        lay(pane, views, now)

    monkeypatch.setattr(ProgressPanel, "_show_lines", counted)
    feed = FakeFeed()
    clock = [NOW]
    app = make_app(feed, None, clock=lambda: clock[0])
    async with app.run_test(size=(120, 36)) as pilot:
        await shown(pilot, feed, a_long_run(2, 200))
        laid.clear()
        clock[0] += timedelta(seconds=2)
        await shown(pilot, feed, replace(a_long_run(2, 200), at=clock[0]))
        assert laid == []
        await shown(pilot, feed, replace(a_long_run(3, 200), at=clock[0]))
        assert laid == [200]
        clock[0] += timedelta(days=1)
        main_screen(app)._tick()
        assert laid == [200, 200]  # the days that the ends are named by


async def test_keys_move_the_cursor_and_scroll_with_it() -> None:
    feed = FakeFeed()
    app = make_app(feed)
    async with app.run_test(size=(80, 24)) as pilot:
        await shown(pilot, feed, a_long_run(4))
        pane = main_screen(app).query_one(ProgressPanel)
        assert not any("▸" in row for row in pane_rows(app))
        await pilot.press("2")
        await until(pilot, lambda: pane.has_focus, "the focus")
        assert pane.dataset == "B4"
        keys = (("down", 5), ("j", 6), ("k", 5), ("up", 4), ("end", 29), ("j", 29), ("home", 0), ("k", 0), ("G", 29), ("g", 0), ("pagedown", 8), ("ctrl+d", 16), ("pageup", 8), ("ctrl+u", 0))  # fmt: skip
        for key, place in keys:
            await pilot.press(key)
            await pilot.pause()
            assert pane.dataset == f"B{place}", key
            assert [row for row in pane_rows(app) if row.startswith(f"▸B{place} ")], key
        await shown(pilot, feed, a_long_run(5))
        assert pane.dataset == "B0", "a new snapshot does not take the cursor away"
        main_screen(app).set_focus(None)
        await until(pilot, lambda: not pane.has_focus, "no focus")
        assert pane.dataset == "B5"
        await until(pilot, lambda: any(" B5 " in row for row in pane_rows(app)), "what is at work")


async def test_enter_and_a_double_click_open_a_dataset() -> None:
    feed = FakeFeed()
    app = make_app(feed)
    async with app.run_test(size=(80, 24)) as pilot:
        await shown(pilot, feed, samples.healthy())
        await pilot.press("2", "down", "enter")
        await until(pilot, lambda: isinstance(app.screen, DatasetScreen), "the dataset")
        assert app.screen.dataset == "B4_reasoning"  # type: ignore[attr-defined]
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(app.screen, DatasetScreen), "all panes")
        pane = main_screen(app).query_one(ProgressPanel)
        meter = pane._meters[6]
        await pilot.click(meter, offset=(3, 0))
        assert pane.dataset == "B7_summaries"
        assert not isinstance(app.screen, DatasetScreen)
        await pilot.click(meter, offset=(3, 0), times=2)
        await until(pilot, lambda: isinstance(app.screen, DatasetScreen), "the dataset")
        assert app.screen.dataset == "B7_summaries"  # type: ignore[attr-defined]


async def test_before_any_dataset_is_known_there_is_none_to_open() -> None:
    feed = FakeFeed()
    app = make_app(feed)
    async with app.run_test(size=(80, 24)) as pilot:
        await shown(pilot, feed, run_of())
        await pilot.press("enter")
        await until(pilot, lambda: bool(notices(app)), "a word")
        assert notices(app)[0] == "No dataset is known yet."


async def test_a_pane_without_datasets_shows_its_title_and_nothing_else() -> None:
    feed = FakeFeed()
    app = make_app(feed)
    async with app.run_test(size=(80, 24)) as pilot:
        nothing = replace(samples.healthy(), datasets=(), link=LinkView("lost", since=samples.NOW))
        for snapshot in (nothing, replace(nothing, link=samples.healthy().link), nothing):
            await shown(pilot, feed, snapshot)
            await pilot.pause()
            assert "ProgressPanel" not in screen_text(app)
        assert "none known yet" in screen_text(app)
