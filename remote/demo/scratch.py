"""The demo's scratch folder: made with a marker in it, and only with that marker ever removed.

It holds throwaway private keys. The console removes it in order; when the console was killed, its demo host does.
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from pathlib import Path

GOODBYE = b"end\n"
"""What the console says on the host's stdin when it removes the folder itself."""
_MARKER = ".longwait-demo"
_TEXT = "This folder is a longwait demo's own: it is removed with all that is in it when the demo ends.\n"


def make() -> Path:
    """A new folder for a demo, for this user alone."""
    folder = Path(tempfile.mkdtemp(prefix="longwait-demo-")).resolve()
    (folder / _MARKER).write_text(_TEXT, encoding="ascii")
    return folder


def is_ours(folder: Path) -> bool:
    """Whether a folder was made by ``make``: no link, and the marker is in it."""
    marker = folder / _MARKER
    try:
        return not folder.is_symlink() and not marker.is_symlink() and marker.read_text(encoding="ascii") == _TEXT
    except (OSError, ValueError):
        return False


def remove(folder: Path) -> bool:
    """Remove a folder that ``make`` made, and nothing else; False when something of it is left.

    The marker goes last, so that what is left is known for what it is.
    """
    if not is_ours(folder):
        return not folder.exists()
    for entry in folder.iterdir():
        if entry.name == _MARKER:
            continue
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry, ignore_errors=True)
        else:
            with contextlib.suppress(OSError):  # what is left is told below
                entry.unlink()
    if all(entry.name == _MARKER for entry in folder.iterdir()):
        shutil.rmtree(folder, ignore_errors=True)
    return not folder.exists()
