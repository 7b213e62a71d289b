"""The inference server: KV cache, requests, throughput."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

from textual.content import Content
from textual.reactive import var

from console.job.spans import SPANS
from console.kept import SPAN
from console.panels import words
from console.panels.panel import Panel
from console.panels.server_words import (
    edge,
    extras,
    heading,
    phase,
    rank_row,
    ranks,
    requests,
    span_words,
    stale_s,
    throughput,
    usage_note,
)
from widgets.chart import Chart
from widgets.gauge import Gauge
from widgets.gauges import Gauges
from widgets.plain import clean
from widgets.still import Still
from widgets.trend import Trend

if TYPE_CHECKING:
    from datetime import datetime, tzinfo

    from textual.app import ComposeResult

    from console.job.curve import Curve, Cut
    from console.job.snapshot import ServerView, Snapshot
    from console.kept import Kept

__all__ = ["ServerPanel", "ranks", "requests", "throughput"]

DEFAULT_SPAN = "1 h"
"""What the chart shows until another span is chosen: long enough for a slow fall, short enough for a sudden one."""


class ServerPanel(Panel):
    """KV cache as a gauge, requests in words, throughput as a chart, or as one line where there is less room."""

    HELP: ClassVar[str] = """\
### Server

- **KV**: the share of the KV cache pool in use, 0 to 1, of the fullest DP rank; the mean of several beside it, and all
  of them where the pane fills the screen (`3` twice). Near 1 with a queue is good in a batch run: the server is as busy
  as its memory lets it be, and the gauge says "full is fine" while tok/s holds. It warns only when retractions rise
  and tok/s falls: at least three in ten minutes, twice as many as in the rest of the hour, and less than the usual
  throughput's share that `judgement.throughput_low` sets.
- **running / queued**: requests in the running batch, and those that wait in the server. **in flight**: those that the
  job has sent, of its concurrency.
- **retracted**: requests put back for want of KV cache since the server's start, and in the last hour (/h). A few are
  nothing; a steady stream is wasted work.
- **tok/s**: generated tokens a second over all ranks: now, usual (the median of the last two hours with as many running
  requests) and the peak. Level is good. It falls at a dataset's end.
- **The chart**: tok/s over 5 min, 1 h or all; `[` and `]` choose. Each column goes from the least to the greatest
  figure in it, so a dip of seconds shows in a chart of days. A gap is a time of more than 45 s in which nothing was
  reported. While less is known than was chosen, it shows what there is, and says so.
- **accept length**: tokens per request and step of speculative decoding, 1.00 being no gain. **prefix cache hits**: the
  share of the prompt tokens found in the cache since the server's start. **waiting**: further queues, by kind. Each is
  shown where the log or the metrics page tells it.

