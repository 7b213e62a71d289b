"""Following commands on this machine: each line once over any number of starts, in the words of the log alone."""

from __future__ import annotations

import asyncio
import random
import sys
from typing import TYPE_CHECKING

import pytest

from remote.command_tail import Missed, follow_command
from remote.errors import LinkLost
from remote.local import LocalHost
from remote.log_stamps import StampedReader
from tests.fakes import FakeHost
from tests.log_tools import BEGIN, KINDS, Heard, LogTool
from tests.waits import until

if TYPE_CHECKING:
    from pathlib import Path

of_each_kind = pytest.mark.parametrize("kind", KINDS)


@of_each_kind
async def test_lines_come_once_over_many_starts(kind: str, tmp_path: Path) -> None:
    tool = LogTool(tmp_path, kind)
    heard = Heard(LocalHost(), tool.argv)
    chance = random.Random(kind)
    at, wanted = BEGIN, b""
    for burst in range(8):
        for nth in range(50):
            # Equal stamps, stamps a little out of order, seconds between some, both streams, lines that are equal.
            at += chance.choice([0, 0, 1, 1_000, 900_000_000])
            text = b"line %d" % (50 * burst + nth) if nth % 5 else b"the same"
            tool.write(text, at - chance.choice([0, 0, 500_000_000]), chance.choice([1, 2]))
            wanted += text + b"\n"
        await heard.read(chance.randrange(len(heard.data) + 1, len(wanted) + 1))
    await heard.read(len(wanted))
    assert heard.data == wanted
    assert (heard.resets(), heard.missed()) == ([], 0)


@of_each_kind
async def test_a_log_that_lost_what_was_read_last_is_told_once(kind: str, tmp_path: Path) -> None:
    tool = LogTool(tmp_path, kind)
    tool.write(b"one")
    heard = Heard(LocalHost(), tool.argv)
    await heard.read(4)
    tool.begin_anew()
    tool.write(b"two", BEGIN + 5_000_000_000)
    await heard.read(8)
    assert (heard.data, heard.missed()) == (b"one\ntwo\n", 1)
    assert isinstance(heard.events[-2], Missed)
    tool.write(b"three", BEGIN + 6_000_000_000)
    await heard.read(14)
    assert (heard.data, heard.missed()) == (b"one\ntwo\nthree\n", 1)


def test_another_containers_lines_may_come_first() -> None:
    reader = StampedReader()
    reader.feed(b"a | 2026-01-01T00:00:05.1Z one\n")
    again = StampedReader(reader.cursor)
    assert again.feed(b"b | 2026-01-01T00:00:09.1Z two\na | 2026-01-01T00:00:05.1Z one\n") == b"b | two\n"
    assert not again.missed


@of_each_kind
async def test_the_text_is_the_logs_own(kind: str, tmp_path: Path) -> None:
    tool = LogTool(tmp_path, kind)
    lines = [b"", b"[2026-01-01 00:00:00 TP0] Decode batch", b"\x1b[1mbold\x1b[0m\r 3%|# |", b"bad \xff\x00 bytes"]
    lines += [b"y" * 16_384, b"z" * 40_000, b"w" * 1_100_000, b"last"]
    for nth, line in enumerate(lines):
        tool.write(line, BEGIN + nth)
    heard = Heard(LocalHost(), tool.argv)
    wanted = b"".join(line + b"\n" for line in lines)
    await heard.read(len(wanted))
    assert heard.data == wanted


@of_each_kind
async def test_the_end_of_a_command_is_told_and_it_goes_on_after(kind: str, tmp_path: Path) -> None:
    tool = LogTool(tmp_path, kind)
    tool.write(b"one")
    tool.end(3)
    heard = Heard(LocalHost(), tool.argv)
    await heard.read()
    ((told, reason),) = heard.waits()
    assert told == "ended"
    assert "ended with status 3" in reason
    assert ("Failed to follow" if kind == "journalctl" else "Error response from daemon") in reason
    tool.store.write_text(tool.store.read_text().splitlines(keepends=True)[0])
    tool.write(b"two", BEGIN + 1)
    await heard.read(8)
    assert heard.data == b"one\ntwo\n"


@of_each_kind
async def test_silence_is_told(kind: str, tmp_path: Path) -> None:
    tool = LogTool(tmp_path, kind)
    tool.write(b"one")
    heard = Heard(LocalHost(), tool.argv)
    reading = asyncio.create_task(heard.read())
    await until(heard.beats)
    reading.cancel()
    await asyncio.gather(reading, return_exceptions=True)
    assert heard.beats()[-1].at_end


async def test_an_unknown_command_starts_anew_and_says_so() -> None:
    program = "import sys; print('out', flush=True); print('err', file=sys.stderr); sys.exit(4)"
    heard = Heard(LocalHost(), [sys.executable, "-c", program])
    await heard.read()
    await heard.read()
    assert heard.data == b"out\nerr\n" * 2
    assert heard.resets() == ["restarted"]
    assert heard.waits()[0][1].endswith("ended with status 4. It said: err")


async def test_a_command_that_is_not_there() -> None:
    heard = Heard(LocalHost(), ["no-such-log-command"])
    await heard.read()
    assert "was not found; is it installed" in heard.waits()[0][1]


async def test_a_command_that_ends_well_is_told_too() -> None:
    heard = Heard(LocalHost(), ["true"])
    await heard.read()
    assert heard.waits() == [("ended", "true ended by itself.")]


async def test_a_lost_link_is_the_callers_to_mend() -> None:
    host = FakeHost()
    host.expect_stream(["sh", "-c", 'exec "$@" 2>&1', "longwait", "tail", "-F", "/log"], b"half", then="hang")
    events = follow_command(host, ["tail", "-F", "/log"])
    await anext(events)
    host.lose_link()
    with pytest.raises(LinkLost):
        await anext(events)
    host.assert_done()
