"""The inference server: KV cache, requests, throughput."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.content import Content

from console.job import units
from console.panels import words
from console.panels.panel import Panel
from widgets.gauge import Gauge
from widgets.plain import clean
from widgets.still import Still
from widgets.trend import Trend

if TYPE_CHECKING:
    from datetime import datetime, tzinfo

    from textual.app import ComposeResult

    from console.job.snapshot import DatasetView, ServerView, Snapshot

PHASES = {
    "weights": "loading weights",
    "kv_cache": "making the KV cache",
    "graphs": "capturing graphs",
    "warmup": "warming up",
    "http_up": "answering HTTP, not ready",
}
"""What the phases of a server's start are called; others stand for themselves."""

SHOWN_RANKS = 8
"""Ranks whose KV usage is written out: one node's GPUs; more would be a line that nobody reads."""


def requests(server: ServerView, current: DatasetView | None, width: int) -> str:
    """Give what runs, what waits, what was retracted and what the job has sent, as far as there is room."""
    sent = ""
    if current is not None and current.concurrency is not None:
        sent = f"{units.count(current.in_flight)} of {units.count(current.concurrency)} in flight"
    return words.fitting(
        width,
        f"{units.count(server.running)} running",
        f"{units.count(server.queue)} queued",
        f"{units.count(server.retractions)} retracted",
        sent,
    )


def ranks(server: ServerView) -> str:
    """Give each DP rank's KV usage; empty for a server of one rank."""
    if len(server.usage_by_rank) < 2:  # noqa: PLR2004 -- one rank is the whole
        return ""
    shown = " ".join(units.share(usage) for _, usage in server.usage_by_rank[:SHOWN_RANKS])
    rest = len(server.usage_by_rank) - SHOWN_RANKS
    return f"KV by rank {shown}" + (f" and {rest} more" if rest > 0 else "")


def capacity(server: ServerView) -> str:
    """Give the size of the KV pool."""
    return f"of {units.tokens(server.capacity_tokens)} tokens" if server.capacity_tokens else ""


def throughput(server: ServerView) -> str:
    """Give tokens a second; the unit stands before the trend."""
    return units.rate(server.gen_throughput).removesuffix(" tok/s")


class ServerPanel(Panel):
    """KV cache as a gauge, requests in words, throughput as a trend."""

    HELP: ClassVar[str] = """\
### Server

- **KV**: the share of the KV cache pool in use, 0 to 1, of the fullest DP rank. Near 1 with a queue is good here: the
  server is as busy as its memory lets it be.
- **running / queued**: requests in the running batch, and those that wait in the server. **in flight**: those that the
  job has sent, of its concurrency.
- **retracted**: requests put back for want of KV cache since the server's start. A few are nothing; a steady stream is
  wasted work.
- **tok/s**: generated tokens a second over all ranks, with its recent course. Level is good. It falls at a dataset's
  end.

Source: the server's log, filled in from `/metrics`. A figure older than a minute says so.
"""
    TITLE: ClassVar[str] = "Server"
    DEFAULT_CSS = """
    ServerPanel {
        Trend > .trend--line { color: $primary 50%; }
        #requests { height: 1; text-wrap: nowrap; text-overflow: ellipsis; }
        #trouble { height: auto; max-height: 2; color: $text-error; text-style: bold; display: none; }
        #trouble.-said { display: block; }
        #ranks { height: auto; max-height: 1; display: none; color: $text-muted; text-wrap: nowrap; }
        #ranks.-said { display: block; }
    }
    """

    def __init__(self, zone: tzinfo | None = None, *, id: str | None = None) -> None:  # noqa: A002 -- textual's name for it
        """Take the operator's zone; None is this machine's."""
        super().__init__(zone, id=id)
        self._gauge = Gauge("KV   ", calm=True, form="share")
        self._trend = Trend("tok/s")
        self._lines = {part: Still(id=part, markup=False) for part in ("requests", "ranks", "trouble")}
        self._written: dict[str, str] = {}

    def compose(self) -> ComposeResult:
        """Lay figures from the most to the least asked for."""
        yield self._lines["trouble"]
        yield self._gauge
        yield self._trend
        yield self._lines["requests"]
        yield self._lines["ranks"]

    def on_resize(self) -> None:
        """Choose again what fits."""
        self._draw()

    def show(self, snapshot: Snapshot, now: datetime) -> None:
        """Draw the server's figures."""
        server = snapshot.server
        current = next((view for view in snapshot.datasets if view.in_flight is not None), None)
        self._gauge.value, self._gauge.note = server.token_usage, capacity(server)
        self._trend.values, self._trend.now = server.throughput_history, throughput(server)
        self._write("requests", requests(server, current, self.content_size.width))
        self._write("ranks", ranks(server))
        self._write("trouble", f"✗ {server.trouble}" if server.trouble else "")
        phase = PHASES.get(server.phase, server.phase) or "not seen yet"
        stale = words.as_of(words.seen_until(server.updated_at, snapshot.link), now, self.zone)
        self.say(
            words.joined(stale, f"{server.engine} {phase}".strip()), old=bool(stale) or words.link_broken(snapshot.link)
        )

    def _write(self, part: str, text: str) -> None:
        """Write one line; a line without text takes no room."""
        if self._written.get(part) != text:
            self._written[part] = text
            self._lines[part].write(Content(clean(text)))
            self._lines[part].set_class(bool(text), "-said")
