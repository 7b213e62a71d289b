"""A session that is still being opened: what the screen is told meanwhile, and what becomes of it."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from console.facts import Noticed, SnapshotTaken
from console.job.plan import Plan
from console.opening import Opening
from remote.errors import CannotConnect, RemoteError
from tests import samples

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable

    from console.facts import Fact

WAITING = "bringing up the host"


class Feed:
    """Tells one thing."""

    async def facts(self) -> AsyncGenerator[Fact]:
        yield SnapshotTaken(samples.healthy())


SESSION: Any = SimpleNamespace(feed=Feed(), control=None, journal=None)


def opening(opener: Callable[[], Awaitable[Any]], **more: Any) -> Opening:
    return Opening(opener, plan=Plan(host="gpu01"), waiting_for=WAITING, clock=lambda: samples.NOW, **more)


async def test_what_is_there_at_once_is_not_waited_for() -> None:
    async def opener() -> Any:
        return SESSION

    told = [fact async for fact in opening(opener).facts()]
    assert told == [SnapshotTaken(samples.healthy())]


async def test_the_screen_says_what_it_waits_for() -> None:
    there = asyncio.Event()

    async def opener() -> Any:
        await there.wait()
        return SESSION

    one = opening(opener)
    async with aclosing(one.facts()) as facts:
        first = await anext(facts)
        assert isinstance(first, SnapshotTaken)
        assert (first.snapshot.link.state, first.snapshot.link.reason) == ("connecting", WAITING)
        with pytest.raises(RemoteError, match=WAITING):
            await one.ping()
        there.set()
        assert await anext(facts) == SnapshotTaken(samples.healthy())


async def test_a_refusal_is_told_and_stays() -> None:
    async def opener() -> Any:
        raise CannotConnect("gpu01 can't be reached.", host="gpu01")

    async with aclosing(opening(opener).facts()) as facts:
        refused = await anext(facts)
        assert isinstance(refused, SnapshotTaken)
        assert refused.snapshot.link.state == "refused"
        assert await anext(facts) == Noticed("gpu01 can't be reached.", "error")
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(anext(facts), 0)


async def test_nothing_goes_on_once_nobody_wants_facts() -> None:
    ended: list[str] = []

    async def opener() -> Any:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("opener")

    async def close() -> None:
        ended.append("host")

    async with aclosing(opening(opener, close=close).facts()) as facts:
        await anext(facts)
    await asyncio.sleep(0)
    assert sorted(ended) == ["host", "opener"]
