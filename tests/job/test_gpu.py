"""Answers of nvidia-smi and rocm-smi: of whole GPUs, split ones, silent ones, and what stands in their place."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.job.gpu import AMD, MIB, NVIDIA, read_amd, read_busy, read_nvidia
from console.job.machine_facts import FAULTS, GpuReading

H100 = "0, NVIDIA H100 80GB HBM3, 97, 70012, 81559, 61, 640.12, 700.00, Disabled"


def test_the_questions_are_asked_for_tables_without_heads() -> None:
    assert NVIDIA[0] == "nvidia-smi"
    assert NVIDIA[-1] == "--format=csv,noheader,nounits"
    assert AMD[0] == "rocm-smi"
    assert AMD[-1] == "--json"


def test_one_gpu() -> None:
    answer = read_nvidia(f"{H100}\n")
    assert answer.fault == ""
    assert answer.gpus == (GpuReading(0, "NVIDIA H100 80GB HBM3", 0.97, 70012 * MIB, 81559 * MIB, 61.0, 640.12, 700.0),)


def test_eight_gpus_in_any_order_and_noise_of_a_login_before_them() -> None:
    lines = [H100.replace("0, NV", f"{number}, NV", 1) for number in (3, 0, 7, 1, 2, 6, 5, 4)]
    answer = read_nvidia("Welcome to gpu01, 3 updates\n" + "\n".join(lines))
    assert [gpu.index for gpu in answer.gpus] == list(range(8))


@pytest.mark.parametrize("word", ["[N/A]", "[Not Supported]", "[Insufficient Permissions]", "N/A"])
def test_what_a_gpu_does_not_tell_is_not_known(word: str) -> None:
    (gpu,) = read_nvidia(f"0, Tesla T4, {word}, {word}, {word}, 47, {word}, 70.00, {word}").gpus
    assert (gpu.busy, gpu.memory_used, gpu.memory_total, gpu.power_w) == (None, None, None, None)
    assert (gpu.temperature_c, gpu.power_limit_w, gpu.mig, gpu.lost) == (47.0, 70.0, False, False)


def test_a_split_gpu_says_so_and_tells_no_utilisation() -> None:
    (gpu,) = read_nvidia(
        "0, NVIDIA A100-SXM4-80GB, [N/A], 36537, 81920, 33, 87.01, 400.00, Enabled\n"
        "  MIG 1g.10gb     Device  0: (UUID: MIG-0f1e2d3c)\n"
    ).gpus
    assert (gpu.mig, gpu.busy, gpu.lost) == (True, None, False)


def test_a_gpu_that_fell_off_the_bus_is_there_as_lost() -> None:
    answer = read_nvidia(f"{H100}\nUnable to determine the device handle for GPU 0000:3B:00.0: Unknown Error\n")
    assert [(gpu.index, gpu.lost) for gpu in answer.gpus] == [(0, False), (1, True)]
    assert answer.gpus[1].name == "GPU 0000:3B:00.0"
    (gpu,) = read_nvidia("2, NVIDIA H100, [Unknown Error], [Unknown Error], 81559, 30, 70.0, 700.0, Disabled").gpus
    assert gpu.lost


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "no_device"),
        ("No devices were found\n", "no_device"),
        ("Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 535.183\n", "driver"),
        (
            "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that it runs.\n",
            "driver",
        ),
        ('Field "mig.mode.current" is not a valid field to query.\n', "unreadable"),
        ("0, NVIDIA H100, ninety, 1, 2, 3, 4, 5, Disabled", "unreadable"),
    ],
)
def test_why_there_are_no_figures(text: str, fault: str) -> None:
    answer = read_nvidia(text)
    assert (answer.gpus, answer.fault) == ((), fault)
    assert FAULTS[answer.fault]
    assert bool(answer.said) is bool(text)


def test_only_gpus_that_tell_it_count_as_busy_or_idle() -> None:
    assert read_busy(f"{H100}\n1, NVIDIA A100, [N/A], 1, 2, 3, 4, 5, Enabled\n2, T4, 0, 1, 2, 3, 4, 5, [N/A]") == (
        0.97,
        0.0,
    )


CARD = {
    "GPU use (%)": "99",
    "VRAM Total Memory (B)": "206141652992",
    "VRAM Total Used Memory (B)": "180000000000",
    "Temperature (Sensor edge) (C)": "48.0",
    "Temperature (Sensor junction) (C)": "66.0",
    "Current Socket Graphics Package Power (W)": "612.0",
    "Max Graphics Package Power (W)": "750.0",
    "Card Series": "AMD Instinct MI300X",
}


def test_cards_of_amd() -> None:
    old = {"GPU use (%)": "0", "Average Graphics Package Power (W)": "41.0", "Temperature (Sensor edge) (C)": "N/A"}
    text = "WARNING: AMD GPU device(s) is/are in a low-power state.\n" + json.dumps(
        {"card1": old, "card0": CARD, "system": {"Driver version": "6.7"}}
    )
    one, two = read_amd(text).gpus
    assert (one.index, one.name, one.busy, one.temperature_c) == (0, "AMD Instinct MI300X", 0.99, 66.0)
    assert (one.memory_used, one.memory_total) == (180_000_000_000.0, 206_141_652_992.0)
    assert (one.power_w, one.power_limit_w) == (612.0, 750.0)
    assert (two.index, two.busy, two.temperature_c, two.power_w) == (1, 0.0, None, 41.0)


@pytest.mark.parametrize(
    "text", ["{", '{"card0": 7}', "[1, 2]", "ERROR:root:Driver not initialized (amdgpu not found in modules)"]
)
def test_cards_that_are_none(text: str) -> None:
    answer = read_amd(text)
    assert not answer.gpus
    assert answer.fault in {"unreadable", "driver", "no_device"}


FIELD = st.sampled_from(["0", "97", "-1", "nan", "1e400", "[N/A]", "[Unknown Error]", "", "\x1b[31m", "Disabled", "²"])


@given(st.one_of(st.text(), st.lists(st.lists(FIELD, max_size=12).map(", ".join), max_size=5).map("\n".join)))
def test_no_answer_raises_and_no_figure_is_out_of_range(text: str) -> None:
    for answer in (read_nvidia(text), read_amd(text)):
        assert bool(answer.gpus) is (answer.fault == "")
        for gpu in answer.gpus:
            assert gpu.busy is None or 0.0 <= gpu.busy <= 1.0
            assert "\x1b" not in gpu.name
        assert "\x1b" not in answer.said
