"""The journal: it only grows, survives crashes and two writers, and says the same in every place."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from console.cli import cli
from console.job.snapshot import Judgement, LinkView, Snapshot, Verdict
from console.journal import Entry, Journal, Kind, entry_of, local_user
from console.journal_file import add_line, keep_newest, newest_objects, objects
from console.journal_remote import PLACE, add_there, merged, others, read_there
from console.journal_verdicts import LASTS, VerdictNotes
from console.journal_words import line, since_of, told
from remote.errors import CommandFailed
from remote.local import LocalHost

if TYPE_CHECKING:
    from collections.abc import Callable

    from click.testing import Result

ROOT = Path(__file__).parents[2]
T0 = datetime(2026, 2, 24, 3, 0, tzinfo=UTC)


def journal(path: Path, at: datetime = T0, user: str = "me@desk") -> Journal:
    return Journal(path / "run.journal.jsonl", host="gpu01", clock=lambda: at, user=user)


# -- the file


def test_a_half_last_line_is_ended_and_harms_no_other(tmp_path: Path) -> None:
    path = tmp_path / "j"
    add_line(path, {"n": 1})
    with path.open("ab") as file:
        file.write(b'{"n": 2, "wha')
    add_line(path, {"n": 3})
    assert [found["n"] for found in objects(path)] == [1, 3]
    assert path.read_bytes().count(b"\n") == 3
    assert oct(path.stat().st_mode & 0o777) == "0o600"


def test_two_programs_add_at_once_and_no_line_is_lost(tmp_path: Path) -> None:
    path = tmp_path / "j"
    code = (
        "import sys; from pathlib import Path; from console.journal_file import add_line\n"
        "for n in range(150): add_line(Path(sys.argv[1]), {'who': sys.argv[2], 'n': n, 'words': 'x' * (n * 40)})"
    )
    running = [subprocess.Popen([sys.executable, "-c", code, str(path), who], cwd=ROOT) for who in "ab"]
    assert [process.wait(60) for process in running] == [0, 0]
    found = list(objects(path))
    for who in "ab":
        assert [each["n"] for each in found if each["who"] == who] == list(range(150))
    assert path.read_bytes().count(b"\n") == 300


def test_what_holds_no_object_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "j"
    deep = b'{"n":' * 100_000
    path.write_bytes(b'\xff\xfe\n[1]\n\n{"n": 1}\nnull\n' + deep + b'\n{"n": 2}')
    assert [found["n"] for found in objects(path)] == [1, 2]
    assert list(objects(tmp_path / "none")) == []
    assert newest_objects(tmp_path / "none", 10) == ()


def test_the_newest_objects_begin_with_a_whole_line(tmp_path: Path) -> None:
    path = tmp_path / "j"
    for number in range(10):
        add_line(path, {"n": number})
    size = path.stat().st_size
    assert [found["n"] for found in newest_objects(path, size)] == list(range(10))
    assert [found["n"] for found in newest_objects(path, 20)] == [8, 9]
    keep_newest(path, size)
    assert path.stat().st_size == size
    keep_newest(path, 20)
    assert [found["n"] for found in objects(path)] == [8, 9]
    assert [entry.name for entry in tmp_path.iterdir()] == ["j"]


def test_a_disk_that_is_full_is_told_and_the_next_entry_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = journal(tmp_path)
    kept.write(Kind.NOTE, "before")
    whole = os.write
    monkeypatch.setattr(os, "write", lambda held, data: whole(held, data[: len(data) // 2]))
    kept.write(Kind.NOTE, "cut off")
    assert "can't be written" in kept.trouble
    monkeypatch.undo()
    kept.write(Kind.NOTE, "after")
    assert kept.trouble == ""
    assert [entry.what for entry in kept.entries()] == ["before", "after"]


def test_a_folder_that_may_not_be_used_is_told_and_nothing_raises(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    kept = journal(tmp_path / "file")
    assert kept.write(Kind.NOTE, "lost").what == "lost"
    assert "can't be written" in kept.trouble
    assert kept.entries() == ()
    assert "can't be read" in kept.trouble


# -- entries


@given(
    st.builds(
        Entry,
        at=st.datetimes(min_value=datetime(1990, 1, 1), max_value=datetime(2100, 1, 1), timezones=st.just(UTC)).map(  # noqa: DTZ001 - hypothesis wants them so
            lambda at: at.replace(microsecond=at.microsecond // 1000 * 1000)
        ),
        kind=st.sampled_from([str(kind) for kind in Kind]),
        what=st.text(),
        why=st.text(),
        outcome=st.text(),
        more=st.dictionaries(st.text(), st.integers() | st.text() | st.none()),
    )
)
def test_an_entry_survives_its_line(entry: Entry) -> None:
    written = json.dumps(entry.values(), ensure_ascii=False).encode("utf-8", "replace")
    read = entry_of(json.loads(written))
    assert read is not None
    assert read.values() == json.loads(written)
    assert "\n" not in line(entry, UTC)
    assert "\x1b" not in line(entry, UTC)


@pytest.mark.parametrize(
    "values",
    [{}, {"at": "yesterday"}, {"at": "2026-02-24T03:00:00"}, {"at": 3}, {"at": T0.isoformat(), "more": []}]
    + [{"at": f"{at}+14:00"} for at in ("0001-01-01T00:00:00", "0001-01-01T13:59:59")],
)
def test_what_is_no_entry_is_none(values: dict[str, object]) -> None:
    assert entry_of(values) is None


def test_who_and_where_stand_in_each_entry(tmp_path: Path) -> None:
    journal(tmp_path, user=local_user()).write(Kind.ACTION, "restart", why="old script", outcome="done", act="a1")
    (entry,) = journal(tmp_path).entries()
    assert entry.user.count("@") == 1
    assert (entry.host, entry.why, entry.outcome, entry.act) == ("gpu01", "old script", "done", "a1")


def test_entries_come_in_the_order_of_their_times_and_from_a_moment_on(tmp_path: Path) -> None:
    for minutes in (2, 1, 3):
        journal(tmp_path, T0 + timedelta(minutes=minutes)).write(Kind.NOTE, str(minutes))
    assert [entry.what for entry in journal(tmp_path).entries()] == ["1", "2", "3"]
    assert [entry.what for entry in journal(tmp_path).entries(T0 + timedelta(minutes=2))] == ["2", "3"]
    assert [entry.what for entry in journal(tmp_path).recent()] == ["2", "1", "3"]


def test_steps_are_told_only_of_an_act_without_an_end(tmp_path: Path) -> None:
    kept = journal(tmp_path)
    for act in "ab":
        kept.write(Kind.INTENT, "restart: stop the process group", act=act)
        kept.write(Kind.INTENT, "restart: start the job", act=act)
    kept.write(Kind.ACTION, "restart", act="a", outcome="The job is restarted.")
    assert [(entry.kind, entry.act) for entry in told(kept.entries())] == [("intent", "b"), ("action", "a")]
    assert "start the job began, and no end of it was written" in line(told(kept.entries())[0], UTC)


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("90s", T0 - timedelta(seconds=90)),
        ("30 min", T0 - timedelta(minutes=30)),
        ("1.5h", T0 - timedelta(hours=1.5)),
        ("1d", T0 - timedelta(days=1)),
        ("2026-02-24T01:00:00+01:00", T0 - timedelta(hours=3)),
    ],
)
def test_a_moment_is_read(text: str, at: datetime) -> None:
    assert since_of(text, T0) == at


@pytest.mark.parametrize("text", ["", "soon", "3 weeks", "99999999999d", "2026-13-01"])
def test_what_is_no_moment_says_what_would_be(text: str) -> None:
    with pytest.raises(ValueError, match=r"moment|before all time"):
        since_of(text, T0)


# -- the verdict's changes


def seen(seconds: float, verdict: Judgement, cause: str, link: str = "up") -> Snapshot:
    return Snapshot(T0 + timedelta(seconds=seconds), Verdict(verdict, cause, "Words."), link=LinkView(state=link))


def causes(kept: Journal) -> list[str]:
    return [str(entry.more["cause"]) for entry in kept.entries()]


def test_a_verdict_is_written_when_it_lasts_and_once(tmp_path: Path) -> None:
    kept = journal(tmp_path)
    notes = VerdictNotes(kept)
    for second in range(30):
        notes.take(seen(second, Judgement.BLIND, "link_down", "connecting"))
    for second in range(30, 34):
        notes.take(seen(second, Judgement.WAIT, f"fleeting_{second}"))
    for second in range(34, 90):
        notes.take(seen(second, Judgement.WAIT, "kv_limited"))
    assert causes(kept) == ["kv_limited"]
    for second in range(90, 90 + int(LASTS.total_seconds()) + 1):
        notes.take(seen(second, Judgement.INTERVENE, "job_dead"))
    assert causes(kept) == ["kv_limited", "job_dead"]


def test_another_console_writes_it_no_second_time(tmp_path: Path) -> None:
    kept = journal(tmp_path)
    for console in (VerdictNotes(kept), VerdictNotes(kept)):
        for second in range(30):
            console.take(seen(second, Judgement.WAIT, "kv_limited"))
    assert causes(kept) == ["kv_limited"]


# -- beside the job


async def test_an_entry_is_added_beside_the_job(tmp_path: Path) -> None:
    folder = tmp_path / "run -x 'q' $(touch pwned)\n"
    folder.mkdir()
    entry = journal(tmp_path).write(Kind.NOTE, "näïve \x1b[2J")
    await add_there(LocalHost(), sys.executable, str(folder), entry)
    with (folder / PLACE).open("ab") as file:
        file.write(b'{"half')
    await add_there(LocalHost(), sys.executable, str(folder), entry)
    assert [entry_of(found) for found in objects(folder / PLACE)] == [entry, entry]
    assert {path.name for path in folder.iterdir()} == {".longwait"}


async def test_what_the_host_refuses_is_an_error(tmp_path: Path) -> None:
    (tmp_path / ".longwait").write_text("no folder")
    with pytest.raises(CommandFailed):
        await add_there(LocalHost(), sys.executable, str(tmp_path), journal(tmp_path).write(Kind.NOTE, "x"))


# -- the commands


@pytest.fixture
def longwait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[int, str]]:
    """Runs a command for a run of its own."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    config = tmp_path / "longwait.yaml"
    config.write_text("host: gpu01\njob: {log: /data/run/job.log}\n")

    def run(*args: str) -> tuple[int, str]:
        done = CliRunner().invoke(cli, ["--config", str(config), *args])
        assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
        return done.exit_code, done.output

    return run


