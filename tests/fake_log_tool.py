r"""Stands for journalctl, docker and kubectl in tests; behaves as their manuals and real runs of them say.

    fake_log_tool.py KIND STORE ARGUMENT...

STORE is a file to which a test appends entries as JSON, one a line: ``{"at": nanoseconds, "stream": 1 or 2, "text":
bytes as latin-1}``. ``{"end": status}`` ends the tool with a word on stderr. Only the standard library: it runs on the
host's side, with whatever Python is there.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

NS = 1_000_000_000
PART = 16_384
LINE_MAX = 49_152


def options(kind: str, words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(kind)
    parser.add_argument("-f", "--follow", action="store_true")
    if kind == "journalctl":
        parser.add_argument("-u")
        parser.add_argument("--output")
        parser.add_argument("--output-fields")
        parser.add_argument("--cursor")
        parser.add_argument("-n", "--lines", type=int)
        for flag in ("--all", "--no-pager", "--quiet", "--no-tail", "--merge"):
            parser.add_argument(flag, action="store_true")
        return parser.parse_args(words)
    assert words.pop(0) == "logs"
    parser.add_argument("--timestamps", action="store_true")
    parser.add_argument("--tail")
    parser.add_argument("--since")
    if kind == "kubectl":
        parser.add_argument("--since-time")
    parser.add_argument("name")
    return parser.parse_args(words)


def entries(store: Path, *, follow: bool) -> Iterator[dict[str, Any]]:
    """The entries, and those that come later."""
    with store.open() as file:
        half = ""
        while True:
            half += file.readline()
            if half.endswith("\n"):
                yield json.loads(half)
                half = ""
            elif follow:
                time.sleep(0.01)
            else:
                return


def write(stream: int, data: bytes) -> None:
    out = sys.stdout.buffer if stream == 1 else sys.stderr.buffer
    out.write(data)
    out.flush()


def stamp(at: int, kind: str) -> bytes:
    """Docker pads the fraction to nine digits; Kubernetes cuts its zeros."""
    text = f"{datetime.fromtimestamp(at // NS, UTC):%Y-%m-%dT%H:%M:%S}"
    fraction = f"{at % NS:09d}" if kind == "docker" else f"{at % NS:09d}".rstrip("0")
    return f"{text}.{fraction}Z ".encode() if fraction else f"{text}Z ".encode()


def container(kind: str, chosen: argparse.Namespace, found: Iterator[dict[str, Any]]) -> int:
    since = chosen.since_time if kind == "kubectl" else chosen.since
    # Docker compares whole stamps; Kubernetes passes on no fraction of a second.
    begin = int(datetime.fromisoformat(since).timestamp()) * NS if since else 0
    for entry in found:
        if "end" in entry:
            write(2, b"Error response from daemon: the container is gone\n" if entry["end"] else b"")
            return int(entry["end"])
        if entry["at"] < begin:
            continue
        text = entry["text"].encode("latin-1") + b"\n"
        parts = [text[at : at + PART] for at in range(0, len(text), PART)] if kind == "docker" else [text]
        mark = stamp(entry["at"], kind) if chosen.timestamps else b""
        write(entry["stream"], b"".join(mark + part for part in parts))
    return 0


def message(text: bytes) -> str | list[int]:
    """Journald's JSON gives bytes as numbers unless all is printable UTF-8."""
    try:
        words = text.decode()
    except UnicodeDecodeError:
        return list(text)
    return words if all(char.isprintable() or char in "\t\n" for char in words) else list(text)


def place_of(nth: int, entry: dict[str, Any], part: int) -> str:
    return f"s=abc;i={nth:x};t={entry['at']:x};p={part}"


def parts_of(entry: dict[str, Any]) -> range:
    return range(0, max(1, len(entry["text"])), LINE_MAX)


def is_there(cursor: str, store: Path) -> bool:
    kept = (entry for entry in entries(store, follow=False) if "end" not in entry)
    return any(
        place_of(nth, entry, part) == cursor for nth, entry in enumerate(kept) for part, _ in enumerate(parts_of(entry))
    )


def journal(chosen: argparse.Namespace, found: Iterator[dict[str, Any]], store: Path) -> int:
    begun = chosen.cursor is None
    # An entry that was vacuumed is known by its time alone: the first one after it.
    after = None if begun or is_there(chosen.cursor, store) else int(chosen.cursor.split(";t=")[1].split(";")[0], 16)
    for nth, entry in enumerate(found):
        if "end" in entry:
            write(2, b"Failed to follow the journal\n")
            return int(entry["end"])
        text = entry["text"].encode("latin-1")
        for part, at in enumerate(parts_of(entry)):
            place = place_of(nth, entry, part)
            begun = begun or place == chosen.cursor or (after is not None and entry["at"] > after)
            fields = {"MESSAGE": message(text[at : at + LINE_MAX]), "__CURSOR": place, "_BOOT_ID": "b"}
            if at + LINE_MAX < len(text):
                fields["_LINE_BREAK"] = "line-max"
            if begun:
                write(1, json.dumps(fields).encode() + b"\n")
    return 0


def main() -> int:
    kind, store, *words = sys.argv[1:]
    chosen = options(kind, words)
    found = entries(Path(store), follow=chosen.follow)
    return journal(chosen, found, Path(store)) if kind == "journalctl" else container(kind, chosen, found)


if __name__ == "__main__":
    sys.exit(main())
