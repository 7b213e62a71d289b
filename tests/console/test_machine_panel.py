"""The host's pane: a row for each GPU or one for all, the disk's end, and why something is not known."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, timedelta

import pytest

from console.app import LongwaitApp
from console.facts import SnapshotTaken
from console.job.machine_facts import GpuReading
from console.job.machine_values import machine_line, machine_values
from console.job.machine_view import MachineView
from console.job.reading import reading
from console.job.snapshot import Eta
from console.panels import machine_words as words
from tests import samples
from tests.console.fakes_ui import FakeFeed
from tests.samples import GIB, gpus, machine
from tests.widgets.stage import screen_text

NOW = samples.NOW


async def text_of(machine: MachineView, size: tuple[int, int], *keys: str) -> str:
    feed = FakeFeed()
    app = LongwaitApp(feed, None, host="gpu01", clock=lambda: NOW, zone=UTC)
    async with app.run_test(size=size) as pilot:
        feed.put(SnapshotTaken(replace(samples.healthy(), machine=machine)))
        for _ in range(3):
            await pilot.pause()
        await pilot.press(*keys)
        for _ in range(3):
            await pilot.pause()
        return screen_text(app)


async def test_it_is_not_shown_at_80_columns_until_its_key_is_pressed() -> None:
    assert "GiB free" not in await text_of(machine(), (80, 24))
    whole = await text_of(machine(), (80, 24), "6")
    assert all(f"GPU{number}" in whole for number in range(8))
    assert "74.2 of 79.6 GiB" in whole
    assert "512.0 GiB free" in whole
    assert "12.3 of 128 cores" in whole
    assert "GPU3" not in await text_of(machine(), (80, 24), "6", "6")


async def test_a_window_has_all_gpus_in_one_row_and_a_wall_has_each() -> None:
    window = await text_of(machine(), (120, 36))
    assert "8 GPUs" in window
    assert "97 %  68 °C  594 of 637 GiB" in window
    assert "GPU3" not in window
    wall = await text_of(machine(), (200, 50))
    assert all(f"GPU{number}" in wall for number in range(8))
    assert "640 of 700 W" in wall


@pytest.mark.parametrize(
    ("machine", "said"),
    [
        (MachineView(), "Host · not asked yet"),
        (MachineView(missing="The host ran out of processes."), "Host · The host ran out of processes."),
        (machine(0, gpu_fault="the host has no nvidia-smi and no rocm-smi"), "GPU: the host has no nvidia-smi"),
        (machine(at=NOW - timedelta(minutes=4), gpus_at=NOW - timedelta(minutes=4)), "Host · 4 min old"),
        (machine(gpus_at=NOW - timedelta(minutes=3)), "GPU figures: 3 min ago"),
        (
            machine(disk_size=None, disk_free=None, disk_fault="the disk did not answer in time"),
            "the disk did not answer",
        ),
    ],
)
async def test_what_is_not_known_is_said_with_its_reason(machine: MachineView, said: str) -> None:
    assert said in await text_of(machine, (80, 24), "6")


def test_the_disk_warns_when_it_is_full_before_the_run_is_done() -> None:
    eta = Eta(at=NOW + timedelta(hours=20), low=NOW + timedelta(hours=18), high=NOW + timedelta(hours=25))
    for hours, level in ((30, ""), (24, "warn"), (10, "warn")):
        row = words.disk_row(machine(disk_full_at=NOW + timedelta(hours=hours)), eta, NOW)
        assert row.level == level
        assert ("!" in "".join(row.figures)) is bool(level)
    assert words.disk_row(machine(), eta, NOW).figures[1] == "full --"
    assert words.disk_row(machine(disk_free=0.0), eta, NOW).level == "danger"


def test_a_hot_gpu_and_a_lost_one_are_told_in_words_and_signs() -> None:
    hot = words.gpu_summary((replace(gpus(1)[0], temperature_c=88.0),))
    assert (hot.label, hot.level) == ("1 GPU", "warn")
    assert "88 °C !" in hot.figures
    lost = words.gpu_summary((*gpus(7), GpuReading(7, "GPU 0000:3B:00.0", lost=True)))
    assert lost.level == "danger"
    assert "✗ 1 of 8 do not answer" in lost.figures
    assert words.gpu_row(GpuReading(7, lost=True)).level == "danger"


def test_a_split_gpu_shows_that_it_is_split() -> None:
    row = words.gpu_row(GpuReading(0, "NVIDIA A100", mig=True, memory_used=GIB, power_w=87.0))
    assert row.figures[:4] == ("MIG", "1.0 GiB", "--", "87 W")
    assert row.value is None


def test_the_reading_has_it_under_machine() -> None:
    told = reading(replace(samples.healthy(), machine=machine(1, disk_full_at=NOW + timedelta(hours=3))))["machine"]
    assert told["gpus"][0]["temperature_c"] == 61.0
    assert told["disk_free_bytes"] == 512 * 1024**3
    assert told["disk_full_at"] == "2026-02-24T06:19:40+00:00"
    assert machine_values(MachineView())["at"] is None


def test_one_line_for_people() -> None:
    line = machine_line(machine(disk_full_at=NOW + timedelta(hours=3)), NOW)
    assert line.startswith(
        "Host: 512.0 GiB free on /data, full in 3 h at this pace; memory 20 % used; load 12.3 on 128"
    )
    assert machine_line(MachineView(), NOW) == ""
