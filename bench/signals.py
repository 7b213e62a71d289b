"""Signals that reach a stranger, in seeded trials of pid reuse and races around a stop: there must be none.

    python -m bench.signals [--trials N] [--first SEED] [--model]

Each trial makes a job and strangers, lets the host's half of a stop run, and at a chosen call of it lets a process of
the job end and a stranger take its very number (or the group's, or a child's), starts a next run, or has children storm
in and out. It runs in a pid namespace of its own (``unshare``; root or user namespaces), else over a model of the
kernel's table. Exit status 1 when a stranger got a signal, or when something of the job was left.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from bench.signal_world import LAST_PID, NO_MARK, Being, Model, Namespace
from remote.payload import procctl
from remote.payload.procctl import MARK, RefusedError

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench.signal_world import World

RUN = "0123456789abcdef.00000001"
NEXT_RUN = "0123456789abcdef.00000002"
CALLS = {
    "read_stat": 40,
    "read_argv": 1,
    "read_mark": 10,
    "read_uid": 1,
    "boot_id": 1,
    "pidfd_open": 6,
    "pidfd_send_signal": 6,
}
"""What a stop does to the kernel, and about how often: a trial's change comes before or after one of these."""

GRACE_S = 0.06
HALF = 0.5


@dataclass
class Trial:
    """One trial.

    Attributes:
        seed: Its seed.
        kind: What happens in it.
        world: Where.
        chance: The seed's choices.
        job: The job's own process.
        beings: All, the job's and strangers.
        changed: Whether the change came, or the stop was over before.
    """

    seed: int
    kind: str
    world: World
    chance: random.Random
    job: Being
    beings: list[Being] = field(default_factory=list)
    changed: bool = False
    refused: str = ""

    def stranger(self, **how: Any) -> Being:  # noqa: ANN401 - the world's own arguments
        """One that must not get a signal."""
        being = self.world.born(ours=False, **how)
        self.beings.append(being)
        return being

    def member(self, **how: Any) -> Being:  # noqa: ANN401 - the world's own arguments
        """One of the job's."""
        being = self.world.born(ours=True, **{"mark": RUN, **how})
        self.beings.append(being)
        return being

    def gone(self, being: Being) -> None:
        """End one, and forget it."""
        self.world.die(being)
        self.beings.remove(being)

    def vacate(self, being: Being) -> None:
        """End one and all that have its number as their group or session: only then the kernel gives it away."""
        for holder in [being, *self.world.holders(being.pid)]:
            if holder in self.beings:
                self.gone(holder)

    def often(self) -> bool:
        """The seed's choice between two ways."""
        return self.chance.random() < HALF


# -- what happens in the middle of a stop


def job_reused(trial: Trial) -> None:
    """The job ends, and a stranger with the same command line gets its number."""
    trial.vacate(trial.job)
    new = trial.stranger(pid=trial.job.pid, leads=trial.often())
    trial.stranger(parent=new)


def next_run(trial: Trial) -> None:
    """The job ends, and its next run starts: the same command line, the same job's mark, perhaps the same number."""
    same = trial.often()
    if same:
        trial.vacate(trial.job)
    else:
        trial.gone(trial.job)
    new = trial.stranger(pid=trial.job.pid if same else 0, leads=True, mark=NEXT_RUN)
    trial.stranger(parent=new, mark=NEXT_RUN)


def child_reused(trial: Trial) -> None:
    """A child of the job ends, and a stranger with children of its own gets its number."""
    children = [being for being in trial.beings if being.ours and being is not trial.job]
    child = trial.chance.choice(children)
    trial.vacate(child)
    new = trial.stranger(pid=child.pid, leads=trial.often())
    trial.stranger(parent=new)


def kin_reused(trial: Trial) -> None:
    """Two of the job's end; a stranger gets the one's number, its child the other's: the table may show a mixture."""
    ours = sorted((being for being in trial.beings if being.ours and being is not trial.job), key=lambda one: one.pid)
    elder, younger = ours[0], ours[-1]
    trial.vacate(younger)
    if elder in trial.beings:
        trial.vacate(elder)
    new = trial.stranger(pid=elder.pid, leads=trial.often())
    if elder is not younger:
        trial.stranger(pid=younger.pid, parent=new)


def group_reused(trial: Trial) -> None:
    """All of the job end, and a stranger that leads a group of its number comes."""
    for being in [being for being in trial.beings if being.ours]:
        trial.gone(being)
    new = trial.stranger(pid=trial.job.pid, leads=True)
    trial.stranger(parent=new)


def nothing(trial: Trial) -> None:
    """No change."""


KINDS: dict[str, Callable[[Trial], None]] = {
    "job's number reused": job_reused,
    "next run started": next_run,
    "child's number reused": child_reused,
    "kin's numbers reused": kin_reused,
    "group's number reused": group_reused,
    "reused before the stop": nothing,
    "storm of forks": nothing,
}


# -- a trial


def people(seed: int, world: World) -> Trial:
    """A job with a few processes, and strangers around it; then some ticks pass."""
    chance = random.Random(seed)  # noqa: S311 - a seed, no secret
    job = world.born(ours=True, leads=True, mark=RUN)
    trial = Trial(seed, chance.choice([*KINDS]), world, chance, job, [job])
    for _ in range(chance.randint(1, 3)):
        child = trial.member(parent=job, leads=trial.often())
        if trial.often():
            trial.member(parent=child)
    for _ in range(chance.randint(1, 3)):
        trial.stranger(leads=trial.often(), mark=chance.choice([NO_MARK, NEXT_RUN]))
    world.settle()
    return trial