Source: the server's log, filled in from `/metrics`. A figure older than a minute says so, and
one older than some seconds once the run has ended.
"""
    TITLE: ClassVar[str] = "Server"
    DEFAULT_CSS = """
    ServerPanel {
        Trend > .trend--line { color: $primary 70%; }
        #chart { display: none; }
        #all-ranks { display: none; margin-bottom: 1; }
        #requests, #extras { height: 1; text-wrap: nowrap; text-overflow: ellipsis; }
        #trouble { height: auto; max-height: 2; color: $text-error; text-style: bold; display: none; }
        #trouble.-said { display: block; }
        #ranks { height: auto; max-height: 1; display: none; color: $text-muted; text-wrap: nowrap; }
        #ranks.-said { display: block; }
        #extras { display: none; color: $text-muted; }
        &.-maximized {
            #all-ranks.-said { display: block; }
            #ranks { display: none; }
            #chart { display: block; height: 1fr; min-height: 5; max-height: 24; }
            #trend { display: none; }
            #extras.-said { display: block; }
        }
    }
    """

    span: var[str] = var(DEFAULT_SPAN)
    """Which span of time the chart shows; a key of ``SPANS``."""

    def __init__(self, zone: tzinfo | None = None, *, id: str | None = None) -> None:  # noqa: A002 -- textual's name for it
        """Take the operator's zone; None is this machine's."""
        super().__init__(zone, id=id)
        self._gauge = Gauge("KV   ", calm=True, form="share", warn=0.0)
        self._all = Gauges(id="all-ranks")
        self._trend = Trend("tok/s", id="trend")
        self._chart = Chart(id="chart")
        self._lines = {part: Still(id=part, markup=False) for part in ("requests", "ranks", "extras", "trouble")}
        self._written: dict[str, str] = {}
        self._cut: tuple[tuple[Curve | None, str, int], Cut | None] = ((None, "", 0), None)

    def compose(self) -> ComposeResult:
        """Lay figures from the most to the least asked for."""
        yield self._lines["trouble"]
        yield self._gauge
        yield self._all
        yield self._trend
        yield self._chart
        yield self._lines["requests"]
        yield self._lines["ranks"]
        yield self._lines["extras"]

    def on_resize(self) -> None:
        """Choose again what fits."""
        self._draw()

    def watch_span(self) -> None:
        """Show the other span."""
        self._draw()

    def change_span(self, way: int) -> None:
        """Show a shorter (-1) or a longer (1) span of time; beyond either end nothing changes."""
        names = tuple(SPANS)
        self.span = names[min(len(names) - 1, max(0, names.index(self.span) + way))]

    def restore(self, kept: Kept) -> None:
        """Show the span that was shown last."""
        seconds = kept.get(SPAN, SPANS[DEFAULT_SPAN])
        self.span = next((name for name, each in SPANS.items() if each == (seconds or math.inf)), DEFAULT_SPAN)

    def remember(self, kept: Kept) -> None:
        """Remember the span."""
        kept.put(SPAN, 0.0 if math.isinf(SPANS[self.span]) else SPANS[self.span])

    def show(self, snapshot: Snapshot, now: datetime) -> None:
        """Draw the server's figures."""
        server, width = snapshot.server, self.content_size.width
        self._gauge.value, self._gauge.note = server.token_usage, usage_note(server, width)
        self._gauge.calm = server.kv != "strained"
        self._show_curve(server, snapshot.at, now)
        self._all.rows = tuple(rank_row(rank) for rank in server.rank_views) if len(server.rank_views) > 1 else ()
        self._all.set_class(bool(self._all.rows), "-said")
        self._write("requests", requests(server, snapshot.datasets, width))
        self._write("ranks", ranks(server))
        self._write("extras", extras(server))
        self._write("trouble", f"✗ {server.trouble}" if server.trouble else "")
        told_at = words.seen_until(server.updated_at, snapshot.link)
        stale = words.as_of(told_at, now, self.zone, stale_s(snapshot, now))
        self.say(words.joined(stale, phase(server)), old=bool(stale) or words.link_broken(snapshot.link))

    def _show_curve(self, server: ServerView, at: datetime, now: datetime) -> None:
        """Draw throughput, in the chart and in the line that stands for it: one of the two is in sight."""
        cut, made = self._cut_of(server.curve, at), throughput(server)
        span = span_words(cut, self.span)
        self._trend.values = server.throughput_history if server.curve is None else cut.middles() if cut else ()
        self._trend.label, self._trend.now = f"tok/s {span}" if cut else "tok/s", made
        self._trend.between = (cut.low, cut.high) if cut and cut.low is not None and cut.high is not None else None
        self._chart.columns = cut.columns if cut else ()
        self._chart.title, self._chart.note = heading(server, cut, self.span, self.content_size.width)
        self._chart.begins, self._chart.ends = edge(cut, now, self.zone), "now" if cut else ""

    def _cut_of(self, curve: Curve | None, at: datetime) -> Cut | None:
        """The curve over the chosen span; made anew when there is news, or when two seconds are over."""
        known, cut = self._cut
        key = (curve, self.span, int(at.timestamp()) // 2)
        if known[0] is None or curve is None or known[1:] != key[1:] or known[0].series is not curve.series:
            cut = curve.cut(self.span, at) if curve is not None else None
            self._cut = (key, cut)
        return cut

    def _write(self, part: str, text: str) -> None:
        """Write one line; a line without text takes no room."""
        if self._written.get(part) != text:
            self._written[part] = text
            self._lines[part].write(Content(clean(text)))
            self._lines[part].set_class(bool(text), "-said")
