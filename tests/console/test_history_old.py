"""Old histories are removed, and nothing else: neither the present one, nor one that is open, nor a stranger's file."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from console import history_file
from console.history import History, run_key
from console.history_file import lock
from console.history_old import KEPT_DAYS, remove_old

if TYPE_CHECKING:
    from collections.abc import Iterator

NOW = datetime.now(UTC)
OLD, YOUNG = KEPT_DAYS + 1, KEPT_DAYS - 1
ROOT = Path(__file__).parents[2]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "runs"


@pytest.fixture
def present(folder: Path) -> Iterator[Path]:
    path = history(folder, "present", 0)
    with closing(History.open(path)):
        yield path


def history(folder: Path, host: str, days: float) -> Path:
    """A run's history, last opened so many days ago."""
    path = folder / f"{run_key(host, ['/log'])}.sqlite3"
    with closing(History.open(path)) as made:
        assert made.save({}, b"state", [], NOW)
    aged(folder, path.stem, days)
    return path


def aged(folder: Path, stem: str, days: float) -> None:
    at = (NOW - timedelta(days=days)).timestamp()
    for file in folder.glob(f"{stem}.*"):
        os.utime(file, (at, at))


def names(folder: Path) -> set[str]:
    return {file.name for file in folder.iterdir()}


def test_what_nobody_has_opened_for_long_goes_whole(folder: Path, present: Path) -> None:
    old, young = history(folder, "old", OLD), history(folder, "young", YOUNG)
    for suffix in (".damaged", ".screen.json", ".screen.damaged"):
        old.with_suffix(suffix).write_text("x")
    old.with_name(old.name + "-wal").write_text("x")
    aged(folder, old.stem, OLD)
    assert remove_old(present, NOW) == (old.stem,)
    assert not list(folder.glob(f"{old.stem}*"))
    assert young.exists()
    assert remove_old(present, NOW) == ()


def test_one_young_file_keeps_the_whole_run(folder: Path, present: Path) -> None:
    old = history(folder, "old", OLD)
    os.utime(old.with_suffix(".lock"))
    assert remove_old(present, NOW) == ()
    assert old.exists()


def test_the_present_one_stays_however_old(folder: Path) -> None:
    path = history(folder, "present", OLD)
    assert remove_old(path, NOW) == ()
    assert path.exists()


def test_one_that_another_console_has_open_stays(folder: Path, present: Path) -> None:
    old = history(folder, "old", OLD)
    with closing(History.open(old)) as other:
        assert other.keeps
        aged(folder, old.stem, OLD)  # a console that has been open for months, on a run that is silent
        assert remove_old(present, NOW) == ()
        assert other.save({}, b"more", [], NOW)
    assert old.exists()


def test_one_that_another_process_has_open_stays(folder: Path, present: Path) -> None:
    old = history(folder, "old", OLD)
    program = "import sys; from pathlib import Path; from console.history import History\n"
    program += "history = History.open(Path(sys.argv[1])); print(history.keeps, flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", program, str(old)], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"True\n"
        aged(folder, old.stem, OLD)
        assert remove_old(present, NOW) == ()
        other.communicate(b"")
    aged(folder, old.stem, OLD)
    assert remove_old(present, NOW) == (old.stem,)


def test_files_of_other_names_and_links_stay(folder: Path, present: Path, tmp_path: Path) -> None:
    stranger, linked = folder / "notes.sqlite3", tmp_path / "elsewhere"
    stranger.write_text("mine")
    linked.write_text("mine")
    (folder / "gpu01-0123456789ab.sqlite3").symlink_to(linked)
    (folder / "gpu02-0123456789ab.lock").mkdir()
    for file in (stranger, linked):
        os.utime(file, (0, 0))
    before = names(folder)
    assert remove_old(present, NOW) == ()
    assert names(folder) == before


def test_a_folder_that_is_not_there_is_no_fault(tmp_path: Path) -> None:
    assert remove_old(tmp_path / "none" / "x.sqlite3", NOW) == ()


def test_a_lock_that_was_removed_between_is_made_anew(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else two consoles could hold the lock of one run: one of the removed file, one of the new."""
    path = history(folder, "run", 0)
    take = history_file._locked
    taken: list[int] = []

    def raced(name: Path) -> int:
        held = take(name)
        if not taken:
            name.unlink()  # as whoever removed the history would have done just before
        taken.append(held)
        return held

    monkeypatch.setattr(history_file, "_locked", raced)
    held = lock(path)
    assert len(taken) == 2
    monkeypatch.setattr(history_file, "_locked", take)
    with closing(History.open(path)) as second:
        assert not second.keeps
    os.close(held)


def test_many_consoles_that_start_at_once_remove_it_once(folder: Path, present: Path) -> None:
    old = history(folder, "old", OLD)
    removed: list[tuple[str, ...]] = []
    gate = threading.Barrier(8)

    def start() -> None:
        gate.wait()
        removed.append(remove_old(present, NOW))

    threads = [threading.Thread(target=start) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not list(folder.glob(f"{old.stem}.sqlite3"))
    assert (old.stem,) in removed
