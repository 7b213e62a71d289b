"""The screens that are kept as snapshots: each is the real app over fakes, brought there by facts and keys."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING

from textual.widgets import Input

from console.acts import ActResult
from console.control import Step
from console.job.curve import Curve
from console.job.envelope import Envelope
from console.job.events import Source
from console.job.series import Series, SeriesDraft
from console.job.snapshot import JobView
from console.job.timeline_course import Course, Span
from console.screens.act import ActScreen
from console.screens.dataset import DatasetScreen
from console.screens.help import HelpScreen
from tests import samples
from tests.console.fakes_ui import FakeControl, FakeFeed, asked, lines, log_of, make_app, screen_text, shown, until
from tests.console.test_dataset_screen import DETAIL

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from textual.pilot import Pilot

    from console.app import LongwaitApp
    from console.job.snapshot import Snapshot

NOW = samples.NOW
SHA = "ab" * 32

RESULT = ActResult(50_001, NOW - timedelta(seconds=1), SHA, "/data/run/job.py.20260224T031940Z.0011aabb", act="a1")
STEPS = (
    Step("stop the process group", "running"),
    Step("stop the process group", "done", "48213 and 2 children ended", 2.1, ActResult()),
    Step("keep the former script", "done", "job.py.20260224T031940Z.0011aabb", 0.1, ActResult()),
    Step("send the new script", "done", "9,412 bytes, SHA-256 abababab", 0.3, ActResult()),
    Step("start the job", "running"),
    Step("start the job", "done", "process 50001", 0.4, RESULT),
)

DIFF = (
    "--- /data/run/job.py on gpu01",
    "+++ job.py here",
    "@@ -41,7 +41,9 @@",
    " def begin(dataset):",
    "-    for prompt in dataset.prompts:",
    "+    if dataset.tokens >= dataset.budget:",
    "+        return",
    "+    for prompt in dataset.left():",
    "         send(prompt)",
)


def _curve() -> Curve:
    """Throughput of the last two hours, a figure each 20 s: level, with a dip three quarters of an hour ago."""
    draft = SeriesDraft(Series(envelope=Envelope()))
    for second in range(-7200, 0, 20):
        dip = 400.0 if -2760 < second < -2600 else 0.0
        draft.add(NOW + timedelta(seconds=second), 846.0 + (second * 37) % 29 - 14 - dip, 50)
    return Curve(draft.freeze())


def whole(snapshot: Snapshot) -> Snapshot:
    """Add what a run that is seen has beside the sample: its course, its speed over time, and its host."""
    first = NOW - timedelta(hours=2, minutes=20)
    course = Course((Span("B3_magicoder", first, None),), (first,))
    server = replace(snapshot.server, curve=_curve())
    return replace(snapshot, course=course, machine=samples.machine(), server=server)


def ended() -> Snapshot:
    """Add to the run that is done when each of its datasets was at work."""
    calm = samples.finished()
    bounds = [NOW - timedelta(hours=hours, minutes=6) for hours in (19.9, 16.2, 12.9, 9.8, 6.4, 3.1, 0)]
    names = [view.name for view in calm.datasets[2:]]
    spans = tuple(Span(name, *edges) for name, *edges in zip(names, bounds, bounds[1:], strict=False))
    return replace(whole(calm), course=Course(spans, (bounds[0],)))


def _log_lines() -> list[str]:
    """Some lines of the server's log; the last is the newest."""
    decode = (
        "[2026-02-24 03:19:{:02}] Decode batch, #running-req: 50, token usage: 0.8{}, gen throughput (token/s): 84{}.3"
    )
    told = [decode.format(second, second % 3, second % 9) for second in range(0, 40, 4)]
    told.insert(6, '[2026-02-24 03:19:21] INFO: 127.0.0.1:41822 - "POST /generate HTTP/1.1" 200 OK')
    told.insert(3, "[2026-02-24 03:19:09] WARNING: KV cache pool is full. Retract requests. #retracted_reqs: 1")
    return told


