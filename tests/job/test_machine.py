"""The host's own figures: the command runs in any sh, what hangs hides only itself, and the disk's end is foretold."""

from __future__ import annotations

import subprocess
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.job import machine
from console.job.events import Stamped
from console.job.machine import query, read_machine
from console.job.machine_facts import GpuAnswer, GpuReading, MachineMissing, MachineSeen
from console.job.machine_state import MachineState, apply_machine, fall_rate
from console.job.machine_view import machine_view
from console.job.plan import Plan
from console.job.series import Point
from console.job.server_events import ServerLoad
from console.job.state import State, apply
from console.job.tracker import Tracker

if TYPE_CHECKING:
    from pathlib import Path

T0 = datetime(2026, 2, 24, tzinfo=UTC)
GIB = 1024.0**3
GPU_LINE = "0, NVIDIA H100 80GB HBM3, 97, 70012, 81559, 61, 640.12, 700.00, Disabled"
ANSWER = f"""Last login: yesterday
longwait-machine load 12.31 11.92 11.20 3/2103 991
longwait-machine cores 128
longwait-machine memory MemTotal:       2113929216 kB
longwait-machine memory MemAvailable:   1677721600 kB
longwait-machine disk Filesystem     1024-blocks       Used Available Capacity Mounted on
longwait-machine disk /dev/my disk    8000000000 7000000000 500000000      94% /data/my runs
longwait-machine disk status 0
longwait-machine nvidia {GPU_LINE}
longwait-machine nvidia status 0
longwait-machine end
"""


def test_an_answer() -> None:
    seen = read_machine(ANSWER)
    assert seen is not None
    assert (seen.load, seen.cores) == ((12.31, 11.92, 11.2), 128)
    assert (seen.memory_total, seen.memory_available) == (2113929216 * 1024, 1677721600 * 1024)
    assert (seen.disk, seen.disk_size, seen.disk_free) == ("/data/my runs", 7_500_000_000 * 1024, 500_000_000 * 1024)
    assert seen.gpus is not None
    assert seen.gpus.gpus[0].busy == 0.97


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("longwait-machine gpus missing\n", "no_tool"),
        ("longwait-machine nvidia status 124\n", "hang"),
        ("longwait-machine nvidia status 137\n", "hang"),
        ("longwait-machine load 1 2 3\n", "hang"),  # the rest was waited for in vain
        ("longwait-machine nvidia No devices were found\nlongwait-machine nvidia status 6\n", "no_device"),
        ("longwait-machine amd {}\nlongwait-machine amd status 0\n", "no_device"),
    ],
)
def test_gpus_that_did_not_answer(text: str, fault: str) -> None:
    seen = read_machine(text)
    assert seen is not None
    assert seen.gpus is not None
    assert seen.gpus.fault == fault


def test_gpus_that_were_not_asked_for_are_no_fault() -> None:
    seen = read_machine("longwait-machine gpus missing\n", "none")
    assert seen is not None
    assert seen.gpus is None


def test_a_disk_that_hangs_says_so_and_the_rest_is_there() -> None:
    seen = read_machine(
        f"longwait-machine load 1 2 3\nlongwait-machine nvidia {GPU_LINE}\nlongwait-machine nvidia status 0\n"
    )
    assert seen is not None
    assert (seen.disk_free, seen.disk_fault) == (None, "the disk did not answer in time")
    assert seen.gpus is not None
    assert seen.gpus.gpus


@given(
    st.text(), st.lists(st.sampled_from([*ANSWER.splitlines(), "longwait-machine disk x 1 2 9" + "9" * 30, "\x1b[2J"]))
)
def test_no_answer_raises(text: str, lines: list[str]) -> None:
    read_machine(text)
    read_machine("\n".join(lines))


# -- the command itself


