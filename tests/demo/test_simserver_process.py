"""The simulated server as a process: its start, its log, its end."""

from __future__ import annotations

import asyncio
import re
import signal
import sys
import urllib.error
import urllib.request
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest

from remote.demo.simserver import read_arguments
from tests.demo.conftest import WAIT_S, until

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path


@asynccontextmanager
async def running(log: Path, *more: str) -> AsyncIterator[asyncio.subprocess.Process]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "remote.demo.simserver", "--log", str(log), *more), stdout=asyncio.subprocess.PIPE
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


def text(log: Path) -> str:
    return log.read_bytes().decode() if log.exists() else ""


async def test_the_start_and_the_end_are_logged_as_sglang_does(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    async with running(log, "--startup-s", "0.4", "--speed", "8") as process:
        assert process.stdout is not None
        assert await asyncio.wait_for(process.stdout.readline(), WAIT_S) == b"ready\n"
        port = re.findall(r"http://127\.0\.0\.1:(\d+)", text(log))[0]
        with await asyncio.to_thread(urllib.request.urlopen, f"http://127.0.0.1:{port}/health") as answer:
            assert answer.status == 200
        process.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(process.wait(), WAIT_S) == 0
    said = text(log)
    parts = (
        "simulated SGLang server",
        "server_args=ServerArgs(",
        "Init torch distributed begin.",
        "Load weight begin. avail mem=",
        "\rLoading safetensors checkpoint shards:   0% Completed | 0/8 [00:00<?, ?it/s]",
        "100% Completed | 8/8",
        "Load weight end. elapsed=",
        "KV Cache is allocated. dtype: torch.bfloat16, #tokens: 140000, K size: 17.08 GB, V size: 17.08 GB",
        "Capture cuda graph begin.",
        "\rCapturing batches (bs=160 avail_mem=8.12 GB):   0%|",
        "Capture cuda graph end. Time elapsed: ",
        "max_total_num_tokens=140000, chunked_prefill_size=8192",
        "INFO:     Application startup complete.",
        "INFO:     Uvicorn running on http://127.0.0.1:",
        "The server is fired up and ready to roll!",
        '"GET /health HTTP/1.1" 200 OK',
        "SIGTERM received.",
        "INFO:     Application shutdown complete.",
        "INFO:     Finished server process [",
    )
    places = [said.find(part) for part in parts]
    assert -1 not in places
    assert places == sorted(places)
    assert "decode_log_interval=160" in said
    stamped = [line for line in said.split("\n") if line and "\r" not in line]
    assert all(re.match(r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\] ", line) for line in stamped)


async def test_the_port_is_closed_until_the_model_is_there(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    async with running(log, "--startup-s", "60") as process:
        await until(lambda: "Load weight begin" in text(log), "it starts")
        port = re.findall(r" port=(\d+)", text(log))[0]
        with pytest.raises(urllib.error.URLError, match="refused"):
            await asyncio.to_thread(urllib.request.urlopen, f"http://127.0.0.1:{port}/health")
        process.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(process.wait(), WAIT_S) == 0
    assert "It came while the server was starting" in text(log)


@pytest.mark.parametrize("wrong", [["--speed", "0"], ["--speed", "nan"], ["--scenario", "none"]])
def test_wrong_arguments_are_told(tmp_path: Path, wrong: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        read_arguments(["--log", str(tmp_path / "log"), *wrong])
    assert wrong[0] in capsys.readouterr().err


def test_a_taken_port_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = str(tmp_path / "log")
    with read_arguments(["--log", log]).sock as taken:
        taken.listen()
        with pytest.raises(SystemExit):
            read_arguments(["--log", log, "--port", str(taken.getsockname()[1])])
    assert "choose another" in capsys.readouterr().err
