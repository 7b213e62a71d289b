"""What holds of every parser: any text is survived, any split gives the same, figures come back as they went in."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from hypothesis import given, settings
from hypothesis import strategies as st

from console.job.figures import after, clock, magnitude, real, seconds, whole
from console.job.job_events import Progress
from console.job.levels import level_of
from console.job.lines import LineSplitter
from console.job.runner_log import RunnerLog
from console.job.server_events import ServerLoad
from console.job.server_log import ServerLog
from console.job.sglang_log import read_decode, read_prefill
from console.job.stamps import StampReader

if TYPE_CHECKING:
    from console.job.events import Stamped

SEEN = datetime(2026, 12, 1, tzinfo=UTC)
LOGS = sorted((Path(__file__).parents[1] / "data" / "logs").glob("*.log"))
WORDS = st.sampled_from(
    [
        "Decode batch",
        "Prefill batch",
        ", ",
        "#running-req: ",
        "#queue-req: ",
        "token usage: ",
        "0.82",
        "12",
        "-1",
        "nan",
        "[2026-11-30 03:00:01] ",
        "[2026-11-30 03:00:01 DP1] ",
        "[03:00:01 TP0] ",
        "INFO 11-30 03:00:01 ",
        "[loggers.py:335] ",
        "Engine 000: ",
        "Avg prompt throughput: ",
        "Running: ",
        "KV cache usage: ",
        "%",
        "#retracted_reqs: ",
        "max_total_num_tokens=",
        "Processing: ",
        "(SHORT)",
        ": done ",
        "1/2",
        "(0 err)",
        "ETA=",
        "?",
        " 45%",
        "#",
        "12:30<15:20",
        " 1.2it/s]",
        "Traceback (most recent call last):",
        "Killed",
        "Time zone: ",
        "UTC+99:99",
        "\x1b[31m",
        "é",
        "0.12.345.678 I slot ",
        "print_timing: id  0 | task 0 | ",
        "eval time =  1.0 ms /  3 tokens",
        "launch_slot_: id  0 | task 1 | processing task",
        "[11/30/2026-03:00:01] [TRT-LLM] [I] ",
        "iter = 1, rank = 0, num_scheduled_requests = 4, kv_cache_util = 0.1, ",
        "'num_generation_tokens': 4",
        "2026-11-30T03:00:01.123456789Z ",
        "Nov 30 03:00:01 gpu01 unit[7]: ",
        "name-1  | ",
        "(Worker_TP0 pid=7) ",
        "9999999999999999999999",
        "server_args={",
    ]
)
LINES = st.text(max_size=80) | st.lists(WORDS, max_size=12).map("".join)


@given(st.lists(LINES, max_size=8))
@settings(max_examples=300)
def test_any_lines_never_raise(lines: list[str]) -> None:
    server, runner = ServerLog(ZoneInfo("Europe/Berlin")), RunnerLog(ZoneInfo("Europe/Berlin"))
    server.look_ahead(lines, SEEN)
    runner.look_ahead(lines, SEEN)
    for line in lines:
        for stamped in (*server.parse(line, SEEN), *runner.parse(line, SEEN)):
            assert stamped.at.utcoffset() == timedelta(0)
        assert level_of(line) in {"info", "warning", "error", "quiet"}


@given(st.sampled_from(LOGS), st.lists(st.integers(0, 60_000), max_size=12))
@settings(max_examples=25, deadline=None)
def test_any_split_of_a_log_gives_the_same_events(path: Path, cuts: list[int]) -> None:
    data = path.read_bytes()
    edges = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    pieces = [data[here:there] for here, there in itertools.pairwise(edges)]
    assert parse_all(pieces) == parse_all([data])


def parse_all(pieces: list[bytes]) -> list[Stamped]:
    splitter, log = LineSplitter(), ServerLog(UTC)
    lines = [line for piece in pieces for line in splitter.feed(piece)] + splitter.flush()
    return [stamped for line in lines for stamped in log.parse(line, SEEN)]


COUNTS = st.integers(0, 10**9)
SHARES = st.integers(0, 100).map(lambda percent: percent / 100)
RATES = st.integers(0, 10**7).map(lambda cents: cents / 100)


@given(COUNTS, COUNTS, SHARES, RATES, COUNTS)
def test_a_decode_line_gives_back_its_figures(running: int, tokens: int, usage: float, rate: float, queue: int) -> None:
    pairs = [
        f"#running-req: {running}",
        f"#token: {tokens}",
        f"token usage: {usage:.2f}",
        "cuda graph: True",
        f"gen throughput (token/s): {rate:.2f}",
        f"#queue-req: {queue}",
    ]
    said = ServerLoad("DP3", running, queue, usage, tokens, rate)
    assert read_decode("Decode batch, " + ", ".join(pairs), "DP3") == said
    # Another order has no shortcut and is read pair by pair.
    assert read_decode("Decode batch, " + ", ".join([*pairs[1:], pairs[0]]), "DP3") == said


@given(st.tuples(COUNTS, COUNTS, COUNTS), SHARES, COUNTS, COUNTS)
def test_a_prefill_line_gives_back_its_figures(
    work: tuple[int, int, int], usage: float, running: int, queue: int
) -> None:
    new, fresh, cached = work
    pairs = (
        f"#new-seq: {new}, #new-token: {fresh}, #cached-token: {cached}",
        f"token usage: {usage:.2f}, #running-req: {running}",
    )
    quick = read_prefill(f"Prefill batch, {pairs[0]}, {pairs[1]}, #queue-req: {queue}")
    slow = read_prefill(f"Prefill batch, {pairs[0]}, #queue-req: {queue}, {pairs[1]}")
    assert quick is not None
    assert quick == slow
    assert (quick.new_requests, quick.cached_tokens, quick.token_usage, quick.queue) == (new, cached, usage, queue)


@given(COUNTS, COUNTS, COUNTS, st.integers(0, 10**6))
def test_a_progress_line_gives_back_its_figures(done: int, total: int, errors: int, tenths: int) -> None:
    line = f"  {done}/{total} ({errors} err) {tenths / 10:.1f} req/s avg_comp={tenths}tok tot={tenths / 10:.1f}M ETA={tenths}s"
    (stamped,) = RunnerLog(UTC).parse(line, SEEN)
    assert stamped.event == Progress("", done, total, errors, tenths / 10, tenths, round(tenths * 1e5), float(tenths))


@given(st.integers(0, 10**15))
def test_whole_numbers_come_back(number: int) -> None:
    assert whole(f"{number:,}") == whole(str(number)) == number
    assert after(f"a: {number}, b", "a: ") == number


@given(st.text(max_size=40))
def test_figures_never_raise(text: str) -> None:
    for read in (whole, real, magnitude, seconds, clock):
        read(text)
    after(text, "")


@given(st.datetimes(datetime(2020, 1, 1), datetime(2030, 1, 1)))  # noqa: DTZ001  local times have no zone
def test_times_come_back(naive: datetime) -> None:
    naive = naive.replace(microsecond=0)
    zone, seen = ZoneInfo("America/New_York"), datetime(2031, 1, 1, tzinfo=UTC)
    at = StampReader(zone).read(f"[{naive:%Y-%m-%d %H:%M:%S}] x", seen).at
    assert at is not None
    assert at in {naive.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1)}


@given(st.datetimes(datetime(2025, 3, 1), datetime(2026, 11, 30)))  # noqa: DTZ001  UTC is added below
def test_a_year_that_is_left_out_is_found(naive: datetime) -> None:
    at = naive.replace(microsecond=0, tzinfo=UTC)
    line = f"INFO {at:%m-%d %H:%M:%S} [a.py:1] x"
    assert StampReader(UTC).read(line, at + timedelta(days=30)).at == at
