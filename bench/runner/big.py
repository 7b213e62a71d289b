"""Memory with a million prompts, and how soon a job starts or skips when a hundred thousand are done."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

from bench.runner.measured import job, mock, run, write_prompts

MILLION = 1_000_000
DONE = 100_000
ANSWER = {"prompt_tokens": 850, "finish_reason": "stop", "seconds": 118.2, "attempt": 1, "server": "http://127.0.0.1:1"}


def write_results(folder: Path, count: int, tokens: int) -> int:
    """Results as a run leaves them, ``tokens`` output ids and their text each; returns the bytes."""
    path = folder / "out" / "A" / "results.jsonl"
    path.parent.mkdir(parents=True)
    ids = list(range(10_000, 10_000 + tokens))
    tail = json.dumps(
        {**ANSWER, "finished_at": "2026-02-24T03:19:40.000Z", "text": "word " * tokens, "output_ids": ids}
    )
    with path.open("w", encoding="utf-8") as file:
        file.writelines(f'{{"id": "p{n}", "completion_tokens": {tokens}, {tail[1:]}\n' for n in range(count))
        file.flush()
        os.fsync(file.fileno())  # or the job's own first sync would pay for all of it
    return path.stat().st_size


def memory(form: str) -> None:
    """A million prompts: the plan is made, and some thousands are done. Prints the peak."""
    with tempfile.TemporaryDirectory() as name, mock(0.01, 150) as (url, _):
        folder = Path(name)
        write_prompts(folder / "prompts.jsonl", MILLION, 100)
        size = (folder / "prompts.jsonl").stat().st_size
        if form == "gzip":
            with (folder / "prompts.jsonl").open("rb") as plain, gzip.open(folder / "packed", "wb", 1) as packed:
                shutil.copyfileobj(plain, packed, 1 << 20)
            (folder / "packed").replace(folder / "prompts.jsonl")
        order = "longest-first" if form == "longest-first" else "file"
        # 400,000 tokens are 2,000 answers of the mock: enough to see what running adds.
        argv = job(folder, url, folder / "prompts.jsonl", order=order, token_budget=400_000)
        took = run([sys.executable, *argv], folder)
        what = f"{MILLION:,} prompts ({size / 1e6:.0f} MB as text), {form}"
        print(f"{what:<64}{took.peak_mb:>7.0f} MB peak, {took.wall_s:.1f} s, exit status {took.status}")


def start(tokens: int) -> None:
    """A hundred thousand results: how soon the first new request is sent, and how soon a dataset is skipped."""
    with tempfile.TemporaryDirectory() as name, mock(0.01, 150) as (url, _):
        folder = Path(name)
        size = write_results(folder, DONE, tokens)
        write_prompts(folder / "prompts.jsonl", DONE + 1, 100)
        print(f"{DONE:,} results of {tokens} tokens ({size / 1e6:,.0f} MB), read from the page cache:")
        cases = {
            "budget met, skipped": {"token_budget": 1000},
            "all done, skipped": {"limit": DONE},
            "one left, done": {},
        }
        for what, more in cases.items():
            argv = job(folder, url, folder / "prompts.jsonl", **more)
            began = time.time()
            took = run([sys.executable, *argv], folder)
            rows = [json.loads(line) for line in (folder / "out" / "progress.jsonl").read_text("utf-8").splitlines()]
            print(f"  {what:<22}{took.wall_s:>6.2f} s, CPU {took.cpu_s:.2f} s, peak {took.peak_mb:.0f} MB", end="")
            print(f" ({rows[-1]['event']}, {time.time() - began:.2f} s)" if took.status else "")
