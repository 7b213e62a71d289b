"""The console over a feed and a control that say what the test tells them to."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

import pytest

from console.app import NOTICE_S
from console.feed import Noticed, SnapshotTaken
from console.job.events import HealthProbe, Source
from console.messages import LinesArrived as LinesMessage
from console.messages import SnapshotTaken as SnapshotMessage
from console.panels.header import HeaderLine
from console.panels.panel import Panel
from console.panels.server import ServerPanel
from remote.errors import LinkLost
from tests import samples
from tests.console.fakes_ui import (
    FakeControl,
    FakeFeed,
    lines,
    log_of,
    main_screen,
    make_app,
    notices,
    screen_text,
    shown,
    until,
    was_told,
)
from tests.widgets.stage import safe
from widgets.log_view import LogView

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from textual.strip import Strip
    from textual.widget import Widget

    from console.app import LongwaitApp
    from console.job.snapshot import Snapshot

SIZES = [(80, 24), (120, 36), (200, 50)]
NASTY = "[red]x[/] [/oops] \x1b[2J\x1b]0;t\x07 \u202e \x00 [@click=app.quit]y[/] 漢字"


def shows_what_is_vital(app: LongwaitApp, snapshot: Snapshot) -> None:
    """Check that what the operator came for is on the screen."""
    text = screen_text(app)
    assert snapshot.verdict.verdict.value.upper() in text
    assert "Ends" in text or "Ended" in text
    if snapshot.eta.at is not None and snapshot.eta.low != snapshot.eta.high:
        assert " left" in text
    for view in snapshot.datasets:
        assert view.name in text
    for vital in ("KV", "tok/s", "link", "health", "job", "queued", "server's log", "q Quit"):
        assert vital in text
    if snapshot.verdict.action:
        assert "Do: " in text


@pytest.mark.parametrize("size", SIZES)
async def test_every_size_shows_verdict_end_and_all_datasets(size: tuple[int, int]) -> None:
    feed = FakeFeed()
    app = make_app(feed, FakeControl())
    async with app.run_test(size=size) as pilot:
        for sample in samples.ALL.values():
            snapshot = sample()
            await shown(pilot, feed, snapshot)
            shows_what_is_vital(app, snapshot)


async def test_the_layout_follows_the_terminal() -> None:
    feed = FakeFeed()
    app = make_app(feed, None)
    async with app.run_test(size=(80, 24)) as pilot:
        await shown(pilot, feed, samples.healthy())
        for size in (*SIZES, (80, 24)):
            await pilot.resize_terminal(*size)
            await pilot.pause()
            shows_what_is_vital(app, samples.healthy())
            assert sum(view.display for view in app.screen.query(LogView)) == (1 if size[0] == 80 else 2)


async def test_the_first_frame_comes_before_the_feed_is_asked() -> None:
    frames: list[str] = []
    feed = FakeFeed()
    app = make_app(feed, None)
    feed.begun = lambda: frames.append(screen_text(app))
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: bool(frames), "the feed's beginning")
        assert "Connecting to gpu01" in frames[0]


@pytest.mark.parametrize("key", ["q", "ctrl+q"])
async def test_quitting_closes_the_feed_and_says_that_the_job_goes_on(
    key: str, capsys: pytest.CaptureFixture[str]
) -> None:
    feed = FakeFeed()
    app = make_app(feed, FakeControl())
    async with app.run_test() as pilot:
        await shown(pilot, feed, samples.healthy())
        await pilot.press(key)
    assert feed.closed
    assert "What runs on gpu01 goes on." in capsys.readouterr().err


async def test_figures_of_a_lost_link_are_marked_old() -> None:
    feed = FakeFeed()
    app = make_app(feed, FakeControl())
    async with app.run_test(size=(120, 36)) as pilot:
        await shown(pilot, feed, samples.healthy())
        assert "old" not in screen_text(app)
        assert not app.screen.query(".-old")
        await shown(pilot, feed, samples.link_lost())
        assert screen_text(app).count("as of 03:15, 4 min old") == 3  # the end, the datasets, the server
        assert {panel.id for panel in app.screen.query(Panel) if panel.has_class("-old")} == {
            "progress",
            "server",
            "machine",
        }


async def test_ages_grow_while_nothing_comes_in() -> None:
    feed = FakeFeed()
    clock = [samples.NOW]
    app = make_app(feed, None, clock=lambda: clock[0])
    async with app.run_test(size=(120, 36)) as pilot:
        await shown(pilot, feed, samples.healthy())
        clock[0] = samples.NOW.replace(minute=25)
        main_screen(app)._tick()
        await pilot.pause()
        text = screen_text(app)
        assert "as of 03:19, 6 min old" in text
        assert "was ok" in text
        assert "03:25:40" in text


async def test_text_from_outside_is_data() -> None:
    feed = FakeFeed()
    app = make_app(feed, FakeControl(), notice=NASTY)
    calm = samples.healthy()
    view = replace(calm.datasets[2], name=NASTY)
    odd = replace(
        calm,
        datasets=(view, *calm.datasets[3:]),
        verdict=replace(calm.verdict, headline=NASTY, evidence=(NASTY,), action=NASTY, cause=NASTY),
        server=replace(calm.server, engine=NASTY, trouble=NASTY, phase=NASTY),
        link=replace(calm.link, state="lost", reason=NASTY),
        health=replace(calm.health, state="failing", error=NASTY),
        job=replace(calm.job, alive=False, finished=NASTY),
        eta=replace(calm.eta, at=None, basis=NASTY),
        logs=tuple(replace(log, state="missing", path=NASTY, reason=NASTY) for log in calm.logs),
    )
    async with app.run_test(size=(80, 24)) as pilot:
        await shown(pilot, feed, odd)
        feed.put(lines(Source.SERVER, NASTY, NASTY * 1000), lines(Source.JOB, NASTY, level="strange"), Noticed(NASTY))
        await until(pilot, lambda: log_of(app, Source.JOB).kept == 1, "the lines")
        for size in SIZES:
            await pilot.resize_terminal(*size)
            await pilot.pause()
            text = screen_text(app)
            assert not set("\x1b\x00\x07\u202e") & set(text)
            assert "[red]x[/]" in text


async def test_datasets_come_and_go() -> None:
    feed = FakeFeed()
    app = make_app(feed, None)
    calm = samples.healthy()
    async with app.run_test(size=(80, 24)) as pilot:
        await shown(pilot, feed, replace(calm, datasets=()))
        await shown(pilot, feed, calm)
        assert "B8_longdocs" in screen_text(app)
        await shown(pilot, feed, replace(calm, datasets=calm.datasets[:3]))
        assert "B4_reasoning" not in screen_text(app)


def test_a_newer_snapshot_replaces_one_that_waits_and_lines_never_do() -> None:
    old, new = SnapshotMessage(samples.healthy()), SnapshotMessage(samples.warned())
    assert new.can_replace(old)
    assert not new.can_replace(LinesMessage(()))
    assert not LinesMessage(()).can_replace(LinesMessage(()))


ANSWERS: tuple[tuple[HealthProbe | Exception, str], ...] = (
    (HealthProbe("/health", True, 200, 1.02), "health: 200 in 1.02 s"),
    (HealthProbe("/health", False, 503, 0.1), "health failed: /health answered 503"),
    (HealthProbe("/health", False, None, None, "No answer in 25 s."), "health failed: No answer in 25 s."),
    (LinkLost("The link to gpu01 is down."), "health failed: The link to gpu01 is down."),
)


async def test_h_asks_health_and_tells() -> None:
    feed = FakeFeed()
    app = make_app(feed, None)
    async with app.run_test() as pilot:
        for pong, told in ANSWERS:
            feed.pong = pong
            await pilot.press("h")
            await until(pilot, partial(was_told, app, told), told)
        assert feed.pings == len(ANSWERS)


async def test_r_reconnects_only_without_a_link() -> None:
    feed = FakeFeed()
    app = make_app(feed, FakeControl())
    async with app.run_test() as pilot:
        await shown(pilot, feed, samples.healthy())
        await pilot.press("r")
        await until(pilot, lambda: bool(notices(app)), "the reason")
        assert notices(app) == ["The link is up: there is nothing to reconnect."]
        assert feed.reconnects == 0
        await shown(pilot, feed, samples.link_lost())
        await pilot.press("r")
        await until(pilot, lambda: feed.reconnects == 1, "the reconnection")


async def test_keys_can_be_remapped() -> None:
    feed = FakeFeed()
    app = make_app(feed, FakeControl(), keymap={"health": "f5"}, read_only=True)
    async with app.run_test() as pilot:
        await pilot.press("h")
        await pilot.press("f5")
        await until(pilot, lambda: bool(notices(app)), "the answer")
        assert feed.pings == 1


async def test_number_keys_focus_panes() -> None:
    app = make_app(FakeFeed(), None)
    async with app.run_test(size=(120, 36)) as pilot:
        for key, pane in (("1", "verdict"), ("2", "progress"), ("3", "server"), ("4", "logs")):
            await pilot.press(key)
            await until(pilot, partial(has_focus, app, pane), pane)


def has_focus(app: LongwaitApp, pane: str) -> bool:
    return app.focused is not None and pane in names_around(app.focused)


def names_around(widget: Widget) -> set[str | None]:
    return {node.id for node in widget.ancestors_with_self}


async def test_z_fills_the_screen_with_a_pane() -> None:
    feed = FakeFeed()
    app = make_app(feed, None)
    async with app.run_test(size=(80, 24)) as pilot:
        await shown(pilot, feed, samples.intervene())
        await pilot.press("1", "z")
        await until(pilot, lambda: app.screen.maximized is not None, "the pane")
        await pilot.pause()
        assert "so the silence is the server's." in " ".join(screen_text(app).replace("█", "").split())
        assert "B3_magicoder" not in screen_text(app)
        await pilot.press("z")
        await until(pilot, lambda: app.screen.maximized is None, "all panes")


@pytest.mark.parametrize(
    ("failure", "told"),
    [
        (None, "The feed has ended: what is shown will not change any more."),
        (LinkLost("The link is gone for good."), "The link is gone for good."),
        (ValueError("a defect"), "A defect of the console ended follow_feed (ValueError('a defect')). Open it again;"),
    ],
)
async def test_a_feed_that_ends_is_told_and_stays_told(failure: Exception | None, told: str) -> None:
    feed = FakeFeed(failure=failure)
    app = make_app(feed, None)
    async with app.run_test(size=(120, 36)) as pilot:
        feed.put(SnapshotTaken(samples.healthy()), None)
        await until(pilot, lambda: any(note.startswith(told) for note in notices(app)), told)
        await pilot.pause()
        assert "nothing new will come" in screen_text(app).splitlines()[0]
        assert feed.closed


async def test_a_notice_of_the_feed_is_shown() -> None:
    feed = FakeFeed()
    app = make_app(feed, None)
    async with app.run_test() as pilot:
        feed.put(Noticed("The host's clock is 40 s ahead.", "warning"))
        await until(pilot, lambda: bool(notices(app)), "the notice")
        assert [(note.message, note.severity) for note in app._notifications] == [
            ("The host's clock is 40 s ahead.", "warning")
        ]


def spying(widget: Widget, drawn: set[str]) -> Callable[[int], Strip]:
    """Give the widget's own drawing, which also tells that it was called."""
    draw = widget.render_line

    def render_line(y: int) -> Strip:
        drawn.add(type(widget).__name__)
        return draw(y)

    return render_line


