"""Reads a large library from disk while the event loop goes on."""

from __future__ import annotations

import asyncio
import importlib
import sys


async def load(module: str) -> None:
    """Import a module in a thread, unless it is there; the ``import`` that follows then takes no time.

    A library such as httpx or asyncssh takes a tenth of a second and more, in which no key would be answered.

    Args:
        module: Its full name.
    """
    if module not in sys.modules:
        await asyncio.to_thread(importlib.import_module, module)