def ran(tools: dict[str, str], folder: Path, *, asked: str, gpus: machine.Gpus = "auto") -> MachineSeen:
    """Run the command in a plain sh with these programs before all others."""
    bin_ = folder / "bin"
    bin_.mkdir()
    for name, body in tools.items():
        (bin_ / name).write_text(f"#!/bin/sh\n{body}\n")
        (bin_ / name).chmod(0o755)
    done = subprocess.run(
        query(asked, gpus),
        capture_output=True,
        text=True,
        check=True,
        env={"PATH": f"{bin_}:/usr/bin:/bin"},
        timeout=30,
    )
    seen = read_machine(done.stdout, gpus)
    assert seen is not None
    assert done.stdout.rstrip().endswith(f"{machine.MARK} end")
    return seen


def test_it_runs_on_a_host_without_gpus_for_a_folder_that_is_not_there_yet(tmp_path: Path) -> None:
    seen = ran({}, tmp_path, asked=str(tmp_path / "not yet" / "out"))
    assert seen.load is not None
    assert seen.cores
    assert seen.memory_available
    assert seen.disk.startswith("/")
    assert seen.disk_free
    assert seen.gpus in {GpuAnswer(fault="no_tool"), None} or seen.gpus is not None


def test_a_folder_with_a_strange_name_is_no_option_and_no_command(tmp_path: Path) -> None:
    seen = ran({}, tmp_path, asked="-rf; touch broken $(touch broken)")
    assert seen.disk_free
    assert not (tmp_path / "broken").exists()


def test_it_asks_nvidias_tool(tmp_path: Path) -> None:
    seen = ran({"nvidia-smi": f'echo "{GPU_LINE}"'}, tmp_path, asked="/")
    assert seen.gpus is not None
    assert [gpu.name for gpu in seen.gpus.gpus] == ["NVIDIA H100 80GB HBM3"]


def test_it_asks_amds_tool_when_that_is_wanted(tmp_path: Path) -> None:
    tools = {"nvidia-smi": "exit 9", "rocm-smi": 'echo \'{"card0": {"GPU use (%)": "55"}}\''}
    seen = ran(tools, tmp_path, asked="/", gpus="amd")
    assert seen.gpus is not None
    assert [gpu.busy for gpu in seen.gpus.gpus] == [0.55]


def test_a_tool_that_hangs_is_ended_and_the_rest_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "PART_S", 1)
    seen = ran({"nvidia-smi": "exec sleep 60"}, tmp_path, asked="/")
    assert seen.gpus is not None
    assert seen.gpus.fault == "hang"
    assert seen.disk_free


# -- folded


def seen(free: float, **more: object) -> MachineSeen:
    return MachineSeen(disk="/data", disk_size=1000 * GIB, disk_free=free, **more)  # type: ignore[arg-type]


def folded(*frees: float, every_s: float = 60.0) -> MachineState:
    state = MachineState()
    for place, free in enumerate(frees):
        state = apply_machine(state, seen(free), T0 + timedelta(seconds=every_s * place))
    return state


def test_a_disk_that_fills_steadily_is_full_when_it_is() -> None:
    state = folded(*(100 * GIB - minute * GIB for minute in range(60)))
    view = machine_view(state)
    assert view.disk_full_at is not None
    assert (view.disk_full_at - T0).total_seconds() == pytest.approx(100 * 60, rel=1e-6)


def test_a_third_of_wild_figures_moves_the_end_little() -> None:
    frees = [100 * GIB - minute * GIB - (7 * GIB if minute % 3 == 1 else 0) for minute in range(60)]
    view = machine_view(folded(*frees))
    assert view.disk_full_at is not None
    assert (view.disk_full_at - T0).total_seconds() == pytest.approx(100 * 60, rel=0.12)


@pytest.mark.parametrize(
    "frees",
    [
        [100 * GIB] * 60,
        [100 * GIB + (GIB if minute % 2 else 0) for minute in range(60)],
        [50 * GIB + minute * GIB for minute in range(60)],
        [100 * GIB - minute * GIB for minute in range(4)],
    ],
    ids=["level", "wavering", "rising", "too few"],
)
def test_a_disk_that_does_not_fill_has_no_end(frees: list[float]) -> None:
    assert machine_view(folded(*frees)).disk_full_at is None


