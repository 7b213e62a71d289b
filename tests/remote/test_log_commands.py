"""The pure half of following commands: words rewritten, lines told apart, entries read; any bytes, split anywhere."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remote.log_commands import log_command
from remote.log_cursor import CommandCursor
from remote.log_journal import LEFT_OUT, MAX_ENTRY_BYTES, JournalReader
from remote.log_stamps import MAX_SEEN, PIECE_BYTES, StampedReader

SECOND = 1_000_000_000
NOON = 1_767_268_800 * SECOND
AT_NOON = CommandCursor("stamped", "", NOON + 5, NOON + 7)
IN_JOURNAL = CommandCursor("journal", "s=1;i=2")


def kubectl_stamp(at: int) -> bytes:
    return b"2026-01-01T12:00:%02d.%09dZ " % divmod(at - NOON, SECOND)


@pytest.mark.parametrize(
    ("words", "first", "again"),
    [
        (
            "docker logs -f c",
            "docker logs --timestamps --follow --tail=all c",
            "docker logs --timestamps --follow --since=2026-01-01T12:00:00Z --tail=all c",
        ),
        (
            "sudo -n docker container logs -fn100 --since 1h c",
            "sudo -n docker container logs --timestamps --follow -n100 --since 1h c",
            "sudo -n docker container logs --timestamps --follow --since=2026-01-01T12:00:00Z --tail=all c",
        ),
        (
            "/usr/bin/docker compose -f logs logs --tail 5 srv",
            "/usr/bin/docker compose -f logs logs --timestamps --follow --tail 5 srv",
            "/usr/bin/docker compose -f logs logs --timestamps --follow --since=2026-01-01T12:00:00Z --tail=all srv",
        ),
        (
            "kubectl -n logs logs -f pod -c main --since=1h",
            "kubectl -n logs logs --timestamps --follow pod -c main --since=1h",
            "kubectl -n logs logs --timestamps --follow --since-time=2026-01-01T12:00:00Z --tail=-1 pod -c main",
        ),
        ("tail -F /log", "tail -F /log", "tail -F /log"),
        ("docker ps", "docker ps", "docker ps"),
        ("echo docker logs c", "echo docker logs c", "echo docker logs c"),
    ],
)
def test_containers_words(words: str, first: str, again: str) -> None:
    command = log_command(words.split())
    assert " ".join(command.argv()) == first
    assert " ".join(command.argv(AT_NOON)) == again


OURS = "--output=json --output-fields=MESSAGE,_LINE_BREAK --all --no-pager --quiet --follow"


@pytest.mark.parametrize(
    ("words", "first", "again"),
    [
        ("journalctl -fu srv", "--no-tail -u srv", "-u srv"),
        ("journalctl -u srv -n 20 -o cat -f", "-u srv -n 20", "-u srv"),
        ("journalctl -n -u srv --output short", "-n -u srv", "-u srv"),
        ("journalctl -fn20 --since today _PID=1 -- x", "-n20 --since today _PID=1 -- x", "_PID=1 -- x"),
    ],
)
def test_journal_words(words: str, first: str, again: str) -> None:
    command = log_command(words.split())
    assert " ".join(command.argv()) == f"journalctl {OURS} {first}"
    assert " ".join(command.argv(IN_JOURNAL)) == f"journalctl {OURS} --cursor=s=1;i=2 --no-tail --merge {again}"


def test_an_amount_of_bytes_becomes_lines() -> None:
    assert "--tail=8" in log_command(["docker", "logs", "c"]).argv(last_bytes=1024)
    assert "--lines=1" in log_command(["journalctl"]).argv(last_bytes=0)
    assert "--tail=8" not in log_command(["kubectl", "logs", "p", "--tail", "3"]).argv(last_bytes=1024)


def test_a_cursor_of_another_tool_is_not_used() -> None:
    assert not [word for word in log_command(["docker", "logs", "c"]).argv(IN_JOURNAL) if "since" in word]


@given(st.lists(st.text(max_size=8), max_size=6))
def test_any_words_are_kept_or_ours(words: list[str]) -> None:
    for tool in (["docker", "logs"], ["kubectl", "logs"], ["journalctl"]):
        given_words = ["--", *words]
        assert log_command([*tool, *given_words]).argv()[-len(given_words) :] == given_words


def test_cursors_go_through_text() -> None:
    for cursor in (IN_JOURNAL, AT_NOON, CommandCursor("plain"), CommandCursor("stamped", "", 1, 2, bytes(range(32)))):
        assert CommandCursor.from_text(cursor.text) == cursor
    for text in ("", "[]", '["tape", "", 0, 0, ""]', '["stamped", "", 0, 0, "AAAA"]', '["stamped", "", 0, 0, "?"]'):
        with pytest.raises(ValueError):  # noqa: PT011  (any of its kinds: json, base64, ours)
            CommandCursor.from_text(text)


steps_of_a_log = st.lists(
    st.tuples(
        st.sampled_from([0, 1, 400_000_000, SECOND, 3 * SECOND]),
        st.sampled_from([0, 300_000_000, 1_900_000_000]),
        st.sampled_from([b"a", b"b", b"", b"x" * 50]),
    ),
    max_size=20,
)


@settings(max_examples=200)
@given(steps_of_a_log, st.lists(st.tuples(st.integers(0, 20), st.integers(0, 1500), st.integers(0, 1500)), max_size=4))
def test_lines_come_once_wherever_the_output_is_cut(
    steps: list[tuple[int, int, bytes]], cuts: list[tuple[int, int, int]]
) -> None:
    at, entries = NOON + 2 * SECOND, []
    for step, early, text in steps:
        at += step
        entries.append((at - early, text))
    came, cursor = b"", None
    for written, middle, end in [*sorted(cuts), (len(entries), 0, 1_000_000)]:
        begin = cursor.oldest // SECOND * SECOND if cursor else 0
        output = b"".join(kubectl_stamp(at) + text + b"\n" for at, text in entries[:written] if at >= begin)[:end]
        reader = StampedReader(cursor)
        came += reader.feed(output[:middle]) + reader.feed(output[middle:])
        cursor = CommandCursor.from_text(reader.cursor.text)
    assert came == b"".join(text + b"\n" for _, text in entries)


@settings(max_examples=100)
@given(st.binary(max_size=300), st.lists(st.integers(0, 300), max_size=5))
def test_any_bytes_split_anywhere_give_the_same(output: bytes, cuts: list[int]) -> None:
    output = kubectl_stamp(NOON) + output + b"\n" + kubectl_stamp(NOON + 1) + output
    for make in (StampedReader, JournalReader):
        at_once, split = make(), make()
        whole = at_once.feed(output)
        places = [0, *sorted(min(cut, len(output)) for cut in cuts), len(output)]
        parts = [split.feed(output[a:b]) for a, b in pairwise(places)]
        assert b"".join(parts) == whole
        assert split.cursor == at_once.cursor


def test_many_lines_of_one_moment_are_remembered_up_to_a_bound() -> None:
    reader = StampedReader()
    lines = [kubectl_stamp(NOON + nth) + b"line\n" for nth in range(3 * MAX_SEEN)]
    assert reader.feed(b"".join(lines)) == b"line\n" * len(lines)
    assert len(reader.cursor.seen) == 16 * MAX_SEEN
    assert StampedReader(reader.cursor).feed(b"".join(lines)) == b""
    assert (
        StampedReader(reader.cursor).feed(b"".join([*lines, kubectl_stamp(NOON + len(lines)) + b"new\n"])) == b"new\n"
    )


def test_a_clock_that_is_set_back_stops_nothing() -> None:
    reader = StampedReader()
    reader.feed(kubectl_stamp(NOON + 50 * SECOND) + b"late\n")
    assert reader.feed(kubectl_stamp(NOON) + b"early\n") == b"early\n"
    again = StampedReader(reader.cursor)
    assert again.feed(kubectl_stamp(NOON) + b"early\n" + kubectl_stamp(NOON + 1) + b"next\n") == b"next\n"


def test_a_line_without_end_is_given_in_pieces_and_once() -> None:
    line = kubectl_stamp(NOON) + b"x" * (3 * PIECE_BYTES) + b"\n"
    reader = StampedReader()
    first = reader.feed(line[: 2 * PIECE_BYTES])
    assert len(first) > PIECE_BYTES
    again = StampedReader(reader.cursor)
    assert first + again.feed(line) == line[len(kubectl_stamp(NOON)) :]


def test_prefixes_of_several_containers_stay_and_wanted_stamps_too() -> None:
    stamp = kubectl_stamp(NOON)
    output = b"[pod/a/main] " + stamp + b"one\n" + b"srv-1  | " + stamp + b"two\n"
    assert StampedReader().feed(output) == b"[pod/a/main] one\nsrv-1  | two\n"
    assert StampedReader(keep_stamps=True).feed(output) == output


def test_the_tools_own_words_are_not_the_log() -> None:
    greeting = b'Defaulted container "main" out of: main, side\n'
    reader = StampedReader()
    assert reader.feed(greeting) == b""
    assert reader.feed(kubectl_stamp(NOON) + b"one\n") == greeting + b"one\n"
    again = StampedReader(reader.cursor)
    assert again.feed(greeting + kubectl_stamp(NOON) + b"one\n" + kubectl_stamp(NOON + 1) + b"two\n") == b"two\n"
    assert again.feed(b"error: gone\n") == b""
    assert again.last_words == b"error: gone"


def test_output_that_never_has_a_stamp_is_shown_after_all() -> None:
    assert StampedReader().feed(b"no stamp\n" * 10_000).startswith(b"no stamp\n")


def test_journal_fields() -> None:
    reader = JournalReader()
    entries = [
        {"__CURSOR": "a", "MESSAGE": "text"},
        {"__CURSOR": "b", "MESSAGE": [27, 255]},
        {"__CURSOR": "c", "MESSAGE": ["one", [116, 119, 111]]},
        {"__CURSOR": "d", "MESSAGE": None},
        {"__CURSOR": "e"},
        {"__CURSOR": "f", "MESSAGE": "half", "_LINE_BREAK": "line-max"},
        {"__CURSOR": "g", "MESSAGE": "and half"},
    ]
    output = b"".join(json.dumps(entry).encode() + b"\n" for entry in entries)
    assert reader.feed(output) == b"text\n\x1b\xff\none\ntwo\n\n\nhalfand half\n"
    assert reader.cursor == CommandCursor("journal", "g")


def test_an_entry_without_end_is_left_out() -> None:
    reader = JournalReader()
    for _ in range(MAX_ENTRY_BYTES // 8_388_608 + 2):
        assert reader.feed(b"x" * 8_388_608) == b""
    assert reader.feed(b'\n{"__CURSOR":"a","MESSAGE":"next"}\n') == LEFT_OUT + b"next\n"
