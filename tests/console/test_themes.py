"""The themes, as drawn: contrast on every kind of terminal, no colour where none is wanted, ASCII where no more is."""

from __future__ import annotations

import itertools
import math
import re
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from rich._palettes import STANDARD_PALETTE

from bench.terminal import terminal as terminal_of
from console.config_file import ConfigError, load
from console.doctor import check_theme
from console.feed import LinesArrived
from console.job.events import LogLine, Source
from console.looks import Looks
from console.screens.dataset import DatasetScreen
from console.theme_colours import FEW, FULL, Colours
from console.themes import SHIPPED, theme
from console.wanted_looks import NoSuchTheme, wanted_looks
from tests import samples
from tests.console.contrast import Drawn, ratio, texts
from tests.console.fakes_ui import FakeControl, FakeFeed, asked, log_of, make_app, screen_text, shown, until
from tests.console.test_cli import local_config
from tests.console.test_dataset_screen import DETAIL

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from textual.pilot import Pilot

    from console.app import LongwaitApp
    from console.config import Settings

LEAST = dict.fromkeys(SHIPPED, 4.5) | {"longwait-contrast": 7.0}
"""Contrast that each text must have; 16 colours leave no more than 4.5 for all."""

TERMINALS = {None: ("xterm-256color", "truecolor"), "256": ("xterm-256color", ""), "standard": ("screen", "")}
"""TERM and COLORTERM of terminals, by what Rich finds that they can show."""

LEVELS = ("info", "warning", "error", "quiet", "info")


def log_lines() -> LinesArrived:
    text = "[2026-02-24 03:19:{:02} DP0 TP0] Decode batch, #running-req: {}"
    return LinesArrived(
        tuple(
            LogLine(source, text.format(number, number), samples.NOW, LEVELS[number % 5])
            for number in range(40)
            for source in (Source.SERVER, Source.JOB)
        )
    )


async def panes(pilot: Pilot[None], feed: FakeFeed, app: LongwaitApp) -> AsyncIterator[str]:
    """Go through what the panes can be, naming each."""
    feed.put(log_lines())
    await until(pilot, lambda: log_of(app, Source.SERVER).kept == 40, "the lines")
    for name in ("connecting", "intervene", "link_lost", "healthy"):
        await shown(pilot, feed, samples.ALL[name]())
        yield name
    await pilot.press("4")
    await until(pilot, lambda: log_of(app, Source.SERVER).has_focus, "the log")
    await pilot.press("/", *"0", "enter")
    await until(pilot, lambda: log_of(app, Source.SERVER).has_focus, "the log")
    await pilot.press("s", *"req", "enter")
    await until(pilot, lambda: log_of(app, Source.SERVER).has_focus, "the log")
    await pilot.press("k", "v", "k", "k", "k")
    yield "a log, filtered, searched and marked"


async def what_lies_over(pilot: Pilot[None], feed: FakeFeed, app: LongwaitApp) -> AsyncIterator[str]:
    """Go through what can lie over the panes, naming each."""
    await shown(pilot, feed, samples.healthy())
    await pilot.press("2")
    yield "the datasets with the focus"
    feed.details = {view.name: DETAIL for view in samples.healthy().datasets}
    await pilot.press("enter")
    await until(pilot, lambda: isinstance(app.screen, DatasetScreen), "a dataset")
    await pilot.pause()
    yield "a dataset"
    await pilot.press("escape")
    app.notify("a warning", severity="warning")
    await pilot.pause()
    yield "a warning"
    app.notify("an error", severity="error")
    await pilot.pause()
    yield "an error"
    await pilot.press("question_mark")
    await until(pilot, lambda: len(app.screen_stack) == 2, "help")
    await pilot.pause()
    yield "help"
    await pilot.press("escape", "R")
    await asked(pilot)
    yield "the question"
    await pilot.press("tab")
    await pilot.pause()
    yield "the question, the other button"
    await pilot.press("escape", "ctrl+p")
    await until(pilot, lambda: len(app.screen_stack) == 2, "the palette")
    await pilot.pause(0.1)
    yield "the palette"


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[str | None], Looks]:
    """Makes what is asked of the looks on a terminal that can show so much."""

    def made(colours: str | None) -> Looks:
        term, colorterm = TERMINALS[colours]
        monkeypatch.setenv("TERM", term)
        monkeypatch.setenv("COLORTERM", colorterm)
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
        return Looks(terminal={"TERM": term, "LANG": "C.UTF-8"})

    return made


