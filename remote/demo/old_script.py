"""The job script of the scenario ``old-script``: an older runner, which knows no token budgets.

It does every prompt of every data set, also of those whose budget has long been met. It runs on the host alone, so it
imports nothing of ours; the current script can resume from the results that it writes.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx

PROGRESS_EVERY = 50
"""Completions between two progress lines."""
ATTEMPTS = 3
"""Times a prompt is tried."""
PAUSE_S = 2.0
"""Seconds between two attempts."""
_RULE = "=" * 60
_BUFFERED = 1_048_576


def say(text: str) -> None:
    """Print a line at once."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


class Run:
    """One data set's run.

    Args:
        client: Reaches the server.
        entry: The data set's entry of the config; a ``token_budget`` in it is not looked at.
        results: The file of results.
    """

    def __init__(self, client: httpx.AsyncClient, entry: dict[str, Any], results: Path) -> None:
        self._client = client
        self._entry = entry
        self._path = results
        self._done = self._errors = self._tokens = self._before = 0
        self._todo: list[dict[str, Any]] = []
        self._total = 0
        self._began = time.monotonic()

    async def run(self) -> None:
        """Do all prompts that have no result yet."""
        name = self._entry["name"]
        say(f"{_RULE}\nProcessing: {name} ({self._entry['kind'].upper()})\n{_RULE}")
        say(f"Loading and tokenizing prompts for {name}...")
        prompts = _rows(Path(self._entry["prompts"]))
        say(f"  {name}: {len(prompts)} prompts tokenized")
        earlier = _rows(self._path)
        self._before = sum(row["completion_tokens"] for row in earlier)
        if earlier:
            say(f"  Resuming: {len(earlier)} already done ({self._before:,} tokens)")
        known = {row["id"] for row in earlier}
        self._todo = [prompt for prompt in prompts if prompt["id"] not in known]
        await self._work()
        hours = (time.monotonic() - self._began) / 3600
        say(f"  {name}: done {self._done} ({self._errors} err), {self._before + self._tokens:,} tokens in {hours:.2f}h")

    async def _work(self) -> None:
        workers, self._total = self._entry["concurrency"], len(self._todo)
        say(f"  Running {self._total} requests (concurrency={workers}, max_tokens={self._entry['max_tokens']})...")
        self._todo.reverse()
        self._began = time.monotonic()
        await asyncio.gather(*(self._worker() for _ in range(workers)))

    async def _worker(self) -> None:
        while self._todo:
            await self._one(self._todo.pop())

    async def _one(self, prompt: dict[str, Any]) -> None:
        began = time.monotonic()
        for attempt in range(1, ATTEMPTS + 1):
            answer = await self._ask(prompt)
            if answer is not None:
                self._keep(prompt, answer, attempt, time.monotonic() - began)
                break
            await asyncio.sleep(PAUSE_S)
        else:
            self._errors += 1
        finished = self._done + self._errors
        if finished % PROGRESS_EVERY == 0 or finished == self._total:
            self._progress()

    async def _ask(self, prompt: dict[str, Any]) -> dict[str, Any] | None:
        params = {**self._entry.get("sampling", {}), "max_new_tokens": self._entry["max_tokens"]}
        try:
            answer = await self._client.post(
                "/generate", json={"input_ids": prompt["input_ids"], "sampling_params": params}
            )
            answer.raise_for_status()
        except httpx.HTTPError:
            return None
        body: dict[str, Any] = answer.json()
        return None if body["meta_info"]["finish_reason"]["type"] == "abort" else body

    def _keep(self, prompt: dict[str, Any], answer: dict[str, Any], attempt: int, seconds: float) -> None:
        meta = answer["meta_info"]
        row = {
            "id": prompt["id"],
            "text": answer["text"],
            "output_ids": answer["output_ids"],
            "finish_reason": meta["finish_reason"]["type"],
            "prompt_tokens": meta["prompt_tokens"],
            "completion_tokens": meta["completion_tokens"],
            "seconds": round(seconds, 3),
            "attempt": attempt,
            "server": str(self._client.base_url),
            "finished_at": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        with self._path.open("a", encoding="utf-8", buffering=_BUFFERED) as file:
            file.write(json.dumps(row, separators=(",", ":")) + "\n")
        self._done += 1
        self._tokens += meta["completion_tokens"]

    def _progress(self) -> None:
        seconds = max(time.monotonic() - self._began, 1e-6)
        finished = self._done + self._errors
        mean = self._tokens / self._done if self._done else 0.0
        left = (self._total - finished) * seconds / finished / 3600
        total = (self._before + self._tokens) / 1e6
        say(
            f"{finished}/{self._total} ({self._errors} err) {finished / seconds:.1f} req/s "
            f"avg_comp={mean:.0f}tok tot={total:.1f}M ETA={left:.1f}h"
        )


def _rows(path: Path) -> list[dict[str, Any]]:
    """The objects of a JSON lines file; a last line that was cut off is left out."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.endswith("\n")]


async def main(config: dict[str, Any]) -> None:
    """Do all data sets, one after the other."""
    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(base_url=config["server"], timeout=httpx.Timeout(3600.0), limits=limits) as client:
        for entry in config["datasets"]:
            folder = Path(config["out"]) / entry["name"]
            folder.mkdir(parents=True, exist_ok=True)
            await Run(client, entry, folder / "results.jsonl").run()
    say("All data sets done.")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Runs batch inference; knows no token budgets.")
    parser.add_argument("--config", type=Path, required=True)
    asyncio.run(main(json.loads(parser.parse_args().config.read_text(encoding="utf-8"))))
