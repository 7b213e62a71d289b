"""The frame parser: any split gives the same events, nonsense is an error and never an event."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remote.frames import MARK_BYTES, Beat, Chunk, Cursor, FrameError, FrameParser, Reset, TailEvent, Waiting

HELLO = b"longwait-follow 1\n"


def frame(inode: int, offset: int, data: bytes, missing: int = 0) -> bytes:
    padding = b"\0" * missing
    return b"D %d %d %d\n%b%bd %d\n" % (inode, offset, len(data) + missing, data, padding, len(data))


STREAM = (
    b"Welcome to gpu01\nD 1 2 3\n"
    + HELLO
    + b"W missing\nB 0 1\nS 7 0\n"
    + frame(7, 0, b"one\nB 1 1\nd 3\n")
    + frame(7, 13, b"\n\xff\0two", missing=40)
    + frame(7, 19, b"", missing=5)
    + b"B 19 1\nR truncated ?\nW unreadable\nW folder\n"
    + frame(8, 0, b"x" * 40)
    + b"R rotated 0\n"
)
EVENTS: list[TailEvent] = [
    Waiting("the file is not there yet", "missing"),
    Beat(0, at_end=True),
    Chunk(b"one\nB 1 1\nd 3\n", Cursor(7, 14, b"one\nB 1 1\nd 3\n".hex())),
    Chunk(b"\n\xff\0two", Cursor(7, 19, b"one\nB 1 1\nd 3\n\n\xff\0two"[-MARK_BYTES:].hex())),
    Beat(19, at_end=True),
    Reset("truncated", None),
    Waiting("the file may not be read, or is not an ordinary file", "unreadable"),
    Waiting("the path is a folder, not a file", "folder"),
    Chunk(b"x" * 40, Cursor(8, 40, (b"x" * 40)[-MARK_BYTES:].hex())),
    Reset("rotated", 0),
]


def test_the_stream_is_understood() -> None:
    assert FrameParser().feed(STREAM) == EVENTS


@given(cuts=st.lists(st.integers(0, len(STREAM))))
def test_any_split_gives_the_same_events(cuts: list[int]) -> None:
    parser = FrameParser()
    places = [0, *sorted(cuts), len(STREAM)]
    parts = [STREAM[a:b] for a, b in pairwise(places)]
    assert [event for part in parts for event in parser.feed(part)] == EVENTS


@given(cut=st.integers(0, len(STREAM) - 1))
def test_a_chunk_is_given_only_when_it_is_whole(cut: int) -> None:
    events = FrameParser().feed(STREAM[:cut])
    assert events == EVENTS[: len(events)]


@given(
    bodies=st.lists(st.tuples(st.binary(max_size=900), st.integers(0, 300)), min_size=1, max_size=6),
    chunk_bytes=st.integers(1, 400),
    data=st.data(),
)
def test_frames_of_any_size_give_all_their_bytes_in_small_chunks(
    bodies: list[tuple[bytes, int]], chunk_bytes: int, data: st.DataObject
) -> None:
    """Frames that were filled up too, split anywhere: each chunk can be resumed from, and none is larger than asked."""
    stream, whole = HELLO + b"S 7 0\n", b""
    for body, missing in bodies:
        padded = missing if body else missing + 1  # a frame holds at least one byte
        stream += frame(7, len(whole), body, missing=padded) + b"B %d 0\n" % len(whole + body)
        whole += body
    cuts = data.draw(st.lists(st.integers(0, len(stream)), max_size=12).map(sorted))
    parser = FrameParser(chunk_bytes=chunk_bytes)
    events = [event for a, b in pairwise([0, *cuts, len(stream)]) for event in parser.feed(stream[a:b])]
    at = 0
    for event in events:
        if isinstance(event, Beat):
            assert event.size == at  # a frame's chunks come before what was said after it
            continue
        assert isinstance(event, Chunk)
        assert event.data == whole[at : at + len(event.data)]
        assert 0 < len(event.data) <= chunk_bytes
        at += len(event.data)
        assert event.cursor == Cursor(7, at, whole[max(0, at - MARK_BYTES) : at].hex())
    assert at == len(whole)
    assert sum(isinstance(event, Beat) for event in events) == len(bodies)


@given(
    data=st.text("ab\r\n", min_size=1, max_size=60).map(str.encode),
    chunk_bytes=st.integers(1, 9),
    cut=st.integers(0, 60),
)
def test_the_first_line_start_does_not_depend_on_how_the_bytes_are_cut(data: bytes, chunk_bytes: int, cut: int) -> None:
    def read(parser: FrameParser, *parts: bytes) -> bytes:
        events = parser.feed(HELLO + b"S 7 50\n")
        at = 50
        for part in filter(None, parts):
            events += parser.feed(frame(7, at, part))
            at += len(part)
        return b"".join(event.data for event in events if isinstance(event, Chunk))

    whole = read(FrameParser(to_line_start=True), data)
    parts = read(FrameParser(to_line_start=True, chunk_bytes=chunk_bytes), data[:cut], data[cut:])
    assert parts in {whole, b"\n" + whole}  # a CR at a chunk's end leaves its LF to the next one: an empty line


def test_a_resumed_mark_is_carried_on() -> None:
    parser = FrameParser(Cursor(7, 100, b"before".hex()))
    [chunk] = parser.feed(HELLO + b"S 7 100\n" + frame(7, 100, b"after"))
    assert chunk == Chunk(b"after", Cursor(7, 105, b"beforeafter".hex()))


@pytest.mark.parametrize(
    ("first", "rest"),
    [(b"f a line\nwhole", b"whole"), (b"\nwhole", b"whole"), (b"bar\rnext", b"next"), (b"bar\r\nnext", b"next")],
)
def test_the_first_part_of_a_line_is_dropped(first: bytes, rest: bytes) -> None:
    parser = FrameParser(to_line_start=True)
    events = parser.feed(HELLO + b"S 7 50\n" + frame(7, 50, first) + frame(7, 50 + len(first), b"more\n"))
    assert [event.data for event in events if isinstance(event, Chunk)] == [rest, b"more\n"]
    assert events[0].cursor.offset == 50 + len(first)  # type: ignore[union-attr]  # a Chunk, as seen above


def test_a_line_start_may_come_in_a_later_chunk_and_is_at_the_first_byte_of_a_file() -> None:
    parser = FrameParser(to_line_start=True)
    events = parser.feed(HELLO + b"S 7 50\n" + frame(7, 50, b"half ") + frame(7, 55, b"line\nwhole"))
    assert [event.data for event in events if isinstance(event, Chunk)] == [b"whole"]
    assert len(FrameParser(to_line_start=True).feed(HELLO + b"S 7 0\n" + frame(7, 0, b"abc"))) == 1


@pytest.mark.parametrize(
    "bad",
    [
        b"what\n",
        b"D 1 2\n",
        b"D 1 2 -3\n",
        b"D 1 2 99999999999\n",
        b"D 1 2 x\n",
        b"R gone 0\n",
        b"W why\n",
        b"\xff\n",
        b"B 1\n",
        b"D 1 0 3\nabcd 4\n",
        b"D 1 0 3\nabcx 3\n",
        b"x" * 300,
    ],
)
def test_nonsense_is_an_error(bad: bytes) -> None:
    with pytest.raises(FrameError):
        FrameParser().feed(HELLO + bad)


def test_a_shell_that_prints_without_end_is_an_error() -> None:
    with pytest.raises(FrameError):
        FrameParser().feed(b"a line of noise\n" * 100_000)


@given(st.binary())
def test_random_bytes_give_events_or_a_frame_error(data: bytes) -> None:
    try:
        FrameParser().feed(HELLO + data)
    except FrameError:
        return
