"""The simulated server's log, in the line shapes of SGLang 0.5.23."""

from __future__ import annotations

import time
from datetime import datetime
from typing import TYPE_CHECKING, TextIO

from remote.demo.happenings import DecodeReport, PrefillDone, Retracted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from remote.demo.happenings import Happening
    from remote.demo.http_server import Call, Reply

PREFILL_GAP_S = 0.25
"""A fast server prefills many times a second: closer ones share a line, and their counts are added up."""


class ServerLog:
    """Appends lines to a file, each stamped with the local time, as ``2>&1 >>FILE`` would.

    Args:
        path: The file.
        speed: How much faster than a real server the simulated one is; throughputs are printed per wall second.
        clock: Wall time in seconds, for the gap between prefill lines.
    """

    def __init__(self, path: Path, *, speed: float = 1.0, clock: Callable[[], float] = time.monotonic) -> None:
        self._file: TextIO = path.open("a", encoding="utf-8", newline="")
        self._speed = speed
        self._clock = clock
        self._last_prefill = -PREFILL_GAP_S
        self._held: list[PrefillDone] = []

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def say(self, text: str) -> None:
        """Write one stamped line."""
        self.raw(f"[{datetime.now().astimezone():%Y-%m-%d %H:%M:%S}] {text}\n")

    def raw(self, text: str) -> None:
        """Write text as it is, for bars."""
        self._file.write(text)
        self._file.flush()

    def access(self, call: Call, reply: Reply) -> None:
        """Write an access line."""
        self.say(f'INFO:     {call.peer} - "{call.method} {call.path} HTTP/1.1" {reply.status} {reply.phrase}')

    def report(self, happened: Iterable[Happening]) -> None:
        """Write what the scheduler says of itself."""
        for happening in happened:
            if isinstance(happening, DecodeReport):
                self.say(decode_line(happening, self._speed))
            elif isinstance(happening, PrefillDone):
                self._prefill(happening)
            elif isinstance(happening, Retracted):
                self.say(retraction_line(happening))

    def _prefill(self, done: PrefillDone) -> None:
        self._held.append(done)
        now = self._clock()
        if now - self._last_prefill >= PREFILL_GAP_S:
            self.say(prefill_line(self._held, self._speed))
            self._held.clear()
            self._last_prefill = now


def decode_line(report: DecodeReport, speed: float = 1.0) -> str:
    """SGLang's ``Decode batch`` line."""
    return (
        f"Decode batch, #running-req: {report.running}, #token: {report.tokens}, "
        f"token usage: {report.token_usage:.2f}, cuda graph: True, "
        f"gen throughput (token/s): {report.throughput * speed:.2f}, #queue-req: {report.queue}"
    )


def prefill_line(batches: list[PrefillDone], speed: float = 1.0) -> str:
    """SGLang's ``Prefill batch`` line for the last of some batches, with the counts of all."""
    last = batches[-1]
    return (
        f"Prefill batch, #new-seq: {sum(b.requests for b in batches)}, "
        f"#new-token: {sum(b.tokens for b in batches)}, #cached-token: 0, token usage: {last.token_usage:.2f}, "
        f"#running-req: {last.running}, #queue-req: {last.queue}, #pending-token: {last.pending_tokens}, "
        f"cuda graph: False, input throughput (token/s): {last.throughput * speed:.2f}"
    )


def retraction_line(retracted: Retracted) -> str:
    """SGLang's line on a full KV cache pool."""
    return (
        f"KV cache pool is full. Retract requests. #retracted_reqs: {retracted.requests}, "
        f"#new_tokens_gained: {retracted.tokens_gained}, "
        f"#new_token_ratio: {retracted.ratio_before:.4f} -> {retracted.ratio_after:.4f}"
    )
