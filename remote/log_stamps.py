"""Lines with a time stamp before them, as docker, podman and kubectl give them: each once, over any number of starts.

A tool that is started anew at a time gives lines again that were delivered. Each line is known by its stamp and its
bytes; what was delivered in the last seconds is remembered and left out when it comes again. So neither equal stamps,
nor lines a little out of order, nor the changing order of several containers in one output lose or double one.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from datetime import datetime
from functools import lru_cache
from hashlib import blake2b

from remote.log_commands import NANOSECONDS
from remote.log_cursor import RECORD_BYTES, CommandCursor

OVERLAP_NS = 2 * NANOSECONDS
"""How far out of order stamps may be. stdout and stderr of a container are stamped by two threads."""
MAX_SEEN = 8192
"""Lines that are remembered at most: 128 KiB."""
PART_BYTES = 16_384
"""Docker keeps longer lines in parts of this size, and stamps each of them (moby issue 37681)."""
PIECE_BYTES = 64 * (PART_BYTES + 31)
"""A line of more than about 1 MiB is delivered in pieces, which bounds the memory. 64 of Docker's parts with their
stamps, so that a piece begins at a part."""
_MAX_HELD = 65_536

# The prefixes are those of `kubectl logs --prefix` and of `docker compose logs`.
_STAMP = re.compile(
    rb"(\[[^\]\n]{1,200}\] |[^\s|]{1,100} +\| )?"
    rb"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)(?: |(?=\r?\n))"
)


@lru_cache(maxsize=16)
def _seconds(text: bytes, zone: bytes) -> int | None:
    """Seconds since 1970 of a stamp without its fraction; None when there is no such time."""
    try:
        return int(datetime.fromisoformat((text + zone).decode("ascii")).timestamp())
    except ValueError:
        return None


class StampedReader:
    """Takes the tool's output, cut anywhere; gives the log's new lines.

    Args:
        resume: Where the output before ended.
        keep_stamps: Leave the stamps in the lines.
    """

    def __init__(self, resume: CommandCursor | None = None, *, keep_stamps: bool = False) -> None:
        self._keep_stamps = keep_stamps
        self._rest = b""
        self._within = False
        self._given = False
        self._stamp = 0
        self._held: list[bytes] = []
        self._resumed = resume is not None and resume.kind == "stamped"
        was = resume if resume is not None and self._resumed else CommandCursor("stamped")
        self._oldest, self._latest = was.oldest, was.latest
        self._seen = deque(was.seen[at : at + RECORD_BYTES] for at in range(0, len(was.seen), RECORD_BYTES))
        self._repeats = Counter(self._seen)
        self._begun = not self._seen
        self.missed = False
        """None of the lines that were delivered last came again: lines after them may be gone with them."""
        # The tool begins at a whole second, so these are lines that came before those that are remembered.
        self._before = range(was.oldest // NANOSECONDS * NANOSECONDS, was.oldest)

    @property
    def cursor(self) -> CommandCursor:
        """The place after all that was given."""
        return CommandCursor("stamped", "", self._oldest, self._latest, b"".join(self._seen))

    @property
    def last_words(self) -> bytes:
        """The last line without a stamp, which is the tool's own."""
        return self._rest.strip() or next((line.strip() for line in reversed(self._held) if line.strip()), b"")

    def feed(self, data: bytes) -> bytes:
        """Take more output; give the new lines that are whole now."""
        *lines, rest = (self._rest + data).split(b"\n")
        given = [text for line in lines for text in self._line(line + b"\n")]
        while len(rest) >= PIECE_BYTES:
            given.append(self._piece(rest[:PIECE_BYTES]))
            rest = rest[PIECE_BYTES:]
        self._rest = rest
        return b"".join(given)

    def _line(self, line: bytes) -> list[bytes]:
        if len(line) <= PIECE_BYTES:
            return [self._piece(line)]
        return [self._piece(line[at : at + PIECE_BYTES]) for at in range(0, len(line), PIECE_BYTES)]

    def _piece(self, piece: bytes) -> bytes:
        """What a line, or a piece of a very long one, gives."""
        first, self._within = not self._within, not piece.endswith(b"\n")
        match = _STAMP.match(piece)
        seconds = _seconds(match[2], match[4]) if match else None
        if match and seconds is not None:
            self._stamp = seconds * NANOSECONDS + int((match[3] or b"").ljust(9, b"0"))
        elif first:
            return self._unstamped(piece)
        if not self._is_new(piece):
            return b""
        # Of several containers in one output, another one's lines may come before those that were delivered.
        self.missed = self.missed or not (self._begun or (match and match[1]))
        self._begun = True
        text = piece if match is None or self._keep_stamps else _bare(piece, match)
        text = b"".join([*self._release(), text])
        self._given = True
        return text

    def _is_new(self, piece: bytes) -> bool:
        """Whether it was not delivered yet; then it is remembered."""
        if self._stamp in self._before:
            self._begun = True
            return False
        record = self._stamp.to_bytes(8, "big") + blake2b(piece, digest_size=8).digest()
        if self._repeats and self._repeats[record] > 0:
            self._repeats[record] -= 1
            self._begun = True
            return False
        self._remember(record)
        return True

    def _remember(self, record: bytes) -> None:
        stamp = self._stamp
        if not self._latest:
            # A line a little older may follow. Older ones before a start near the end may then come too, but late.
            self._latest = stamp
        elif stamp < self._latest - OVERLAP_NS:
            # The host's clock was set back.
            self._seen.clear()
            self._oldest = self._latest = stamp
        self._latest = max(self._latest, stamp)
        self._oldest = max(self._oldest, self._latest - OVERLAP_NS)
        self._seen.append(record)
        while len(self._seen) > MAX_SEEN:
            self._oldest = max(self._oldest, _stamp_of(self._seen.popleft()) + 1)
        while self._seen and _stamp_of(self._seen[0]) < self._oldest:
            self._seen.popleft()

    def _unstamped(self, line: bytes) -> bytes:
        """Words of the tool itself, as a rule: held, since the last of them say why it ended."""
        self._held.append(line)
        return b"".join(self._release()) if sum(map(len, self._held)) > _MAX_HELD else b""

    def _release(self) -> list[bytes]:
        """What was held; not what the tool says each time that it is started."""
        if not self._held:
            return []
        held, self._held = self._held, []
        return held if self._given or not self._resumed else []


def _stamp_of(record: bytes) -> int:
    return int.from_bytes(record[:8], "big")


def _bare(piece: bytes, match: re.Match[bytes]) -> bytes:
    """The text without our stamps; also those between the parts of a long line."""
    text = piece[match.end() :]
    parts = [match[1] or b""]
    while len(text) > PART_BYTES and (inner := _STAMP.match(text, PART_BYTES)) and not inner[1]:
        parts.append(text[:PART_BYTES])
        text = text[inner.end() :]
    return b"".join([*parts, text])
