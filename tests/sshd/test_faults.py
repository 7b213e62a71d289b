"""Seeded faults at random moments: what a reader keeps of a numbered log is 1..n, or a gap is told in its place."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from tests.fault_judge import Outcome, judge
from tests.fault_reader import Ledger
from tests.fault_server import Server, server
from tests.faults import Run, run_seed
from tests.sshd.conftest import SSHD

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.sshd, pytest.mark.usefixtures("sshd")]  # the fixture says what is missing

SEEDS = range(12)


@pytest.fixture(scope="module")
def over(sshd: object, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server of these tests' own: it is killed in them."""
    assert sshd, SSHD
    with server(tmp_path_factory.mktemp("faults")) as running:
        yield running


@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_is_lost_or_doubled(over: Server, tmp_path: Path, seed: int) -> None:
    outcome = run_seed(seed, over, tmp_path / "run")
    assert outcome.lines > 0
    assert outcome.problems == [], (outcome, (tmp_path / "run" / "reader.err").read_text())


def test_the_seeds_hold_every_fault() -> None:
    chosen: Counter[str] = Counter()
    for seed in SEEDS:
        chosen.update(Run.faults_of(seed))
    assert set(chosen) == {fault.__name__ for fault in Run.FAULTS}


@pytest.mark.parametrize(
    ("told", "problem"),
    [
        ([["lines", 1, 9]], ""),
        ([["lines", 1, 4], ["reset", "rotated", 0], ["lines", 5, 9]], ""),
        ([["lines", 1, 3], ["reset", "truncated", None], ["lines", 6, 9]], ""),
        ([["lines", 1, 3], ["lines", 6, 9]], "lines 4 to 5 are missing"),
        ([["lines", 1, 3], ["reset", "rotated", 0], ["lines", 6, 9]], "lines 4 to 5 are missing"),
        ([["lines", 1, 3], ["reset", "truncated", None], ["lines", 5, 9]], "lines 4 to 4 are missing"),
        ([["lines", 1, 3], ["reset", "truncated", 5], ["lines", 6, 9]], "lines 4 to 5 are missing"),
        ([["lines", 1, 5], ["lines", 5, 9]], "came again"),
        ([["reset", "replaced", None], ["lines", 1, 2], ["reset", "replaced", None], ["lines", 3, 9]], "2 gaps"),
    ],
)
def test_the_judge_sees_what_is_wrong(told: list[list[object]], problem: str) -> None:
    outcome = Outcome(0, Counter({"delete": 1}))
    judge(Ledger(told), [5], outcome)
    assert len(outcome.problems) == bool(problem)
    assert problem in "".join(outcome.problems)
