"""Who may write a run's history, and what is done with a file that can't be used."""

from __future__ import annotations

import fcntl
import os
import sqlite3
from contextlib import closing, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

VERSION = 3
"""Of the tables below, in the file's ``user_version``; a file of another version is moved aside, but for those that
``UPGRADES`` knows."""

BUSY_S = 5.0
"""Seconds to wait for somebody who looks into the file with a tool of their own."""

_COMMANDS = """
CREATE TABLE commands (source TEXT NOT NULL, command TEXT NOT NULL, cursor TEXT NOT NULL,
                       PRIMARY KEY (source, command)) WITHOUT ROWID;
"""
_PAST = """
CREATE TABLE changes  (at REAL NOT NULL, verdict TEXT NOT NULL, cause TEXT NOT NULL, headline TEXT NOT NULL);
CREATE TABLE marks    (at REAL NOT NULL, kind TEXT NOT NULL, what TEXT NOT NULL, name TEXT NOT NULL,
                       count INTEGER NOT NULL, who TEXT NOT NULL);
CREATE TABLE readings (at REAL PRIMARY KEY, packed BLOB NOT NULL);
"""
UPGRADES = {1: _COMMANDS + _PAST, 2: _PAST}
"""What makes a file of the present version out of one of a former version."""

SCHEMA = f"""
{_COMMANDS}
{_PAST}
CREATE TABLE cursors (source TEXT NOT NULL, path TEXT NOT NULL, inode INTEGER NOT NULL, offset INTEGER NOT NULL,
                      mark TEXT NOT NULL, PRIMARY KEY (source, path)) WITHOUT ROWID;
CREATE TABLE state   (id INTEGER PRIMARY KEY CHECK (id = 1), saved_at REAL NOT NULL, packed BLOB NOT NULL);
CREATE TABLE lines   (id INTEGER PRIMARY KEY AUTOINCREMENT, source TEXT NOT NULL, at REAL NOT NULL,
                      level TEXT NOT NULL, text TEXT NOT NULL);
CREATE INDEX lines_by_source ON lines (source, id);
CREATE TABLE server  (at REAL NOT NULL, running INTEGER, queue INTEGER, usage REAL, throughput REAL);
CREATE INDEX server_by_time ON server (at);
CREATE TABLE verdicts (at REAL NOT NULL, verdict TEXT NOT NULL, cause TEXT NOT NULL);
CREATE TABLE etas    (at REAL NOT NULL, eta REAL NOT NULL, low REAL, high REAL);
"""
"""Times are seconds since the epoch, UTC."""


class Unusable(Exception):  # noqa: N818
    """No history can be kept; the message says why, for a person."""


def lock(path: Path) -> int:
    """Become the one who writes a history; the lock ends with the process, however that ends.

    Returns:
        The lock's descriptor, for ``os.close``.

    Raises:
        Unusable: Another console keeps it, or the folder can't be used.
    """
    name = path.with_suffix(".lock")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.parent.chmod(0o700)
        held = _locked(name)
        while not _is_there(held, name):
            # Whoever removed an old history has removed its lock too, between our two steps.
            os.close(held)
            held = _locked(name)
    except OSError as error:
        raise Unusable(f"No history is kept: {path.parent} can't be used ({error.strerror or error}).") from error
    with suppress(OSError):  # a full disk: the lock holds all the same, only its owner's name is missing
        os.ftruncate(held, 0)
        os.pwrite(held, f"{os.getpid()}\n".encode(), 0)
    return held


def _locked(name: Path) -> int:
    """Open a lock file and lock it.

    Raises:
        OSError: It can't be opened.
        Unusable: Another process has locked it.
    """
    held = os.open(name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        who = os.pread(held, 20, 0).decode("ascii", "replace").strip()
        os.close(held)
        owner = f"process {who}" if who.isdigit() else "another process"
        raise Unusable(f"This console keeps no history: another one ({owner}) keeps it for the same run.") from error
    return held


def _is_there(held: int, name: Path) -> bool:
    """Whether an open file is still the one of this name."""
    try:
        return os.path.samestat(os.fstat(held), name.stat())
    except FileNotFoundError:
        return False


def connect(path: Path) -> tuple[sqlite3.Connection, str]:
    """Open the file, or make it; one that is damaged or of another version is moved aside.

    Returns:
        The connection, and a sentence for a person when a file was moved aside.

    Raises:
        Unusable: It can be neither opened nor made.
    """
    try:
        return _opened(path), ""
    except sqlite3.OperationalError as error:  # a full disk, no permission, locked by a tool: the file is whole
        raise Unusable(f"No history is kept: {path} can't be opened ({error}).") from error
    except (sqlite3.DatabaseError, _OtherVersion) as error:
        return _anew(path, str(error))
    except OSError as error:
        raise Unusable(f"No history is kept: {path} can't be opened ({error.strerror or error}).") from error


class _OtherVersion(Exception):  # noqa: N818
    """The file's tables are those of another version of this program."""


def _anew(path: Path, why: str) -> tuple[sqlite3.Connection, str]:
    """Put a file aside that can't be used, and begin another."""
    aside = move_aside(path)
    try:
        return _opened(path), f"The history could not be used ({why}); it was moved to {aside} and begins anew."
    except (sqlite3.Error, OSError) as error:
        raise Unusable(f"No history is kept: {path} can't be made ({error}).") from error


def move_aside(path: Path) -> Path:
    """Give a file that can't be used another name, replacing the one that had it.

    Raises:
        Unusable: It can't be renamed.
    """
    aside = path.with_suffix(".damaged")
    try:
        path.replace(aside)
        for suffix in ("-wal", "-shm"):  # they belong to the file that is gone, and would damage the new one
            path.with_name(path.name + suffix).unlink(missing_ok=True)
    except OSError as error:
        raise Unusable(f"No history is kept: the damaged {path} can't be moved ({error.strerror or error}).") from error
    return aside


def _opened(path: Path) -> sqlite3.Connection:
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    connection = sqlite3.connect(path, timeout=BUSY_S, isolation_level=None, check_same_thread=False)
    try:
        _prepare(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _prepare(connection: sqlite3.Connection) -> None:
    """Settings, and the tables when there are none."""
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("PRAGMA journal_size_limit = 4194304")
    with closing(connection.execute("PRAGMA quick_check(1)")) as rows:
        said = str(rows.fetchone()[0])
    if said != "ok":
        raise sqlite3.DatabaseError(said)
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    empty = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0
    if version == 0 and empty:
        _become_present(connection, SCHEMA)
    elif version in UPGRADES:
        _become_present(connection, UPGRADES[version])
    elif version != VERSION:
        raise _OtherVersion(f"its tables have version {version}, this program's {VERSION}")


def _become_present(connection: sqlite3.Connection, step: str) -> None:
    """Make tables, whole or not at all."""
    connection.executescript(f"BEGIN IMMEDIATE; {step} PRAGMA user_version = {VERSION}; COMMIT;")
