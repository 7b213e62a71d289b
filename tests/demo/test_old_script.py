"""The old job script, against the simulated server."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from remote.demo import old_script

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from tests.demo.conftest import Serve

PROMPTS = 60


def config(folder: Path, url: str) -> dict[str, object]:
    prompts = folder / "prompts.jsonl"
    rows = [{"id": f"p{n}", "input_ids": [n + 1, 2, 3]} for n in range(PROMPTS)]
    prompts.write_text("".join(json.dumps(row) + "\n" for row in rows))
    entry = {
        "name": "B1_glaive",
        "kind": "short",
        "prompts": str(prompts),
        "concurrency": 20,
        "max_tokens": 400,
        "token_budget": 10,
        "sampling": {"temperature": 0.6},
    }
    return {"server": url, "out": str(folder / "out"), "datasets": [entry]}


async def test_it_resumes_and_ignores_the_budget(
    serve: Serve, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results = tmp_path / "out" / "B1_glaive" / "results.jsonl"
    results.parent.mkdir(parents=True)
    results.write_text('{"id": "p0", "completion_tokens": 1012}\n')
    async with serve(speed=3000.0) as server:
        await old_script.main(config(tmp_path, f"http://127.0.0.1:{server.port}"))
    said = capsys.readouterr().out.splitlines()
    assert said[:6] == [
        "=" * 60,
        "Processing: B1_glaive (SHORT)",
        "=" * 60,
        "Loading and tokenizing prompts for B1_glaive...",
        "  B1_glaive: 60 prompts tokenized",
        "  Resuming: 1 already done (1,012 tokens)",
    ]
    assert said[6] == "  Running 59 requests (concurrency=20, max_tokens=400)..."
    assert re.fullmatch(r"50/59 \(0 err\) [\d.]+ req/s avg_comp=\d+tok tot=0\.0M ETA=[\d.]+h", said[7])
    assert said[-1] == "All data sets done."
    rows = [json.loads(line) for line in results.read_text().splitlines()]
    assert {row["id"] for row in rows} == {f"p{n}" for n in range(PROMPTS)}
    assert len(rows) == PROMPTS
    assert all(len(row["output_ids"]) == row["completion_tokens"] for row in rows[1:])


async def test_what_fails_is_tried_again_and_counted(
    serve: Serve, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(old_script, "PAUSE_S", 0.01)
    async with serve("error-storm", speed=3000.0) as server:
        await old_script.main(config(tmp_path, f"http://127.0.0.1:{server.port}"))
    last = capsys.readouterr().out.splitlines()[-2]
    done = re.search(r"done (\d+) \((\d+) err\)", last)
    assert done is not None
    good, bad = int(done[1]), int(done[2])
    assert good + bad == PROMPTS
    assert bad > 0
    rows = [json.loads(line) for line in (tmp_path / "out" / "B1_glaive" / "results.jsonl").read_text().splitlines()]
    assert len(rows) == good
    assert any(row["attempt"] > 1 for row in rows)
