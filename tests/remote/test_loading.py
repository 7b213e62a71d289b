"""Libraries that are read while the event loop goes on."""

from __future__ import annotations

import asyncio
import sys
import threading
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

from remote.loading import load
from tests.waits import until

if TYPE_CHECKING:
    from pathlib import Path

NAME = "a_large_library"
READING = "import gate_of_a_large_library as gate\ngate.entered.set()\ngate.go.wait(10)\nread = gate.go.is_set()\n"


async def test_the_loop_goes_on_while_a_module_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gate: Any = ModuleType("gate_of_a_large_library")
    gate.entered, gate.go = threading.Event(), threading.Event()
    monkeypatch.setitem(sys.modules, gate.__name__, gate)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / f"{NAME}.py").write_text(READING)
    loading = asyncio.create_task(load(NAME))
    try:
        await until(gate.entered.is_set)
        assert not loading.done()
        gate.go.set()
        await loading
        assert sys.modules[NAME].read
        await load(NAME)
    finally:
        gate.go.set()
        sys.modules.pop(NAME, None)


async def test_a_module_that_is_not_there_is_told_as_by_import() -> None:
    with pytest.raises(ModuleNotFoundError):
        await load("no_such_library_anywhere")
