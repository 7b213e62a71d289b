"""A real disk that is full: a small one in memory, where this user may mount; else the files of a program are bounded."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextmanager
def small_disk(folder: Path, kib: int) -> Iterator[Path | None]:
    """A disk of a size at a folder; None where this user may not mount one."""
    folder.mkdir(parents=True, exist_ok=True)
    tried = None
    if os.geteuid() == 0 and shutil.which("mount"):
        words = ["mount", "-t", "tmpfs", "-o", f"size={kib}k", "tmpfs", str(folder)]
        tried = subprocess.run(words, capture_output=True, check=False)
    if tried is None or tried.returncode:
        yield None
        return
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(folder: Path) -> None:
    """Write until no byte more fits."""
    with (folder / "filler").open("wb", buffering=0) as file:
        for size in (65_536, 1):
            try:
                while file.write(b"x" * size) == size:
                    continue
            except OSError:
                continue


def bounded_python(folder: Path, kib: int) -> str:
    """A Python whose files can't grow beyond a size (RLIMIT_FSIZE): a write beyond it fails as on a full disk."""
    path = folder / "bounded python"
    path.write_text(f'#!/bin/bash\ntrap "" XFSZ\nulimit -f {kib}\nexec {sys.executable} "$@"\n')
    path.chmod(0o755)
    return str(path)
