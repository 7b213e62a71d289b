"""What the simulated server logs while it starts: the phases of SGLang 0.5.23, in a settable time."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from remote.demo.server_log import ServerLog

MODEL = "demo/simulated-reasoner"
"""The name the simulated server gives its model."""
CONTEXT = 32_768
"""Tokens of prompt and answer together, at most."""
NOTICE = "This is longwait's simulated SGLang server: no GPU and no model, only the lines and the timing of one."
_SHARDS = 8
_GB_PER_TOKEN = 0.000_244
_GRAPHS = (160, 128, 96, 64, 32, 16, 8, 4, 2, 1)
_WEIGHTS_SHARE = 0.45
_MEMORY_SHARE = 0.1
_GRAPHS_SHARE = 0.35


@dataclass(frozen=True, slots=True)
class ServerArgs:
    """What the server says of itself at its start.

    Attributes:
        port: Its port on 127.0.0.1.
        speed: How much faster it is than a real one.
        pool_tokens: Its KV pool.
        report_every: Decode steps between two reports.
    """

    port: int
    speed: float
    pool_tokens: int
    report_every: int

    def as_dict(self) -> dict[str, object]:
        """The arguments under SGLang's names, and two that say what it really is."""
        return {
            "model_path": MODEL,
            "tokenizer_path": MODEL,
            "served_model_name": MODEL,
            "host": "127.0.0.1",
            "port": self.port,
            "tp_size": 1,
            "dp_size": 1,
            "context_length": CONTEXT,
            "mem_fraction_static": 0.88,
            "decode_log_interval": self.report_every,
            "chunked_prefill_size": 8192,
            "enable_metrics": True,
            "simulated": True,
            "simulated_speed": self.speed,
        }


async def load_model(log: ServerLog, args: ServerArgs, total_s: float) -> None:
    """Log the start up to the moment at which HTTP begins; takes 0.9 of ``total_s``."""
    log.say(f"{NOTICE} It runs {args.speed:g} times as fast as the server it imitates.")
    log.say(f"server_args=ServerArgs({', '.join(f'{k}={v!r}' for k, v in args.as_dict().items())})")
    log.say("Init torch distributed begin.")
    log.say("Init torch distributed ends. mem usage=1.46 GB")
    await _load_weights(log, total_s * _WEIGHTS_SHARE)
    half = args.pool_tokens * _GB_PER_TOKEN / 2
    log.say(
        f"KV Cache is allocated. dtype: torch.bfloat16, #tokens: {args.pool_tokens}, "
        f"K size: {half:.2f} GB, V size: {half:.2f} GB"
    )
    log.say("Memory pool end. avail mem=9.12 GB")
    await asyncio.sleep(total_s * _MEMORY_SHARE)
    await _capture_graphs(log, total_s * _GRAPHS_SHARE)
    log.say(
        f"max_total_num_tokens={args.pool_tokens}, chunked_prefill_size=8192, max_prefill_tokens=16384, "
        f"max_running_requests=2048, context_len={CONTEXT}, available_gpu_mem=7.90 GB"
    )


async def _load_weights(log: ServerLog, seconds: float) -> None:
    log.say("Load weight begin. avail mem=77.83 GB")
    step = seconds / _SHARDS
    for i in range(_SHARDS + 1):
        spent = _mm_ss(i * step)
        left = _mm_ss((_SHARDS - i) * step) if i else "?"
        rate = f"{step:.2f}s/it" if i else "?it/s"
        log.raw(
            f"\rLoading safetensors checkpoint shards: {i * 100 // _SHARDS:3d}% Completed | "
            f"{i}/{_SHARDS} [{spent}<{left}, {rate}]"
        )
        if i < _SHARDS:
            await asyncio.sleep(step)
    log.raw("\n")
    log.say(
        f"Load weight end. elapsed={seconds:.2f} s, type=SimulatedForCausalLM, dtype=torch.bfloat16, "
        "avail mem=43.20 GB, mem usage=34.63 GB."
    )


async def _capture_graphs(log: ServerLog, seconds: float) -> None:
    log.say("Capture cuda graph begin. This can take up to several minutes. avail mem=9.05 GB")
    log.say(f"Capture cuda graph bs {sorted(_GRAPHS)}")
    step, total = seconds / len(_GRAPHS), len(_GRAPHS)
    for i, size in enumerate((*_GRAPHS, None)):
        label = f"Capturing batches (bs={size} avail_mem=8.12 GB): " if size else "Capturing batches: "
        timing = f"{_mm_ss(i * step)}<{_mm_ss((total - i) * step)}, {step:.2f}s/it" if i else "00:00<?, ?it/s"
        log.raw(f"\r{label}{i * 100 // total:3d}%|{'█' * i}{' ' * (total - i)}| {i}/{total} [{timing}]")
        if size:
            await asyncio.sleep(step)
    log.raw("\n")
    log.say(f"Capture cuda graph end. Time elapsed: {seconds:.2f} s. mem usage=1.15 GB. avail mem=7.90 GB.")


def _mm_ss(seconds: float) -> str:
    whole = int(seconds)
    return f"{whole // 60:02d}:{whole % 60:02d}"
