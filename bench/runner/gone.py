"""A server that is gone for minutes and comes back: is every prompt done once, and at how many attempts?"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from bench.runner.measured import SCRIPT
from tests.payload.mock_server import MockServer

COUNT = 400
IN_FLIGHT = 16


async def away(seconds: float) -> bool:
    """Runs a job whose server is gone for so long in the middle of it; prints what came of it. True: all is well."""
    async with MockServer() as server:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            rows = ({"id": f"p{n}", "prompt": f"A {n}"} for n in range(COUNT))
            (folder / "A.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
            one = {"name": "A", "prompts": "A.jsonl", "concurrency": IN_FLIGHT, "max_tokens": 64}
            (folder / "job.json").write_text(
                json.dumps({"server": server.url, "out": "out", "datasets": [one]}), "utf-8"
            )
            argv = (sys.executable, str(SCRIPT), "--config", str(folder / "job.json"), "--no-stamps")
            process = await asyncio.create_subprocess_exec(*argv, stdout=-1, stderr=-2)
            await server.until(lambda: len(server.asked) >= COUNT // 2)
            server.hold.clear()
            await server.until(lambda: server.in_flight == IN_FLIGHT)
            await server.stop()  # breaks every request in flight
            server.hold.set()
            began = time.monotonic()
            await asyncio.sleep(seconds)
            await server.start()
            out, _ = await process.communicate()
            log = out.decode()
            results = [
                json.loads(line) for line in (folder / "out" / "A" / "results.jsonl").read_text("utf-8").splitlines()
            ]
            good = process.returncode == 0 and Counter(row["id"] for row in results) == Counter(
                f"p{n}" for n in range(COUNT)
            )
            said = [line for line in log.splitlines() if "erver" in line and "Run started" not in line]
            attempts = max(row["attempt"] for row in results)
            status, done = process.returncode, len(results)
            print(f"\nA server gone for {seconds:g} s: exit status {status}, {done} of {COUNT} prompts", end="")
            print(
                f", at most {attempts} attempts, {time.monotonic() - began - seconds:.1f} s from its return to the end"
            )
            print("\n".join(said))
            return good