def test_a_note_is_written_and_read(longwait: Callable[..., tuple[int, str]]) -> None:
    assert longwait("journal") == (0, "Nothing is in the journal of this run yet.\n")
    assert longwait("note", "the", "fan", "is loud") == (0, "")
    code, text = longwait("journal")
    assert code == 0
    assert text.endswith("the fan is loud\n")
    assert local_user() in text
    (written,) = [json.loads(each) for each in longwait("journal", "--json", "--since", "1h")[1].splitlines()]
    assert (written["kind"], written["what"], written["host"]) == ("note", "the fan is loud", "gpu01")
    assert longwait("journal", "--json", "--since", "2999-01-01") == (0, "")


def test_mistakes_of_the_command_line_are_said(longwait: Callable[..., tuple[int, str]]) -> None:
    assert longwait("note", " ")[0] == 2
    code, text = longwait("journal", "--since", "soon")
    assert (code, "30m, 2h or 1d" in text) == (2, True)


async def test_the_host_s_journal_is_read_from_its_end_and_merged_each_once(tmp_path: Path) -> None:
    folder = tmp_path / "run $(x)"
    folder.mkdir()
    assert await read_there(LocalHost(), sys.executable, str(folder)) == ()
    entries = [Entry(T0 + timedelta(seconds=n), Kind.ACTION, f"act {n}", user=f"u{n % 2}@m") for n in range(6)]
    for entry in entries:
        await add_there(LocalHost(), sys.executable, str(folder), entry)
    with (folder / PLACE).open("ab") as file:
        file.write(b'{"at": "2026\n[1]\n\xff\n{"half')
    there = await read_there(LocalHost(), sys.executable, str(folder))
    assert there == tuple(entries)
    size = (folder / PLACE).stat().st_size
    assert await read_there(LocalHost(), sys.executable, str(folder), size - 5) == tuple(entries[1:])
    own = [entries[4], entries[0]]
    assert merged(own, there) == tuple(entries)
    assert others(own, there) == tuple(entries[n] for n in (1, 2, 3, 5))


