"""Reports: the record of a moment, the story of a run, from recorded logs and from the history."""

from __future__ import annotations

import json
import re
import sqlite3
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import pytest
from click.testing import CliRunner, Result

from console.cli import cli
from console.config_file import load as load_settings
from console.history import History
from console.job.decision_words import Section
from console.job.events import Source
from console.job.tracker import Tracker
from console.journal import Journal, Kind
from console.looked import keep_look
from console.planned import limits_of, plan_of
from console.report_history import zone_named
from console.report_pages import markdown, page
from console.run_files import journal_path, path_of
from console.session import open_session
from tests.console.recordings import Written, a_run, a_run_with_a_death, go_on
from tests.job.builders import T0, after
from tests.widgets.stage import NASTY

if TYPE_CHECKING:
    from pathlib import Path

    from console.config import Settings


def reported(*args: str) -> Result:
    return CliRunner().invoke(cli, ["report", *args], catch_exceptions=False)


def values(*args: str) -> dict[str, Any]:
    done = reported(*args, "--format", "json")
    assert done.exit_code == 0, done.output
    read = json.loads(done.stdout)
    assert isinstance(read, dict)
    return read


def a_whole_run() -> Written:
    """A run whose one dataset ends."""
    scene = a_run(minutes=60)
    scene.job(
        3600,
        "  B3_magicoder: done 9998 (0 err), 3,000,000 tokens in 1.00h, budget reached",
        "All datasets done: 1 dataset, 3,000,000 tokens in 1.00h",
    )
    return scene


# ---------------------------------------------------------------- the record of a moment


def test_the_record_of_a_moment_says_what_an_operator_would_write(tmp_path: Path) -> None:
    done = reported(*a_run(minutes=60).files(tmp_path), "--moment", "start+40m")
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("# Decision record, Tue 2026-02-24 02:30 UTC\n")
    headings = re.findall(r"^## (.+)$", done.stdout, re.MULTILINE)
    assert headings == [
        "Throughput",
        "Bottleneck",
        "Completion length",
        "Datasets",
        "End of the run",
        "Health and link",
        "Decision",
        "What would change the decision",
        "Next look",
    ]
    for figure in ("tok/s", "50 requests run and 98 wait at a token usage of 0.82", "80 % range", "WAIT (kv_limited"):
        assert figure in done.stdout
    assert re.search(
        r"B3_magicoder: [\d,]+ → [\d,]+ → .* tokens on average \(\d+ to \d+ completions, Tue 2026-02-24 02:0",
        done.stdout,
    )


def test_it_is_the_same_reading_as_replays(tmp_path: Path) -> None:
    files = a_run(minutes=60).files(tmp_path)
    (reading,) = (
        json.loads(line)
        for line in CliRunner().invoke(cli, ["replay", *files, "--at", "start+40m", "--json"]).stdout.splitlines()
    )
    record = values(*files, "--moment", "start+40m")
    assert {key: record[key] for key in reading} == reading
    assert set(record) - set(reading) == {"limited_by", "completion_lengths", "would_change"}


def test_nothing_that_was_logged_later_matters(tmp_path: Path) -> None:
    scene = a_run_with_a_death(30)
    files = scene.files(tmp_path)
    whole = values(*files, "--moment", after(1500).isoformat())
    for name, text in scene.logs.items():
        kept = [line for line in text.splitlines(keepends=True) if line[1:20] <= f"{after(1500):%Y-%m-%d %H:%M:%S}"]
        (tmp_path / f"{name}.log").write_text("".join(kept), encoding="utf-8")
    assert values(*files, "--moment", after(1500).isoformat()) == whole


def test_times_are_in_the_logs_zone(tmp_path: Path) -> None:
    done = reported(*a_run("Asia/Tokyo").files(tmp_path), "--tz", "Asia/Tokyo", "--moment", "end")
    assert "Tue 2026-02-24 11:39 JST" in done.stdout


