"""Bytes become lines: split anywhere, cleaned of what drives a terminal, bounded."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from console.job.levels import level_of
from console.job.lines import LineSplitter, clean

PIECES = st.sampled_from(
    [
        b"a",
        b"\n",
        b"\r",
        b"\r\n",
        b"\x1b[31m",
        b"\x1b]0;title\x07",
        b"\x1b",
        b"[0m",
        "é█".encode(),
        b"\xff",
        b"\0",
        b"\t",
    ]
)


def split(data: bytes, *, max_line: int = 64 * 1024) -> list[str]:
    splitter = LineSplitter(max_line)
    return splitter.feed(data) + splitter.flush()


def test_ends_of_all_three_kinds() -> None:
    assert split(b"one\ntwo\r\nthree\rfour") == ["one", "two", "three", "four"]


def test_each_state_of_a_bar_is_a_line() -> None:
    bar = b"\r 10%|#    | 1/10\r 20%|##   | 2/10\n"
    assert split(bar) == ["", " 10%|#    | 1/10", " 20%|##   | 2/10"]


def test_a_half_line_waits() -> None:
    splitter = LineSplitter()
    assert splitter.feed(b"Decode ba") == []
    assert splitter.pending == 9
    assert splitter.feed(b"tch\nnext") == ["Decode batch"]
    assert splitter.flush() == ["next"]
    assert splitter.pending == 0
    assert splitter.flush() == []


def test_a_crlf_that_two_feeds_share_is_one_end() -> None:
    splitter = LineSplitter()
    assert splitter.feed(b"one\r") == ["one"]
    assert splitter.feed(b"") == []
    assert splitter.feed(b"\n") == []
    assert splitter.feed(b"\n") == [""]


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b"\x1b[1;31mred\x1b[0m", "red"),
        (b"\x1b]0;owned\x07text", "text"),
        (b"\x1b]8;;http://host/\x1b\\link\x1b]8;;\x1b\\", "link"),
        (b"\x1bPq#0\x1b\\sixel", "sixel"),
        (b"\x1b[2J\x1b[H\x1b[Atop", "top"),
        (b"\x1b(Bplain\x1b7\x1b=", "plain"),
        (b"\x1b]0;never ended", "0;never ended"),
        (b"nul\0bell\x07back\x08\x7f", "nulbellback"),
        (b"a\tb", "a b"),
        (b"bad \xff\xc3 utf", "bad \ufffd\ufffd utf"),
        ("c1 \x9b31m \x85".encode(), "c1 31m "),
        ("evil \u202etxt.exe\u202c \u2066x\u2069\u200f".encode(), "evil txt.exe x"),
        ("keeps ▏█ é 漢 \u200d".encode(), "keeps ▏█ é 漢 \u200d"),
    ],
)
def test_what_is_cleaned_away(raw: bytes, text: str) -> None:
    assert split(raw) == [text]


def test_clean_gives_one_line() -> None:
    assert clean("one\r\ntwo\x1b[31m\ud800") == "one  two?"


@given(st.text())
def test_clean_is_final_and_harmless(text: str) -> None:
    once = clean(text)
    assert clean(once) == once
    assert not any(ord(c) < 0x20 or 0x7F <= ord(c) < 0xA0 for c in once)


def test_an_overlong_line_is_cut_and_says_so() -> None:
    assert split(b"x" * 25 + b"\nshort\n" + b"y" * 30, max_line=20) == [
        "x" * 20 + "…[5 bytes cut]",
        "short",
        "y" * 20 + "…[10 bytes cut]",
    ]


def test_memory_is_bounded_while_a_line_never_ends() -> None:
    splitter = LineSplitter(1000)
    for _ in range(100):
        assert splitter.feed(b"z" * 999) == []
    assert len(splitter._held) == 1000
    assert splitter.pending == 99_900
    assert splitter.feed(b"\n") == ["z" * 1000 + "…[98900 bytes cut]"]


@given(st.lists(PIECES, max_size=30), st.lists(st.integers(0, 200), max_size=8))
@settings(max_examples=200)
def test_any_split_gives_the_same_lines(pieces: list[bytes], cuts: list[int]) -> None:
    data = b"".join(pieces)
    whole = split(data, max_line=12)
    splitter = LineSplitter(12)
    edges = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    parts = [line for here, there in itertools.pairwise(edges) for line in splitter.feed(data[here:there])]
    assert parts + splitter.flush() == whole


@given(st.binary())
def test_any_bytes_never_raise(data: bytes) -> None:
    for line in split(data):
        assert "\n" not in line
        assert "\x1b" not in line


@pytest.mark.parametrize(
    ("line", "level"),
    [
        ('[2026-02-24 03:19:40] INFO:     127.0.0.1:4 - "GET /health HTTP/1.1" 200 OK', "quiet"),
        ('INFO:     127.0.0.1:4 - "POST /generate HTTP/1.1" 500 Internal Server Error', "warning"),
        ("============", "quiet"),
        ("", "quiet"),
        ("Decode batch, #running-req: 1", "info"),
        ("  50/9998 (0 err) 0.3 req/s avg_comp=1232tok tot=0.1M ETA=1.9h", "info"),
        ("Decode out of memory happened. #retracted_reqs: 3", "info"),
        ("KV cache pool is full. Retract requests. #retracted_reqs: 1", "warning"),
        ("(APIServer pid=1) WARNING 11-30 08:24:56 [a.py:1] x", "warning"),
        ("(EngineCore pid=7) ERROR 11-30 08:41:05 [core.py:1510] y", "error"),
        ("Traceback (most recent call last):", "error"),
        ("torch.OutOfMemoryError: CUDA out of memory.", "error"),
        ("ValueError: bad prompt", "error"),
        ("Killed", "error"),
        ("[rank5]:[E1016 03:31:38.918469923 ProcessGroupNCCL.cpp:607] x", "error"),
    ],
)
def test_levels(line: str, level: str) -> None:
    assert level_of(line) == level
