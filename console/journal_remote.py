"""The journal beside the job: an entry added to ``.longwait/journal.jsonl`` in the run's folder on the host."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
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
