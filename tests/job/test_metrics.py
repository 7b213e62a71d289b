"""The metrics page: names of many versions, sums over ranks, and pages that are none."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.job.host_events import ServerMetrics
from console.job.metrics import parse_metrics

DATA = Path(__file__).parents[1] / "data" / "logs"


def test_a_recorded_page_of_sglang_with_two_ranks() -> None:
    page = parse_metrics((DATA / "sglang-metrics-dp2.txt").read_text())
    assert page is not None
    assert (page.engine, page.running, page.queue, page.token_usage) == ("sglang", 0, 0, 0.0)
    assert page.gen_throughput == pytest.approx(824.68, abs=0.01)
    assert page.generation_tokens == 5977 + 5977


def test_a_recorded_page_of_vllm() -> None:
    page = parse_metrics((DATA / "vllm-metrics.txt").read_text())
    assert page == ServerMetrics("vllm", 0, 0, 0.0, None, 120_004.0, 248.0)


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
