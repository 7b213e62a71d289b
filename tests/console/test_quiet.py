"""The quiet screen: no more bytes than it promises, the newest picture, and a slow terminal found out."""

from __future__ import annotations

import heapq
import io
import itertools
import os
import select
import sys
import threading
import time
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.terminal import Terminal, terminal
from console.quiet import NOTE, QuietScreen
from console.quiet_budget import ANSWERS, ANSWERS_RATE, ORDINARY, ORDINARY_RATE, Credit, Waits
from console.quiet_cells import PLAIN, Cells, Pen, Span, changed_pen, changes, pen_words, pieces, written
from console.quiet_driver import FROM_HERE, TimedOutlet
from console.quiet_writer import QuietWriter
from tests.console.test_cli import local_config

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

SIZE = (120, 30)
"""Columns and rows of the program's terminal: both logs are in sight."""

LIMIT, SPAN_S = 20_000, 10.0
"""What is promised: bytes within any so many seconds."""


class Time:
    """A clock that goes on when the test says so, and what was put off until then."""

    def __init__(self) -> None:
        self.now = 0.0
        self._due: list[tuple[float, int, Callable[[], None]]] = []
        self._count = itertools.count()
        self._off: set[int] = set()

    def clock(self) -> float:
        return self.now

    def later(self, seconds: float, do: Callable[[], None]) -> Put:
        number = next(self._count)
        heapq.heappush(self._due, (self.now + seconds, number, do))
        return Put(self._off, number)

    def go_on(self, seconds: float) -> None:
        end = self.now + seconds
        while self._due and self._due[0][0] <= end:
            at, number, do = heapq.heappop(self._due)
            self.now = max(self.now, at)
            if number not in self._off:
                do()
        self.now = end

    @property
    def waits(self) -> bool:
        return any(number not in self._off for _, number, _ in self._due)


class Put:
    """Something put off."""

    def __init__(self, off: set[int], number: int) -> None:
        self._off, self._number = off, number

    def cancel(self) -> None:
        self._off.add(self._number)


class Line:
    """The other end: what came when, and what stands there."""

    def __init__(self, time_: Time, width: int, height: int) -> None:
        self.time, self.cells, self.came = time_, Cells(width, height), list[tuple[float, int]]()
        self.other: list[str] = []

    def put(self, text: str) -> None:
        self.came.append((self.time.now, len(text.encode())))
        self.other += self.cells.feed(text)

    def most_in_span(self) -> int:
        return max(
            (sum(size for at, size in self.came if first <= at < first + SPAN_S) for first, _ in self.came), default=0
        )


# ---------------------------------------------------------------- the budget


@given(st.lists(st.tuples(st.floats(0, 5), st.integers(0, 8000), st.booleans()), max_size=200))
def test_no_ten_seconds_get_more_than_is_promised(draws: list[tuple[float, int, bool]]) -> None:
    credit, now, came = Credit(0.0), 0.0, list[tuple[float, int]]()
    for pause, wanted, answers in draws:
        now += pause
        count = min(wanted, credit.room(now, answers=answers))
        credit.draw(count, now)
        came.append((now, count))
    for first, _ in came:
        assert sum(count for at, count in came if first <= at <= first + SPAN_S) <= LIMIT


def test_the_limit_is_what_the_buckets_hold_and_earn() -> None:
    assert ORDINARY + SPAN_S * ORDINARY_RATE + ANSWERS + SPAN_S * ANSWERS_RATE == LIMIT
    assert "2 kB/s" in NOTE
    assert LIMIT / SPAN_S == 2000


@given(st.integers(0, Credit.MOST), st.floats(0, 20), st.booleans(), st.integers(1, ORDINARY))
def test_after_the_wait_there_is_room(spent: int, pause: float, answers: bool, wanted: int) -> None:
    credit = Credit(0.0)
    credit.draw(min(spent, credit.room(0.0, answers=True)), 0.0)
    wait = credit.wait_s(wanted, pause, answers=answers)
    assert credit.room(pause + wait + 0.01, answers=answers) >= wanted


def test_the_rest_of_the_screen_leaves_an_answer_its_share() -> None:
    credit = Credit(0.0)
    for tick in range(100):
        now = tick / 10
        credit.draw(credit.room(now, answers=False), now)
    assert credit.room(10.0, answers=True) >= ANSWERS