def test_the_command_prints_both_journals_and_says_what_it_could_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    run = tmp_path / "run"
    run.mkdir()
    job = {"log": "job.log", "dir": str(run), "command": ["sleep", "1"], "python": sys.executable}
    config = tmp_path / "longwait.yaml"
    config.write_text(yaml.safe_dump({"host": "local", "job": job, "journal_on_host": True}))

    def longwait(*args: str) -> Result:
        return CliRunner().invoke(cli, ["--config", str(config), *args])

    assert longwait("note", "mine").exit_code == 0
    asyncio.run(add_there(LocalHost(), sys.executable, str(run), Entry(T0, Kind.ACTION, "theirs", user="bob@laptop")))
    said = longwait("journal")
    assert said.exit_code == 0, said.output
    assert [re.findall("theirs|mine", text) for text in said.output.splitlines()] == [["theirs"], ["mine"]]
    kept_there = (run / PLACE).read_bytes()
    only_look = CliRunner().invoke(cli, ["--config", str(config), "--read-only", "note", "mine"])
    assert (only_look.exit_code, (run / PLACE).read_bytes()) == (0, kept_there)
    (run / PLACE).unlink()
    (run / PLACE).mkdir()
    said = longwait("journal", "--json")
    assert said.exit_code == 1
    assert "The journal on the host could not be read" in said.output
    assert '"what": "mine"' in said.output