def at_call(trial: Trial, stack: ExitStack) -> None:
    """Let the trial's change come before or after some call of the stop."""
    # The table is read by many calls, and each is a moment of its own: half of the trials go there.
    name = "read_stat" if trial.often() else trial.chance.choice([*CALLS])
    left = trial.chance.randint(1, CALLS[name])
    before = trial.often()
    owner: Any = procctl
    if name.startswith("pidfd"):
        owner = os if name == "pidfd_open" else signal
    real = getattr(owner, name)

    def call(*words: Any) -> Any:  # noqa: ANN401 - the call's own
        nonlocal left
        left -= 1
        now = left == 0
        if now and before:
            change(trial)
        try:
            return real(*words)
        finally:
            if now and not before:
                change(trial)

    stack.enter_context(patch.object(owner, name, call))


def change(trial: Trial) -> None:
    """Let it happen, once."""
    if not trial.changed:
        trial.changed = KINDS[trial.kind] is not nothing
        KINDS[trial.kind](trial)


def run_trial(seed: int, world: World) -> tuple[Trial, list[str]]:
    """Carry one out; what went wrong, a sentence each."""
    trial = people(seed, world)
    request = identity(trial)
    storms = [trial.stranger(leads=True), trial.stranger()] if trial.kind == "storm of forks" else []
    if trial.kind == "reused before the stop":
        trial.world.settle()
        trial.chance.choice([job_reused, next_run, group_reused])(trial)
        trial.changed = True
    for being in [*storms, *([trial.job] if storms else [])]:
        world.storm(being)
    with ExitStack() as stack:
        stack.enter_context(world.patched())
        at_call(trial, stack)
        try:
            procctl.end_job(request, lambda **_: None)
        except RefusedError as refusal:
            trial.refused = refusal.answer["error"]
    wrong = [f"{world.calm(being)} children of a stranger" for being in storms if not world.harmed(being)]
    wrong = [text for text in wrong if not text.startswith("0 ")]
    wrong += [f"a stranger, {being.pid}" for being in trial.beings if not being.ours and world.harmed(being)]
    problems = [f"{trial.kind}: {text} got a signal" for text in wrong]
    # A job whose own process is gone is refused; then what it left is not ended, and is no fault.
    if not trial.refused and not trial.changed:
        left = [being for being in trial.beings if being.ours and not world.harmed(being)]
        problems += [f"{trial.kind}: process {being.pid} of the job was left" for being in left]
    if trial.refused not in {"", "not_ours"}:
        problems.append(f"{trial.kind}: refused as {trial.refused}")
    world.end()
    return trial, problems


def identity(trial: Trial) -> dict[str, Any]:
    """What a console has seen of the job, and asks to be stopped."""
    with trial.world.patched():
        argv, uid = procctl.read_argv(trial.job.pid), procctl.read_uid(trial.job.pid)
    return {
        "boot_id": procctl.boot_id(),
        "pid": trial.job.pid,
        "start_ticks": trial.job.start_ticks,
        "argv": argv,
        "uid": uid,
        "grace_s": GRACE_S,
    }


# -- the program


def namespace() -> list[str] | None:
    """What runs a command in a pid namespace; None when that is not allowed here."""
    if shutil.which("unshare") is None:
        return None
    words = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"]
    for more in ([], ["--user", "--map-root-user"]):
        tried = subprocess.run([*words, *more, "test", "-w", LAST_PID], capture_output=True, check=False)
        if tried.returncode == 0:
            return [*words, *more]
    return None


def main() -> None:
    """Run and print."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--trials", type=int, default=500)
    options.add_argument("--first", type=int, default=0)
    options.add_argument("--model", action="store_true", help="over the model, also where a namespace is allowed")
    options.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    chosen = options.parse_args()
    words = None if chosen.model or chosen.inside else namespace()
    if words is not None:
        again = [
            sys.executable,
            "-m",
            "bench.signals",
            "--inside",
            f"--trials={chosen.trials}",
            f"--first={chosen.first}",
        ]
        sys.exit(subprocess.run([*words, *again], env={**os.environ, MARK: NO_MARK}, check=False).returncode)
    sys.exit(trials(chosen.first, chosen.trials, Namespace() if chosen.inside else Model()))


def trials(first: int, count: int, world: World) -> bool:
    """Run them all and print the counts; whether anything was wrong."""
    began = time.perf_counter()
    done: Counter[str] = Counter()
    changed: Counter[str] = Counter()
    refused = failed = 0
    for seed in range(first, first + count):
        trial, problems = run_trial(seed, world)
        done[trial.kind] += 1
        changed[trial.kind] += trial.changed
        refused += bool(trial.refused)
        failed += bool(problems)
        for problem in problems:
            print(f"seed {seed}: {problem}", flush=True)
    for kind, number in sorted(done.items()):
        print(f"{kind:<28}{number:>6}   in the middle of the stop: {changed[kind]}")
    where = "in a pid namespace" if isinstance(world, Namespace) else "over a model"
    print(f"{'trials ' + where:<28}{count:>6}   in {time.perf_counter() - began:.0f} s, {refused} refused")
    print(f"{'trials that failed':<28}{failed:>6}")
    return failed > 0


if __name__ == "__main__":
    main()