def test_a_terminal_is_slow_when_it_lets_wait_again_and_again_not_when_it_slept() -> None:
    slept = Waits()
    slept.took(3600.0, 500, 3600.0)
    assert slept.rate is None
    busy = Waits()
    for tick in range(100):
        busy.took(0.1, 500, tick / 5)
    assert busy.rate is None
    slow = Waits()
    for tick in range(3):
        assert slow.rate is None
        slow.took(1.2, 2400, tick * 1.3 + 1.2)
    assert slow.rate == pytest.approx(2000)
    all_day = Waits()
    for hour in range(24):
        all_day.took(0.5, 500, hour * 3600.0)
        all_day.took(0.0, 500, hour * 3600.0 + 10)
    assert all_day.rate is None


# ---------------------------------------------------------------- cells

PENS = st.sampled_from(
    [
        Pen(),
        Pen(("1",), "31", ""),
        Pen(("3", "7"), "38;2;1;2;3", "48;2;4;5;6"),
        Pen((), "38;5;12", "107"),
        Pen(("2",), "", "48;5;12"),
        Pen((), "97", ""),
    ]
)
CHARS = st.sampled_from([*"ab x", "━", "█", "漢", "é", "é"])
TEXTS = st.lists(
    st.tuples(st.integers(0, 5), st.integers(0, 13), st.lists(st.tuples(CHARS, PENS), min_size=1, max_size=8)),
    max_size=5,
)


def drawn(texts: list[tuple[int, int, list[tuple[str, Pen]]]]) -> str:
    """Write texts as Textual does: a move, then each piece in its own colours."""
    return "".join(
        f"\x1b[{y + 1};{x + 1}H"
        + "".join(
            f"\x1b[{';'.join([*pen.attributes, *filter(None, (pen.colour, pen.ground))]) or '0'}m{char}\x1b[0m"
            for char, pen in cells
        )
        for y, x, cells in texts
    )


@given(PENS, PENS)
def test_a_pen_is_changed_into_any_other(former: Pen, pen: Pen) -> None:
    words = pen_words(former, pen)
    got = changed_pen(former, words[2:-1]) if words else former
    assert (set(got.attributes), got.colour, got.ground) == (set(pen.attributes), pen.colour, pen.ground)


def sent(wanted: Cells, shown: Cells, most: int) -> None:
    """Send what differs from one terminal to another."""
    shown.feed("\x1b[0m")
    pen = PLAIN
    for y in range(wanted.height):
        for span in list(changes(wanted.rows[y], shown.rows[y], y)):
            for piece in pieces(span, most):
                text, pen = written(piece, pen)
                shown.feed(text)


@settings(max_examples=60, deadline=None)
@given(TEXTS, TEXTS, st.sampled_from([100, 300, 1000]))
def test_what_is_sent_makes_the_other_terminal_show_the_same(
    first: list[tuple[int, int, list[tuple[str, Pen]]]], then: list[tuple[int, int, list[tuple[str, Pen]]]], most: int
) -> None:
    wanted, shown = Cells(14, 5), Cells(14, 5)
    for texts in (first, then):
        # Textual draws rows whole: no half of a wide character is left.
        assert wanted.feed("".join(f"\x1b[{y + 1};1H{' ' * 14}" for y in {y for y, _, _ in texts}) + drawn(texts)) == []
        sent(wanted, shown, most)
        assert shown.rows == wanted.rows


@given(st.lists(st.tuples(CHARS, PENS), min_size=1, max_size=60), st.integers(90, 1000))
def test_pieces_are_whole_and_small(cells: list[tuple[str, Pen]], most: int) -> None:
    span = Span(0, 0, tuple(cells))
    cut = list(pieces(span, most))
    assert tuple(itertools.chain.from_iterable(piece.cells for piece in cut)) == span.cells
    assert max(len(written(piece, Pen(("9",), "31", "41"))[0].encode()) for piece in cut) <= most


@given(st.text())
def test_any_text_is_taken(text: str) -> None:
    cells = Cells(5, 2)
    cells.feed(text)
    assert [len(row) for row in cells.rows] == [5, 5]


def test_what_is_no_picture_is_given_back_and_links_are_left_out() -> None:
    cells = Cells(10, 1)
    given_back = cells.feed(
        "\x1b[?2026h\x1b[1;1Hab\x1b]8;;https://x\x1b\\c\x1b]8;;\x1b\\\x1b[?1000h\x1b]52;c;YQ==\x07\x1b[?2026l"
    )
    assert given_back == ["\x1b[?1000h", "\x1b]52;c;YQ==\x07"]
    assert "".join(cell[0] for cell in cells.rows[0] if cell is not None) == "abc"


