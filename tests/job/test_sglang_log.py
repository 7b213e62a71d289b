"""SGLang's lines of many versions: batch lines, doubtful figures, retractions."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from console.job.events import Stamped, Unparsed
from console.job.server_events import (
    Retraction,
    ServerLoad,
    ServerPhase,
    ServerPrefill,
    ServerTrouble,
)
from console.job.server_log import ServerLog
from tests.job.server_lines import DECODE, SEEN, loads, parse, sg


@pytest.mark.parametrize(
    ("text", "load"),
    [
        (DECODE, ServerLoad("", 50, 98, 0.82, 114822, 846.33, True)),
        (
            "Decode batch. #running-req: 12, #token: 3871, token usage: 0.05, gen throughput (token/s): 512.20, #queue-req: 0",
            ServerLoad("", 12, 0, 0.05, 3871, 512.2, True),
        ),
        (
            "Decode batch. #running-req: 12, #token: 3871, token usage: 0.05, largest-len: 90, gen throughput (token/s): 512.20, #queue-req: 0, ",
            ServerLoad("", 12, 0, 0.05, 3871, 512.2, True),
        ),
        (
            (
                "Decode batch [1240], #running-req: 3, #full token: 812, full token usage: 0.11, #swa token: 400, swa token usage: 0.31, "
                "cuda graph: True, gen throughput (token/s): 99.00, #queue-req: 4, "
            ),
            ServerLoad("", 3, 4, 0.31, 812, 99.0, True),
        ),
        (
            (
                "Decode batch, #running-req: 3, #full token: 812, full token usage: 0.11, mamba num: 9, mamba usage: 0.92, "
                "accept len: 2.31, accept rate: 0.61, cuda graph: True, gen throughput (token/s): 99.00, #queue-req: 4, "
                "est. decode TFLOPS/s (per GPU): 1.22, fwd occupancy: nan%"
            ),
            ServerLoad("", 3, 4, 0.92, 812, 99.0, True, accept_length=2.31),
        ),
        (
            (
                "Decode batch, #running-req: 3, #gpu token: 900, gpu token usage: 0.44, #cpu token: 9000, cpu token usage: 0.90, "
                "gen throughput (token/s): 99.00, #queue-req: 4"
            ),
            ServerLoad("", 3, 4, 0.44, 900, 99.0, True),
        ),
        (
            (
                "Decode batch, #running-req: 3, #token: 900, token usage: 0.44, pre-allocated usage: 0.10, #prealloc-req: 1, "
                "#transfer-req: 2, #retracted-req: 0, cuda graph: True, gen throughput (token/s): 99.00, #queue-req: 4"
            ),
            ServerLoad("", 3, 4, 0.44, 900, 99.0, True),
        ),
        (
            "Decode batch, #running-req: 3, #token: 900, token usage: 1.02, gen thr",
            ServerLoad("", 3, None, 1.0, 900, None, True),
        ),
        (
            "Decode batch, #running-req: 3, token usage: -0.01, #queue-req: ",
            ServerLoad("", 3, None, 0.0, None, None, True),
        ),
        (
            "Decode batch, #running-req: 3, #token: 9, token usage: 0.01, gen throughput (token/s): nan, #queue-req: 4",
            ServerLoad("", 3, 4, 0.01, 9, None, True),
        ),
    ],
)
def test_decode_lines_of_many_versions(text: str, load: ServerLoad) -> None:
    assert parse(sg(1, text)) == [load]


@pytest.mark.parametrize(
    ("text", "prefill"),
    [
        (
            (
                "Prefill batch, #new-seq: 1, #new-token: 802, #cached-token: 7, token usage: 0.81, #running-req: 49, #queue-req: 98, "
                "#pending-token: 78802, cuda graph: False, input throughput (token/s): 802.11"
            ),
            ServerPrefill("", 1, 802, 7, 49, 98, 0.81),
        ),
        (
            "Prefill batch. #new-seq: 2, #new-token: 64, #cached-token: 0, cache hit rate: 1.20%, token usage: 0.05, #running-req: 4, #queue-req: 0",
            ServerPrefill("", 2, 64, 0, 4, 0, 0.05),
        ),
        (
            "Prefill batch(mixed #running-req: 9). #new-seq: 2, #new-token: 64, #cached-token: 0, cache hit rate: 1.20%, #queue-req: 1",
            ServerPrefill("", 2, 64, 0, None, 1, None),
        ),
        (
            (
                "Prefill batch. #new-seq: 2, #new-token: 64, #cached-token: 0, token usage: 0.20, #unbootstrapped-req: 1, #queue-req: 3, "
                "#transferring-req: 0, input throughput (token/s): 10.00"
            ),
            ServerPrefill("", 2, 64, 0, None, 3, 0.2),
        ),
    ],
)
def test_prefill_lines_of_many_versions(text: str, prefill: ServerPrefill) -> None:
    assert parse(sg(1, text)) == [prefill]


@pytest.mark.parametrize(
    ("ranks", "rank"),
    [("", ""), ("TP0", ""), ("DP3 TP3", "DP3"), ("DP1 TP4 EP4", "DP1"), ("DP0 PP0 TP0", "DP0"), ("PP0 TP0", "")],
)
def test_a_scheduler_is_known_by_its_dp_rank(ranks: str, rank: str) -> None:
    assert loads(sg(1, DECODE, ranks))[0].rank == rank


def test_later_pipeline_stages_tell_of_the_same_requests() -> None:
    assert parse(sg(1, DECODE, "DP0 PP1 TP0"), sg(1, DECODE, "PP12")) == []


def test_a_decode_line_of_a_new_shape_shows_as_not_understood() -> None:
    assert parse(sg(1, "Decode batch: running=50 queue=98")) == [Unparsed("Decode batch: running=50 queue=98")]


@pytest.mark.parametrize(
    "line",
    [
        f"[2026-11-30 03:00:01] {DECODE}",
        f"[03:00:01 TP0] {DECODE}",
        f"2026-11-30T03:00:01.123456789Z [2026-11-30 03:00:01 TP0] {DECODE}",
        f"(SGLangEngine pid=41820) [2026-11-30 03:00:01 TP0] {DECODE}",
        f"server-1  | [2026-11-30 03:00:01 TP0] {DECODE}",
        f"2026-11-30 03:00:01 INFO 812 [TP3 scheduler.py:99] {DECODE}",
        f"Capturing batches (bs=1):  90%|#########1| 10/11 [00:08<00:09,  1.25it/s][2026-11-30 03:00:01] {DECODE}",
        f'[2026-11-30 03:00:01] INFO:     127.0.0.1:4 - "GET /health HTTP/1.1" 200 OK[2026-11-30 03:00:01] {DECODE}',
    ],
)
def test_wrapped_and_glued_lines_are_found(line: str) -> None:
    (load,) = loads(line)
    assert (load.running, load.queue, load.gen_throughput) == (50, 98, 846.33)


def test_a_bar_that_a_record_is_glued_to_counts_as_well() -> None:
    bar = "Capturing batches (bs=1):  90%|#########1| 10/11 [00:08<00:09,  1.25it/s]"
    events = parse(bar + sg(1, "Capture cuda graph end. Time elapsed: 9.1 s."))
    assert events == [ServerPhase("graphs", 10 / 11), ServerPhase("graphs", 1.0)]


def test_local_time_and_a_line_without_one() -> None:
    log = ServerLog(ZoneInfo("Asia/Tokyo"))
    assert log.parse(sg(1, "Load weight begin. avail mem=1 GB"), SEEN)[-1].at == datetime(
        2026, 11, 29, 18, 0, 1, tzinfo=UTC
    )
    assert ServerLog(UTC).parse("Killed", SEEN) == [
        Stamped(SEEN, ServerTrouble("crash", "Killed", fatal=True), guessed=True)
    ]


# Which throughput figures are falsely low


def test_the_first_figure_is_suspect_and_steady_ones_are_not() -> None:
    found = loads(*(sg(second, DECODE) for second in range(0, 100, 10)))
    assert [load.suspect_throughput for load in found] == [True] + [False] * 9


def test_a_figure_that_spans_a_long_gap_is_suspect() -> None:
    found = loads(*(sg(second, DECODE) for second in (0, 4, 8, 12, 300, 304)))
    assert [load.suspect_throughput for load in found] == [True, False, False, False, True, False]


def test_a_server_that_became_slow_is_believed_from_its_second_figure_on() -> None:
    found = loads(*(sg(second, DECODE) for second in (0, 4, 8, 12, 32, 52, 72)))
    assert [load.suspect_throughput for load in found] == [True, False, False, False, True, False, False]


def test_a_figure_behind_a_prefill_from_idle_is_suspect() -> None:
    prefill = "Prefill batch, #new-seq: 9, #new-token: 99, #cached-token: 0, token usage: 0.00, #running-req: {}, #queue-req: 0"
    found = loads(
        sg(0, DECODE), sg(4, DECODE), sg(5, prefill.format(0)), sg(8, DECODE), sg(9, prefill.format(7)), sg(12, DECODE)
    )
    assert [load.suspect_throughput for load in found] == [True, False, True, False]


def test_ranks_have_their_own_pace() -> None:
    found = loads(*(sg(second, DECODE, f"DP{second % 2} TP0") for second in range(8)))
    assert [load.suspect_throughput for load in found] == [True, True] + [False] * 6


# Retractions


@pytest.mark.parametrize(
    "text",
    [
        "Decode out of memory happened. #retracted_reqs: 2, #new_token_ratio: 0.40 -> 0.70",
        "KV cache pool is full. Retract requests. #retracted_reqs: 2, #new_token_ratio: 0.6 -> 0.7",
        "KV cache pool is full. Retract requests. #retracted_reqs: 2, #new_tokens_gained: 9, #mamba_num_gained: 1, #new_token_ratio: 0 -> 1",
    ],
)
def test_a_retraction_counts_once_though_every_tp_rank_prints_it(text: str) -> None:
    lines = [sg(59, text, f"TP{rank}") for rank in range(6)] + [sg(60, text, "TP6"), sg(60, text, "TP7")]
    assert parse(*lines) == [Retraction("", 2)]


def test_retractions_of_other_ranks_and_times_count_for_themselves() -> None:
    text = "KV cache pool is full. Retract requests. #retracted_reqs: 1, #new_token_ratio: 0.6 -> 0.7"
    lines = [sg(1, text, "DP0 TP0"), sg(1, text, "DP1 TP4"), sg(1, text, "DP1 TP5"), sg(9, text, "DP0 TP0")]
    assert parse(*lines) == [Retraction("DP0", 1), Retraction("DP1", 1), Retraction("DP0", 1)]


def test_a_tested_retraction_is_none() -> None:
    assert parse(sg(1, "Testing retraction. #retracted_reqs: 1, #new_token_ratio: 0.6 -> 0.7")) == []
