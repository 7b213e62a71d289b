"""Three lamps: the link, the server's health, the job's process."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from console.job import units
from console.panels import words
from console.panels.panel import Panel
from console.panels.server_words import loads
from widgets.drawn import drawn, without_bars
from widgets.lamp import Lamp, LampState

if TYPE_CHECKING:
    from datetime import datetime, tzinfo

    from textual.app import ComposeResult

    from console.job.snapshot import HealthView, JobView, LinkView, Snapshot

TITLE_CELLS = len("health")
"""Cells of the longest lamp's title, so that the words after the titles line up."""


@dataclass(frozen=True, slots=True)
class Usual:
    """How often the host is asked; a figure is old only when the next one is overdue.

    Attributes:
        health_s: Seconds between two health checks.
        look_s: Seconds between two looks at the process list.
    """

    health_s: float = 60.0
    look_s: float = 15.0


Shown = tuple[LampState, str, str]
"""A lamp's state, its word and its detail."""


def link(view: LinkView, now: datetime) -> Shown:
    """Word the connection: its state, since when, why, and when it is tried again."""
    since = units.duration((now - view.since).total_seconds()) if view.since else ""
    if not view.state:
        return "unknown", units.UNKNOWN, "a recording"
    if view.state == "up":
        return "ok", "up", words.joined(units.latency(view.latency_s) if view.latency_s is not None else "", since)
    if view.state == "connecting":
        tried = f"try {view.attempt}" if view.attempt > 1 else ""
        return "busy", "connecting", words.joined(tried, f"for {since}" if since else "", view.reason)
    again = f"next try {units.ahead(view.next_try_at, now)}" if view.next_try_at else ""
    return "bad", view.state, words.joined(again, f"{since} ago" if since else "", view.reason)


def health(
    view: HealthView, now: datetime, usual: Usual = Usual(), *, seen: bool = True, starting: bool = False
) -> Shown:
    """Word the newest health check, with its age; while the host can't be seen it is what was, and no sign of now.

    A server that starts does not answer yet: that is no fault.
    """
    asked = units.age(view.checked_at, now) if view.checked_at else ""
    if view.state == "ok":
        old = not seen or words.is_stale(view.checked_at, now, usual.health_s)
        answer = units.latency(view.latency_s)
        return ("unknown", "was ok", words.joined(answer, asked)) if old else ("ok", "ok", words.joined(answer, asked))
    if view.state == "failing" and seen and starting:
        return "starting", "starting", words.joined("no answer yet", asked)
    if view.state == "failing":
        answer = view.error or f"answered {view.status}"
        since = units.duration((now - view.failing_since).total_seconds()) if view.failing_since else ""
        return ("bad", "failing", words.joined(since, answer, asked)) if seen else ("unknown", "failed", asked)
    return ("busy", "asking", "") if view.state == "asking" else ("unknown", units.UNKNOWN, "not asked yet")


def job(view: JobView, now: datetime, usual: Usual = Usual(), *, seen: bool = True, starting: bool = False) -> Shown:
    """Word the job's process: pid and age, or how it ended; as it was while the host can't be seen.

    Before the run has begun there need be no process: that is no fault.
    """
    if view.alive is None:
        return "unknown", units.UNKNOWN, "not asked yet"
    asked = words.old(view.checked_at, now, usual.look_s)
    if view.alive:
        age = units.duration((now - view.started_at).total_seconds()) if view.started_at else ""
        found = "started by hand" if view.adopted else ""
        detail = words.joined(f"pid {view.pid}", age, asked, found)
        return ("unknown", "was up", detail) if asked or not seen else ("ok", "up", detail)
    if view.finished:
        return "ok" if view.finished == "done" else "warn", "ended", words.joined(view.finished, asked)
    if seen and starting:
        return "starting", "not up", words.joined("the host has no process of the job", asked)
    return "bad" if seen else "unknown", "gone", words.joined("the host has no process of the job", asked)


class StatusPanel(Panel):
    """Link, health and job, a line each."""

    HELP: ClassVar[str] = """\
### Link, health, job

- **link**: the SSH connection to the host: its round trip and how long it has been up. When it is lost, everything
  else on the screen is old and says so; the job goes on without it. `r` connects at once.
- **health**: whether the server's health page last answered 200, how long that took and how long ago. Some seconds
  are ordinary under load. `h` asks now. An answer does not prove that tokens are being made: see tok/s.
- **job**: the process on the host, by the host's process table, with its pid and age.
- `↑`: it starts. While a server loads it does not answer, and before the run there is no job: neither is a fault.
"""
    TITLE: ClassVar[str] = "Link, health, job"
    DEFAULT_CSS = """
    StatusPanel.-broken {
        #health, #job { text-opacity: 80%; }
    }
    """

    def __init__(self, zone: tzinfo | None = None, usual: Usual | None = None, *, id: str | None = None) -> None:  # noqa: A002 -- textual's name for it
        """Take the operator's zone, None is this machine's, and how often the host is asked."""
        super().__init__(zone, id=id)
        self._usual = usual or Usual()
        self._lamps = {name: Lamp(name.ljust(TITLE_CELLS), id=name) for name in ("link", "health", "job")}

    def compose(self) -> ComposeResult:
        """One lamp a line."""
        yield from self._lamps.values()

    def at_hand(self) -> tuple[str, ...]:
        """Give all three as one line."""
        return ("; ".join(without_bars(row) for row in drawn(self)),)

    def show(self, snapshot: Snapshot, now: datetime) -> None:
        """Set the lamps."""
        seen, starting = not words.link_broken(snapshot.link), snapshot.verdict.cause == "starting"
        coming_up = starting and loads(snapshot.server)
        shown = {
            "link": link(snapshot.link, now),
            "health": health(snapshot.health, now, self._usual, seen=seen, starting=coming_up),
            "job": job(snapshot.job, now, self._usual, seen=seen, starting=starting),
        }
        for name, lamp in self._lamps.items():
            lamp.state, lamp.word, lamp.detail = shown[name]
        self.set_class(not seen, "-broken")
