"""Every sample of every format: it is read by its own format, and no earlier one swallows it."""

from __future__ import annotations

import re

import pytest

from console.job.bars import BARS
from console.job.formats import QUIET, Format, always, first, quiet
from console.job.job_events import RunFinished
from console.job.llamacpp_formats import FORMATS as LLAMACPP
from console.job.runner_formats import FORMATS as RUNNER
from console.job.runner_trouble import TROUBLES
from console.job.server_log import BARS as START_BARS
from console.job.sglang_formats import FORMATS as SGLANG
from console.job.sglang_formats import RETRACTION
from console.job.trtllm_formats import FORMATS as TRTLLM
from console.job.vllm_formats import FORMATS as VLLM
from console.job.vllm_formats import PREEMPTION

LISTS: dict[str, tuple[Format, ...]] = {
    "runner": (*RUNNER, *BARS, *TROUBLES),
    "sglang": (RETRACTION, *SGLANG),
    "vllm": (PREEMPTION, *VLLM),
    "llamacpp": LLAMACPP,
    "trtllm": TRTLLM,
    "start bars": START_BARS,
}
SAMPLES = [
    pytest.param(formats, shape, sample, id=f"{name}-{shape.name}-{number}")
    for name, formats in LISTS.items()
    for shape in formats
    for number, sample in enumerate(shape.samples)
]


@pytest.mark.parametrize(("formats", "shape", "sample"), SAMPLES)
def test_a_sample_is_read_by_its_own_format(formats: tuple[Format, ...], shape: Format, sample: str) -> None:
    found = first(formats, sample)
    assert found is not None
    assert found[0].name == shape.name


@pytest.mark.parametrize("formats", LISTS.values(), ids=LISTS)
def test_every_format_has_samples_and_a_name_of_its_own(formats: tuple[Format, ...]) -> None:
    assert all(shape.samples for shape in formats)
    names = [shape.name for shape in formats]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(("formats", "shape", "sample"), SAMPLES)
def test_a_needle_never_hides_a_sample(formats: tuple[Format, ...], shape: Format, sample: str) -> None:
    del formats
    assert shape.needle in sample


def test_a_format_without_its_needle_is_not_tried() -> None:
    shape = Format("x", "needle", re.compile("."), always(RunFinished("done")), ("needle",))
    assert shape.read("hay") is None
    assert shape.read("needle") == (RunFinished("done"),)


def test_a_quiet_format_is_known_and_says_nothing() -> None:
    shape = Format("x", "", re.compile("^known"), quiet, ("known",))
    assert shape.read("known line") == QUIET
    assert shape.read("other") is None
    assert first((shape,), "other") is None
