"""A replay's checkpoints: what is held in memory does not grow with the recording, and what is put aside comes back."""

from __future__ import annotations

import errno
import pickle
import tempfile
from datetime import timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from bench.make_log import Mix, progress_log, server_log
from console.replay_checkpoints import CHECKPOINT_EVERY, Checkpoints, Frozen, Shelf
from console.replay_files import Given, Recording, load
from console.replay_walk import Replay
from tests.job.builders import T0

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    """Fourteen hours of a server and of a job."""
    folder = tmp_path_factory.mktemp("run")
    (folder / "server.log").write_bytes(server_log(14.0, Mix(), 3))
    (folder / "progress.jsonl").write_bytes(progress_log(20_000, 3))
    return load(Given(folder / "server.log", None, folder / "progress.jsonl", None), None)


def row(*places: int) -> tuple[tuple[float, float], ...]:
    """A run of figures as a state has them."""
    return tuple((float(place), 1.5) for place in places)


def in_memory(checkpoints: Checkpoints) -> int:
    """Bytes of what is held for all checkpoints, without the runs of figures that the trackers hold as well."""
    return len(pickle.dumps(checkpoints._kept)) + checkpoints._runs._sizes.itemsize * 3 * len(checkpoints._runs._sizes)


def test_an_hour_of_replay_leaves_little_in_memory_and_not_much_aside(recording: Recording) -> None:
    checkpoints = Checkpoints()
    replay = Replay(recording.logs, recording.fresh, checkpoints)
    first = min(log.times[0] for log in recording.logs)
    sizes = []
    for hours in (7, 14):
        for _ in replay.towards(first + timedelta(hours=hours)):
            pass
        sizes.append((len(checkpoints), in_memory(checkpoints), checkpoints.bytes_aside, checkpoints.runs_at_hand))
    (few, little, before, _), (many, more, after, at_hand) = sizes
    assert (few, many) == (15, 29)
    hour = (many - few) * (CHECKPOINT_EVERY / timedelta(hours=1))
    assert (more - little) / hour < 4_000
    assert (after - before) / hour < 200_000
    shared: list[object] = []
    replay._tracker.freeze(shared)
    assert at_hand <= len(shared) + 5  # those of the newest checkpoint, whichever way the run has gone


def test_what_successive_states_have_in_common_is_put_aside_once() -> None:
    checkpoints, kept = Checkpoints(), [row(*range(place, place + 20)) for place in range(0, 400, 20)]
    sizes = []
    for place in range(1, len(kept) + 1):
        checkpoints.keep(T0 + CHECKPOINT_EVERY * place, (place,), Frozen(b"state", tuple(kept[:place])))
        sizes.append(checkpoints.bytes_aside)
    grown = [there - here for here, there in pairwise(sizes)]
    assert max(grown) < 2 * min(grown) + 4 * len(kept), "each state adds its new run, and the numbers of the others"


def test_what_was_put_aside_comes_back_as_it_was() -> None:
    checkpoints = Checkpoints()
    states: list[tuple[bytes, Sequence[object]]] = [
        (b"one", (row(*range(20)), b"x" * 5_000)),
        (b"two", (row(*range(20, 40)),)),
        (b"", ()),
    ]
    for place, (packed, shared) in enumerate(states):
        checkpoints.keep(T0 + CHECKPOINT_EVERY * place, (place,), Frozen(packed, tuple(shared)))
    for place in (0, 2, 1, 1, 0):
        found = checkpoints.before(T0 + CHECKPOINT_EVERY * place + timedelta(minutes=1))
        assert found is not None
        assert (found.places, checkpoints.take(found)) == ((place,), Frozen(states[place][0], tuple(states[place][1])))
    assert checkpoints.before(T0 - timedelta(seconds=1)) is None


def test_a_run_that_a_later_state_has_too_is_the_same_object() -> None:
    checkpoints, run = Checkpoints(), row(*range(20))
    checkpoints.keep(T0, (0,), Frozen(b"", (run,)))
    checkpoints.keep(T0 + CHECKPOINT_EVERY, (1,), Frozen(b"", (run, row(*range(30)))))
    found = checkpoints.before(T0)
    assert found is not None
    assert checkpoints.take(found).shared[0] is run


def test_a_replay_goes_on_without_checkpoints_where_the_disk_is_full(
    recording: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = 2

    def put(self: Shelf, data: bytes, whole: Any = Shelf.put) -> object:
        nonlocal room
        room -= 1
        if room < 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        return whole(self, data)

    monkeypatch.setattr(Shelf, "put", put)
    checkpoints = Checkpoints()
    replay = Replay(recording.logs, recording.fresh, checkpoints)
    first = min(log.times[0] for log in recording.logs)
    moment = first + timedelta(hours=1)
    taken = replay.at(moment)
    assert len(checkpoints) <= 1
    assert not checkpoints.is_due(moment)
    assert replay.at(first + timedelta(minutes=10)).at < taken.at
    assert replay.at(moment) == taken


def test_where_no_file_can_be_made_memory_is_taken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "none"))
    shelf = Shelf()
    place = shelf.put(b"kept")
    assert shelf.take(place) == b"kept"


def test_no_folder_has_the_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    shelf = Shelf()
    shelf.put(b"kept")
    assert list(tmp_path.iterdir()) == []


def test_damage_is_told_and_never_taken_for_a_state() -> None:
    shelf = Shelf()
    place = shelf.put(b"kept" * 100)
    shelf._file.seek(0)
    shelf._file.write(b"damaged!")
    with pytest.raises(OSError, match=r".+"):
        shelf.take(place)