@pytest.mark.parametrize(
    ("colours", "size", "scenes"),
    [
        (None, (80, 24), panes),
        (None, (80, 24), what_lies_over),
        (None, (120, 36), panes),
        ("256", (80, 24), panes),
        ("standard", (80, 24), panes),
    ],
    ids=["full, panes", "full, over", "full, wide", "256", "16"],
)
async def test_every_text_can_be_read(
    colours: str | None,
    size: tuple[int, int],
    scenes: Callable[[Pilot[None], FakeFeed, LongwaitApp], AsyncIterator[str]],
    terminal: Callable[[str | None], Looks],
) -> None:
    feed = FakeFeed()
    app = make_app(feed, FakeControl(), looks=terminal(colours))
    assert app.console.color_system == (colours or "truecolor")
    faint: dict[tuple[str, str, str], tuple[str, Drawn]] = {}
    seen = 0
    async with app.run_test(size=size) as pilot:
        async for scene in scenes(pilot, feed, app):
            for name in SHIPPED:
                app.theme = name
                await pilot.pause()
                for drawn in texts(app, colours):
                    seen += 1
                    if drawn.ratio < (4.5 if colours == "standard" else LEAST[name]):
                        faint.setdefault((name, drawn.front, drawn.back), (scene, drawn))
    told = [f"{key[0]}: {scene}: {drawn}" for key, (scene, drawn) in sorted(faint.items())]
    assert not told, "\n".join(told)
    assert seen > 1_000


# ---------------------------------------------------------------- told apart


CONFUSED = {
    # G. M. Machado, M. M. Oliveira, L. A. F. Fernandes, A Physiologically-based Model for Simulation of Color Vision
    # Deficiency, IEEE TVCG 15 (2009), severity 1.0; on linear RGB.
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "tritanopia": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}
"""How colours are seen by who lacks one kind of cone."""


def rgb(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def seen_as(colour: str, kind: str) -> tuple[float, float, float]:
    """A colour in CIE Lab as it is seen with a deficiency; without one for any other kind."""
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in (c / 255 for c in rgb(colour))
    ]
    if kind in CONFUSED:
        linear = [min(1.0, max(0.0, sum(w * c for w, c in zip(row, linear, strict=True)))) for row in CONFUSED[kind]]
    to_xyz = ((0.4124, 0.3576, 0.1805), (0.2126, 0.7152, 0.0722), (0.0193, 0.1192, 0.9505))
    x, y, z = (sum(w * c for w, c in zip(row, linear, strict=True)) for row in to_xyz)
    fx, fy, fz = (
        part ** (1 / 3) if part > 0.008856 else 7.787 * part + 16 / 116 for part in (x / 0.95047, y, z / 1.08883)
    )
    return 116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)


def apart(one: str, other: str, kind: str) -> float:
    """How far two colours are apart, as CIE 1976 has it: 2.3 is just noticed."""
    return math.dist(seen_as(one, kind), seen_as(other, kind))


@pytest.mark.parametrize("kind", ["", *CONFUSED])
def test_the_colours_of_verdicts_are_told_apart_by_everyone(kind: str) -> None:
    colours = FULL["longwait-colorblind"]
    for one, other in itertools.combinations((colours.good, colours.warning, colours.bad), 2):
        assert apart(one, other, kind) > 25, (kind, one, other)


@pytest.mark.parametrize("name", sorted(set(SHIPPED) - {"longwait-mono"}))
def test_the_colours_of_verdicts_differ(name: str) -> None:
    for colours in (FULL[name], FEW[name]):
        assert len({colours.good, colours.warning, colours.bad}) == 3
    for one, other in itertools.combinations((FULL[name].good, FULL[name].warning, FULL[name].bad), 2):
        assert apart(one, other, "") > 30, (name, one, other)


@pytest.mark.parametrize("name", SHIPPED)
def test_on_16_colours_a_theme_is_made_of_those_alone(name: str) -> None:
    palette = {"#{:02x}{:02x}{:02x}".format(*STANDARD_PALETTE[number]) for number in range(16)}
    colours = FEW[name]
    used = {getattr(colours, field) for field in Colours.__dataclass_fields__ if field != "dark"}
    assert used <= palette
    made = theme(name, "standard")
    assert made.background == colours.background
    assert theme(name, "truecolor").background == FULL[name].background


