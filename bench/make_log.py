"""Makes the logs of a long run, from a seed: an SGLang server's, and the job's ``progress.jsonl``.

    python -m bench.make_log FILE [--hours 55] [--seed 1]

55 hours are about 30 MB: 70,000 decode lines, 100,000 prefill lines and 40,000 access lines between them. The same
arguments give the same bytes, so the logs need not be kept.
"""

from __future__ import annotations

import argparse
import json
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

START = datetime(2026, 2, 24, tzinfo=UTC)
"""When the server starts; its host's clock is UTC."""
HEAD = (
    "server_args=ServerArgs(model_path='/srv/llm/big', tp_size=8, port=30000, version='0.5.6')",
    "Init torch distributed begin.",
    "Load weight begin. avail mem=78.60 GB",
    "Load weight end. type=LlamaForCausalLM, dtype=torch.bfloat16, avail mem=60.10 GB, mem usage=18.50 GB.",
    "KV Cache is allocated. #tokens: 140288, K size: 8.56 GB, V size: 8.56 GB",
    "max_total_num_tokens=140288, chunked_prefill_size=8192, max_prefill_tokens=16384, max_running_requests=2048",
    "The server is fired up and ready to roll!",
)
_POOL = 140_288
_RETRACTED = "KV cache pool is full. Retract requests. #retracted_reqs: 1, #new_token_ratio: 0.6012 -> 0.7021"


class Mix(NamedTuple):
    """How many lines of each kind an hour of the log holds."""

    decode: int = 1_273
    prefill: int = 1_818
    access: int = 727


def server_log(hours: float = 55.0, mix: Mix | None = None, seed: int = 1) -> bytes:
    """An SGLang server's log.

    Args:
        hours: How long the server runs.
        mix: Lines of each kind an hour.
        seed: Of all that is random in it.
    """
    # A bench needs the same bytes each time, not secrets.
    dice = random.Random(seed)  # noqa: S311
    kinds = [round(hours * each) for each in (mix or Mix())]
    order = [kind for kind, count in enumerate(kinds) for _ in range(count)]
    dice.shuffle(order)
    step = hours * 3_600 / max(1, len(order))
    lines = [f"[{START:%Y-%m-%d %H:%M:%S}] {text}" for text in HEAD]
    makers = (_decode, _prefill, _access)
    for place, kind in enumerate(order):
        at = START + timedelta(seconds=60 + place * step)
        text = makers[kind](dice) if dice.random() > 0.0005 else _RETRACTED  # noqa: PLR2004  one line in 2,000
        lines.append(f"[{at:%Y-%m-%d %H:%M:%S}] {text}")
    return ("\n".join(lines) + "\n").encode()


def _decode(dice: random.Random) -> str:
    running, held = dice.randint(40, 60), dice.randint(90_000, 138_000)
    return (
        f"Decode batch, #running-req: {running}, #token: {held}, token usage: {held / _POOL:.2f}, "
        f"cuda graph: True, gen throughput (token/s): {dice.gauss(846, 30):.2f}, #queue-req: {dice.randint(80, 110)}"
    )


def _prefill(dice: random.Random) -> str:
    return (
        f"Prefill batch, #new-seq: {dice.randint(1, 4)}, #new-token: {dice.randint(200, 8_192)}, "
        f"#cached-token: {dice.randint(0, 900)}, token usage: {dice.uniform(0.6, 0.99):.2f}, "
        f"#running-req: {dice.randint(40, 60)}, #queue-req: {dice.randint(80, 110)}"
    )


def _access(dice: random.Random) -> str:
    path = dice.choice(("POST /v1/chat/completions", "GET /health", "GET /metrics"))
    return f'INFO:     127.0.0.1:{dice.randint(32_768, 60_999)} - "{path} HTTP/1.1" 200 OK'


def progress_log(completions: int = 83_000, seed: int = 1) -> bytes:
    """The job's ``progress.jsonl``: 10,000 prompts a dataset, a completion every 2.4 s, a heartbeat every 14 s."""
    dice = random.Random(seed)  # noqa: S311  as above
    return ("\n".join(_rows(completions, dice)) + "\n").encode()


def _rows(completions: int, dice: random.Random) -> Iterator[str]:
    size = 10_000
    for number in range(completions):
        at, name = START + timedelta(seconds=60 + 2.4 * number), f"B{1 + number // size}"
        if number % size == 0:
            yield _row(at, event="dataset_started", dataset=name, total=size, todo=size, done=0, tokens=0)
        made = {"completion_tokens": dice.randint(200, 4_000), "prompt_tokens": dice.randint(200, 8_000)}
        ended = {"finish_reason": "stop", "seconds": round(dice.uniform(20, 400), 3), "attempt": 1}
        yield _row(at, event="completion", dataset=name, id=f"{name}-{number % size:06}", **made, **ended)
        if number % 6 == 0:
            yield _row(at, event="heartbeat", dataset=name, done=number % size, errors=0, in_flight=150, tokens=0)


def _row(at: datetime, **said: object) -> str:
    return json.dumps({"t": f"{at:%Y-%m-%dT%H:%M:%S}.{at.microsecond // 1000:03}Z", **said})


def main() -> None:
    """Write the server's log to a file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("file", type=Path)
    parser.add_argument("--hours", type=float, default=55.0)
    parser.add_argument("--seed", type=int, default=1)
    said = parser.parse_args()
    said.file.write_bytes(server_log(said.hours, seed=said.seed))


if __name__ == "__main__":
    main()