def test_a_character_with_thousands_of_marks_stays_small() -> None:
    cells = Cells(3, 1)
    cells.feed("\x1b[1;1He" + "\u0301" * 5000)
    cell = cells.rows[0][0]
    assert cell is not None
    assert len(cell[0]) < 12


# ---------------------------------------------------------------- the writer


def screenful(width: int, height: int, turn: int, rows: int | None = None) -> str:
    """A picture of which every cell differs from the one before."""
    ground = turn % 200
    return "".join(
        f"\x1b[{y + 1};1H\x1b[38;2;{y};1;2;48;2;{ground};2;3m{chr(97 + (turn + y) % 26) * width}\x1b[0m"
        for y in range(height if rows is None else rows)
    )


def opened(width: int = 80, height: int = 24) -> tuple[Time, Line, QuietWriter]:
    time_ = Time()
    line = Line(time_, width, height)
    return time_, line, QuietWriter(line.put, time_.later, time_.clock)


@pytest.mark.parametrize("size", [(80, 24), (200, 50)])
@pytest.mark.parametrize("keys", [False, True])
def test_whatever_is_drawn_the_limit_holds(size: tuple[int, int], keys: bool) -> None:
    time_, line, writer = opened(*size)
    for turn in range(300):
        if keys and turn % 3 == 0:
            writer.press()
        writer.write(screenful(*size, turn), *size)
        time_.go_on(0.1)
    assert line.most_in_span() <= LIMIT
    assert sum(count for _, count in line.came) > 0.45 * LIMIT / SPAN_S * 30


def test_the_newest_picture_comes_whole_once_nothing_changes() -> None:
    time_, line, writer = opened()
    for turn in range(50):
        writer.write(screenful(80, 24, turn), 80, 24)
        time_.go_on(0.05)
    time_.go_on(20.0)
    wanted = Cells(80, 24)
    wanted.feed(screenful(80, 24, 49))
    assert line.cells.rows == wanted.rows
    assert not time_.waits
    before = len(line.came)
    writer.write(screenful(80, 24, 49), 80, 24)
    time_.go_on(5.0)
    assert len(line.came) == before  # nothing new, nothing sent


def test_a_picture_is_finished_before_the_next_is_begun() -> None:
    time_, line, writer = opened()
    writer.write(screenful(80, 24, 0), 80, 24)
    time_.go_on(20.0)
    writer.write(screenful(80, 24, 1), 80, 24)
    time_.go_on(0.2)
    writer.write(screenful(80, 24, 2), 80, 24)
    seen: set[tuple[str | None, ...]] = set()
    for _ in range(200):
        time_.go_on(0.05)
        seen.add(tuple(None if row[0] is None else row[0][0] for row in line.cells.rows))
    whole = [tuple(chr(97 + (turn + y) % 26) for y in range(24)) for turn in (1, 2)]
    assert set(whole) <= seen


def test_a_key_is_answered_at_once_while_much_changes() -> None:
    time_, line, writer = opened()
    for turn in range(200):
        writer.write(screenful(80, 24, turn), 80, 24)
        time_.go_on(0.1)
    writer.press()
    writer.write("\x1b[24;1H" + "Z" * 80, 80, 24)
    shown = line.cells.rows[23][0]
    assert shown is not None
    assert shown[0] == "Z"


def test_modes_and_the_clipboard_pass_and_what_is_too_long_is_told() -> None:
    time_ = Time()
    line, left_out = Line(time_, 80, 24), list[int]()
    writer = QuietWriter(line.put, time_.later, time_.clock, left_out.append)
    writer.write("\x1b[?1049h\x1b]52;c;YQ==\x07", 80, 24)
    assert line.other == ["\x1b[?1049h", "\x1b]52;c;YQ==\x07"]
    writer.write(f"\x1b]52;c;{'A' * Credit.MOST}\x07", 80, 24)
    time_.go_on(60.0)
    assert left_out == [Credit.MOST + 8]
    assert line.other == ["\x1b[?1049h", "\x1b]52;c;YQ==\x07"]


def test_another_size_is_another_screen() -> None:
    time_, line, writer = opened()
    writer.write(screenful(80, 24, 0), 80, 24)
    time_.go_on(10.0)
    line.cells = Cells(40, 10)  # a terminal that was made smaller: nobody knows what stands on it
    writer.write(screenful(40, 10, 0), 40, 10)
    time_.go_on(10.0)
    wanted = Cells(40, 10)
    wanted.feed(screenful(40, 10, 0))
    assert line.cells.rows == wanted.rows


