"""Prompts files of all kinds: packed, in another order, named on the command line."""

from __future__ import annotations

import gzip
import importlib
import io
import json
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from remote.payload import run_inference as job
from tests.payload.test_run_inference_parts import dataset

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from types import ModuleType

    from tests.payload.conftest import Bench
    from tests.payload.mock_server import MockServer

HAS_ZSTD = pytest.mark.skipif(shutil.which("zstd") is None, reason="the zstd command is not installed")
ROWS = [{"id": f"p{n}", "prompt": f"A {n} " + "word " * (n % 7)} for n in range(3000)]
TEXT = "".join(json.dumps(row) + "\n" for row in ROWS).encode()


def zstd(data: bytes, *flags: str) -> bytes:
    """Packed by the zstd command."""
    return subprocess.run(["zstd", "-c", *flags], input=data, stdout=subprocess.PIPE, check=True).stdout


def in_two_parts(pack: Callable[[bytes], bytes]) -> bytes:
    """Two packed pieces one after the other, which is a packed file too; split in the middle of a line."""
    return pack(TEXT[:70_001]) + pack(TEXT[70_001:])


def scanned(path: Path, folder: Path | None, done: set[str] | None = None) -> job.Plan:
    """The plan of a file."""
    plan = job.Plan(job.Dataset("A", "short", path, 4, 100, None, None, {}, None))
    job.PromptScan(plan, done or set(), folder).run()
    return plan


def texts(plan: job.Plan) -> list[dict[str, Any]]:
    """The prompts to do, as the run reads them."""
    assert plan.file is not None
    found = []
    for offset in plan.todo:
        plan.file.seek(offset)
        found.append(json.loads(plan.file.readline()))
    plan.close()
    return found


def without(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """Makes modules missing."""
    real = importlib.import_module

    def found(name: str, package: str | None = None) -> ModuleType:
        if name in names:
            raise ImportError(name)
        return real(name, package)

    monkeypatch.setattr(importlib, "import_module", found)


ZSTD_WAYS = [
    pytest.param((), id="package"),
    pytest.param(("compression.zstd", "zstandard"), id="command"),
]


def test_gzip_is_unpacked_as_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "A.jsonl"  # the name does not matter
    path.write_bytes(in_two_parts(gzip.compress))
    assert texts(scanned(path, tmp_path)) == ROWS
    assert sorted(each.name for each in tmp_path.iterdir()) == ["A.jsonl"]


@HAS_ZSTD
@pytest.mark.parametrize("missing", ZSTD_WAYS)
def test_zstd_is_unpacked_as_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing: tuple[str, ...]
) -> None:
    without(monkeypatch, *missing)
    path = tmp_path / "A.jsonl"
    path.write_bytes(in_two_parts(lambda data: zstd(data, "--long=27")))
    assert texts(scanned(path, tmp_path)) == ROWS


@HAS_ZSTD
@pytest.mark.parametrize("missing", ZSTD_WAYS)
@pytest.mark.parametrize("left", [100, 6000])
def test_a_zstd_file_that_is_cut_off_is_no_shorter_list(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing: tuple[str, ...], left: int
) -> None:
    without(monkeypatch, *missing)
    path = tmp_path / "A.jsonl"
    path.write_bytes(zstd(TEXT)[:left])
    with pytest.raises(job.UnreadableError, match=r"end|premature|frame"):
        scanned(path, tmp_path)


@HAS_ZSTD
def test_without_any_means_the_sentence_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "A.jsonl"
    path.write_bytes(zstd(TEXT))
    without(monkeypatch, "compression.zstd", "zstandard")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(job.UnreadableError, match="install the zstd command or the zstandard package, or unpack it"):
        scanned(path, tmp_path)


