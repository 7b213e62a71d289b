"""What is remembered of a run: what is put is got again, whatever happens to the file; a run is opened as it was left."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bench.terminal import terminal
from console.job.events import Source
from console.kept import (
    FILTER,
    MOST_BYTES,
    MOST_CHARACTERS,
    SUFFIX,
    THEME,
    Kept,
)
from console.looks import Looks
from console.opened import Opened, note_opened, opened_runs, opened_words
from tests import samples
from tests.console.fakes_ui import (
    FakeFeed,
    lines,
    log_of,
    main_screen,
    make_app,
    notices,
    screen_text,
    shown,
    until,
)
from tests.console.test_cli import local_config

ROOT = Path(__file__).parents[2]
NOW = datetime(2026, 2, 24, 3, 19, 40, tzinfo=UTC)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "runs" / f"gpu01-0123456789ab{SUFFIX}"


def test_what_was_put_is_there_for_the_next_console(path: Path) -> None:
    kept = Kept(path)
    kept.put(THEME, "nord")
    kept.put("span", 3600)
    kept.finish()
    again = Kept(path)
    assert (again.get(THEME, ""), again.get("span", 0)) == ("nord", 3600)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [each.name for each in path.parent.iterdir()] == [path.name]  # no half-written file is left


def test_the_same_again_is_not_written(path: Path) -> None:
    kept = Kept(path)
    changes: list[None] = []
    kept.on_change = lambda: changes.append(None)
    kept.put("span", 300)
    kept.finish()
    kept.put("span", 300)
    assert len(changes) == 1
    assert not kept.is_changed


def test_without_a_file_it_remembers_as_long_as_it_lives() -> None:
    kept = Kept()
    kept.put(FILTER, "error")
    kept.finish()
    assert kept.get(FILTER, "") == "error"


def test_a_value_of_another_kind_is_as_none(path: Path) -> None:
    path.parent.mkdir()
    path.write_text(json.dumps({"span": "an hour", THEME: 3, "wrap": 1}), encoding="utf-8")
    kept = Kept(path)
    assert (kept.get("span", 300), kept.get(THEME, "x"), kept.get("wrap", False)) == (300, "x", False)


def test_two_consoles_bring_only_what_each_has_changed(path: Path) -> None:
    one, other = Kept(path), Kept(path)
    one.put(THEME, "nord")
    one.finish()
    other.put("span", 60)
    other.finish()
    again = Kept(path)
    assert (again.get(THEME, ""), again.get("span", 0)) == ("nord", 60)


@pytest.mark.parametrize("text", ["{", "[1]", '"x"', "\x00\xff", "x" * (MOST_BYTES + 1), "[" * 20_000])
def test_a_damaged_file_is_put_aside_and_told_of_once(path: Path, text: str) -> None:
    path.parent.mkdir()
    path.write_bytes(text.encode("latin-1"))
    kept = Kept(path)
    (told,) = kept.notices
    aside = path.with_suffix(".damaged")
    assert str(aside) in told
    assert aside.read_bytes() == text.encode("latin-1")
    kept.put(THEME, "nord")
    kept.finish()
    assert Kept(path).notices == []
    assert Kept(path).get(THEME, "") == "nord"


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(raw=st.binary(max_size=200))
def test_no_file_keeps_a_console_from_opening(path: Path, raw: bytes) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(raw)
    kept = Kept(path)
    kept.put("span", 60)
    kept.finish()
    assert Kept(path).get("span", 0) == 60


def test_a_folder_that_cannot_be_written_is_told_of_once(tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("no folder", encoding="utf-8")
    kept = Kept(tmp_path / "runs" / f"x{SUFFIX}")
    kept.put(THEME, "nord")
    kept.finish()
    kept.put(THEME, "dracula")
    kept.finish()
    assert len([each for each in kept.notices if "can't be remembered" in each]) == 1
    assert kept.get(THEME, "") == "dracula"


@pytest.mark.parametrize("text", ["\ud800", "漢字|é", "👩‍👧"])
def test_any_pattern_is_kept_whatever_the_encoding_of_files(
    path: Path, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("locale.getencoding", lambda: "ascii")
    kept = Kept(path)
    kept.put(FILTER, text)
    kept.finish()
    assert kept.notices == []
    assert Kept(path).get(FILTER, "") == text


def test_what_can_not_be_put_in_place_leaves_no_half_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Path, target: Path) -> Path:
        raise OSError(28, "No space left on device", str(self), None, str(target))

    monkeypatch.setattr(Path, "replace", full)
    kept = Kept(path)
    kept.put(THEME, "nord")
    kept.finish()
    (told,) = kept.notices
    assert "No space left on device" in told
    assert list(path.parent.iterdir()) == []


def test_a_very_long_filter_is_not_kept(path: Path) -> None:
    kept = Kept(path)
    kept.put(FILTER, "x" * (MOST_CHARACTERS + 1))
    assert kept.get(FILTER, "") == ""


# ---------------------------------------------------------------- which runs were opened


def test_the_runs_opened_last_are_named_with_how_to_open_them(tmp_path: Path) -> None:
    config = tmp_path / "my run.yaml"
    config.write_text("host: gpu01\n", encoding="utf-8")
    for number, (host, file) in enumerate([("gpu01", str(config)), ("gpu02", str(tmp_path / "gone")), ("gpu03", "")]):
        kept = Kept(tmp_path / "runs" / f"{host}-0{SUFFIX}")
        note_opened(kept, host, file, NOW - timedelta(hours=number + 1))
        kept.finish()
    (tmp_path / "runs" / f"bad{SUFFIX}").write_text("{", encoding="utf-8")
    runs = opened_runs(tmp_path / "runs", UTC)
    assert [run.host for run in runs] == ["gpu01", "gpu02", "gpu03"]
    words = opened_words(runs, NOW)
    assert f"longwait --config '{config}'   gpu01, 1 h ago" in words
    assert "longwait attach gpu03" in words
    assert "gpu02" not in words  # its config is gone
    assert opened_words([], NOW) == ""
    assert opened_runs(tmp_path / "none", UTC) == []


def test_a_run_without_a_time_is_no_run(tmp_path: Path) -> None:
    path = tmp_path / f"x{SUFFIX}"
    path.write_text(json.dumps({"host": "a", "config": "b", "opened_at": 1e300}), encoding="utf-8")
    assert opened_runs(tmp_path, UTC) == []
    assert Opened("a", "b", NOW) == Opened("a", "b", NOW)


# ---------------------------------------------------------------- the screen


async def test_a_run_is_opened_as_it_was_left(path: Path) -> None:
    feed = FakeFeed()
    app = make_app(feed, kept=Kept(path))
    async with app.run_test(size=(80, 24)) as pilot:
        feed.put(lines(Source.JOB, "one error", "two"))
        await shown(pilot, feed, samples.healthy())
        app.theme = "nord"
        await pilot.press("l", "l")
        await until(pilot, lambda: log_of(app, Source.JOB).has_focus, "the job's log")
        await pilot.press("/", *"error", "enter")
        await until(pilot, lambda: log_of(app, Source.JOB).has_focus, "the job's log again")
        await pilot.press("z")
        await until(pilot, lambda: main_screen(app).maximized is not None, "the log alone")
    app.kept.finish()

    feed = FakeFeed()
    app = make_app(feed, kept=Kept(path))
    async with app.run_test(size=(80, 24)) as pilot:
        feed.put(lines(Source.JOB, "one error", "two"))
        await shown(pilot, feed, samples.healthy())
        job = log_of(app, Source.JOB)
        await until(pilot, lambda: (job.count, job.kept) == (1, 2), "the lines, filtered")
        await until(pilot, lambda: job.display, "the job's log")
        await until(pilot, lambda: "1 of 2 lines" in screen_text(app), "how many")
        assert app.theme == "nord"
        maximized = main_screen(app).maximized
        assert maximized is not None
        assert maximized.id == "logs"
        assert notices(app) == []


async def test_a_theme_of_the_config_counts_until_another_is_chosen(path: Path) -> None:
    for theme, chosen, expected in [
        ("", "nord", "longwait-dark"),
        ("", "", "nord"),  # chosen last time
        ("longwait-light", "dracula", "longwait-light"),  # the config names another one now
        ("longwait-light", "", "dracula"),
        ("", "", "longwait-dark"),
    ]:
        app = make_app(FakeFeed(), kept=Kept(path), looks=Looks(theme))
        async with app.run_test() as pilot:
            assert app.theme == expected
            if chosen:
                app.theme = chosen
                await pilot.pause()
        app.kept.finish()


async def test_what_is_not_there_any_more_is_left_out(path: Path) -> None:
    kept = Kept(path)
    for name, value in {THEME: "gone", "zoomed": "no such pane!", "log": "syslog", FILTER: "["}.items():
        kept.put(name, value)
    feed = FakeFeed()
    app = make_app(feed, kept=kept)
    async with app.run_test(size=(80, 24)) as pilot:
        await shown(pilot, feed, samples.healthy())
        assert app.theme == "longwait-dark"
        assert main_screen(app).maximized is None
        assert log_of(app, Source.SERVER).display


async def test_damage_is_told_of_on_the_screen(path: Path) -> None:
    path.parent.mkdir()
    path.write_text("{", encoding="utf-8")
    app = make_app(FakeFeed(), kept=Kept(path))
    async with app.run_test() as pilot:
        await until(pilot, lambda: any("is damaged" in note for note in notices(app)), "the notice")
        assert len(notices(app)) == 1


def test_the_program_keeps_it_and_names_the_run_where_there_is_no_config(tmp_path: Path) -> None:
    config = local_config(tmp_path)
    data = {"XDG_DATA_HOME": str(tmp_path / "data"), "XDG_CONFIG_HOME": str(tmp_path / "none")}
    with terminal([sys.executable, "-m", "console", "--config", str(config)], (80, 24), data) as program:
        program.read_until(b"KV", 30.0)
        program.type("q")
        assert program.wait_end(10.0)
    (file,) = (tmp_path / "data").rglob(f"*{SUFFIX}")
    assert json.loads(file.read_text(encoding="utf-8"))["config"] == str(config)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    done = subprocess.run(
        [sys.executable, "-m", "console"],
        cwd=elsewhere,
        env={**os.environ, **data, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert f"longwait --config {config}   local, " in done.stderr
