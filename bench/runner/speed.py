"""Requests per second and CPU, beside other clients of the same mock server.

What they do is not the same. The plain loops keep nothing safe. The load generators (guidellm, AIPerf) keep times of
every token and no answers; they are asked not to stream. The job writes two files, and knows budgets and retries.
"""

from __future__ import annotations

import json
import shutil
import statistics
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bench.runner.measured import Took, job, mock, run, write_prompts

if TYPE_CHECKING:
    from collections.abc import Callable

PLAIN_LOOP = Path(__file__).with_name("plain_loop.py")
IN_FLIGHT = 150


@dataclass(frozen=True, slots=True)
class Contender:
    """A client.

    Attributes:
        name: What it is called in the table.
        argv: Its command line, for a folder, a URL, a prompts file and their number.
        results: Where it should leave as many lines as there are prompts; empty when it keeps no answers.
    """

    name: str
    argv: Callable[[Path, str, Path, int], list[str]]
    results: str = ""


def ours(client: str, python: str = sys.executable) -> Contender:
    """The job over one of its HTTP libraries."""

    def argv(folder: Path, url: str, prompts: Path, _count: int) -> list[str]:
        return [python, *job(folder, url, prompts), "--client", client]

    return Contender(f"run_inference.py, {client}", argv, "out/A/results.jsonl")


def plain(client: str, python: str = sys.executable) -> Contender:
    """The loop of thirty lines."""

    def argv(_folder: Path, url: str, prompts: Path, _count: int) -> list[str]:
        return [python, str(PLAIN_LOOP), client, url, str(prompts), "plain.jsonl", str(IN_FLIGHT)]

    return Contender(f"plain loop, {client}", argv, "plain.jsonl")


def guidellm(program: str, _tokenizer: str) -> Contender:
    """guidellm, closed loop, ``/v1/completions`` without streaming."""

    def argv(folder: Path, url: str, _prompts: Path, count: int) -> list[str]:
        rows = folder / "guidellm.jsonl"
        rows.write_text("".join(json.dumps({"prompt": f"number {n} " + "word " * 40}) + "\n" for n in range(count)))
        backend = f"kind=openai_http,target={url},model=tiny,request_format=/v1/completions,stream=false"
        return [
            program, "run", "--backend", backend, "--profile", f"kind=concurrent,streams={IN_FLIGHT}",
            "--constraint", f"kind=max_requests,count={count}", "--data", f"kind=json_file,path={rows}",
            "--output", f"kind=json,path={folder / 'guidellm.json'}", "--disable-console",
        ]  # fmt: skip

    return Contender("guidellm", argv)


def aiperf(program: str, tokenizer: str) -> Contender:
    """AIPerf, closed loop, ``/v1/completions`` without streaming; it counts tokens with a tokenizer of its own."""

    def argv(folder: Path, url: str, _prompts: Path, count: int) -> list[str]:
        rows = folder / "aiperf.jsonl"
        rows.write_text("".join(json.dumps({"text": f"number {n} " + "word " * 40}) + "\n" for n in range(count)))
        return [
            program, "profile", "--model", "tiny", "--url", url, "--endpoint-type", "completions",
            "--tokenizer", tokenizer, "--use-server-token-count",
            "--input-file", str(rows), "--custom-dataset-type", "single_turn",
            "--concurrency", str(IN_FLIGHT), "--request-count", str(count), "--ui-type", "none",
            "--artifact-dir", str(folder / "aiperf"),
        ]  # fmt: skip

    return Contender("AIPerf", argv)


def contenders(guidellm_program: str, aiperf_program: str, tokenizer: str) -> list[Contender]:
    """Who takes part; says who doesn't, and why."""
    found = [ours("aiohttp"), ours("httpx"), plain("aiohttp"), plain("httpx")]
    for name, program, make in (("guidellm", guidellm_program, guidellm), ("AIPerf", aiperf_program, aiperf)):
        if shutil.which(program):
            found.append(make(program, tokenizer))
        else:
            print(f"{name}: left out, there is no program {program!r}")
    return found


def measure(contender: Contender, seconds: float, count: int) -> tuple[Took, dict[str, float]] | str:
    """One run against a mock of its own; a sentence when it failed."""
    with tempfile.TemporaryDirectory() as name, mock(seconds, IN_FLIGHT) as (url, counts):
        folder = Path(name)
        write_prompts(folder / "prompts.jsonl", count)
        took = run(contender.argv(folder, url, folder / "prompts.jsonl", count), folder)
        seen = counts()
        if took.status or seen["answered"] < count:
            said = (folder / "output").read_text("utf-8", "replace").strip().splitlines()
            return f"failed (exit status {took.status}, {seen['answered']} answered): {said[-1][:200] if said else ''}"
        if contender.results:
            kept = (folder / contender.results).read_bytes().count(b"\n")
            if kept != count:
                return f"failed: {kept} of {count} results"
        return took, seen


def table(seconds: float, count: int, runs: int, found: list[Contender]) -> None:
    """Prints one table. A short run beside the long ones tells the CPU of starting from that of requests.

    The clients take turns, so that what else the machine does falls on all of them.
    """
    print(f"\nAnswers after {seconds:g} s, {IN_FLIGHT} in flight, {count:,} requests, medians of {runs};", end=" ")
    print(f"the server can serve {IN_FLIGHT / seconds:,.0f}/s")
    print(
        f"{'client':<26}{'requests/s':>12}{'CPU s/1,000':>13}{'start CPU s':>13}"
        f"{'wall s':>9}{'peak MB':>9}{'connections':>13}"
    )
    turns = [[measure(contender, seconds, count) for contender in found] for _ in range(runs)]
    for number, contender in enumerate(found):
        made = [turn[number] for turn in turns]
        short = measure(contender, seconds, IN_FLIGHT)
        good = [each for each in made if not isinstance(each, str)]
        if not good or isinstance(short, str):
            print(f"{contender.name:<26}{made[0] if not good else short}")
            continue
        rate = statistics.median(seen["per_s"] for _, seen in good)
        cpu = (statistics.median(took.cpu_s for took, _ in good) - short[0].cpu_s) / (count - IN_FLIGHT)
        start = short[0].cpu_s - cpu * IN_FLIGHT
        wall = statistics.median(took.wall_s for took, _ in good)
        peak = max(took.peak_mb for took, _ in good)
        print(f"{contender.name:<26}{rate:>12,.1f}{cpu * 1000:>13.3f}{start:>13.2f}", end="")
        print(f"{wall:>9.1f}{peak:>9.0f}{good[0][1]['connections']:>13,}")
