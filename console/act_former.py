"""What an act has left behind, read from the journal: what can be put back, and what was broken off. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from console.acts import CHECK_STEP, PROVE_STEP, PUT_STEP, START_STEP, STOP_STEP, Verb
from console.journal import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from console.journal import Entry
    from remote.process import Found, FoundProcess

STARTS = frozenset({Verb.START.value, Verb.RESTART.value})


@dataclass(frozen=True, slots=True)
class Former:
    """What ran before an act, and can be put back.

    Attributes:
        kept: Where its script is kept on the host; empty when the act has not replaced it.
        sha256: What that must have; empty when the script was not replaced.
        argv: Its command; empty when it is the config's.
        act: The act that replaced it, in a phrase.
        put_sha256: What the script had that the act has put in place; empty when it has put none.
        process: Boot id, pid and start ticks of the process that ran, whose environment may be kept; None for none.
    """

    kept: str
    sha256: str
    argv: tuple[str, ...]
    act: str
    process: tuple[str, int, int] | None = None
    put_sha256: str = ""


def former_of(entries: Sequence[Entry], argv: Sequence[str]) -> Former | None:
    """What ran before the newest act that replaced a script, a command or an environment; None when none did.

    Args:
        entries: The journal, oldest first.
        argv: The config's command.
    """
    ended = {entry.act for entry in entries if entry.kind == Kind.ACTION}
    for entry in reversed(entries):
        more = entry.more
        # Of an act that was broken off only its steps are there; it may have replaced the script.
        broken_off = entry.kind == Kind.INTENT and entry.act not in ended
        if not (broken_off or entry.kind == Kind.ACTION) or _text(more, "verb") not in STARTS:
            continue
        kept, sha256 = _text(more, "kept"), _text(more, "former_sha256")
        command = _words(more, "former_argv")
        other = command if command and command != _words(more, "argv") and more.get("pid") is not None else ()
        if kept or other or (_words(more, "env_changed") and more.get("pid") is not None):
            named = f"{entry.what[0].lower()}{entry.what[1:]}" if entry.what else "the last act"
            act = f"the {_text(more, 'verb')} that was broken off" if broken_off else named
            back = other if other != tuple(argv) else ()
            put = _text(more, "sha256") if kept else ""
            return Former(kept, sha256 if kept else "", back, act, _former_process(more), put)
    return None


def ends_act(entry: Entry) -> bool:
    """Whether an entry is the end of an act on the job: the server's have no verb of it, nor has an adoption."""
    return entry.kind == Kind.ACTION and "verb" in entry.more


@dataclass(frozen=True, slots=True)
class HalfDone:
    """An act that was begun and of which no end was written.

    Attributes:
        act: What its entries have in common.
        verb: The act.
        step: The step that was begun last.
        at: When.
        user: Who.
        script: The local script that it was to put in place; empty for none.
        sha256: What that had; None when there was no script at all.
        former_sha256: What the host's script had before.
        former: What proves the process that was to be stopped: boot id, pid, ticks; None when there was none.
        rolls_back: It was to put back what an act before it had replaced.
        more: What its entry holds, for the entry that ends it.
    """

    act: str
    verb: Verb
    step: str
    at: datetime
    user: str
    script: str
    sha256: str | None
    former_sha256: str | None
    former: tuple[str, int, int] | None
    rolls_back: bool = False
    more: Mapping[str, Any] = field(default_factory=dict)

    def ended(self, started: FoundProcess | None) -> dict[str, Any]:
        """What the entry says that ends it, where nothing was left to do."""
        kept = {name: value for name, value in self.more.items() if name not in {"step", "console"}}
        if started is None:
            return {**kept, "ok": True}
        return {**kept, "ok": True, "pid": started.pid, "started_at": started.started_at.isoformat()}


