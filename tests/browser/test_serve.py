"""``longwait serve`` in a real browser: the page opens, bars are there, a key works, and nothing else is reached."""

from __future__ import annotations

import asyncio
import base64
import os
import signal
from pathlib import Path

import psutil
import pytest

from tests.browser.chromium import PROGRAM, page
from tests.serving import local_run, served
from tests.waits import alive, until

ROOT = Path(__file__).parents[2]

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(
        PROGRAM is None and not os.environ.get("CI"), reason="no Chromium is installed (Debian: chromium)"
    ),
]

COLOURS = """
(async () => {
  const image = new Image();
  image.src = "data:image/png;base64,PICTURE";
  await image.decode();
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [image.width, image.height];
  const context = canvas.getContext("2d");
  context.drawImage(image, 0, 0);
  const {data} = context.getImageData(0, 0, image.width, image.height);
  const seen = new Set();
  for (let at = 0; at < data.length; at += 4) seen.add(data[at] << 16 | data[at + 1] << 8 | data[at + 2]);
  return seen.size;
})()
"""
"""How many colours a picture has: an empty page has two or three."""


async def test_the_console_is_used_in_a_browser_and_nothing_is_left_of_it(tmp_path: Path) -> None:
    config = local_run(tmp_path)
    async with served(config) as (address, program), page(tmp_path / "profile") as tab:
        origin = address.partition("/?")[0]
        await tab.call("Page.navigate", url=address)
        await tab.see(r"B3_magicoder .*━")
        await tab.see(r"KV +.*━")
        await tab.see("INTERVENE")  # its job runs nowhere: a restart would be what to do
        await tab.see("read-only")
        assert await tab.evaluate("location.href") == f"{origin}/"
        assert await tab.evaluate(COLOURS.replace("PICTURE", base64.b64encode(await tab.picture()).decode())) > 50  # type: ignore[operator]

        await tab.click(300, 300)
        await tab.press("?")
        await tab.see("─ Help ─")
        await tab.press("Escape")
        await until(lambda: "─ Help ─" not in tab.text)  # an R right behind it would be one key with it: Alt+R
        await tab.press("R")
        await tab.see("This console is read-only")

        assert [
            each for each in tab.asked if not each.startswith((origin, origin.replace("http", "ws"), "data:"))
        ] == []
        assert f"{origin}/static/js/textual.js" in tab.asked
        assert tab.faults == []

        started = psutil.Process(program.pid).children(recursive=True)
        assert len(started) >= 1
        program.send_signal(signal.SIGINT)
        async with asyncio.timeout(20):
            assert await program.wait() == 0
        await until(lambda: not [each.pid for each in started if alive(each.pid)], 10)
        await until(lambda: [each for each in tab.asked if "/ws?" in each])
        assert "is closed" in str(await tab.evaluate("document.querySelector('body.-closed #closed').textContent"))