def test_bars_stand_out_from_the_ground() -> None:
    for colours in (*FULL.values(), *FEW.values()):
        assert ratio(rgb(colours.primary), rgb(colours.background)) >= 3.0


# ---------------------------------------------------------------- what a terminal gets


def written(tmp_path: Path, env: dict[str, str], more: str = "", until: bytes = b"KV") -> str:
    """What the program writes to a terminal until a figure is there."""
    config = local_config(tmp_path, f"history: false\n{more}")
    home = {"XDG_CONFIG_HOME": str(tmp_path), "LC_ALL": "C.UTF-8", "COLORTERM": ""}
    with terminal_of([sys.executable, "-m", "console", "--config", str(config)], (80, 24), {**home, **env}) as program:
        program.read_until(until, 30.0)
        program.read_for(0.5)
        program.type("q")
        assert program.wait_end(10.0)
        assert program.status == 0
    return bytes(program.printed).decode("utf-8")


def colour_codes(text: str) -> set[str]:
    """The parts of SGR sequences that set a colour."""
    found: set[str] = set()
    for sequence in re.findall(r"\x1b\[([\d;]*)m", text):
        parts = sequence.split(";")
        while parts:
            part = parts.pop(0)
            if part in {"38", "48"}:
                found.add(f"{part};{parts[0]}")
                del parts[: 4 if parts[0] == "2" else 2]
            elif re.fullmatch(r"[349][0-7]|10[0-7]", part):
                found.add(part)
    return found


def test_no_color_means_none(tmp_path: Path) -> None:
    text = written(tmp_path, {"TERM": "xterm-256color", "COLORTERM": "truecolor", "NO_COLOR": "1"})
    assert colour_codes(text) == set()
    assert "\x1b[7" in text or ";7m" in text  # what is marked is reversed


@pytest.mark.parametrize(
    ("term", "colorterm", "kinds"),
    [
        ("xterm-256color", "truecolor", {"38;2", "48;2"}),
        ("xterm-256color", "", {"38;5", "48;5"}),
        ("screen-256color", "", {"38;5", "48;5"}),
        ("screen", "", set()),
        ("linux", "", set()),
    ],
)
def test_a_terminal_gets_the_colours_that_it_can_show(
    tmp_path: Path, term: str, colorterm: str, kinds: set[str]
) -> None:
    codes = colour_codes(written(tmp_path, {"TERM": term, "COLORTERM": colorterm}))
    assert {code for code in codes if ";" in code} == kinds
    assert bool(codes - kinds) == (not kinds)


@pytest.mark.parametrize(
    ("env", "more"),
    [({"TERM": "linux"}, ""), ({"LC_ALL": "C"}, ""), ({"TERM": "xterm-256color"}, "ascii: true\n")],
    ids=["linux console", "no UTF-8", "config"],
)
def test_ascii_is_all_that_some_terminals_get(tmp_path: Path, env: dict[str, str], more: str) -> None:
    text = written(tmp_path, env, more)
    assert text.isascii()
    assert "\\u" not in text


def test_the_config_can_have_all_characters_on_such_a_terminal(tmp_path: Path) -> None:
    assert not written(tmp_path, {"TERM": "linux"}, "ascii: false\n").isascii()


# ---------------------------------------------------------------- of one's own


THEMES = """\
themes:
  mine:
    primary: '#336699'
    background: '#202020'
    variables: {text-muted: '#cccccc'}
"""


def load_config(tmp_path: Path, text: str) -> Settings:
    path = tmp_path / "longwait.yaml"
    path.write_text(f"host: gpu01\njob: {{log: x}}\n{text}", encoding="utf-8")
    return load(path)


async def test_a_theme_of_ones_own_is_drawn(tmp_path: Path) -> None:
    settings = load_config(tmp_path, f"theme: mine\n{THEMES}")
    looks = wanted_looks(settings, tmp_path / "none.yaml")
    app = make_app(FakeFeed(), looks=replace(looks, terminal=None))
    async with app.run_test():
        assert app.theme == "mine"
        assert app.get_css_variables()["text-muted"] == "#cccccc"
        assert {drawn.back for drawn in texts(app)} >= {"#202020"}


async def test_themes_for_all_runs_stand_in_a_file_of_their_own(tmp_path: Path) -> None:
    file = tmp_path / "themes.yaml"
    file.write_text(THEMES, encoding="utf-8")
    looks = wanted_looks(load_config(tmp_path, "theme: mine\n"), file)
    assert [each.name for each in looks.own] == ["mine"]
    assert looks.own[0].background == "#202020"