@pytest.mark.parametrize("moment", ["soon", "start+", "2026-13-01"])
def test_a_moment_that_is_none_is_a_sentence(tmp_path: Path, moment: str) -> None:
    done = reported(*a_run(minutes=2).files(tmp_path), "--moment", moment)
    assert done.exit_code == 2
    assert done.stderr.startswith(f"The report can't be made: --moment '{moment}'")


# ---------------------------------------------------------------- the whole run


def test_the_story_of_a_run_tells_changes_and_scores_the_ends(tmp_path: Path) -> None:
    story = values(*a_whole_run().files(tmp_path))
    told = story["verdicts"]
    assert [each["cause"] for each in told][-1] == "finished"
    assert "kv_limited" in {each["cause"] for each in told}
    assert sum(each["seconds"] for each in told) == 70 * 60
    of_run = next(end for end in story["ends"] if end["of"] is None)
    assert of_run["ended_at"] == after(3600).isoformat()
    assert len(of_run["told"]) >= 3
    assert story["ranges_judged"] == sum(len(end["told"]) for end in story["ends"])
    assert story["ranges_held"] == sum(told["held"] for end in story["ends"] for told in end["told"])
    assert story["record"]["verdict"] == "wait"
    done = reported(*tmp_path_files(tmp_path))
    assert re.search(r"Of \d+ ranges, \d+ held so far, each told to hold in four of five\.", done.stdout)
    assert "| the run | Tue 2026-02-24 03:00 UTC |" in done.stdout
    assert "Nothing called for an intervention." in done.stdout


def tmp_path_files(folder: Path) -> list[str]:
    return ["--server-log", str(folder / "server.log"), "--job-log", str(folder / "job.log")]


def test_a_run_that_goes_on_is_not_scored(tmp_path: Path) -> None:
    story = values(*a_run(minutes=60).files(tmp_path))
    assert (story["ranges_held"], story["ranges_judged"]) == (0, 0)
    assert {told["held"] for end in story["ends"] for told in end["told"]} == {None}
    assert "no end has come yet, so none can be judged." in reported(*tmp_path_files(tmp_path)).stdout


def test_an_intervention_is_counted(tmp_path: Path) -> None:
    scene = a_run_with_a_death(30)
    go_on(scene, 41 * 60, 50 * 60)
    done = reported(*scene.files(tmp_path))
    assert re.search(r"To intervene was called for [12] times?\.", done.stdout)
    assert "| intervene |" in done.stdout


# ---------------------------------------------------------------- pages