def test_the_operators_word_counts_more_than_what_is_found_out() -> None:
    told: list[tuple[bool, str]] = []
    quiet = QuietScreen()
    quiet.tell(lambda on, why: told.append((on, why)))
    quiet.find_slow(1234.0)
    assert told == [(True, "The terminal takes only 1.2 kB/s: quiet screen from now on. Q ends it.")]
    quiet.turn()
    quiet.find_slow(1234.0)
    assert [on for on, _ in told] == [True, False]
    assert not quiet.on


def test_the_outlet_times_what_it_writes_and_leaves_out_old_pictures_once_it_is_slow() -> None:
    now = Time()

    class Slow(io.StringIO):
        """A terminal that takes half a second to write and two to flush."""

        def write(self, text: str) -> int:
            now.now += 0.5
            return super().write(text)

        def flush(self) -> None:
            now.now += 2.0

    took: list[tuple[float, int]] = []
    file = Slow()

    def note(seconds: float, count: int) -> bool:
        took.append((seconds, count))
        return len(took) == 2

    outlet = TimedOutlet(file, note, now.clock)
    outlet.write("aä")
    outlet.flush()
    assert took == [(0.5, 3), (2.0, 0)]
    for text in ("\x1b[1;1Hold", "\x1b[?1000hold", FROM_HERE, "new"):
        outlet.write(text)
    outlet.flush()
    assert file.getvalue() == "aä\x1b[?1000hnew"


# ---------------------------------------------------------------- the program, in a terminal


@pytest.fixture
def busy(tmp_path: Path) -> Iterator[Path]:
    """A config whose log gets fifty lines a second."""
    config = local_config(tmp_path, "history: false\n")
    ended = threading.Event()

    def write() -> None:
        with (tmp_path / "job.log").open("a", encoding="utf-8") as log:
            number = 0
            while not ended.wait(0.02):
                number += 1
                log.write(f"  {number}/100 line {'x' * (number % 70)}\n")
                log.flush()

    writer = threading.Thread(target=write)
    writer.start()
    yield config
    ended.set()
    writer.join()


def argv(config: Path, *options: str) -> list[str]:
    return [sys.executable, "-m", "console", "--config", str(config), *options]


def shown(program: Terminal, size: tuple[int, int] = SIZE) -> str:
    """What stands on the terminal."""
    cells = Cells(*size)
    cells.feed(program.printed.decode(errors="replace"))
    return "\n".join("".join(" " if cell is None else cell[0] for cell in row) for row in cells.rows)


def see(program: Terminal, wanted: str, size: tuple[int, int] = SIZE) -> None:
    """Let it print until something stands on the terminal."""
    deadline = time.monotonic() + 30
    while wanted not in shown(program, size):
        assert time.monotonic() < deadline, f"never came: {wanted}\n{shown(program, size)}"
        program.read_for(0.2)


def test_a_quiet_screen_prints_little_and_says_so(busy: Path, tmp_path: Path) -> None:
    with terminal(argv(busy, "--quiet-screen"), SIZE, {"XDG_STATE_HOME": str(tmp_path)}) as program:
        see(program, NOTE)
        see(program, "/100 line")
        program.read_for(4.0)
        program.type("?")
        see(program, "─ Help ─")
        passed = time.perf_counter() - program.began
        # Counted from the start of the process: no bytes come before its first second.
        assert len(program.printed) <= ORDINARY + ANSWERS + (ORDINARY_RATE + ANSWERS_RATE) * passed
        program.type("\x1b")
        program.read_for(0.5)
        program.type("q")
        assert program.wait_end(15.0)
        assert program.status == 0
        assert b"\x1b[?1049l" in program.printed


def test_a_key_makes_it_quiet_and_loud_again(busy: Path, tmp_path: Path) -> None:
    with terminal(argv(busy), SIZE, {"XDG_STATE_HOME": str(tmp_path)}) as program:
        see(program, "/100 line")
        program.type("Q")
        see(program, NOTE)
        see(program, "Link, health, job")
        program.type("Q")
        see(program, "as usual again")
        see(program, "Link, health, job")
        assert NOTE not in shown(program)


def test_a_slow_terminal_is_found_out(busy: Path, tmp_path: Path) -> None:
    size = (80, 24)
    with terminal(argv(busy), size, {"XDG_STATE_HOME": str(tmp_path)}) as program:
        deadline = time.monotonic() + 60
        while NOTE.encode() not in program.printed:
            assert time.monotonic() < deadline, shown(program, size)
            if select.select([program.master], [], [], 0.5)[0]:
                program.printed += os.read(program.master, 250)
            time.sleep(0.1)  # 2.5 kB/s at most: what a bad line takes
        see(program, "The terminal takes only", size)
