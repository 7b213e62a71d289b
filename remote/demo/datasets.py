"""The demo's eight small data sets, and the job's config: the same bytes for the same seed."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from remote.demo.lengths import SHORT_CAP, VOCABULARY, answer, digest_of, law_for

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime
    from pathlib import Path

SHORT_CONCURRENCY = 150
"""Requests in flight for a short data set, as in the run this was modelled on."""
LONG_CONCURRENCY = 32
"""Requests in flight for the long one."""
LONG_MAX_TOKENS = 16_384
"""New tokens of one request of the long data set, at most."""
SEED = 7
"""The demo's seed."""
_IDS_PER_SET = 4096
_SECONDS_PER_ANSWER = 120.0


@dataclass(frozen=True, slots=True)
class Dataset:
    """One data set of the demo.

    Attributes:
        name: Its name.
        prompts: How many prompts it has.
        budget: Its token budget.
        done_tokens: An earlier run has made at least so many tokens of it; 0 for none.
        prompt_tokens: Mean length of a prompt; lengths spread a quarter to both sides.
        long: Whether its answers are long.
    """

    name: str
    prompts: int
    budget: int
    done_tokens: int = 0
    prompt_tokens: int = 850
    long: bool = False

    @property
    def kind(self) -> str:
        """``short`` or ``long``."""
        return "long" if self.long else "short"

    @property
    def max_tokens(self) -> int:
        """New tokens of one request at most."""
        return LONG_MAX_TOKENS if self.long else SHORT_CAP


DATASETS = (
    Dataset("B1_glaive", 260, 160_000, done_tokens=160_000),
    Dataset("B2_orca", 220, 140_000, done_tokens=140_000),
    Dataset("B3_magicoder", 460, 760_000, done_tokens=60_000),
    Dataset("B4_metamath", 260, 1_000_000),
    Dataset("B5_evolcode", 400, 480_000),
    Dataset("B6_dolphin", 210, 1_000_000),
    Dataset("B7_capybara", 380, 420_000),
    Dataset("B8_longform", 130, 300_000, prompt_tokens=1000, long=True),
)
"""Two have their budget, one is resumed; B4 and B6 end with their prompts, the others by budget. About 3 M tokens."""


def write_prompts(dataset: Dataset, path: Path, seed: int = SEED) -> None:
    """Write a data set's prompts, one ``{"id", "input_ids"}`` a line."""
    with path.open("w", encoding="utf-8") as file:
        file.writelines(
            json.dumps({"id": prompt_id, "input_ids": ids}, separators=(",", ":")) + "\n"
            for prompt_id, ids in prompts_of(dataset, seed)
        )


def prompts_of(dataset: Dataset, seed: int = SEED) -> Iterator[tuple[str, list[int]]]:
    """Ids and token ids of a data set's prompts: windows of one sequence, each begun with its own number."""
    words = hashlib.shake_128(f"{seed}/{dataset.name}".encode()).digest(2 * 2 * _IDS_PER_SET)
    sequence = [int.from_bytes(words[i : i + 2], "big") % VOCABULARY for i in range(0, len(words), 2)]
    spread = dataset.prompt_tokens // 4
    for number in range(dataset.prompts):
        place = hashlib.blake2b(f"{seed}/{dataset.name}/{number}".encode(), digest_size=8).digest()
        length = dataset.prompt_tokens - spread + int.from_bytes(place[:4], "big") % (2 * spread + 1)
        start = int.from_bytes(place[4:], "big") % _IDS_PER_SET
        yield f"{dataset.name}-{number:05d}", [1, number % VOCABULARY, *sequence[start : start + length - 2]]


def write_results(dataset: Dataset, path: Path, ended: datetime, seed: int = SEED) -> int:
    """Write what an earlier run had done: the first prompts, until ``done_tokens`` are there.

    Args:
        dataset: Which.
        path: The results file.
        ended: When that run ended.
        seed: As for the prompts.

    Returns:
        Tokens written.
    """
    law, tokens = law_for(dataset.max_tokens), 0
    lines: list[str] = []
    for prompt_id, ids in prompts_of(dataset, seed):
        if tokens >= dataset.done_tokens:
            break
        digest = digest_of(ids)
        made = min(law.draw(digest), dataset.max_tokens)
        text, output = answer(digest, made)
        tokens += made
        result = {
            "id": prompt_id,
            "text": text,
            "output_ids": output,
            "finish_reason": "stop",
            "prompt_tokens": len(ids),
            "completion_tokens": made,
            "seconds": _SECONDS_PER_ANSWER,
            "attempt": 1,
            "server": "http://127.0.0.1:30000",
            "finished_at": (ended - timedelta(seconds=len(lines))).isoformat(timespec="seconds"),
        }
        lines.append(json.dumps(result, separators=(",", ":")) + "\n")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(lines), encoding="utf-8")
    return tokens


def job_config(server: str, out: Path, prompts: Path) -> dict[str, object]:
    """The config that ``run_inference.py`` reads.

    Args:
        server: The server's URL.
        out: The folder of results.
        prompts: The folder of prompts, ``NAME.jsonl`` each.
    """
    sets = [
        {
            "name": dataset.name,
            "kind": dataset.kind,
            "prompts": str(prompts / f"{dataset.name}.jsonl"),
            "concurrency": LONG_CONCURRENCY if dataset.long else SHORT_CONCURRENCY,
            "max_tokens": dataset.max_tokens,
            "token_budget": dataset.budget,
            "limit": None,
            "sampling": {"temperature": 0.6, "top_p": 0.95},
        }
        for dataset in DATASETS
    ]
    return {"server": server, "out": str(out), "api": "sglang", "datasets": sets}


def write_all(config: dict[str, object], job: Path, out: Path, prompts: Path, now: datetime) -> None:
    """Write the prompts, the earlier results and the config."""
    prompts.mkdir(parents=True, exist_ok=True)
    out.mkdir(parents=True, exist_ok=True)
    for dataset in DATASETS:
        write_prompts(dataset, prompts / f"{dataset.name}.jsonl")
        if dataset.done_tokens:
            write_results(dataset, out / dataset.name / "results.jsonl", now - timedelta(hours=1))
    job.write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
