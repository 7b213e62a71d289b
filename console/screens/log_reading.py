"""A screen on which the logs are read: filtered, searched, copied."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.panels.logs import LogsPanel
from console.screens.commanded import CommandedScreen
from console.screens.copy_out import copy_out

if TYPE_CHECKING:
    from collections.abc import Sequence

    from console.job.snapshot import LogView

FORMER = "former"
"""Where ``N`` and ``E`` go; anything else is the other way."""


class LogReadingScreen(CommandedScreen):
    """The actions of the commands on the logs; where the logs stand is the subclass's to say."""

    @property
    def log_states(self) -> Sequence[LogView]:
        """How well each log is seen."""
        return ()

    @property
    def beside_logs(self) -> bool:
        """Whether a log has the focus."""
        return self.focused is not None and any(isinstance(node, LogsPanel) for node in self.focused.ancestors)

    @property
    def _logs(self) -> LogsPanel:
        return self.query_one(LogsPanel)

    def action_focus_next_log(self) -> None:
        """Focus the other log."""
        self._logs.focus_next()

    def action_follow_log(self) -> None:
        """Go to the newest line of the log and stay there."""
        self._logs.current.follow()

    def action_filter_log(self) -> None:
        """Let the operator type a filter."""
        self._logs.open_filter()

    def action_search_log(self) -> None:
        """Let the operator type what to look for."""
        self._logs.open_search()

    def action_go_to_match(self, where: str) -> None:
        """Go to the next match or the former."""
        self._tell(self._logs.go_to_match(back=where == FORMER))

    def action_go_to_error(self, where: str) -> None:
        """Go to the next error line or the former."""
        self._tell(self._logs.go_to_error(back=where == FORMER))

    def action_turn_rank(self) -> None:
        """Show the next rank's lines."""
        self._tell(self._logs.turn_rank())

    def action_turn_kind(self) -> None:
        """Show the next kind of lines."""
        self._logs.turn_kind()

    def action_turn_wrap(self) -> None:
        """Break long lines, or cut them."""
        self._logs.turn_wrap()

    def action_copy_line(self) -> None:
        """Copy the line that the log is at."""
        line = self._logs.current.line_at_cursor()
        self._copy([line] if line else [])

    def action_copy_block(self) -> None:
        """Copy the marked lines, or those in sight."""
        self._copy(self._logs.current.chosen())
        self._logs.current.unmark()

    def action_show_shapes(self) -> None:
        """List what was not understood."""
        from console.screens.shapes import ShapesScreen  # noqa: PLC0415 - the first frame need not wait for it

        self.app.push_screen(ShapesScreen(self.log_states))

    def _copy(self, lines: Sequence[str]) -> None:
        """Copy to where the terminal takes it and into a file, and tell where it is."""
        if not lines:
            self._tell("There is no line to copy.")
            return
        copy_out(self, lines)

    def _tell(self, sentence: str) -> None:
        """Tell the operator why nothing moved; nothing when it did."""
        if sentence:
            self.notify(sentence, markup=False)
