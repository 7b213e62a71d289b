"""Recorded logs that stay in their files while they are replayed."""

from __future__ import annotations

import os
import threading
from array import array
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console import replay_bytes
from console.job.events import Source
from console.job.timeline import HeldBytes, Times, record
from console.replay_bytes import CHANGED, FileBytes, bytes_of
from console.replay_feed import ReplayFeed
from console.replay_files import Given, load
from console.replay_walk import Replay
from remote.errors import RemoteError
from tests.console.recordings import a_run
from tests.job.builders import T0

PIECES = st.lists(st.sampled_from([b"\n", b"\r", b"\r\n", b"a", b"\x00\xff", b"2026-02-24 02:00:00 x"]), max_size=40)


@given(PIECES, st.integers(1, 9))
def test_lines_are_the_same_wherever_a_log_lies_and_however_it_is_read(pieces: list[bytes], block: int) -> None:
    data = b"".join(pieces)
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(replay_bytes, "BLOCK", block)
        path = Path(folder) / "log"
        path.write_bytes(data)
        file, held = FileBytes(path), HeldBytes(data)
        assert list(file.lines()) == list(held.lines()) == data.splitlines(keepends=True)
        path.write_bytes(data + b"later")  # the same file goes on: what came later does not belong to it
        assert list(file.lines()) == data.splitlines(keepends=True)
        for begin in range(0, len(data), 3):
            assert file.cut(begin, len(data)) == held.cut(begin, len(data)) == data[begin:]
        one, other = record(Source.SERVER, file, UTC, T0), record(Source.SERVER, held, UTC, T0)
        assert (list(one.ends), list(one.times)) == (list(other.ends), list(other.times))


@given(st.lists(st.datetimes(timezones=st.just(UTC)), min_size=1))
def test_times_are_exact(times: list[datetime]) -> None:
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    packed = Times(array("q", ((at - epoch) // timedelta(microseconds=1) for at in times)))
    assert list(packed) == times
    assert list(packed[1:]) == times[1:]
    assert packed[-1] == times[-1]


@pytest.mark.parametrize(
    ("apart", "odd", "bytes_each"),
    [
        (timedelta(seconds=1), timedelta(0), 4),
        (timedelta(milliseconds=100), timedelta(0), 4),
        (timedelta(microseconds=1), timedelta(0), 4),
        (timedelta(milliseconds=40), timedelta(microseconds=1), 8),
    ],
    ids=["days of seconds", "hours of tenths", "a second of microseconds", "hours of odd microseconds"],
)
def test_the_times_of_lines_take_few_bytes(apart: timedelta, odd: timedelta, bytes_each: int) -> None:
    count = 200_000
    moments = [timedelta(days=20_000) + apart * (place + place % 3) + odd * (place % 2) for place in range(count)]
    packed = Times(array("q", (moment // timedelta(microseconds=1) for moment in moments)))
    assert packed.nbytes == bytes_each * count
    assert [packed[place] for place in (0, 77, -1)] == [
        datetime(1970, 1, 1, tzinfo=UTC) + moments[place] for place in (0, 77, -1)
    ]


def _cut_off(path: Path) -> None:
    os.truncate(path, 10)


def _replaced(path: Path) -> None:
    other = path.with_suffix(".new")
    other.write_bytes(path.read_bytes())
    other.rename(path)


def _gone(path: Path) -> None:
    path.unlink()


@pytest.mark.parametrize("change", [_cut_off, _replaced, _gone])
async def test_a_file_that_changes_is_told_and_nothing_wrong_is_shown(change: object, tmp_path: Path) -> None:
    assert callable(change)
    files = dict(zip(*[iter(a_run().files(tmp_path))] * 2, strict=True))
    paths = [Path(files[option]) for option in ("--server-log", "--job-log")]
    recording = load(Given(paths[0], paths[1], None, None), None)
    replay = Replay(recording.logs, recording.fresh)
    change(paths[0])
    with pytest.raises(OSError, match=CHANGED if change is not _gone else "No such file"):
        replay.at(T0 + timedelta(hours=1))
    feed = ReplayFeed(lambda: recording)
    with pytest.raises(RemoteError, match=r"The recording can't be read: .*server\.log"):
        async for _ in feed.facts():
            pass


def test_what_can_be_read_once_only_is_held(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(b"one\ntwo\n",))
    writer.start()
    log = bytes_of(pipe)
    writer.join()
    assert list(log.lines()) == list(log.lines()) == [b"one\n", b"two\n"]