def test_what_was_before_somebody_cleaned_up_does_not_count() -> None:
    fell = [100 * GIB - minute * GIB for minute in range(60)]
    assert machine_view(folded(*fell, *[500 * GIB] * 20)).disk_full_at is None


def test_another_disk_begins_anew() -> None:
    state = folded(*(100 * GIB - minute * GIB for minute in range(60)))
    other = MachineSeen(disk="/other", disk_size=10 * GIB, disk_free=5 * GIB)
    assert machine_view(apply_machine(state, other, T0 + timedelta(hours=2))).disk_full_at is None


@given(st.lists(st.tuples(st.floats(0, 1e5), st.floats(0, 1e15)), max_size=120), st.floats(1, 1e15))
def test_a_rate_is_never_a_rise(points: list[tuple[float, float]], size: float) -> None:
    rate = fall_rate([Point(time_s, value, 0.0) for time_s, value in sorted(points)], size)
    assert rate is None or rate < 0


def test_an_answer_that_is_no_newer_changes_nothing() -> None:
    state = folded(5 * GIB, 4 * GIB)
    assert apply_machine(state, seen(3 * GIB), T0 + timedelta(seconds=60)) is state
    assert apply_machine(state, MachineMissing("late"), T0) is state


def test_a_clock_that_was_put_back_does_not_stop_the_figures() -> None:
    state = folded(5 * GIB, 4 * GIB)
    back = apply_machine(state, seen(3 * GIB), T0 - timedelta(hours=1))
    assert (machine_view(back).disk_free, back.at) == (3 * GIB, T0 - timedelta(hours=1))
    later = apply_machine(back, seen(2 * GIB), T0 - timedelta(minutes=59))
    assert machine_view(later).disk_free == 2 * GIB


def test_a_disk_that_does_not_answer_has_no_end() -> None:
    state = folded(*(100 * GIB - minute * GIB for minute in range(60)))
    assert machine_view(state).disk_full_at is not None
    hung = MachineSeen(disk_fault="the disk did not answer in time")
    assert machine_view(apply_machine(state, hung, T0 + timedelta(hours=1))).disk_full_at is None


def test_gpus_that_were_left_alone_keep_their_last_word_and_its_time() -> None:
    hang = seen(GIB, gpus=GpuAnswer(fault="hang"))
    state = apply_machine(MachineState(), hang, T0)
    state = apply_machine(state, seen(GIB, gpus=None), T0 + timedelta(minutes=1))
    view = machine_view(state)
    assert (view.at, view.gpus_at) == (T0 + timedelta(minutes=1), T0)
    assert "stuck" in view.gpu_fault


def test_a_host_that_could_not_be_asked_says_why_and_the_old_figures_stay() -> None:
    state = State()
    gpus = GpuAnswer((GpuReading(0, busy=0.5),))
    told: tuple[MachineSeen | MachineMissing, ...] = (
        seen(GIB, gpus=gpus),
        MachineMissing("The host ran out of processes."),
    )
    for place, event in enumerate(told):
        state = apply(state, Stamped(T0 + timedelta(minutes=place), event))
    view = machine_view(state.machine)
    assert (view.missing, view.disk_free, view.at) == ("The host ran out of processes.", GIB, T0)
    assert view.gpus[0].busy == 0.5


def test_a_restarted_console_still_knows_how_the_disk_fills_and_how_throughput_went() -> None:
    plan = Plan(zone=UTC)
    before, after = Tracker(plan), Tracker(plan)
    for minute in range(30):
        before.note(seen(100 * GIB - minute * GIB), T0 + timedelta(minutes=minute))
    for second in range(0, 2000, 5):
        load = ServerLoad("", 50, 98, 0.82, 114_000, 846.0 if second != 100 else 12.0)
        before.note(load, T0 + timedelta(seconds=second))
    assert after.thaw(before.freeze())
    now = T0 + timedelta(minutes=34)
    assert after.snapshot(now).machine == before.snapshot(now).machine
    assert after.snapshot(now).machine.disk_full_at is not None
    curve = after.snapshot(now).server.curve
    assert curve is not None
    cut = curve.cut("all", now)
    assert cut is not None
    assert cut.low == 12.0
