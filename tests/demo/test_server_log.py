"""The simulated server's log lines."""

from __future__ import annotations

import re
from contextlib import closing
from typing import TYPE_CHECKING

from remote.demo.happenings import DecodeReport, PrefillDone, Retracted
from remote.demo.http_server import Call, Reply
from remote.demo.server_log import ServerLog, decode_line, prefill_line, retraction_line

if TYPE_CHECKING:
    from pathlib import Path

DECODE = DecodeReport(at=10.0, running=50, tokens=114_822, token_usage=0.8201, throughput=846.326, queue=98)
PREFILL = PrefillDone(1.0, 2, 1700, running=49, queue=97, pending_tokens=82_000, token_usage=0.8, throughput=700.0)


def test_the_shapes() -> None:
    assert decode_line(DECODE) == (
        "Decode batch, #running-req: 50, #token: 114822, token usage: 0.82, cuda graph: True, "
        "gen throughput (token/s): 846.33, #queue-req: 98"
    )
    assert prefill_line([PREFILL]) == (
        "Prefill batch, #new-seq: 2, #new-token: 1700, #cached-token: 0, token usage: 0.80, #running-req: 49, "
        "#queue-req: 97, #pending-token: 82000, cuda graph: False, input throughput (token/s): 700.00"
    )
    assert retraction_line(Retracted(1.0, 3, 4211, 0.098, 0.4123)) == (
        "KV cache pool is full. Retract requests. #retracted_reqs: 3, #new_tokens_gained: 4211, "
        "#new_token_ratio: 0.0980 -> 0.4123"
    )


def test_throughput_is_of_wall_time() -> None:
    assert "gen throughput (token/s): 16926.52," in decode_line(DECODE, speed=20.0)


def test_close_prefills_share_a_line_and_lose_nothing(tmp_path: Path) -> None:
    now = 0.0
    path = tmp_path / "log"
    with closing(ServerLog(path, clock=lambda: now)) as log:
        log.report([PREFILL])
        now = 0.1
        log.report([PREFILL, PREFILL])
        now = 0.3
        log.report([PREFILL])
    counts = [int(n) for n in re.findall(r"#new-seq: (\d+)", path.read_text())]
    assert counts == [2, 6]


def test_lines_are_stamped_and_flushed_at_once(tmp_path: Path) -> None:
    path = tmp_path / "log"
    with closing(ServerLog(path)) as log:
        log.access(Call("GET", "/health", b"", "127.0.0.1:40000"), Reply(503))
        line = path.read_text()
    stamp = r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\] "
    assert re.fullmatch(
        stamp + r'INFO:     127\.0\.0\.1:40000 - "GET /health HTTP/1\.1" 503 Service Unavailable\n', line
    )
