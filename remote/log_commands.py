"""Commands that print a log and follow it: which ones are known, and how they are told where to begin.

A known tool is run with options of ours, by which each line can be told from all others:

- ``journalctl``: entries as JSON, each with journald's own cursor. It is resumed with ``--cursor``, whose entry comes
  once more, rather than with ``--after-cursor``: before systemd 255 that one could skip an entry when there is a filter
  as well (systemd issue 30288).
- ``docker``, ``podman``, ``nerdctl`` (also with ``compose``), ``kubectl``, ``oc``: each line with its time stamp. They
  are resumed a little before the last stamp, and what was delivered is left out. The time is a whole second, since
  kubectl passes on no more (kubernetes issue 77856).

Any other command is run as it is, and starts anew after a cut.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from remote.log_options import names_of, words_without
from remote.log_tools import TOOLS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from remote.log_cursor import CommandCursor, CursorKind
    from remote.log_tools import Tool

LINE_BYTES = 128
"""Bytes of a usual log line, to turn an amount of bytes into a count of lines."""
NANOSECONDS = 1_000_000_000
_WRAPPERS = frozenset({"sudo", "doas", "env", "nice", "ionice"})


@dataclass(frozen=True, slots=True)
class LogCommand:
    """A command that prints a log.

    Attributes:
        head: Its words up to the place where our options go; all of them for an unknown command.
        rest: Its words after that.
        tool: What it is; None for an unknown command.
    """

    head: tuple[str, ...]
    rest: tuple[str, ...] = ()
    tool: Tool | None = None

    @property
    def kind(self) -> CursorKind:
        """How a place in its output is known."""
        return self.tool.kind if self.tool else "plain"

    @property
    def wants_stamps(self) -> bool:
        """Whether the user asked for the tool's stamps; else they are ours, and taken off again."""
        return self.tool is not None and not names_of(self.tool.after.split(self.rest)).isdisjoint({"t", "timestamps"})

    def argv(self, resume: CommandCursor | None = None, last_bytes: int | None = None) -> list[str]:
        """The words to run.

        Args:
            resume: Where to go on; one of another kind is not looked at.
            last_bytes: Without it: begin about this many bytes before the end, unless the user's own words say where.
                None: at the beginning.
        """
        if self.tool is None:
            return [*self.head]
        items = self.tool.after.split(self.rest)
        if resume is not None and resume.kind == self.tool.kind and (resume.place or resume.latest):
            where, dropped = _resuming(self.tool, resume), self.tool.replaced | self.tool.bounds
        else:
            bounded = not names_of(items).isdisjoint(self.tool.bounds)
            where, dropped = [] if bounded else [_beginning(self.tool, last_bytes)], self.tool.replaced
        return [*self.head, *self.tool.ours, *where, *words_without(items, dropped)]


def _beginning(tool: Tool, last_bytes: int | None) -> str:
    """The option for the first start."""
    return tool.everything if last_bytes is None else f"{tool.count}{max(1, last_bytes // LINE_BYTES)}"


def _resuming(tool: Tool, cursor: CommandCursor) -> list[str]:
    """The options for going on; all lines from there."""
    if cursor.kind == "journal":
        # Following shows the present boot alone unless journals are merged; the host may have been booted since.
        return [f"{tool.since}{cursor.place}", tool.everything, "--merge"]
    since = datetime.fromtimestamp(cursor.oldest // NANOSECONDS, UTC)
    return [f"{tool.since}{since:%Y-%m-%dT%H:%M:%SZ}", tool.everything]


def log_command(argv: Sequence[str]) -> LogCommand:
    """What a command line is; ``sudo`` and the like may stand before a known tool."""
    words = tuple(argv)
    for at, word in enumerate(words):
        if tool := TOOLS.get(PurePosixPath(word).name):
            return _known(words, at + 1, tool)
        if PurePosixPath(word).name not in _WRAPPERS and not word.startswith("-") and "=" not in word:
            break
    return LogCommand(words)


def _known(words: tuple[str, ...], begin: int, tool: Tool) -> LogCommand:
    """A known tool's command line, cut after its word ``logs``; an unknown command when that is not there."""
    if tool.before is None:
        return LogCommand(words[:begin], words[begin:], tool)
    at = begin
    while at < len(words):
        items, at = tool.before.take(words, at)
        if items[-1].words == ("logs",):
            return LogCommand(words[:at], words[at:], tool)
    return LogCommand(words)