async def test_a_second_without_news_draws_ages_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    feed = FakeFeed()
    clock = [samples.NOW]
    app = make_app(feed, None, clock=lambda: clock[0])
    async with app.run_test(size=(120, 36)) as pilot:
        await shown(pilot, feed, samples.healthy())
        drawn: set[str] = set()
        for widget in app.screen.query("*"):
            monkeypatch.setattr(widget, "render_line", spying(widget, drawn))
        clock[0] += timedelta(seconds=1)
        main_screen(app)._tick()
        await until(pilot, lambda: "HeaderLine" in drawn, "the clock")
        await pilot.pause()
        assert drawn == {"HeaderLine", "Lamp"}
        assert app.animation_level == "none"


async def test_each_pane_is_drawn_once_for_each_snapshot(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[tuple[Snapshot, datetime]] = []
    show = ServerPanel.show

    def noted(pane: ServerPanel, snapshot: Snapshot, now: datetime) -> None:
        drawn.append((snapshot, now))
        show(pane, snapshot, now)

    monkeypatch.setattr(ServerPanel, "show", noted)
    feed = FakeFeed()
    clock = [samples.NOW]
    app = make_app(feed, None, clock=lambda: clock[0])
    async with app.run_test(size=(120, 36)) as pilot:
        await shown(pilot, feed, samples.healthy())
        drawn.clear()
        clock[0] += timedelta(seconds=5)
        newer = replace(samples.healthy(), at=clock[0])
        await shown(pilot, feed, newer)
        clock[0] += timedelta(seconds=0.4)
        main_screen(app)._tick()
        assert drawn == [(newer, newer.at)]
        assert app.screen.query_one(HeaderLine).now == clock[0]  # the clock goes on all the same
        clock[0] -= timedelta(hours=1)
        main_screen(app)._tick()
        assert [at for _, at in drawn] == [newer.at, clock[0]]  # put back: ages are drawn by the clock that is


async def test_a_long_name_of_a_host_leaves_the_clock_in_sight() -> None:
    feed = FakeFeed()
    app = make_app(feed, host="漢" * 80)
    async with app.run_test(size=(80, 24)) as pilot:
        await shown(pilot, feed, samples.healthy())
        top = screen_text(app).splitlines()[0]
        assert top.startswith(" longwait  漢")
        assert top.rstrip().endswith("…  Tue 24 Feb 03:19:40 UTC")


async def test_a_message_covers_the_row_of_the_keys_and_nothing_else() -> None:
    feed = FakeFeed()
    app = make_app(feed)
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        await shown(pilot, feed, samples.healthy())
        feed.put(lines(Source.SERVER, *(f"line {number}" for number in range(9))))
        await until(pilot, lambda: "line 8" in screen_text(app), "the lines")
        before = screen_text(app).split("\n")
        feed.put(Noticed("The first message."), Noticed("The newest message.", "warning"))
        await until(pilot, lambda: "The newest message." in screen_text(app).split("\n")[-1], "the message")
        after = screen_text(app).split("\n")
        assert after[:-1] == before[:-1]
        assert "The first message." not in screen_text(app)


async def test_a_message_goes_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(NOTICE_S, "information", 0.01)
    feed = FakeFeed()
    app = make_app(feed)
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        feed.put(Noticed("Soon gone."))
        told = main_screen(app).setup.notices
        await until(pilot, lambda: "Soon gone" in told.help(samples.NOW, None), "the message")
        await until(pilot, lambda: not len(app._notifications), "its end")
        await until(pilot, lambda: "h Health" in screen_text(app).split("\n")[-1], "the keys")


async def test_the_help_lists_what_was_told() -> None:
    feed = FakeFeed()
    app = make_app(feed)
    async with app.run_test(size=(120, 36)) as pilot:
        feed.put(*(Noticed(f"Message {number}, with *no* [markup](x).") for number in range(60)), Noticed(NASTY))
        await until(pilot, lambda: len(notices(app)) == 61, "the messages")
        await pilot.press("question_mark", "end")
        await until(pilot, lambda: "Message 11, with *no* [markup](x)." in screen_text(app), "the list")
        assert safe(screen_text(app))
        await pilot.press(*["up"] * 40)
        await until(pilot, lambda: "03:19 [red]x[/] [/oops]" in screen_text(app), "the newest")
        assert screen_text(app).index("03:19 [red]x[/] [/oops]") < screen_text(app).index("Message 59")
