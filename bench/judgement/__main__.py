"""How good the judgement is, on stdout.

python -m bench.judgement [accuracy|luck|alarms|lengths|speed|cut] [--runs N] [--seed S] [--jobs 2] [--family F,..]
    [--ways logs,all] [--json FILE]
python -m bench.judgement show --family F --seed S --at start+2h [--out FOLDER]
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from pathlib import Path
from tempfile import gettempdir
from typing import TYPE_CHECKING

from bench.judgement import report
from bench.judgement.families_calm import CALM
from bench.judgement.families_faulty import FAULTS
from bench.judgement.following import ALL
from bench.judgement.luck import luck
from bench.judgement.score_cut import changed_by_cutting
from bench.judgement.scored import WAYS, score, spec_of
from bench.judgement.show import show
from bench.judgement.simulate import simulate

if TYPE_CHECKING:
    from collections.abc import Sequence

_CUTS = 6
"""Moments of each run at which its files are cut."""
_USUAL = {
    "accuracy": ("healthy",),
    "luck": ("healthy",),
    "lengths": ("healthy",),
    "speed": ("healthy",),
    "alarms": ("healthy", *(f"calm:{kind}" for kind in CALM), *(f"fault:{kind}" for kind in FAULTS)),
    "cut": ("healthy", "calm:operator_restart", "fault:server_down", "fault:clock_jump"),
}
"""Families of each command unless others are named."""
_RUNS = {"accuracy": 40, "luck": 40, "lengths": 40, "speed": 4, "alarms": 3, "cut": 3}
"""Runs of each family."""


def main() -> None:
    """Print the figures."""
    said = _parser().parse_args()
    if said.what == "show":
        folder = said.out or Path(gettempdir()) / f"judgement-{said.family.replace(':', '-')}-{said.seed}"
        print(show(said.family or "healthy", said.seed, said.at, folder, said.ways[0]))
        return
    began = time.perf_counter()
    families = said.family.split(",") if said.family else _USUAL[said.what]
    seeds = range(said.seed, said.seed + (said.runs or _RUNS[said.what]))
    if said.what == "cut":
        sys.exit(_cut([(family, seed) for family in families for seed in seeds]))
    if said.what == "luck":
        with ProcessPoolExecutor(said.jobs) as pool:
            print(report.luck(list(pool.map(luck, [(family, seed) for family in families for seed in seeds]))))
        return
    tasks = [(family, seed, tuple(said.ways)) for family in families for seed in seeds]
    with ProcessPoolExecutor(said.jobs) as pool:
        scored = [each for some in pool.map(score, tasks) for each in some]
    for words in [getattr(report, said.what)(scored), *([report.lengths(scored)] if said.what == "accuracy" else [])]:
        print(words)
    hours = sum(each.hours for each in scored if each.way == said.ways[0])
    print(f"{len(tasks)} runs, {hours:.0f} simulated hours, {time.perf_counter() - began:.0f} s")
    if said.json:
        said.json.write_text(json.dumps([asdict(each) for each in scored]), encoding="utf-8")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m bench.judgement", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", nargs="?", default="accuracy", choices=(*_USUAL, "show"))
    parser.add_argument("--runs", type=int, default=0, help="runs of each family")
    parser.add_argument("--seed", type=int, default=1, help="the first one's")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--family", default="", help="one or several, with commas between")
    parser.add_argument("--ways", type=_ways, default=("logs", "all"), help="logs, all, or both: logs,all")
    parser.add_argument("--json", type=Path, help="write all that was noted to this file")
    parser.add_argument("--at", default="end", help="show: moments, as `longwait replay --at` takes them")
    parser.add_argument("--out", type=Path, help="show: the folder for the logs")
    return parser


def _ways(words: str) -> tuple[str, ...]:
    ways = tuple(words.split(","))
    if not ways or any(way not in WAYS for way in ways):
        raise argparse.ArgumentTypeError(f"give one or several of {', '.join(WAYS)}")
    return ways


def _cut(tasks: Sequence[tuple[str, int]]) -> int:
    """Cut files at moments on and off the grid; give the number of readings that change."""
    count = 0
    for family, seed in tasks:
        run = simulate(spec_of(family, seed))
        start, end = run.truth.start, run.truth.watch_until
        times = [start + (end - start) * (number + 0.37) / _CUTS for number in range(_CUTS)]
        changed = changed_by_cutting(run, [float(int(at)) for at in times], ALL)
        count += len(changed)
        print(
            f"{family} seed {seed}: {len(changed)} of {_CUTS} readings change",
            *(f"at {at - start:.0f} s" for at in changed),
        )
    return min(count, 1)


if __name__ == "__main__":
    main()