class Seen(HTMLParser):
    """What a browser would make of a page: its elements, and their texts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.links: list[str] = []
        self.words = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.links += [str(value) for name, value in attrs if name in {"src", "href", "style", "onclick"}]

    def handle_data(self, data: str) -> None:
        self.words += data


EVIL = "<script>alert(1)</script> | a & b `x` **y** [z](http://h) \u202e" + NASTY


def test_text_of_a_log_is_data_in_html() -> None:
    text = page(EVIL, EVIL, [Section(EVIL, (EVIL,), ("a",), ((EVIL,),))])
    seen = Seen(text)
    assert seen.tags <= {
        "html", "head", "meta", "title", "style", "body", "h1", "h2", "p", "ul", "li", "div", "table", "thead", "tbody",
        "tr", "th", "td",
    }  # fmt: skip
    assert seen.links == []
    assert seen.words.count("<script>alert(1)</script>") == 6
    assert "\x1b" not in text
    assert "\u202e" not in text
    text.encode("utf-8")


def test_text_of_a_log_is_data_in_markdown() -> None:
    text = markdown(EVIL, EVIL, [Section("s", (EVIL, "# no heading", "- no point"), ("a", "b"), ((EVIL, EVIL),))])
    assert "<script" not in text.replace("\\<script", "")
    assert "[z]" not in text
    assert "\n- \\# no heading\n- \\- no point\n" in text
    row = text.rstrip().splitlines()[-1]
    assert len(re.findall(r"(?<!\\)\|", row)) == 3
    assert "\x1b" not in text


def test_html_is_one_page_that_needs_nothing_else(tmp_path: Path) -> None:
    for moment in (["--moment", "end"], []):
        done = reported(*a_run(minutes=30).files(tmp_path), *moment, "--format", "html")
        seen = Seen(done.stdout)
        assert done.stdout.startswith("<!doctype html>")
        assert not {"script", "img", "link", "iframe"} & seen.tags
        assert "kv_limited" in seen.words


# ---------------------------------------------------------------- from the history


CONFIG = """\
host: gpu01
timezone: UTC
server: {url: "http://127.0.0.1:30000", log: [/srv/server.log]}
job: {log: job.log, progress: out/progress.jsonl, dir: /srv/run}
"""


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    (tmp_path / "longwait.yaml").write_text(CONFIG, encoding="utf-8")
    return load_settings(tmp_path / "longwait.yaml")


def keep(settings: Settings, minutes: int = 40) -> None:
    """Keep the history of a run, as a console would have."""
    scene = a_run(minutes=minutes)
    tracker = Tracker(plan_of(settings), limits=limits_of(settings))
    with closing(History.open(path_of(settings))) as history:
        for minute in range(-10, minutes + 1):
            until = f"[{after(60 * minute):%Y-%m-%d %H:%M:%S}"
            for source in (Source.SERVER, Source.JOB):
                text = scene.logs[source.value]
                new = [line for line in text.splitlines(keepends=True) if line[:20] <= until]
                scene.logs[source.value] = text[sum(map(len, new)) :]
                tracker.feed(source, "".join(new).encode(), after(60 * minute))
            history.note(tracker.snapshot(after(60 * minute)))
        assert history.save({}, tracker.freeze(), [], after(60 * minutes))


def config(tmp_path: Path) -> list[str]:
    return ["--config", str(tmp_path / "longwait.yaml")]


def test_it_looks_where_the_console_keeps_the_history(settings: Settings) -> None:
    feed = open_session(settings, clock=lambda: T0).feed
    from console.history_name import history_path  # noqa: PLC0415 - beside what it is compared with

    named = [f"{follower.source}:{follower.name}" for follower in feed._followers]
    assert path_of(settings) == history_path(settings.host, named)


def test_the_newest_moment_of_a_history_is_a_whole_record(settings: Settings, tmp_path: Path) -> None:
    keep(settings)
    record = values(*config(tmp_path), "--moment", "end")
    assert (record["at"], record["cause"]) == (after(2400).isoformat(), "kv_limited")
    assert record["datasets"][2]["name"] == "B3_magicoder"
    assert record["completion_lengths"][-1]["dataset"] == "B3_magicoder"


def test_of_a_former_moment_the_history_tells_what_it_kept(settings: Settings, tmp_path: Path) -> None:
    keep(settings)
    record = values(*config(tmp_path), "--moment", after(1230).isoformat())
    assert (record["verdict"], record["cause"]) == ("wait", "kv_limited")
    assert record["server"]["running"] == 50
    assert record["eta_low"] < record["eta"] < record["eta_high"]
    assert after(1230 - 360).isoformat() <= record["at"] <= after(1230).isoformat()
    assert (record["datasets"][2]["name"], record["datasets"][2]["state"]) == ("B3_magicoder", "running")
    before = values(*config(tmp_path), "--moment", (T0 - timedelta(days=1)).isoformat())
    assert (before["verdict"], before["eta"]) == ("blind", None)


def test_the_story_of_a_history(settings: Settings, tmp_path: Path) -> None:
    keep(settings)
    story = values(*config(tmp_path))
    assert story["to"] == after(2400).isoformat()
    assert "kv_limited" in {each["cause"] for each in story["verdicts"]}
    assert story["ends"]
    assert reported(*config(tmp_path)).stdout.startswith("# Run report")


def test_a_history_is_only_looked_at(settings: Settings, tmp_path: Path) -> None:
    keep(settings)
    with closing(History.open(path_of(settings))) as open_elsewhere:
        assert values(*config(tmp_path), "--moment", "end")["verdict"] == "wait"
        assert open_elsewhere.save({}, b"", [], after(9999))


def test_no_history_or_one_of_no_use_is_a_sentence(settings: Settings, tmp_path: Path) -> None:
    none = reported(*config(tmp_path))
    assert (none.exit_code, "No console has kept a history" in none.stderr) == (2, True)
    assert not path_of(settings).exists()
    with closing(History.open(path_of(settings))):
        pass
    empty = reported(*config(tmp_path))
    assert (empty.exit_code, "holds nothing yet" in empty.stderr) == (2, True)
    with closing(History.open(path_of(settings))) as history:
        history.save({}, b"of another program", [], T0)
    other = reported(*config(tmp_path), "--moment", "end")
    assert (other.exit_code, "can't be read" in other.stderr) == (2, True)
    path_of(settings).write_bytes(b"no database" * 99)
    broken = reported(*config(tmp_path))
    assert (broken.exit_code, "can't be read" in broken.stderr) == (2, True)


@pytest.mark.parametrize(
    "zone", [UTC, ZoneInfo("Asia/Tokyo"), timezone(timedelta(hours=9)), timezone(-timedelta(hours=3, minutes=30))]
)
def test_a_zone_is_known_again_by_its_name(zone: timezone | ZoneInfo) -> None:
    named = zone_named(str(zone))
    assert str(named) == str(zone)
    assert named.utcoffset(datetime(2026, 2, 24)) == zone.utcoffset(datetime(2026, 2, 24))  # noqa: DTZ001


def test_a_history_kept_in_the_hosts_zone_is_read_in_it(settings: Settings, tmp_path: Path) -> None:
    (tmp_path / "longwait.yaml").write_text(CONFIG.replace("timezone: UTC\n", ""), encoding="utf-8")
    plan = replace(plan_of(settings), zone=timezone(timedelta(hours=9)))
    with closing(History.open(path_of(settings))) as history:
        history.save({}, Tracker(plan).freeze(), [], T0)
    assert values(*config(tmp_path), "--moment", "end")["at"] == T0.isoformat()


def test_the_report_lists_what_was_done(settings: Settings, tmp_path: Path) -> None:
    keep(settings)
    kept = Journal(journal_path(settings), host="gpu01", clock=lambda: after(600), user="me@desk")
    kept.write(Kind.ACTION, "Restart the job", why="old script", outcome="The job is restarted.", act="a1")
    kept.write(Kind.VERDICT, "WAIT (kv_limited)")
    kept.write(Kind.NOTE, f"seen: {NASTY}")
    text = CliRunner().invoke(cli, [*config(tmp_path), "report"]).output
    assert "## What was done" in text
    assert "Restart the job: The job is restarted. (why: old script)" in text.replace("\\", "")
    assert text.count("me@desk") == 2
    values = json.loads(CliRunner().invoke(cli, [*config(tmp_path), "report", "--format", "json"]).output)
    assert [entry["kind"] for entry in values["journal"]] == ["action", "verdict", "note"]


def test_where_no_whole_reading_was_kept_the_history_tells_the_outline(settings: Settings, tmp_path: Path) -> None:
    keep(settings)
    with closing(sqlite3.connect(path_of(settings))) as base, base:
        base.execute("DELETE FROM readings")
    record = values(*config(tmp_path), "--moment", after(1230).isoformat())
    assert (record["verdict"], record["cause"]) == ("wait", "kv_limited")
    assert record["server"]["running"] == 50
    assert record["datasets"] == []


# ---------------------------------------------------------------- since a moment


def test_since_a_moment_of_recorded_logs(tmp_path: Path) -> None:
    files = a_whole_run().files(tmp_path)
    told = values(*files, "--since", "30m")
    assert (told["from"], told["to"]) == (after(1800).isoformat(), after(3600).isoformat())
    assert told["happened"]
    assert [mark["name"] for mark in told["datasets_ended"]] == ["B3_magicoder"]
    assert told["datasets_began"] == []
    assert told["verdict_now"]["cause"] == "finished"
    assert told["verdicts"][-1]["cause"] == "finished"
    assert told["verdict_before"]["cause"] == "kv_limited"
    assert told["prompts_done"] > 1000
    assert told["eta"]["then"]["eta"] is not None
    text = reported(*files, "--since", "start+40m").stdout
    assert text.startswith("# From Tue 2026-02-24 02:30 UTC to Tue 2026-02-24 03:00 UTC\n")
    assert "**Something happened in 30 min. Now: WAIT finished.**" in text
    assert "B3_magicoder: budget reached" in text
    assert "## Verdict" in text
    assert "## End of the run" in text


def test_since_is_the_same_in_every_format(tmp_path: Path) -> None:
    files = a_run_with_a_death(30).files(tmp_path)
    seen = Seen(reported(*files, "--since", "20m", "--format", "html").stdout)
    assert not {"script", "img", "link", "iframe"} & seen.tags
    told = values(*files, "--since", "20m")
    text = reported(*files, "--since", "20m").stdout.replace("\\", "")
    for change in told["verdicts"]:
        assert change["cause"] in seen.words
        assert change["cause"] in text
    assert "server_down" in {change["cause"] for change in told["verdicts"]}


def test_of_a_calm_stretch_it_says_that_nothing_happened(tmp_path: Path) -> None:
    done = reported(*a_run(minutes=60).files(tmp_path), "--since", "5m")
    assert "**Nothing happened in 5 min. Now: WAIT kv limited.**" in done.stdout


@pytest.mark.parametrize("moment", ["soon", "last", "start+", "5 parsecs"])
def test_a_since_that_is_none_is_a_sentence(tmp_path: Path, moment: str) -> None:
    done = reported(*a_run(minutes=2).files(tmp_path), "--since", moment)
    assert done.exit_code == 2
    assert done.stderr.startswith("The report can't be made: --since ")


def test_since_and_a_moment_do_not_go_together(tmp_path: Path) -> None:
    done = reported(*a_run(minutes=2).files(tmp_path), "--since", "1m", "--moment", "end")
    assert (done.exit_code, "not both" in done.stderr) == (2, True)


def test_since_the_last_look_is_of_the_history(settings: Settings, tmp_path: Path) -> None:
    keep(settings)
    unknown = reported(*config(tmp_path), "--since", "last")
    assert (unknown.exit_code, "It was not kept when" in unknown.stderr) == (2, True)
    keep_look(path_of(settings), after(1200))
    kept = Journal(journal_path(settings), host="gpu01", clock=lambda: after(1500), user="you@lab")
    kept.write(Kind.NOTE, "looks well")
    told = values(*config(tmp_path), "--since", "last")
    assert (told["from"], told["to"]) == (after(1200).isoformat(), after(2400).isoformat())
    assert [note["what"] for note in told["notes"]] == ["looks well"]
    assert told["prompts_done"] > 0
    assert told["eta"]["then"]["eta"] is not None
    text = reported(*config(tmp_path), "--since", "last").stdout
    assert "no console has looked since." in text
    assert "you@lab" in text
    by_time = values(*config(tmp_path), "--since", after(1200).isoformat())
    assert {**by_time, "from": told["from"]} == told


def test_since_without_a_history_is_a_sentence(settings: Settings, tmp_path: Path) -> None:
    none = reported(*config(tmp_path), "--since", "2h")
    assert (none.exit_code, "No console has kept a history" in none.stderr) == (2, True)
    assert not path_of(settings).exists()
