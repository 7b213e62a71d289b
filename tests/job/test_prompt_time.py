"""The time that prompts take lies in the report that spans them: there they count, and only if it does."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from console.job.cadence import Cadence
from console.job.events import Source
from console.job.minutes import Minutes, MinutesDraft
from console.job.rank_report import RankReport
from console.job.server_events import ServerLoad, ServerPrefill
from console.job.tracker import Tracker
from tests.job.builders import PLAN, T0, Scene, after

if TYPE_CHECKING:
    from console.job.minutes_bin import Bin

BATCH = (
    "Prefill batch, #new-seq: 4, #new-token: {}, #cached-token: 0, token usage: 0.60, #running-req: {}, #queue-req: 9"
)


def prefill(scene: Scene, second: float, tokens: int, running: int = 50, rank: str = "") -> None:
    scene.server(second, BATCH.format(tokens, running), rank=rank)


def served() -> Scene:
    scene = Scene()
    scene.ready()
    scene.begin()
    return scene


def bins(scene: Scene) -> list[Bin]:
    return scene.tracker.state.server.minutes.bins()


def counted(scene: Scene) -> int:
    """Prompt tokens that stand beside good seconds."""
    return sum(each.prompt_tokens for each in bins(scene))


def test_prompts_stand_beside_the_time_that_they_took_and_not_where_their_line_stands() -> None:
    scene = served()
    for second in range(0, 28, 4):
        scene.decode(second)
    prefill(scene, 28, 9_000)
    assert counted(scene) == 0
    scene.decode(32, tok_s=300)
    first, second_bin = bins(scene)[-2:]
    assert (first.prompt_tokens, second_bin.prompt_tokens) == (0, 9_000)


def test_the_prompts_of_a_first_batch_do_not_teach_that_prompts_cost_nothing() -> None:
    """Their time is in a rank's first report, which says nothing of it: they must not stand beside a full-speed bin."""
    scene = served()
    for second in range(2, 20, 2):
        prefill(scene, second, 8_000, running=0)
    for second in range(20, 120, 4):
        scene.decode(second)
    assert sum(each.good_s for each in bins(scene)) > 60
    assert counted(scene) == 0


def test_an_interval_full_of_prompts_is_work_and_not_idle() -> None:
    scene = served()
    for second in range(0, 200, 4):
        scene.decode(second)
    good_s = sum(each.good_s for each in bins(scene))
    for second in range(198, 226, 2):
        prefill(scene, second, 8_000)
    scene.decode(226, tok_s=120)
    assert sum(each.good_s for each in bins(scene)) == pytest.approx(good_s + 30)
    assert counted(scene) == 14 * 8_000


def test_an_interval_as_long_without_prompts_spans_idle_time() -> None:
    scene = served()
    for second in range(0, 200, 4):
        scene.decode(second)
    good_s = sum(each.good_s for each in bins(scene))
    scene.decode(226, tok_s=120)
    assert sum(each.good_s for each in bins(scene)) == pytest.approx(good_s)


def test_prompts_after_idle_time_do_not_make_it_work() -> None:
    cadence = Cadence()
    for second in range(0, 40, 4):
        cadence.suspect("", after(second))
    cadence.idle("")
    cadence.busy("")
    assert cadence.suspect("", after(80))
    cadence.busy("")
    assert not cadence.suspect("", after(120))


def test_a_new_process_begins_without_the_prompts_of_the_one_before() -> None:
    draft = MinutesDraft(Minutes())
    draft.prefill(ServerPrefill("", 1, 5_000, 0, 3, 0, 0.5), T0)
    draft.restarted(T0 + timedelta(seconds=60))
    assert draft.freeze().pending == ()


RANKS = ("DP0", "DP1", "DP2")
STEPS = st.tuples(
    st.sampled_from(RANKS),
    st.integers(0, 40),  # seconds since the step before, 0 included
    st.one_of(st.integers(1, 9_000), st.sampled_from(["good", "suspect", "empty"])),
)


def told(steps: list[tuple[str, int, int | str]], cut: int) -> tuple[Minutes, int]:
    """The history of these lines, and the prompt tokens that belong to reports that counted."""
    draft, reports = MinutesDraft(Minutes()), dict[str, RankReport]()
    waiting, due, second = dict.fromkeys(RANKS, 0), 0, 0
    for place, (rank, pause, what) in enumerate(steps):
        if place == cut:
            draft = MinutesDraft(draft.freeze())
        second += pause
        at = after(second)
        if isinstance(what, int):
            draft.prefill(ServerPrefill(rank, 1, what, 0, 5, 0, 0.5), at)
            waiting[rank] += what
            continue
        former = reports.get(rank)
        load = ServerLoad(rank, 0 if what == "empty" else 5, 0, 0.5, 900, 100.0, suspect_throughput=what == "suspect")
        draft.load(load, at, former, len(RANKS), None)
        reports[rank] = RankReport(load, at, 100.0, at)
        if former is None:
            waiting[rank] = 0
        elif at > former.at:
            due += waiting[rank] if former.load.running and what != "suspect" else 0
            waiting[rank] = 0
    return draft.freeze(), due


@settings(max_examples=80, deadline=None)
@given(st.lists(STEPS, max_size=40), st.integers(0, 40))
def test_prompts_count_when_the_report_that_spans_them_counts(
    steps: list[tuple[str, int, int | str]], cut: int
) -> None:
    minutes, due = told(steps, cut)
    assert sum(each.prompt_tokens for each in minutes.bins()) == due
    assert minutes == told(steps, -1)[0]


def written(steps: list[tuple[str, int, int | str]]) -> bytes:
    """The same as a server prints it."""
    second, lines = 0, []
    for rank, pause, what in steps:
        second += pause
        running = 0 if what == "empty" else 50
        decode = (
            f"Decode batch, #running-req: {running}, #token: 90000, token usage: 0.64, cuda graph: True, "
            "gen throughput (token/s): 211.00, #queue-req: 9"
        )
        words = BATCH.format(what, 50) if isinstance(what, int) else decode
        lines.append(f"[{after(second):%Y-%m-%d %H:%M:%S} {rank}] {words}\n")
    return "".join(lines).encode()


@settings(max_examples=25, deadline=None)
@given(st.lists(STEPS, min_size=1, max_size=30), st.floats(0, 1))
def test_and_so_when_the_console_stops_amid_a_line_and_goes_on(
    steps: list[tuple[str, int, int | str]], share: float
) -> None:
    text = written(steps)
    cut, seen_at = round(len(text) * share), after(10_000)
    whole, first, second = Tracker(PLAN), Tracker(PLAN), Tracker(PLAN)
    whole.feed(Source.SERVER, text, seen_at)
    first.feed(Source.SERVER, text[:cut], seen_at)
    assert second.thaw(first.freeze())
    second.feed(Source.SERVER, text[cut:], seen_at)
    assert second.state.server.minutes == whole.state.server.minutes
    minutes = whole.state.server.minutes
    seen = sum(what for *_, what in steps if isinstance(what, int))
    assert sum(each.prompt_tokens for each in minutes.bins()) + sum(dict(minutes.pending).values()) <= seen
