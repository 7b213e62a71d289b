"""What a script of thirty lines does: a semaphore, one task a prompt, and an HTTP client.

    PYTHON plain_loop.py CLIENT URL PROMPTS OUT CONCURRENCY

``CLIENT`` is ``httpx`` or ``aiohttp``. It keeps nothing safe, knows no budgets and retries nothing: it is the floor
beside which the batch runner is measured. It runs by itself, with any Python that has the client.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    Post = Callable[[dict[str, Any]], Awaitable[Any]]


async def work(post: Post, rows: list[dict[str, Any]], out: TextIO, concurrency: int) -> None:
    """All prompts, ``concurrency`` at a time; each answer becomes a line."""
    places = asyncio.Semaphore(concurrency)

    async def one(row: dict[str, Any]) -> None:
        async with places:
            answer = await post({"text": row["prompt"], "sampling_params": {"max_new_tokens": 1024}})
        kept = {"id": row["id"], "text": answer["text"], "output_ids": answer["output_ids"]}
        out.write(json.dumps(kept) + "\n")
        out.flush()

    await asyncio.gather(*(one(row) for row in rows))


async def with_httpx(url: str, rows: list[dict[str, Any]], out: TextIO, concurrency: int) -> None:
    """Over httpx, with as many connections as requests."""
    import httpx  # noqa: PLC0415 - only the client that is measured must be there

    limits = httpx.Limits(max_connections=concurrency, max_keepalive_connections=concurrency)
    async with httpx.AsyncClient(limits=limits, timeout=600) as client:

        async def post(body: dict[str, Any]) -> Any:  # noqa: ANN401 - JSON
            return (await client.post(url, json=body)).raise_for_status().json()

        await work(post, rows, out, concurrency)


async def with_aiohttp(url: str, rows: list[dict[str, Any]], out: TextIO, concurrency: int) -> None:
    """Over aiohttp, likewise."""
    import aiohttp  # noqa: PLC0415 - only the client that is measured must be there

    connector = aiohttp.TCPConnector(limit=concurrency)
    async with aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout(600)) as client:

        async def post(body: dict[str, Any]) -> Any:  # noqa: ANN401 - JSON
            async with client.post(url, json=body, raise_for_status=True) as answer:
                return await answer.json()

        await work(post, rows, out, concurrency)


def main() -> None:
    """Run as the command line says."""
    client, url, prompts, out, concurrency = sys.argv[1:]
    rows = [json.loads(line) for line in Path(prompts).read_text("utf-8").splitlines()]
    run = {"httpx": with_httpx, "aiohttp": with_aiohttp}[client]
    with Path(out).open("w", encoding="utf-8") as file:
        asyncio.run(run(url + "/generate", rows, file, int(concurrency)))


if __name__ == "__main__":
    main()
