"""Writes an act into the journal: before each step what is meant, at its end what came of it.

An act of which only the beginning is there was broken off: its console was killed, or closed between two steps.
"""

from __future__ import annotations

import os
import secrets
import socket
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from console.acts import Verb
from console.journal import Kind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from console.acts import ActionPlan, ActResult, Step
    from console.journal import Entry, Journal

WELL = {Verb.START: "The job is started.", Verb.STOP: "The job is stopped.", Verb.RESTART: "The job is restarted."}
"""What is said when an act has gone well."""


def outcome_of(plan: ActionPlan, failed: Step | None) -> str:
    """What came of an act, as a sentence."""
    if failed is not None:
        return f"{plan.name.capitalize()} failed at '{failed.name}': {failed.detail}"
    return "The job is rolled back." if plan.rolls_back else WELL[plan.verb]


def this_console() -> dict[str, Any]:
    """What tells this program from every other, also from a later one of the same process number."""
    return {"machine": socket.gethostname(), "pid": os.getpid(), "ticks": _ticks(os.getpid())}


def lives(console: Mapping[str, Any]) -> bool:
    """Whether the console that wrote an entry still runs; False for one on another machine, which can't be seen."""
    pid = console.get("pid")
    if console.get("machine") != socket.gethostname() or not isinstance(pid, int):
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return console.get("ticks") == _ticks(pid)


def _ticks(pid: int) -> int | None:
    """When a process began, in clock ticks since boot: field 22 of its ``stat`` (man 5 proc); None without one."""
    with suppress(OSError, ValueError, IndexError):
        # The name in parentheses may hold blanks and parentheses of its own.
        return int(Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[19])
    return None


class Scribe:
    """Writes one act.

    Args:
        journal: Where to; None writes nothing.
        plan: The act.
        before: What the run was before, for a proof that another console takes up.
    """

    def __init__(self, journal: Journal | None, plan: ActionPlan, before: Mapping[str, Any] | None = None) -> None:
        self._journal = journal
        self._plan = plan
        self._before = before
        self._steps: list[dict[str, Any]] = []
        self._result: ActResult | None = None
        self.act = secrets.token_hex(4)
        """What the act's entries have in common."""

    def take(self, step: Step) -> None:
        """Take in a step: before it is carried out, and when it has ended."""
        if step.state != "running":
            self._result = step.result
            self._steps.append({"name": step.name, "state": step.state, "seconds": step.seconds, "detail": step.detail})
        elif not step.detail and self._journal is not None:
            more = {**self._facts(), **_result(self._result), "step": step.name, "console": this_console()}
            self._journal.write(
                Kind.INTENT, f"{self._plan.name}: {step.name}", why=self._plan.why, act=self.act, more=more
            )

    def end(self, failed: Step | None, result: ActResult | None) -> Entry | None:
        """Write what came of it; None without a journal."""
        if self._journal is None:
            return None
        more = {**self._facts(), "ok": failed is None, "steps": self._steps, **_result(result)}
        words = outcome_of(self._plan, failed)
        return self._journal.write(
            Kind.ACTION, self._plan.title, why=self._plan.why, outcome=words, act=self.act, more=more
        )

    def _facts(self) -> dict[str, Any]:
        plan = self._plan
        process = plan.process.identity if plan.process else None
        former = (
            None if process is None else {"boot_id": process.boot_id, "pid": process.pid, "ticks": process.start_ticks}
        )
        return {
            "verb": plan.verb.value,
            "rolls_back": plan.rolls_back,
            "former": former,
            "former_argv": list(process.argv) if process else [],
            "former_sha256": plan.host_sha256,
            "argv": list(plan.argv),
            "env_changed": list(plan.env_changed),
            "script": None if plan.script is None else str(plan.script.absolute()),
            "sha256": plan.wanted_sha256,
            "before": self._before,
        }


def _result(result: ActResult | None) -> dict[str, Any]:
    if result is None:
        return {"pid": None, "started_at": None, "kept": None, "place": ""}
    at = result.started_at
    return {
        "pid": result.pid,
        "started_at": None if at is None else at.isoformat(),
        "kept": result.kept,
        "place": result.place,
    }
