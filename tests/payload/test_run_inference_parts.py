"""The job's parts that need no process: prompts, results, answers, figures, the gate."""

from __future__ import annotations

import ast
import asyncio
import contextlib
import errno
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remote.payload import run_inference as job
from tests.payload.conftest import SCRIPT

if TYPE_CHECKING:
    from collections.abc import Sequence

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)

ANSWER_KEYS = ("text", "meta_info", "choices", "usage", "finish_reason", "prompt_tokens", "completion_tokens", "error")


def dataset(folder: Path, **more: Any) -> job.Dataset:
    given_values: dict[str, Any] = {
        "kind": "short",
        "concurrency": 4,
        "max_tokens": 100,
        "token_budget": None,
        "limit": None,
    }
    rest: dict[str, Any] = {"sampling": {}, "system_prompt": None}
    return job.Dataset(name="A", prompts=folder / "A.jsonl", **{**given_values, **rest, **more})


def test_the_host_needs_no_newer_python_than_said() -> None:
    ast.parse(SCRIPT.read_text(), feature_version=(3, 10))


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(None, "?"), (0, "0s"), (45.2, "45s"), (59.6, "1m"), (720, "12m"), (3569, "59m"), (3590, "1.0h"), (6840, "1.9h")],
)
def test_words_for_seconds(seconds: float | None, words: str) -> None:
    assert job.words_for_seconds(seconds) == words


@pytest.mark.parametrize(
    ("rate", "words"), [(0.0, "0.0"), (0.004, "0.00"), (0.04, "0.04"), (0.31, "0.3"), (12.34, "12.3")]
)
def test_words_for_rate(rate: float, words: str) -> None:
    assert job.words_for_rate(rate) == words


@given(st.text(max_size=400))
def test_foreign_text_is_one_bounded_line(text: str) -> None:
    cleaned = job.clean(text)
    assert len(cleaned) <= 300
    assert cleaned.isprintable()


@given(st.binary(max_size=60) | JSON_VALUES.map(lambda value: json.dumps(value).encode()))
def test_any_line_is_a_prompt_or_has_a_reason(line: bytes) -> None:
    with contextlib.suppress(ValueError):
        prompt = job.parse_prompt(line)
        assert prompt.id
        assert prompt.form in job.FORMS


@pytest.mark.parametrize(
    "row",
    [
        {"prompt": ""}, {"prompt": "a", "messages": [{"role": "user", "content": "b"}]}, {"input_ids": [1, True]},
        {"input_ids": [-1]}, {"messages": [{"role": "user"}]}, {"messages": []}, {"prompt": "a", "id": ""},
        {"prompt": "a", "id": True}, {"prompt": "a", "id": 1.5},
    ],
)  # fmt: skip
def test_unusable_prompts(row: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"\w+"):
        job.parse_prompt(json.dumps(row).encode())


def test_an_id_depends_on_the_content_alone() -> None:
    one = job.parse_prompt(b'{"prompt": "caf\\u00e9", "source": 1}')
    same = job.parse_prompt('{"source": 2,   "prompt": "café"}\r\n'.encode())
    other = job.parse_prompt(b'{"prompt": "cafe"}')
    assert one.id == same.id != other.id
    assert job.parse_prompt(b'{"prompt": "a", "id": 12}').id == "12"


@given(
    st.sampled_from(["/generate", "/v1/completions", "/v1/chat/completions"]),
    st.sampled_from([200, 200, 200, 302, 400, 429, 500, 503]),
    st.binary(max_size=30)
    | st.dictionaries(st.sampled_from(ANSWER_KEYS), JSON_VALUES).map(lambda table: json.dumps(table).encode()),
    st.none() | st.text(max_size=5) | st.sampled_from(["3", "-1", "nan", "inf", "Wed, 21 Oct 2026 07:28:00 GMT"]),
)
def test_any_answer_is_a_completion_or_a_failure(path: str, status: int, body: bytes, retry_after: str | None) -> None:
    answer = job.read_answer(path, status, body, retry_after)
    if isinstance(answer, job.Failure):
        assert answer.kind
        assert 0 <= answer.retry_after <= job.LONGEST_RETRY_AFTER_S
    else:
        assert status == 200
        assert min(answer.prompt_tokens, answer.completion_tokens) >= 0


