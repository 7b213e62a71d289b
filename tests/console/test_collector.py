"""What is there for good is left out of the passes for garbage."""

from __future__ import annotations

import gc
import weakref
from typing import TYPE_CHECKING

import pytest

from console import collector

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def own_settings() -> Iterator[None]:
    """Put the collector back as it was."""
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)
    gc.unfreeze()


@pytest.mark.usefixtures("own_settings")
def test_what_is_there_is_not_walked_again_and_garbage_still_is() -> None:
    here: list[object] = []
    collector.calm()
    assert gc.get_freeze_count() > 0
    assert not any(found is here for found in gc.get_objects())
    loop: list[object] = []
    loop.append(loop)
    del loop
    assert gc.isenabled()
    assert gc.collect() >= 1


@pytest.mark.usefixtures("own_settings")
def test_what_was_garbage_when_the_program_came_up_goes_when_it_is_up() -> None:
    class Loop:
        pass

    loop = Loop()
    loop.itself = loop  # type: ignore[attr-defined]  # a cycle, which only a pass finds
    there = weakref.ref(loop)
    gc.disable()  # no pass by itself between here and the first time
    try:
        del loop
        collector.calm()
        assert there() is not None, "the first frame is not kept waiting"
        collector.calm()
    finally:
        gc.enable()
    assert there() is None
    assert gc.get_freeze_count() > 0


@pytest.mark.usefixtures("own_settings")
def test_passes_are_rare_while_the_program_comes_up_and_as_meant_from_then_on() -> None:
    collector.begin()
    assert gc.isenabled()
    assert gc.get_threshold() == collector.AT_START
    collector.calm()
    assert gc.get_threshold() == collector.THRESHOLDS


@pytest.mark.usefixtures("own_settings")
def test_a_sweep_finds_what_is_young_and_now_and_then_all() -> None:
    class Loop:
        pass

    def garbage() -> weakref.ref[Loop]:
        loop = Loop()
        loop.itself = loop  # type: ignore[attr-defined]
        return weakref.ref(loop)

    gc.disable()
    try:
        young = garbage()
        collector.sweep()
        assert young() is None
        old = Loop()
        old.itself = old  # type: ignore[attr-defined]
        there = weakref.ref(old)
        gc.collect(1)
        gc.collect(1)
        del old
        for _ in range(collector._FULL):
            collector.sweep()
        assert there() is None
    finally:
        gc.enable()
