"""The journal beside the job: ``.longwait/journal.jsonl`` in the run's folder on the host, which has others' acts, too.

Each console has a journal of its own, on its machine; what is written here as well is seen by those of other machines.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from console.journal import entry_of
from console.journal_file import objects_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from console.journal import Entry
    from remote.host import Host

PLACE = ".longwait/journal.jsonl"
"""Where, in the job's folder."""

APPEND = (
    "import os,sys\n"
    "line=sys.stdin.buffer.read()\n"
    "path=os.path.join(os.path.expanduser(sys.argv[1]),'.longwait')\n"
    "os.makedirs(path,0o755,exist_ok=True)\n"
    "held=os.open(os.path.join(path,'journal.jsonl'),os.O_RDWR|os.O_APPEND|os.O_CREAT,0o644)\n"
    "size=os.fstat(held).st_size\n"
    "half=size and os.pread(held,1,size-1)!=b'\\n'\n"
    "whole=(b'\\n' if half else b'')+line\n"
    "sys.exit(None if os.write(held,whole)==len(whole) else 'the disk is full')\n"
)
"""As ``console.journal_file.add_line``, on the host; readable by others there, since it is about their job too."""


async def add_there(host: Host, python: str, run_dir: str, entry: Entry) -> None:
    """Add an entry on the host, in one step.

    Args:
        host: Where.
        python: The Python there.
        run_dir: The job's folder.
        entry: What.

    Raises:
        RemoteError: It could not be added, or its answer was lost.
    """
    line = json.dumps(entry.values(), separators=(",", ":")).encode("ascii") + b"\n"
    await host.run([python, "-ISBc", APPEND, run_dir], stdin=line, timeout_s=15.0)


NEWEST_BYTES = 262_144
"""Of the file's end, what a console reads: some 500 entries."""

ALL_BYTES = 4_194_304
"""What `longwait journal` reads: the acts and notes of years."""

READ = (
    "import os,sys\n"
    "path=os.path.join(os.path.expanduser(sys.argv[1]),'.longwait','journal.jsonl')\n"
    "size=int(sys.argv[2])\n"
    "try:\n"
    " file=open(path,'rb')\n"
    "except FileNotFoundError:\n"
    " sys.exit()\n"
    "end=file.seek(0,2)\n"
    "file.seek(max(0,end-size))\n"
    "said=file.read()\n"
    "sys.stdout.buffer.write(said if end<=size else said.partition(b'\\n')[2])\n"
)
"""Prints the whole lines in the file's last bytes."""


async def read_there(host: Host, python: str, run_dir: str, size: int = NEWEST_BYTES) -> tuple[Entry, ...]:
    """The newest entries on the host, oldest first; lines that are none are passed over.

    Args:
        host: Where.
        python: The Python there.
        run_dir: The job's folder.
        size: Bytes of the file's end that are read.

    Raises:
        RemoteError: It could not be read. A file that is missing holds nothing.
    """
    done = await host.run([python, "-ISBc", READ, run_dir, str(size)], timeout_s=15.0)
    return tuple(entry for values in objects_of(done.stdout) if (entry := entry_of(values)) is not None)


def key_of(entry: Entry) -> str:
    """What is the same of an entry in every journal that it was written into."""
    return json.dumps(entry.values(), sort_keys=True)


def merged(local: Iterable[Entry], there: Iterable[Entry]) -> tuple[Entry, ...]:
    """The entries of both journals by their times, each once: what was written into both is the same in both."""
    found: dict[str, Entry] = {}
    for entry in (*local, *there):
        found.setdefault(key_of(entry), entry)
    return tuple(sorted(found.values(), key=lambda entry: entry.at))


def others(local: Iterable[Entry], there: Iterable[Entry]) -> tuple[Entry, ...]:
    """The entries on the host that no console of this machine has written, oldest first."""
    own = {key_of(entry) for entry in local}
    return tuple(entry for entry in merged((), there) if key_of(entry) not in own)
