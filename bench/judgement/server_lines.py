"""The server's log: SGLang's shapes of 0.4.6 and 0.5.9, and vLLM's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.judgement.laws import dice_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench.judgement.rank import Rank, Request
    from bench.judgement.spec import ServerSpec
    from bench.judgement.stamps import LocalTime
    from bench.judgement.truth import Written

_LATEST = 25
"""A late line comes behind at most so many others."""

STARTUP = (
    (0.0, "server_args=ServerArgs(model_path='/srv/llm/reasoner', tp_size=8, mem_fraction_static=0.88)"),
    (0.06, "Init torch distributed begin."),
    (0.12, "Load weight begin. avail mem=78.60 GB"),
    (0.60, "Load weight end. type=LlamaForCausalLM, dtype=torch.bfloat16, avail mem=60.10 GB, mem usage=18.50 GB."),
    (0.62, "KV Cache is allocated. #tokens: {pool}, K size: 8.56 GB, V size: 8.56 GB"),
    (0.63, "Memory pool end. avail mem=9.90 GB"),
    (0.64, "Capture cuda graph begin. This can take up to several minutes. avail mem=9.87 GB"),
    (0.90, "Capture cuda graph end. Time elapsed: 21.40 s. mem usage=1.20 GB. avail mem=8.67 GB."),
    (
        0.91,
        (
            "max_total_num_tokens={pool}, chunked_prefill_size=8192, max_prefill_tokens=16384, "
            "max_running_requests={most}, context_len=40960"
        ),
    ),
    (0.94, "INFO:     Started server process [4711]"),
    (0.95, "INFO:     Application startup complete."),
    (0.96, "INFO:     Uvicorn running on http://127.0.0.1:30000 (Press CTRL+C to quit)"),
    (1.0, "The server is fired up and ready to roll!"),
)
"""SGLang's start: the share of the start's time that has gone by, and the line."""

VLLM_STARTUP = (
    (0.0, "[api_server.py:1839] vLLM API server version 0.14.1"),
    (0.05, "[core.py:93] Initializing a V1 LLM engine (v0.14.1) with config: model='/srv/llm/reasoner'"),
    (0.10, "[gpu_model_runner.py:2602] Starting to load model /srv/llm/reasoner..."),
    (0.60, "[default_loader.py:267] Loading weights took 41.20 seconds"),
    (0.65, "[gpu_worker.py:298] Available KV cache memory: 52.10 GiB"),
    (0.66, "[kv_cache_utils.py:1087] GPU KV cache size: {commas} tokens"),
    (0.90, "[gpu_model_runner.py:3480] Graph capturing finished in 21 secs, took 0.51 GiB"),
    (0.95, "[core.py:210] init engine (profile, create kv cache, warmup model) took 30.63 s"),
    (0.97, "[api_server.py:1912] Starting vLLM API server 0 on http://0.0.0.0:8000"),
    (1.0, None),
)
"""vLLM's start; the last line is uvicorn's, without a stamp."""


class ServerWriter:
    """Writes what the schedulers say.

    Args:
        spec: The server.
        log: Where to.
        clock: Prints times.
        shown: True time to the time that the host's clock shows.
        seed: Of which lines come late.
    """

    def __init__(
        self, spec: ServerSpec, log: Written, clock: LocalTime, shown: Callable[[float], float], seed: int
    ) -> None:
        self._spec, self._log, self._clock, self._shown = spec, log, clock, shown
        self._vllm = spec.engine == "vllm"
        self._new = spec.shape != "0.4.6"
        self._late = spec.late
        self._dice = dice_of("late", seed)
        self._held: list[list[object]] = []
        self._stats: dict[int, tuple[int, int, int, float]] = {}

    # ---- lines in general

    def stamped(self, now: float, text: str, ranks: str = "") -> None:
        """A line with its stamp."""
        if self._vllm:
            self.raw(now, f"(APIServer pid=4711) INFO {self._clock.short(self._shown(now))} {text}")
        else:
            self.raw(now, f"[{self._clock.iso(self._shown(now))}{ranks}] {text}")

    def raw(self, now: float, text: str) -> None:
        """A line as it is."""
        if self._late and self._dice.random() < self._late:
            self._held.append([self._dice.randint(2, _LATEST), text])
            return
        at = self._shown(now)
        self._log.put(at, text)
        if self._held:
            self._release(at)

    def _release(self, at: float) -> None:
        for entry in self._held:
            entry[0] -= 1  # type: ignore[operator]  # a count and a text
        for _, text in (entry for entry in self._held if entry[0] == 0):
            self._log.put(at, str(text))
        self._held = [entry for entry in self._held if entry[0] != 0]

    def start(self, begin: float, took: float) -> None:
        """The lines of a start."""
        pool, most = self._spec.pool, self._spec.max_running
        for share, text in VLLM_STARTUP if self._vllm else STARTUP:
            at = begin + share * took
            if text is None:
                self.raw(at, "(APIServer pid=4711) INFO:     Application startup complete.")
            else:
                self.stamped(at, text.format(pool=pool, most=most, commas=f"{pool:,}"))

    def access(self, now: float, status: int = 200) -> None:
        """A health check's access line."""
        phrase = "OK" if status == 200 else "Service Unavailable"  # noqa: PLR2004 - the HTTP status
        line = f'INFO:     127.0.0.1:{30000 + int(now) % 20000} - "GET /health HTTP/1.1" {status} {phrase}'
        if self._vllm:
            self.raw(now, f"(APIServer pid=4711) {line}")
        else:
            self.stamped(now, line)

    def health_failed(self, now: float) -> None:
        """SGLang's word on a health check that found no answer in time."""
        text = "Health check failed. Server couldn't get a response from detokenizer for last 20 seconds. "
        self.stamped(now, text + "tic start time: 03:19:40. last_heartbeat time: 03:19:20")

    def disconnected(self, now: float, request: Request) -> None:
        """SGLang's word on a closed connection."""
        text = "Request is disconnected from the client side (type 1). Abort request obj.rid="
        self.stamped(now, f"{text}'{request.place:08x}'")

    # ---- what schedulers say

    def _ranks(self, rank: Rank) -> str:
        return f" DP{rank.number} TP0" if self._spec.ranks > 1 else " TP0"

    def decode(self, rank: Rank, now: float, made: float) -> None:
        """SGLang's report, every forty steps."""
        if self._new:
            text = (
                f"Decode batch, #running-req: {rank.running}, #token: {int(rank.held)}, "
                f"token usage: {rank.usage:.2f}, cuda graph: True, gen throughput (token/s): {made:.2f}, "
                f"#queue-req: {len(rank.queue)}"
            )
        else:
            text = (
                f"Decode batch. #running-req: {rank.running}, #token: {int(rank.held)}, "
                f"token usage: {rank.usage:.2f}, cuda graph: True, gen throughput (token/s): {made:.2f}, "
                f"#queue-req: {len(rank.queue)}, "
            )
        self.stamped(now, text, self._ranks(rank))

    def prefill(self, rank: Rank, now: float, new: int, tokens: tuple[int, int], rate: float) -> None:
        """SGLang's line for each prefill batch; ``tokens`` are those to compute and those found in the cache."""
        if self._vllm:
            return
        fresh, cached = tokens
        text = (
            f"Prefill batch{',' if self._new else '.'} #new-seq: {new}, #new-token: {fresh}, #cached-token: {cached}, "
            f"token usage: {rank.usage:.2f}, #running-req: {rank.running}, #queue-req: {len(rank.queue)}, "
        )
        if self._new:
            text += f"input throughput (token/s): {rate:.2f}, cuda graph: False"
        self.stamped(now, text, self._ranks(rank))

    def retracted(self, rank: Rank, now: float, thrown: tuple[int, int], ratio: tuple[float, float]) -> None:
        """SGLang's line when the pool was full: requests thrown out and tokens gained, ratio before and after."""
        (count, gained), (before, after) = thrown, ratio
        gain = f"#new_tokens_gained: {gained}, " if self._new else ""
        text = (
            f"KV cache pool is full. Retract requests. #retracted_reqs: {count}, {gain}"
            f"#new_token_ratio: {before:.4f} -> {after:.4f}"
        )
        self.stamped(now, text, self._ranks(rank))

    def stats(self, rank: Rank, now: float, every_s: float) -> None:
        """VLLM's stats line; none when two intervals were idle."""
        decoded, prompts, preempted, idle = self._stats.get(rank.number, (0, 0, 0, 0.0))
        made, read = rank.decoded + rank.first, rank.prompt_tokens
        quiet = made == decoded and read == prompts and not rank.running and not rank.queue
        self._stats[rank.number] = (made, read, rank.preempted, idle + 1 if quiet else 0.0)
        if quiet and idle:
            return
        thrown = rank.preempted - preempted
        self.stamped(
            now,
            f"[loggers.py:248] Engine {rank.number:03}: "
            f"Avg prompt throughput: {(read - prompts) / every_s:.1f} tokens/s, "
            f"Avg generation throughput: {(made - decoded) / every_s:.1f} tokens/s, Running: {rank.running} reqs, "
            f"Waiting: {len(rank.queue)} reqs, "
            + (f"Preemptions: {thrown}, " if thrown else "")
            + f"GPU KV cache usage: {100 * rank.usage:.1f}%, Prefix cache hit rate: 0.0%",
        )
