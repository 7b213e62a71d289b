"""A screen that is worked by the commands: by key, from the palette, and with a reason when one can't run now."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual.binding import BindingType
from textual.command import DiscoveryHit, Hit, Provider
from textual.screen import Screen

from console import commands

if TYPE_CHECKING:
    from collections.abc import Mapping

    from textual import events
    from textual.binding import ActiveBinding
    from textual.command import Hits


class CommandedScreen(Screen[None]):
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
        found = super().active_bindings
        return {key: commands.in_footer(one, self.OPERATOR, beside_logs=self.beside_logs) for key, one in found.items()}

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Hide what can't run now from the footer, and keep its key from running it."""
        command = commands.by_action(action, parameters, self.OPERATOR)
        if command is None:
            return True
        here = command.id in self._alone or command.is_here(beside_logs=self.beside_logs)
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
        """Say what is wrong with the operator's own keys: two commands on one, for instance."""
        if self.keymap:
            from console.key_faults import faults  # noqa: PLC0415 - most operators have no keys of their own

            for fault in faults(self.keymap, self.OPERATOR):
                self.refuse(fault)

    def refuse(self, why: str) -> None:
        """Tell the operator why a command does not run."""
        self.notify(why, severity="warning", markup=False)


class OperatorPalette(Provider):
    """The commands in the palette, then Textual's; one that can't run now shows why in place of its help."""

    async def discover(self) -> Hits:
        """Give all commands, in their order."""
        for command in self._commands:
            yield DiscoveryHit(self._named(command), partial(self._run, command), help=self._help(command))
        for title, words, run, _ in self.app.get_system_commands(self.screen):
            yield DiscoveryHit(title, run, help=words)

    async def search(self, query: str) -> Hits:
        """Give the commands whose name matches."""
        matcher = self.matcher(query)
        for command in self._commands:
            name = self._named(command)
            if (score := matcher.match(name)) > 0:
                yield Hit(score, matcher.highlight(name), partial(self._run, command), help=self._help(command))
        for title, words, run, _ in self.app.get_system_commands(self.screen):
            if (score := matcher.match(title)) > 0:
                yield Hit(score, matcher.highlight(title), run, help=words)

    @property
    def _commands(self) -> tuple[commands.OperatorCommand, ...]:
        return self.screen.OPERATOR if isinstance(self.screen, CommandedScreen) else commands.COMMANDS

    def _named(self, command: commands.OperatorCommand) -> str:
        keymap = self.screen.keymap if isinstance(self.screen, CommandedScreen) else {}
        return f"{command.name} ({commands.key_words(command, keymap)})"

    def _help(self, command: commands.OperatorCommand) -> str:
        situation = self.screen.situation if isinstance(self.screen, CommandedScreen) else commands.Situation()
        return command.refusal(situation) or command.help

    async def _run(self, command: commands.OperatorCommand) -> None:
        if isinstance(self.screen, CommandedScreen):
            await self.screen.run_command(command)
