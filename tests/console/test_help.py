"""Help: made from the table of commands and the panels' own words, the focused pane's first."""

from __future__ import annotations

from console.commands import COMMANDS, Situation
from console.screens.help import PANELS, HelpScreen, help_text
from tests.console.fakes_ui import FakeControl, FakeFeed, make_app, screen_text, until


def test_help_names_every_command_and_every_panel() -> None:
    text = help_text(None, {}, Situation())
    for command in COMMANDS:
        assert f"`{command.key}` **{command.name}**" in text
    for panel in PANELS:
        assert panel.HELP in text


def test_help_shows_the_operator_s_own_keys_and_what_is_refused() -> None:
    text = help_text(None, {"health": "f5"}, Situation(read_only=True))
    assert "`f5` **Check health now**" in text
    assert "**Stop the job**. This console is read-only" in text


async def test_help_begins_with_the_focused_pane() -> None:
    app = make_app(FakeFeed(), FakeControl())
    async with app.run_test(size=(120, 36)) as pilot:
        await pilot.press("2", "question_mark")
        await until(pilot, lambda: isinstance(app.screen, HelpScreen), "the help")
        await until(pilot, lambda: "One line each, in the order of the run" in screen_text(app), "the pane's own words")
        assert screen_text(app).index("One line each") < screen_text(app).index("Keys")
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(app.screen, HelpScreen), "the main screen")
