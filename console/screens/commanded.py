"""A screen that is worked by the commands: by key, from the palette, and with a reason when one can't run now."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from console import commands
from console.screens.coverable import Coverable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from textual import events
    from textual.binding import ActiveBinding, BindingType

FAULTS_S = 60.0
"""Seconds that a message of several faults stays, so that all can be read; a newer one lies over it meanwhile."""


class CommandedScreen(Coverable[None]):
    """The commands' keys, guards and refusals; what they do is the subclass's."""

    BINDINGS: ClassVar[list[BindingType]] = [*commands.bindings()]
    OPERATOR: ClassVar[tuple[commands.OperatorCommand, ...]] = commands.COMMANDS
    """The commands of this screen, in the order of palette and help."""

    def __init__(self, keymap: Mapping[str, str]) -> None:
        """Take the operator's own keys, by command id."""
        super().__init__()
        self.keymap = keymap
        """Command ids to keys; commands that are not named keep their own."""
        self._alone = commands.alone(keymap, self.OPERATOR) if keymap else frozenset()
        self._by_key = commands.by_key(keymap, self.OPERATOR)

    @property
    def situation(self) -> commands.Situation:
        """What the guards look at."""
        return commands.Situation()

    @property
    def beside_logs(self) -> bool:
        """Whether a log has the focus."""
        return False

    @property
    def active_bindings(self) -> dict[str, ActiveBinding]:
        """The keys that work now; the footer shows those that are of use where the focus is."""
        found, beside_logs = super().active_bindings, self.beside_logs
        return {key: commands.in_footer(one, self.OPERATOR, beside_logs=beside_logs) for key, one in found.items()}

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Hide what can't run now from the footer, and keep its key from running it."""
        command = commands.by_action(action, parameters, self.OPERATOR)
        if command is None:
            return True
        # Most commands work anywhere, and looking for the logs around the focus takes as long as all else here.
        anywhere = not command.only or command.id in self._alone
        here = anywhere or command.is_here(beside_logs=self.beside_logs)
        return here and not command.refusal(self.situation)

    def on_key(self, event: events.Key) -> None:
        """Say why a command can't run when its key is pressed all the same."""
        named = self._by_key.get(event.key)
        if named is None or not named.refusal(self.situation):
            return
        meant = commands.sharing(event.key, self.keymap, self.OPERATOR)
        if all(command.refusal(self.situation) for command in meant):
            event.stop()
            self.refuse(named.refusal(self.situation))

    async def run_command(self, command: commands.OperatorCommand) -> None:
        """Run a command that was picked by name, or say why it can't run now."""
        if why := command.refusal(self.situation):
            self.refuse(why)
        else:
            await self.run_action(command.action)

    def tell_key_faults(self) -> None:
        """Say what is wrong with the operator's own keys, all of it in one message: of several one would be seen."""
        if not self.keymap:
            return
        from console.key_faults import faults  # noqa: PLC0415 - most operators have no keys of their own

        found = faults(self.keymap, self.OPERATOR)
        if len(found) > 1:
            told = "\n".join(f"- {fault}" for fault in found)
            title = f"{len(found)} faults under `keys` in the config"
            self.notify(told, title=title, severity="warning", timeout=FAULTS_S, markup=False)
        elif found:
            self.refuse(found[0])

    def refuse(self, why: str) -> None:
        """Tell the operator why a command does not run."""
        self.notify(why, severity="warning", markup=False)
