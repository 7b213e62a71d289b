"""A log's lines as a pane draws them: the operator's time, the rank that wrote them, and whether they hold figures."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from widgets.log_view import Level, LogText

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from datetime import datetime, tzinfo

    from console.job.events import LogLine

LEVELS: dict[str, Level] = {"info": "info", "warning": "warning", "error": "error", "quiet": "quiet", "gap": "gap"}
"""A line's level as a pane draws it; any other is drawn like ``info``."""

FIGURES = "figures"
"""The tag of a line that reports load, throughput or progress."""

KINDS: tuple[tuple[str, Callable[[LogText], bool] | None], ...] = (
    ("all lines", None),
    ("figures only", lambda line: FIGURES in line.tags),
    ("warnings and errors", lambda line: line.level in {"warning", "error"}),
)
"""What can be chosen by kind, in the order of the key, with the words for it."""

_STAMP = re.compile(
    r"\[\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d+)?\s*(?P<rank>[^]]*)\]\s*"
    r"|(?P<level>[A-Z]+) \d\d-\d\d \d\d:\d\d:\d\d(?:[.,]\d+)? "
)
"""A line's own stamp in the host's zone (SGLang's and the job's, then vLLM's): the pane writes its own in its place."""

_RANKS = re.compile(r"\b(?:DP|TP|PP|EP)\d+\b")
"""Ranks in SGLang's stamp: ``[2026-02-24 03:19:40 DP1 TP0]``."""

_PROCESS = re.compile(
    r"\((?:EngineCore|Worker)_(?:(?P<rank>(?:DP|TP|PP|EP)\d+)|(?P<number>\d+))\b|\bEngine (?P<of>\d+): "
)
"""Ranks in vLLM's prefixes, ``(EngineCore_DP1 pid=7)`` and ``(EngineCore_1 pid=7)``, and reports, ``Engine 001:``."""

_REPORTS = ("#running-req: ", "#new-token: ", "throughput: ", "tok/s", "tokens/s", "tokens per second", " err)", "%|")
"""What lines with figures hold: schedulers' reports, the job's progress, bars."""

_HEAD = 200
"""Characters within which a prefix names the rank."""

MOST_RANKS = 256
"""Ranks that can be chosen; a log that names more is not one of ranks."""


@lru_cache(maxsize=1024)
def _stamped_rank(words: str) -> str:
    """Give the rank in a stamp: the DP rank when it names several."""
    found: list[str] = _RANKS.findall(words)
    return next((rank for rank in found if rank.startswith("DP")), found[0] if found else "")


def rank_of(text: str, stamped: str = "") -> str:
    """Give the rank that wrote a line, by its DP rank when there are several words; empty when none is named.

    Args:
        text: The line.
        stamped: What stands in its stamp beside the time.
    """
    if stamped and (rank := _stamped_rank(stamped)):
        return rank
    if "Engine" not in text[:_HEAD] and "(Worker_" not in text[:_HEAD]:
        return ""
    process = _PROCESS.search(text, 0, _HEAD)
    if process is None:
        return ""
    return process["rank"] or f"DP{int(process['number'] or process['of'])}"


@lru_cache(maxsize=1024)
def _tags(rank: str, figures: bool) -> frozenset[str]:
    return frozenset(tag for tag in (rank, FIGURES if figures else "") if tag)


def _has_figures(text: str) -> bool:
    for word in _REPORTS:  # noqa: SIM110 - any() with a generator takes three times as long, for every line
        if word in text:
            return True
    return False


def _read(whole: str) -> tuple[str, str]:
    """Give a line without its stamp, and its rank."""
    found = _STAMP.match(whole)
    if found is None:
        return whole, rank_of(whole)
    named, level = found.groups("")
    rest = whole[found.end() :]
    return f"{named or level} {rest}".lstrip() if named or level else rest, rank_of(whole, named)


def as_text(line: LogLine, zone: tzinfo | None) -> LogText:
    """Give a line for a pane: its time in the operator's zone, and the rest of the line without its own stamp.

    Args:
        line: The line.
        zone: The operator's zone; None is this machine's.
    """
    return LineReader(zone).read((line,))[0]


class LineReader:
    """Reads one log's lines for its pane, in order.

    Attributes:
        ranks: The ranks seen so far.
    """

    def __init__(self, zone: tzinfo | None) -> None:
        self.ranks: set[str] = set()
        self._zone = zone
        self._at: datetime | None = None
        self._stamp = ""
        self._rank = ""

    def read(self, lines: Iterable[LogLine]) -> list[LogText]:
        """Give the lines for the pane."""
        return [self._read(line) for line in lines]

    def _read(self, line: LogLine) -> LogText:
        whole = line.text
        if line.at != self._at:  # writing a time costs more than all the rest, and many lines share one
            self._at, self._stamp = line.at, f"{line.at.astimezone(self._zone):%H:%M:%S}"
        text, rank = _read(whole)
        if rank:
            if rank not in self.ranks and len(self.ranks) < MOST_RANKS:
                self.ranks.add(rank)
        elif self._rank and _goes_on(line):
            rank = self._rank
        self._rank = rank
        return LogText(text, LEVELS.get(line.level, "info"), self._stamp, _tags(rank, _has_figures(whole)), whole)


def _goes_on(line: LogLine) -> bool:
    """Tell whether a line belongs to the one before, like those of a traceback: it begins with no stamp or prefix."""
    return line.level != "quiet" and not line.text.startswith(("[", "(", "INFO", "WARNING", "ERROR"))


def in_order(ranks: Iterable[str]) -> list[str]:
    """Give ranks by name, then by number."""
    return sorted(ranks, key=lambda rank: (rank[:2], int(rank[2:] or 0)))