@dataclass(frozen=True, slots=True)
class Scene:
    """A screen, and how it is reached.

    Attributes:
        snapshot: What is known.
        steps: What is done once that is drawn.
        logs: Lines have come.
        plain: The console acts without a question.
    """

    snapshot: Callable[[], Snapshot]
    steps: Callable[[Pilot[None], FakeFeed], Awaitable[None]] | None = None
    logs: bool = True
    plain: bool = False


async def _plan(pilot: Pilot[None], feed: FakeFeed) -> None:
    del feed
    await pilot.press("R")
    await asked(pilot)


async def _proof(pilot: Pilot[None], feed: FakeFeed) -> None:
    await pilot.press("R")
    await until(pilot, lambda: isinstance(pilot.app.screen, ActScreen), "the board")
    await until(pilot, lambda: "the process lives" in _text(pilot), "the checklist")
    later = NOW + timedelta(seconds=2)
    job = JobView(pid=50_001, alive=True, checked_at=later, script_sha256=SHA)
    await shown(pilot, feed, replace(whole(samples.healthy()), at=later, job=job))
    await until(pilot, lambda: "✓ the process lives" in _text(pilot), "the first proof")


async def _dataset(pilot: Pilot[None], feed: FakeFeed) -> None:
    feed.details[DETAIL.name] = DETAIL
    await pilot.press("enter")
    await until(pilot, lambda: isinstance(pilot.app.screen, DatasetScreen), "the dataset")


async def _search(pilot: Pilot[None], feed: FakeFeed) -> None:
    del feed
    await pilot.press("4", "s")
    await until(pilot, lambda: isinstance(pilot.app.focused, Input), "the field")
    await pilot.press(*"Retract", "enter")
    await until(pilot, lambda: not isinstance(pilot.app.focused, Input), "the log")


async def _help(pilot: Pilot[None], feed: FakeFeed) -> None:
    del feed
    await pilot.press("question_mark")
    await until(pilot, lambda: isinstance(pilot.app.screen, HelpScreen), "the help")


SCENES: dict[str, Scene] = {
    "connecting": Scene(samples.connecting, logs=False),
    "starting": Scene(lambda: whole(samples.starting())),
    "healthy": Scene(lambda: whole(samples.healthy())),
    "watch": Scene(lambda: whole(samples.warned())),
    "intervene": Scene(lambda: whole(samples.intervene())),
    "blind": Scene(lambda: whole(samples.link_lost())),
    "finished": Scene(ended),
    "restart-plan": Scene(lambda: whole(samples.healthy()), _plan),
    "proof-list": Scene(lambda: whole(samples.healthy()), _proof, plain=True),
    "dataset-detail": Scene(lambda: whole(samples.healthy()), _dataset),
    "log-search": Scene(lambda: whole(samples.healthy()), _search),
    "help": Scene(lambda: whole(samples.healthy()), _help),
}


def _text(pilot: Pilot[None]) -> str:
    return screen_text(pilot.app)  # type: ignore[arg-type]  # it is always ours


@asynccontextmanager
async def played(name: str, size: tuple[int, int], **settings: object) -> AsyncIterator[LongwaitApp]:
    """Bring the app to a scene, and let it rest there."""
    scene = SCENES[name]
    feed, control = FakeFeed(), FakeControl(diff=DIFF, steps=STEPS)
    control.gate.set()
    app = make_app(feed, control, confirm=not scene.plain, **settings)
    async with app.run_test(size=size) as pilot:
        if scene.logs:
            feed.put(lines(Source.SERVER, *_log_lines()))
            feed.put(lines(Source.JOB, "[03:19:02] B3_magicoder: 3452/10000 done, 6904000 tokens, eta 1.0h"))
            await until(pilot, lambda: log_of(app, Source.JOB).kept == 1, "the lines")
        await shown(pilot, feed, scene.snapshot())
        if scene.steps is not None:
            await scene.steps(pilot, feed)
        app.clear_notifications()  # they leave by themselves after a time, sooner or later than the snapshot is taken
        await at_rest(pilot)
        yield app


async def at_rest(pilot: Pilot[None]) -> None:
    """Wait until the screen is drawn the same several times."""
    same, before = 0, ""
    while same < 3:
        await pilot.pause()
        await pilot.wait_for_scheduled_animations()
        now = _text(pilot)
        same, before = (same + 1 if now == before else 0), now
