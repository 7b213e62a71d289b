"""What only some servers' metrics pages tell: speculative decoding, the prefix cache, queues by kind."""

from __future__ import annotations

import pytest

from console.job.metrics import parse_metrics
from console.job.metrics_more import ServingExtras


def told(engine: str, *samples: str) -> ServingExtras:
    page = parse_metrics("\n".join(f"{engine}:{sample}" for sample in samples))
    assert page is not None
    return page.extras


def test_sglang() -> None:
    extras = told(
        "sglang",
        'spec_accept_length{dp_rank="0",tp_rank="0"} 2.5',
        'spec_accept_length{dp_rank="1",tp_rank="0"} 2.0',
        'cached_tokens_total{model_name="m"} 250.0',
        'prompt_tokens_total{model_name="m"} 1000.0',
        'num_grammar_queue_reqs{tp_rank="0"} 12.0',
        'num_decode_transfer_queue_reqs{tp_rank="0"} 0.0',
    )
    assert extras == ServingExtras(2.25, 0.25, (("grammar", 12),))


def test_vllm() -> None:
    extras = told(
        "vllm",
        'spec_decode_num_accepted_tokens_total{engine="0"} 30.0',
        'spec_decode_num_accepted_tokens_total{engine="1"} 30.0',
        'spec_decode_num_drafts_total{engine="0"} 20.0',
        'spec_decode_num_drafts_total{engine="1"} 20.0',
        'prefix_cache_hits_total{engine="0"} 30.0',
        'prefix_cache_queries_total{engine="0"} 40.0',
        'num_requests_waiting_by_reason{engine="0",reason="remote_kv"} 3.0',
        'num_requests_waiting_by_reason{engine="1",reason="remote_kv"} 4.0',
    )
    assert extras == ServingExtras(2.5, 0.75, (("remote kv", 7),))


@pytest.mark.parametrize("engine", ["sglang", "vllm"])
def test_a_page_without_any_of_it_tells_nothing(engine: str) -> None:
    running = {"sglang": "num_running_reqs 5.0", "vllm": "num_requests_running 5.0"}[engine]
    assert told(engine, running) == ServingExtras()


def test_a_server_that_has_drafted_nothing_yet_has_no_accept_length() -> None:
    assert (
        told("vllm", "spec_decode_num_drafts_total 0.0", "spec_decode_num_accepted_tokens_total 0.0").accept_length
        is None
    )
    assert told("sglang", "spec_accept_length 0.0").accept_length is None