@pytest.mark.parametrize("name", ["nord", "textual-light", "ansi-dark", "longwait-contrast"])
async def test_any_theme_of_textual_can_be_had(tmp_path: Path, name: str) -> None:
    looks = wanted_looks(load_config(tmp_path, f"theme: {name}\n"), tmp_path / "none.yaml")
    feed = FakeFeed()
    app = make_app(feed, looks=replace(looks, terminal=None))
    async with app.run_test(size=(80, 24)) as pilot:
        await shown(pilot, feed, samples.healthy())
        assert app.theme == name
        assert "KV" in screen_text(app)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("themes:\n  mine:\n    primry: red\n", "line 5: themes.mine.primry: is no known key; did you mean primary?"),
        ("themes:\n  mine:\n    primary: '#33669'\n", "line 5: themes.mine.primary: is no colour"),
        ("themes:\n  mine:\n    dark: true\n", "line 4: themes.mine.primary: is missing"),
        (
            "themes:\n  mine:\n    primary: red\n    dark: 1\n",
            "line 6: themes.mine.dark: should be true or false, not 1",
        ),
        ("ascii: on\n", "line 3: ascii: YAML reads on as True"),
    ],
)
def test_faults_of_a_theme_are_named_with_their_lines(tmp_path: Path, text: str, fault: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_config(tmp_path, text)
    assert fault in caught.value.report()


def test_faults_of_the_file_of_themes_are_named_with_their_lines(tmp_path: Path) -> None:
    file = tmp_path / "themes.yaml"
    file.write_text("themes:\n  mine:\n    primary: notacolour\ntheme: mine\n", encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        wanted_looks(None, file)
    assert "themes.yaml: 2 faults" in caught.value.report()
    assert "line 3: themes.mine.primary: is no colour" in caught.value.report()
    assert "line 4: theme:" in caught.value.report()


def test_a_theme_that_is_not_there_is_named_with_the_nearest(tmp_path: Path) -> None:
    settings = load_config(tmp_path, "theme: longwait-ligth\n")
    with pytest.raises(NoSuchTheme, match=r"there is no theme longwait-ligth; did you mean longwait-light\?"):
        wanted_looks(settings, tmp_path / "none.yaml")


async def test_without_colours_the_chosen_line_and_the_focus_are_reversed() -> None:
    feed = FakeFeed()
    app = make_app(feed)
    async with app.run_test(size=(80, 24)) as pilot:
        feed.put(log_lines())
        await until(pilot, lambda: log_of(app, Source.SERVER).kept == 40, "the lines")
        app.theme = "longwait-mono"
        await pilot.press("4")
        view = log_of(app, Source.SERVER)
        await until(pilot, lambda: view.has_focus, "the log")
        await pilot.pause()
        assert view.styles.border_title_style.reverse
        rows = [view.render_line(y) for y in range(view.size.height)]
        reversed_rows = [strip.text for strip in rows if any(part.style and part.style.reverse for part in strip)]
        assert ["#running-req: 39" in text for text in reversed_rows if "running" in text] == [True]


async def test_in_ascii_no_word_is_made_of_blocks() -> None:
    feed = FakeFeed()
    app = make_app(feed, looks=Looks(ascii_only=True))
    async with app.run_test(size=(120, 36)) as pilot:
        await shown(pilot, feed, samples.intervene())
        text = screen_text(app)
        assert text.isascii()
        assert "x INTERVENE" in text


async def test_the_palette_offers_all_themes() -> None:
    app = make_app(FakeFeed())
    async with app.run_test(size=(80, 24)):
        assert "Theme" in [command.title for command in app.get_system_commands(app.screen)]
        assert {*SHIPPED, "nord", "ansi-dark"} <= set(app.available_themes)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", []),
        ("theme: nord\n", [("ok", "nord")]),
        (THEMES, [("ok", "the usual, 1 of your own")]),
        ("theme: nrod\n", [("fail", "theme: there is no theme nrod; did you mean nord?")]),
    ],
)
def test_the_doctor_looks_at_the_theme(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, told: list[tuple[str, str]]
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "none"))
    checks = check_theme(load_config(tmp_path, text))
    assert [(check.state, check.detail) for check in checks] == told