@pytest.mark.parametrize("damage", [lambda data: data[:-9], lambda data: data[:500] + b"\0\1\2" + data[503:]])
def test_a_damaged_gzip_file_is_an_error(tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    path = tmp_path / "A.jsonl"
    path.write_bytes(damage(gzip.compress(TEXT)))
    with pytest.raises(job.UnreadableError):
        scanned(path, tmp_path)


async def test_a_packed_file_is_resumed_like_any_other(bench: Bench, server: MockServer) -> None:
    with gzip.open(bench.folder / "A.jsonl", "wb") as file:
        file.write(b"{broken\n" + b"".join(TEXT.splitlines(keepends=True)[:20]) + TEXT.splitlines()[19])
    bench.config(server.url, {"name": "A", "concurrency": 1, "token_budget": 75})
    assert (await bench.run())[0] == 0
    assert len(bench.rows("A")) == 8
    bench.config(server.url, {"name": "A", "concurrency": 3})
    status, log = await bench.run("--no-stamps")
    assert status == 7
    assert "  Resuming: 8 already done (80 tokens)\n  Running 12 requests " in log
    assert "  A: 1 lines repeat an id, each is done once\n" in log
    assert sorted(row["id"] for row in bench.rows("A")) == sorted(f"p{n}" for n in range(20))
    assert [row["line"] for row in bench.rows("A", "rejected.jsonl")] == [1]
    assert (await bench.run("--status"))[1] == "A: 20/20 done, 200 tokens (no budget), 0 errors, mean 10 tokens\n"


def test_only_what_is_to_do_is_unpacked_into_a_file(tmp_path: Path) -> None:
    path = tmp_path / "A.jsonl"
    path.write_bytes(gzip.compress(TEXT))
    plan = scanned(path, tmp_path, {f"p{n}" for n in range(2990)})
    assert plan.file is not None
    assert (plan.done, plan.total, plan.todo[0]) == (2990, 3000, 0)
    assert plan.file.seek(0, io.SEEK_END) == len(b"".join(TEXT.splitlines(keepends=True)[2990:]))
    plan.close()


@pytest.mark.parametrize(
    ("line", "known"),
    [
        (b'{"id": "a", "prompt": "x"}', "a"),
        (b' { "id":"\xc3\xa9","prompt":"x"}', "\u00e9"),
        (b'{"id": 12}', "12"),
        (b'{"id": "a\\u00e9", "prompt": "x"}', None),
        (b'{"prompt": "x", "id": "a"}', None),
        (b'{"id": "a", "messages": [{"id": "b"}]}', None),
        (b'{"id": "a", "prompt": "say \\"id\\""}', "a"),
        (b'{"id": -1}', None),
        (b'{"id": "\xff"}', None),
    ],
)
def test_ids_that_are_known_without_parsing(line: bytes, known: str | None) -> None:
    assert job.quick_id(line) == known
    if known is not None and b"prompt" in line:
        assert job.parse_prompt(line).id == known


HINTED = [
    '{"id": "short", "prompt": "a"}',
    '{"id": "said-9", "prompt": "b", "expected_tokens": 9}',
    '{"id": "long", "prompt": "a much longer one"}',
    '{"id": "said-12", "prompt": "c", "expected_tokens": 12.5}',
    '{"id": "not-said", "prompt": "d", "expected_tokens": "many"}',
]


async def test_the_longest_go_first(bench: Bench, server: MockServer) -> None:
    bench.lines("A", *HINTED)
    bench.config(server.url, {"name": "A", "concurrency": 1, "order": "longest-first"})
    assert (await bench.run())[0] == 0
    assert [row["id"] for row in bench.rows("A")] == ["said-12", "said-9", "not-said", "long", "short"]


async def test_the_command_line_says_the_order_of_all(bench: Bench, server: MockServer) -> None:
    bench.prompts("A", 40)
    bench.config(server.url, {"name": "A", "concurrency": 1, "order": "longest-first"}, defaults={"order": "file"})
    assert (await bench.run("--order", "shuffle", "--out", str(bench.folder / "one")))[0] == 0
    first = [body["text"] for _, body in server.asked]
    assert first != sorted(first, key=lambda text: int(text.split()[1]))
    assert sorted(first) == sorted(f"A {n}" for n in range(40))
    assert (await bench.run("--order", "shuffle", "--out", str(bench.folder / "two")))[0] == 0
    assert [body["text"] for _, body in server.asked[40:]] == first
    assert (await bench.run("--order", "file"))[0] == 0
    assert [body["text"] for _, body in server.asked[80:]] == [f"A {n}" for n in range(40)]


async def test_an_order_that_is_none_is_a_fault(bench: Bench) -> None:
    bench.prompts("A", 1)
    bench.config("http://127.0.0.1:9", {"name": "A", "order": "random"})
    status, log = await bench.run()
    assert status == 2
    assert 'datasets[0] (A).order must be one of file, longest-first, shuffle, not "random".' in log


async def test_datasets_on_the_command_line(bench: Bench, server: MockServer) -> None:
    bench.prompts("A", 9)
    bench.prompts("B", 3)
    first = 'name=A,prompts=A.jsonl,limit=2,max_tokens=64,sampling={"temperature": 0.5, "top_p": 0.9},kind=long'
    flags = ("--dataset", first, "--dataset", "name=B,prompts=B.jsonl,concurrency=1", "--out", "results")
    process = await bench.start_as((*flags, "--server", server.url, "--no-stamps"), cwd=bench.folder)
    status, log = await bench.end(process)
    assert status == 0, log
    assert "Processing: A (LONG)\n" in log
    assert (bench.folder / "results" / "B" / "results.jsonl").read_text("utf-8").count("\n") == 3
    sampling = {"temperature": 0.5, "top_p": 0.9, "max_new_tokens": 64}
    assert server.asked[0][1]["sampling_params"] == sampling
    assert sum(body["text"].startswith("A ") for _, body in server.asked) == 2


async def test_faults_of_the_command_line_come_together(bench: Bench) -> None:
    bench.prompts("A", 1)
    flags = ("--dataset", "name=A,name=B,prompts=A.jsonl,lmit=3", "--dataset", "nonsense", "--server", "x://y")
    status, log = await bench.end(await bench.start_as(flags, cwd=bench.folder))
    assert status == 2
    for part in (
        "--dataset: 'name' stands there twice; write name=B1,prompts=b1.jsonl",
        "unknown key 'lmit'; did you mean 'limit'?",
        "--dataset: 'nonsense' has no value",
        "out must be a text that isn't empty.",
        "server: 'x://y' is no http:// or https:// URL.",
    ):
        assert part in log
    assert "Traceback" not in log


async def test_neither_config_nor_dataset(bench: Bench) -> None:
    status, log = await bench.end(await bench.start_as(("--out", "x"), cwd=bench.folder))
    assert status == 2
    assert "datasets must be a list of at least one dataset; give it in --config, or as --dataset." in log


def test_a_library_that_is_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "A.jsonl").write_text("")
    flags = ["--dataset", f"name=A,prompts={tmp_path / 'A.jsonl'}", "--out", str(tmp_path)]
    settings = job.read_settings(job.build_parser().parse_args(flags))
    monkeypatch.setitem(sys.modules, "aiohttp", None)
    monkeypatch.setitem(sys.modules, "httpx", None)
    with pytest.raises(job.JobEnded, match="has no aiohttp or httpx; install it"):
        job.open_client(settings, 3)
    assert dataset(tmp_path).order == "file"
