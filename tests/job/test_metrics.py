"""The metrics page: names of many versions, sums over ranks, and pages that are none."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.job.counter_rate import CounterRate
from console.job.host_events import ServerMetrics
from console.job.metrics import parse_metrics
from console.job.metrics_more import ServingExtras

DATA = Path(__file__).parents[1] / "data" / "logs"


def test_a_recorded_page_of_sglang_with_two_ranks() -> None:
    page = parse_metrics((DATA / "sglang-metrics-dp2.txt").read_text())
    assert page is not None
    assert (page.engine, page.running, page.queue, page.token_usage) == ("sglang", 0, 0, 0.0)
    assert page.gen_throughput == pytest.approx(824.68, abs=0.01)
    assert page.generation_tokens == 5977 + 5977


def test_a_recorded_page_of_vllm() -> None:
    page = parse_metrics((DATA / "vllm-metrics.txt").read_text())
    assert page == ServerMetrics("vllm", 0, 0, 0.0, None, 120_004.0, 248.0, ServingExtras(cache_hit_rate=0.0))


def sglang(*samples: str) -> ServerMetrics:
    page = parse_metrics("\n".join(f"sglang:{sample}" for sample in samples))
    assert page is not None
    return page


def test_dp_ranks_are_summed_and_tp_ranks_are_not() -> None:
    page = sglang(
        'num_running_reqs{dp_rank="0",tp_rank="0",model_name="m"} 20.0',
        'num_running_reqs{dp_rank="0",tp_rank="1",model_name="m"} 20.0',
        'num_running_reqs{dp_rank="1",tp_rank="4",model_name="m"} 30.0',
        'num_queue_reqs{dp_rank="0",tp_rank="0",pp_rank="0",model_name="m"} 7.0',
        'num_queue_reqs{dp_rank="0",tp_rank="0",pp_rank="1",model_name="m"} 7.0',
        'gen_throughput{dp_rank="0",tp_rank="0",model_name="m"} 400.5',
        'gen_throughput{dp_rank="1",tp_rank="4",model_name="m"} 430.5',
    )
    assert (page.running, page.queue, page.gen_throughput) == (50, 7, 831.0)


def test_the_fullest_pool_of_the_fullest_rank_counts() -> None:
    page = sglang(
        'token_usage{dp_rank="0"} 0.30',
        'token_usage{dp_rank="1"} 0.41',
        'mamba_usage{dp_rank="0"} 0.93',
        'swa_token_usage{dp_rank="0"} 0.5',
    )
    assert page.token_usage == 0.93


@pytest.mark.parametrize(
    ("samples", "tokens", "retractions"),
    [
        (['generation_tokens_total{model_name="m"} 5000.0', 'total_retracted_reqs{model_name="m"} 3.0'], 5000.0, 3.0),
        (
            [
                'generation_tokens_total{is_streaming="false"} 5000.0',
                'generation_tokens_total{is_streaming="true"} 1.0',
                'num_retracted_requests_total{tp_rank="0"} 9.0',
                'num_retracted_reqs{tp_rank="0"} 1.0',
            ],
            5001.0,
            9.0,
        ),
        (
            [
                'realtime_tokens_total{mode="decode"} 7.0',
                'realtime_tokens_total{mode="prefill_compute"} 900.0',
                "generation_tokens_total 3.0",
            ],
            7.0,
            None,
        ),
        ([], None, None),
    ],
)
def test_names_of_many_versions(samples: list[str], tokens: float | None, retractions: float | None) -> None:
    page = sglang("num_running_reqs 1.0", *samples)
    assert (page.generation_tokens, page.retractions) == (tokens, retractions)


def test_vllm_engines_are_summed_and_old_names_known() -> None:
    page = parse_metrics(
        'vllm:num_requests_running{engine="0"} 3.0\nvllm:num_requests_running{engine="1"} 4.0\n'
        'vllm:gpu_cache_usage_perc{engine="0"} 0.25\nvllm:num_preemptions_total 2.0\n'
    )
    assert page == ServerMetrics("vllm", 7, None, 0.25, None, None, 2.0)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "404 page not found",
        "{}",
        "python_info 1.0\n",
        'sglang:num_running_reqs{dp_rank="0 1.0',
        "sglang:num_running_reqs nothing",
    ],
)
def test_what_is_no_page(text: str) -> None:
    assert parse_metrics(text) is None


def test_a_figure_that_is_none_is_left_out() -> None:
    assert sglang("token_usage NaN", "num_queue_reqs +Inf", "num_running_reqs 2.0") == ServerMetrics(
        "sglang", 2, None, None, None, None, None
    )


@given(
    st.text()
    | st.text(alphabet='sglang:num_running_reqs{}="0 \n,\\').map(lambda text: f"sglang:num_running_reqs{text}")
)
def test_any_text_never_raises(text: str) -> None:
    parse_metrics(text)


def test_the_parser_is_loaded_only_when_it_is_needed() -> None:
    program = "import console.job.metrics, sys; print('prometheus_client' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=30)
    assert done.stdout.strip() == "False"


def test_a_recorded_page_of_llamacpp() -> None:
    page = parse_metrics((DATA / "llamacpp-metrics.txt").read_text())
    assert page == ServerMetrics("llamacpp", 0, 0, None, None, 0.0, None)


def test_llamacpps_tokens_are_its_steps_times_busy_slots() -> None:
    page = parse_metrics(
        "llamacpp:tokens_predicted_total 400\nllamacpp:n_decode_total 1000\nllamacpp:n_busy_slots_per_decode 3.5\n"
        "llamacpp:requests_processing 4\nllamacpp:requests_deferred 116\n"
    )
    assert page == ServerMetrics("llamacpp", 4, 116, None, None, 3500.0, None)
    old = parse_metrics("llamacpp:tokens_predicted_total 400\nllamacpp:kv_cache_usage_ratio 0.63\n")
    assert old == ServerMetrics("llamacpp", None, None, 0.63, None, 400.0, None)


def test_trtllms_prometheus_page() -> None:
    page = parse_metrics(
        'trtllm_num_requests_running{model_name="m",engine_type="trtllm"} 48.0\n'
        'trtllm_num_requests_waiting{model_name="m",engine_type="trtllm"} 102.0\n'
        'trtllm_kv_cache_utilization{model_name="m",engine_type="trtllm"} 0.82\n'
        'trtllm_generation_tokens_total{model_name="m",engine_type="trtllm"} 5e+06\n'
    )
    assert page == ServerMetrics("trtllm", 48, 102, 0.82, None, 5e6, None)


def test_trtllms_list_of_steps() -> None:
    step = {"iter": 154, "iterLatencyMS": 7.0, "numActiveRequests": 48, "numQueuedRequests": 102}
    pool = {"usedNumBlocks": 600, "maxNumBlocks": 1000, "cacheHitRate": 0.1}
    page = parse_metrics(json.dumps([{"iter": 1, "iterLatencyMS": 9}, {**step, "kvCacheStats": pool}]))
    assert page == ServerMetrics("trtllm", 48, 102, 0.6, None, None, None)
    assert parse_metrics(json.dumps([step])) == ServerMetrics("trtllm", 48, 102, None, None, None, None)


@pytest.mark.parametrize("text", ["[]", "[1]", '[{"a": 1}]', "[" * 100_000, '[{"iterLatencyMS": 1, "kvCacheStats": 3}'])
def test_lists_of_something_else(text: str) -> None:
    assert parse_metrics(text) is None


def test_tgis_page() -> None:
    page = parse_metrics("tgi_batch_current_size 4\ntgi_queue_size 7\ntgi_request_generated_tokens_sum 8123\n")
    assert page == ServerMetrics("tgi", 4, 7, None, None, 8123.0, None)


def test_a_routers_page_is_no_engines() -> None:
    assert parse_metrics('smg_worker_health{worker="http://127.0.0.1:18201"} 1\n') is None


def test_a_series_that_stands_there_twice_counts_once() -> None:
    page = sglang(
        'num_running_reqs{dp_rank="0",pid="7"} 20.0',
        'num_running_reqs{dp_rank="0",pid="9"} 18.0',
        'num_running_reqs{dp_rank="1",moe_ep_rank="0"} 5.0',
        'num_running_reqs{dp_rank="1",moe_ep_rank="1"} 5.0',
    )
    assert page.running == 25


@pytest.mark.parametrize("name", ["token_usage", "full_token_usage", "swa_token_usage", "mamba_usage"])
def test_each_pool_of_a_hybrid_model_is_looked_at(name: str) -> None:
    assert sglang(f'{name}{{dp_rank="0"}} 0.9', 'token_usage{dp_rank="1"} 0.2').token_usage == 0.9


NOW = datetime(2026, 12, 1, tzinfo=UTC)


def after(*values: float | None) -> CounterRate:
    counter = CounterRate()
    for second, value in enumerate(values):
        counter = counter.after(value, NOW + timedelta(seconds=10 * second))
    return counter


def test_a_counter_becomes_a_rate_across_restarts() -> None:
    assert after(100.0).rate is None
    assert (after(100.0, 600.0).rate, after(100.0, 600.0).total) == (50.0, 500.0)
    assert (after(100.0, 600.0, 40.0).rate, after(100.0, 600.0, 40.0).total) == (None, 540.0)
    assert (after(100.0, 600.0, 40.0, 240.0).rate, after(100.0, 600.0, 40.0, 240.0).total) == (20.0, 740.0)
    assert after(100.0, None, 600.0).rate is None
    counter = after(100.0, 600.0)
    assert counter.after(900.0, NOW) is counter


@given(st.lists(st.floats(0, 1e12) | st.none(), max_size=12))
def test_no_rate_is_negative_and_no_total_falls(values: list[float | None]) -> None:
    counter = CounterRate()
    for second, value in enumerate(values):
        later = counter.after(value, NOW + timedelta(seconds=second))
        assert later.rate is None or later.rate >= 0
        assert later.total >= counter.total
        counter = later