ROWS = st.lists(
    st.builds(
        lambda key, tokens, text: {"id": key, "completion_tokens": tokens, "text": text},
        st.text(min_size=1, max_size=5), st.integers(0, 99), st.text(max_size=12) | st.just("code {}"),
    ),
    max_size=6,
)  # fmt: skip


@settings(max_examples=60, deadline=None)  # it writes files, which takes as long as the disk does
@given(ROWS, st.integers(0, 400))
def test_a_results_file_cut_anywhere_gives_its_whole_lines(
    tmp_path_factory: pytest.TempPathFactory, rows: Sequence[dict[str, Any]], at: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "cut.jsonl"
    lines = [json.dumps(row).encode() + b"\n" for row in rows]
    whole = b"".join(lines)
    path.write_bytes(whole[:at])
    results = job.read_results(path)
    left = at
    ids: dict[str, int] = {}
    for row, line in zip(rows, lines, strict=True):
        # The line end is all that may be missing of a line that counts.
        if left >= len(line) - 1:
            ids.setdefault(row["id"], row["completion_tokens"])
        left -= len(line)
    assert results.ids == set(ids)
    assert results.tokens == sum(ids.values())
    assert results.whole + results.half == min(at, len(whole))


def test_a_failed_write_leaves_no_half_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = job.AppendFile(tmp_path / "results.jsonl")
    file.append({"id": "a"})
    write = os.write
    sizes = iter([5, None])

    def full(descriptor: int, data: bytes) -> int:
        size = next(sizes)
        if size is None:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(descriptor, data[:size])

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        with pytest.raises(job.JobEnded, match="the disk is full") as caught:
            file.append({"id": "b"})
    assert caught.value.exit_code == 5
    file.append({"id": "c"})
    file.close()
    assert (tmp_path / "results.jsonl").read_bytes() == b'{"id": "a"}\n{"id": "c"}\n'


async def test_lines_of_one_moment_go_out_together_and_a_full_disk_keeps_the_whole_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = job.AppendFile(tmp_path / "results.jsonl")
    ends: list[job.JobEnded] = []
    write = os.write
    sizes: list[int] = []

    def counted(descriptor: int, data: bytes) -> int:
        sizes.append(len(data))
        return write(descriptor, data)

    def full(descriptor: int, data: bytes) -> int:
        if len(data) < 20:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(descriptor, data[:20])

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", counted)
        file.append_soon({"id": "a"}, ends.append)
        file.append_soon({"id": "b"}, ends.append)
        assert sizes == []
        await asyncio.sleep(0)
        assert sizes == [24]
        # What is said at once takes with it what waits: the order stays.
        file.append_soon({"id": "c"}, ends.append)
        file.append({"id": "d"})
        assert sizes == [24, 24]
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        for key in "efg":
            file.append_soon({"id": key}, ends.append)
        await asyncio.sleep(0)
    assert [end.exit_code for end in ends] == [5]
    file.append_soon({"id": "h"}, ends.append)
    file.close()
    rows = (tmp_path / "results.jsonl").read_text().splitlines()
    assert [json.loads(row)["id"] for row in rows] == ["a", "b", "c", "d", "e", "h"]


def test_a_removed_results_file_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    file = job.AppendFile(path)
    file.append({"id": "a"})
    path.unlink()
    with pytest.raises(job.JobEnded, match="was removed"):
        file.sync()
    file.close()


def test_a_log_that_cannot_be_written_ends_nothing_and_says_so_later(tmp_path: Path) -> None:
    path = tmp_path / "job.log"
    log = job.Log(stamps=False, descriptor=os.open(path, os.O_WRONLY | os.O_CREAT))
    log.line("one")
    kept = os.dup(log._descriptor)
    os.close(log._descriptor)
    log.line("two")
    os.dup2(kept, log._descriptor)
    log.line("three")
    os.close(kept)
    os.close(log._descriptor)
    assert path.read_text() == "one\n\n(1 lines of this log could not be written)\nthree\n"


def figures(folder: Path, *, todo: int, budget: int | None, tokens: int = 0, results: int = 0) -> job.Figures:
    plan = job.Plan(dataset(folder, token_budget=budget), tokens=tokens, results=results)
    for number in range(results):
        plan.lengths.add(tokens // results + (number < tokens % results))
    plan.todo.extend(range(todo))
    return job.Figures(plan, now=1000.0)


def test_figures_of_a_running_dataset(tmp_path: Path) -> None:
    made = figures(tmp_path, todo=9998, budget=10_000_000, tokens=1012, results=2)
    made.plan.dataset = dataset(tmp_path, token_budget=10_000_000, max_tokens=1300)
    assert made.progress_line(1001.0) == "  0/9998 (0 err) 0.0 req/s avg_comp=?tok tot=0.0M ETA=?"
    for _ in range(50):
        made.completed(1232, 70.0)
    assert made.progress_line(1150.0) == "  50/9998 (0 err) 0.3 req/s avg_comp=1232tok tot=0.1M ETA=6.7h"
    made.plan.dataset = dataset(tmp_path, token_budget=100_000, max_tokens=1300)
    # What the budget has room for at this rate, then one more answer like the others (to a bin of 9 %).
    assert made.eta_s(1150.0) == pytest.approx((100_000 - 62_612) / (61_600 / 150) + 70, abs=0.09 * 70)
    assert made.end_line(1360.0, "budget") == "  A: done 50 (0 err), 62,612 tokens in 0.10h, budget reached"


def test_rates_are_of_the_last_quarter_of_an_hour(tmp_path: Path) -> None:
    made = figures(tmp_path, todo=10_000, budget=None)
    for minute in range(1, 120):
        for _ in range(60):
            made.completed(10 if minute < 90 else 20, 1.0)
        made.sample(1000.0 + 60 * minute)
    requests, tokens = made.rates(1000.0 + 60 * 119)
    assert requests == pytest.approx(1.0)
    assert tokens == pytest.approx(20.0)


@given(st.integers(1, 400), st.integers(0, 500), st.integers(0, 50))
def test_no_request_starts_once_the_budget_is_met(budget: int, tokens: int, results: int) -> None:
    made = figures(Path(), todo=5, budget=budget, tokens=tokens, results=results)
    if tokens >= budget:
        assert made.budget_met
        assert not made.may_start(1000.0)
    else:
        assert made.may_start(1000.0)


class Told(list[str]):
    """Collects what a gate says."""

    def __call__(self, what: str, message: str) -> None:
        assert message
        self.append(what)


async def test_the_gate_lets_one_trial_through_while_the_server_is_unwell() -> None:
    told = Told()
    gate = job.Gate(told, pause=0.5)
    gate.threshold = 3
    for key in (1, 1, 2):
        gate.failed(key, "http_500", 10.0)
    assert gate.may_send(10.0)
    gate.failed(3, "http_500", 10.0)
    assert told == ["gone"]
    assert not gate.may_send(10.1)
    assert gate.may_send(10.6)
    gate.started(7)
    assert not gate.may_send(99.0)
    gate.failed(7, "http_500", 99.0)
    gate.ended(7)
    assert not gate.may_send(99.9)
    assert gate.wait_s(99.0) == pytest.approx(1.0)
    assert gate.may_send(100.1)
    assert gate.closed_for(110.0) == 100.0
    gate.completed(120.0)
    assert told == ["gone", "back"]
    assert gate.may_send(120.0)
    assert gate.closed_for(130.0) == 0.0


async def test_failures_of_requests_sent_before_do_not_put_off_the_trial() -> None:
    gate = job.Gate(Told(), pause=0.5)
    gate.threshold = 3
    for key in range(30):
        gate.failed(key, "http_500", 10.0)
    assert gate.may_send(10.6)


async def test_the_gate_counts_closed_time_over_several_losses_until_a_completion() -> None:
    told = Told()
    gate = job.Gate(told)
    gate.lost("refused", 10.0)
    gate.answered(40.0)
    gate.lost("refused", 100.0)
    assert gate.closed_for(110.0) == 40.0
    gate.remind(130.0)
    gate.remind(160.0)
    gate.answered(170.0)
    assert told == ["gone", "back", "gone", "still", "back"]
    gate.completed(171.0)
    assert gate.closed_for(180.0) == 0.0


async def test_a_doubt_that_a_probe_settles_is_not_told() -> None:
    told = Told()
    gate = job.Gate(told)
    gate.doubted(1.0)
    assert not gate.may_send(1.0)
    gate.answered(2.0)
    assert gate.may_send(2.0)
    assert told == []
