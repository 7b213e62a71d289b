"""The link's life: up, lost, refused, tried again; no real time passes."""

from __future__ import annotations

import asyncio
import random
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from remote.errors import CannotConnect, HostKeyRejected, LoginRefused
from remote.link import LEAST_REST_S, REFUSED_RETRY_S, Link, LinkState
from tests.fakes import FakeHost
from tests.waits import until

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

T0 = datetime(2026, 2, 24, 3, 0, tzinfo=UTC)


class Scene:
    """A link over a scripted host, with a clock that only sleeping moves."""

    def __init__(self) -> None:
        self.host = FakeHost()
        self.now = T0
        self.states: list[LinkState] = []
        self.slept: list[float] = []
        self.hold = False
        self.link = Link(self.host, self.states.append, clock=lambda: self.now, sleep=self.sleep, rng=random.Random(3))
        self.task: asyncio.Task[None] | None = None

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        if self.hold:
            await asyncio.get_running_loop().create_future()
        self.now += timedelta(seconds=seconds)

    def start(self) -> None:
        self.task = asyncio.create_task(self.link.run())

    def names(self) -> list[str]:
        return [state.state for state in self.states]


@pytest.fixture
async def scene() -> AsyncIterator[Scene]:
    scene = Scene()
    yield scene
    if scene.task is not None:
        scene.task.cancel()
        await asyncio.gather(scene.task, return_exceptions=True)


async def test_it_comes_up_and_says_so(scene: Scene) -> None:
    scene.start()
    await scene.link.wait_up()
    assert scene.states == [LinkState("connecting", T0, "", 1), LinkState("up", T0)]
    assert scene.link.state == scene.states[-1]


async def test_it_tries_again_until_the_host_is_back(scene: Scene) -> None:
    scene.host.refuse(*[CannotConnect("gpu01 did not answer.")] * 3)
    scene.start()
    await scene.link.wait_up()
    assert scene.names() == ["connecting", "lost"] * 3 + ["connecting", "up"]
    lost = scene.states[5]
    assert (lost.reason, lost.attempt, lost.since) == ("gpu01 did not answer.", 3, T0)
    assert lost.next_try_at == scene.now
    assert all(0.2 <= wait <= 2.0 for wait in scene.slept)
    assert scene.states[-2].reason == "gpu01 did not answer."


async def test_an_attempt_that_waited_for_an_answer_has_had_its_pause(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect = scene.host.connect

    async def slowly() -> None:
        scene.now += timedelta(seconds=10)
        await connect()

    monkeypatch.setattr(scene.host, "connect", slowly)
    scene.host.refuse(*[CannotConnect("gpu01 did not answer in 10 s.")] * 3, LoginRefused("no key fits"))
    scene.start()
    await scene.link.wait_up()
    assert scene.slept == [LEAST_REST_S] * 3 + [REFUSED_RETRY_S]


async def test_a_cut_is_told_with_its_time_and_mended(scene: Scene) -> None:
    scene.start()
    await scene.link.wait_up()
    scene.now += timedelta(hours=1)
    scene.host.lose_link("gpu01 stopped answering.")
    await until(lambda: scene.names().count("up") == 2)
    lost = next(state for state in scene.states if state.state == "lost")
    assert (lost.since, lost.reason, lost.attempt) == (T0 + timedelta(hours=1), "gpu01 stopped answering.", 0)
    assert scene.states[-2].since == lost.since


@pytest.mark.parametrize("error", [LoginRefused("no key fits"), HostKeyRejected("changed")])
async def test_what_a_person_must_mend_is_tried_slowly(scene: Scene, error: CannotConnect) -> None:
    scene.host.refuse(error, error)
    scene.start()
    await scene.link.wait_up()
    assert scene.names() == ["connecting", "refused", "connecting", "refused", "connecting", "up"]
    assert scene.slept == [REFUSED_RETRY_S] * 2


async def test_reconnect_skips_the_wait(scene: Scene) -> None:
    scene.hold = True
    scene.host.refuse(LoginRefused("no key fits"))
    scene.start()
    await until(lambda: scene.names()[-1:] == ["refused"])
    scene.link.reconnect()
    await scene.link.wait_up()
    assert scene.now == T0


async def test_reconnect_while_up_does_nothing(scene: Scene) -> None:
    scene.start()
    await scene.link.wait_up()
    scene.link.reconnect()
    scene.hold = True
    scene.host.lose_link()
    await until(lambda: scene.names()[-1] == "lost" and scene.slept)
    await asyncio.sleep(0)
    assert scene.names()[-1] == "lost"


async def test_a_host_that_drops_us_at_once_is_not_hammered(scene: Scene) -> None:
    scene.start()
    for cut in range(1, 9):
        await until(lambda cut=cut: scene.names().count("up") == cut)  # type: ignore[misc]  # bound per round
        scene.host.lose_link()
    await until(lambda: scene.names().count("up") == 9)
    assert scene.slept[-1] > 2.0
    assert sum(scene.slept) > 10.0


async def test_ending_closes_the_host(scene: Scene) -> None:
    scene.start()
    await scene.link.wait_up()
    assert scene.task is not None
    scene.task.cancel()
    await asyncio.gather(scene.task, return_exceptions=True)
    assert scene.host.closed
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await scene.link.wait_up()