def half_done(entries: Sequence[Entry], lives: Callable[[Mapping[str, Any]], bool]) -> HalfDone | None:
    """The newest act that was broken off; None when there is none, or when a later act has come to its end.

    Args:
        entries: The newest entries, in the order in which they were written.
        lives: Whether the console that wrote an entry still runs: then the act is under way.
    """
    for entry in reversed(entries):
        if ends_act(entry):
            return None
        console = entry.more.get("console")
        if entry.kind != Kind.INTENT or not isinstance(console, dict):
            continue
        return None if lives(console) else _half(entry)
    return None


def _half(entry: Entry) -> HalfDone | None:
    more = entry.more
    try:
        verb = Verb(_text(more, "verb"))
    except ValueError:
        return None
    known = _former_process(more)
    shas = [more.get(name) for name in ("sha256", "former_sha256")]
    step, script = _text(more, "step"), _text(more, "script")
    back = more.get("rolls_back") is True
    return HalfDone(entry.act, verb, step, entry.at, entry.user, script, shas[0], shas[1], known, back, more)


@dataclass(frozen=True, slots=True)
class Truth:
    """How a broken-off act stands on the host.

    Attributes:
        lines: What is so, a sentence each.
        verb: What would finish it; None when nothing is left to do.
        started: The process that it has started, when it has.
    """

    lines: tuple[str, ...]
    verb: Verb | None
    started: FoundProcess | None = None


def truth_of(half: HalfDone, found: Found) -> Truth:
    """What the host shows of a broken-off act, and what would finish it.

    Args:
        half: The act.
        found: What runs on the host now, and the script there.
    """
    old = next((one for one in found.processes if _key(one) == half.former), None)
    script = _script_words(half, found.script_sha256)
    if half.verb is Verb.STOP:
        if old is not None:
            return Truth((f"Process {old.pid} still runs; the host may be stopping it.",), Verb.STOP)
        return Truth(("The process that was to be stopped has ended.",), None)
    if old is not None:
        return Truth(
            (f"The old job still runs as process {old.pid}; the host may be stopping it.", script), Verb.RESTART
        )
    if found.processes:
        new = found.processes[0]
        by = "longwait" if new.by_record else "somebody"
        return Truth((f"A job runs: process {new.pid}, started by {by} since.", script), None, new)
    return Truth(("No job runs now.", script), Verb.START)


def _key(process: FoundProcess) -> tuple[str, int, int]:
    return process.identity.boot_id, process.identity.pid, process.identity.start_ticks


def _script_words(half: HalfDone, now: str | None) -> str:
    if half.sha256 is None:
        return "No script belongs to the job."
    if now == half.sha256:
        return "The script on the host is the one that was meant."
    if now == half.former_sha256:
        return "The script on the host is the former one, whole."
    return "The script on the host is neither the former one nor the one that was meant."


def step_words(half: HalfDone) -> str:
    """How far the act was when it was broken off."""
    return {
        PROVE_STEP: "before anything was done",
        STOP_STEP: "when the job was being stopped",
        PUT_STEP: "when the script was being put in place",
        START_STEP: "when the job was being started",
        CHECK_STEP: "after the job was started",
    }.get(half.step, f"at '{half.step}'")


def _former_process(more: Mapping[str, Any]) -> tuple[str, int, int] | None:
    former = more.get("former")
    if not isinstance(former, dict):
        return None
    boot_id, pid, ticks = (former.get(name) for name in ("boot_id", "pid", "ticks"))
    # The journal on the host is others' writing, and these become part of a path there.
    if isinstance(boot_id, str) and isinstance(pid, int) and isinstance(ticks, int):
        return boot_id, pid, ticks
    return None


def _text(more: Mapping[str, Any], name: str) -> str:
    value = more.get(name)
    return value if isinstance(value, str) else ""


def _words(more: Mapping[str, Any], name: str) -> tuple[str, ...]:
    value = more.get(name)
    return tuple(value) if isinstance(value, list) and all(isinstance(word, str) for word in value) else ()
