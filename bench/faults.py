"""Seeded faults between a numbered log and its reader, over a real OpenSSH server: what was done, what failed.

    python -m bench.faults [--seeds N] [--first SEED] [--faults PER_SEED]

Each seed is a run of its own (``tests/faults.py``); one that fails can be run alone: ``--first SEED --seeds 1``.
Exit status 1 when a line was lost, doubled, damaged or out of order without a gap that was told.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from tests.fault_server import server
from tests.faults import FAULTS_PER_SEED, run_seed

if TYPE_CHECKING:
    from tests.fault_judge import Outcome


def runs(first: int, seeds: int, faults: int) -> list[Outcome]:
    """Every seed's outcome; failures are printed as they come."""
    outcomes = []
    with tempfile.TemporaryDirectory() as folder, server(Path(folder)) as over:
        for seed in range(first, first + seeds):
            outcome = run_seed(seed, over, Path(folder, str(seed)), faults)
            outcomes.append(outcome)
            for problem in outcome.problems:
                print(f"seed {seed}: {problem}", flush=True)
    return outcomes


def table(outcomes: list[Outcome], took_s: float) -> None:
    """Print the counts."""
    faults = sum((outcome.faults for outcome in outcomes), Counter[str]())
    for kind, count in faults.most_common():
        print(f"{kind.replace('_', ' '):<28}{count:>10,}")
    print(f"{'faults':<28}{faults.total():>10,}")
    print(f"{'lines written':<28}{sum(outcome.lines for outcome in outcomes):>10,}")
    print(f"{'gaps told':<28}{sum(outcome.gaps for outcome in outcomes):>10,}")
    print(f"{'lines destroyed unread':<28}{sum(outcome.missing for outcome in outcomes):>10,}")
    failed = [outcome.seed for outcome in outcomes if outcome.problems]
    print(f"{'seeds':<28}{len(outcomes):>10,}   in {took_s:.0f} s")
    print(f"{'seeds failed':<28}{len(failed):>10,}   {failed or ''}")


def main() -> None:
    """Run and print."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seeds", type=int, default=300)
    options.add_argument("--first", type=int, default=0)
    options.add_argument("--faults", type=int, default=FAULTS_PER_SEED)
    chosen = options.parse_args()
    began = time.perf_counter()
    outcomes = runs(chosen.first, chosen.seeds, chosen.faults)
    table(outcomes, time.perf_counter() - began)
    sys.exit(any(outcome.problems for outcome in outcomes))


if __name__ == "__main__":
    main()
