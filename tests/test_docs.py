"""The documents say what is true: every command, link, setting and panel."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from console.cli import SCENARIOS, cli
from console.screens.main import MainScreen
from remote.demo import SCENARIOS as DEMO_SCENARIOS

if TYPE_CHECKING:
    from collections.abc import Iterator

    import click

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])


def commands_in(text: str) -> Iterator[list[str]]:
    """Each ``longwait ...`` in code, as words."""
    for code in re.findall(r"`(longwait[^`]*)`|^ {4}(longwait .*)$", text, re.MULTILINE):
        words = (code[0] or code[1]).partition("#")[0].split()
        yield words[1:]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_named_exists_with_its_options(page: Path) -> None:
    for words in commands_in(page.read_text(encoding="utf-8")):
        options = {option for param in cli.params for option in param.opts}
        named = [word for word in words if not word.startswith("-")]
        command: click.Command | None = cli.commands.get(named[0]) if named else cli
        assert command is not None or words[0] in options, words
        if command is not None and words and not words[0].startswith("-"):
            options |= {option for param in command.params for option in param.opts}
        assert {word for word in words if word.startswith("-")} <= options | {"--help", "--version"}, words


def test_the_readme_names_every_command() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert [name for name in cli.commands if f"`longwait {name}" not in text] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_to_a_file(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
        assert target.startswith("https://") or (page.parent / target).exists(), target


def test_the_readme_is_short_and_its_picture_was_made_by_the_program() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) < 150
    picture = (ROOT / "docs" / "console-120x36.svg").read_text(encoding="utf-8")
    for word in ("B1_glaive", "WAIT", "simulated", "KV"):
        assert word in picture


def test_the_makefile_has_the_readmes_commands() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    pages = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    targets = set(re.findall(r"(?:`|^ {4})make ([a-z]+)", pages, re.MULTILINE))
    assert {"demo", "test", "bench", "pictures"} <= targets
    for target in targets:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def test_ci_runs_the_readmes_test_command() -> None:
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    # What fails beside the others has a second chance, alone; then the exit code is that of the second run.
    assert script.count("make test") == 1
    assert (
        script.partition("\nif ! make test; then\n")[2]
        .rstrip()
        .endswith("pytest --last-failed --last-failed-no-failures none -v\nfi")
    )


def test_every_panel_explains_itself() -> None:
    from console.screens.help import PANELS  # noqa: PLC0415 - the help screen's own list

    assert MainScreen is not None
    assert len(PANELS) >= 5
    for panel in PANELS:
        assert "###" in panel.HELP, panel.__name__


def test_the_demos_scenarios_are_the_commands() -> None:
    assert set(SCENARIOS) == set(DEMO_SCENARIOS)
