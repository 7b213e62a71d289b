"""Every operator command once: keys, palette, footer and help rows come from these rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from textual.binding import Binding

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from textual.binding import ActiveBinding


@dataclass(frozen=True, slots=True)
class Situation:
    """What a guard may look at.

    Attributes:
        read_only: The operator asked for a console that changes nothing.
        can_act: There is a job that can be started and stopped from here.
        link: State of the connection, ``up`` for instance.
        replay: A recording is shown: there is no host behind it.
        can_serve: The config says how the server is restarted.
    """

    read_only: bool = False
    can_act: bool = True
    link: str = "up"
    replay: bool = False
    can_serve: bool = True


@dataclass(frozen=True, slots=True)
class OperatorCommand:
    """One thing that the operator can do.

    Attributes:
        id: Its name in the config, where keys are remapped.
        name: Its name in palette and help.
        key: Its default key.
        action: The action of the main screen that does it.
        label: One or two words for the footer.
        help: One sentence: what it does.
        guard: Says why it can't run now; None when it always can.
        acts: It changes something on the host.
        asks: It asks before it does anything.
        shown: It stands in the footer.
        beside_logs: It stands in the footer while a log has the focus.
        only: Where its key is its own, ``logs`` while a log has the focus or ``elsewhere``; empty for everywhere. A key
            that two commands share is told apart by this.
    """

    id: str
    name: str
    key: str
    action: str
    label: str
    help: str
    guard: Callable[[Situation], str] | None = None
    acts: bool = False
    asks: bool = False
    shown: bool = True
    beside_logs: bool = False
    only: Literal["", "logs", "elsewhere"] = ""

    def is_here(self, *, beside_logs: bool) -> bool:
        """Whether its key means it where the focus is."""
        return not self.only or beside_logs == (self.only == "logs")

    def meets(self, other: OperatorCommand) -> bool:
        """Whether there is a place where a key could mean both."""
        return not self.only or not other.only or self.only == other.only

    def refusal(self, situation: Situation) -> str:
        """Say why it can't run now; empty when it can."""
        return self.guard(situation) if self.guard is not None else ""


def needs_control(situation: Situation) -> str:
    """Acts need a console that may act, and something to act on."""
    if situation.replay:
        return "This is a replay: there is no job to start or stop."
    if situation.read_only:
        return "This console is read-only: to act on the job, open it without --read-only, or serve with --control."
    if not situation.can_act:
        return "Nothing can be started or stopped from here: no job's command is configured."
    return ""


def needs_server_control(situation: Situation) -> str:
    """Acts on the server need a console that may act, and a config that says how."""
    if situation.replay:
        return "This is a replay: there is no server to restart."
    if situation.read_only:
        return "This console is read-only: to restart the server, open it without --read-only, or serve with --control."
    return "" if situation.can_serve else "The config does not say how the server is restarted; set server.control."


def needs_broken_link(situation: Situation) -> str:
    """Connecting anew makes sense only without a connection."""
    if situation.replay:
        return "This is a replay: there is no host to connect to."
    return "The link is up: there is nothing to reconnect." if situation.link == "up" else ""


def needs_host(situation: Situation) -> str:
    """Asking needs somebody to ask."""
    return "This is a replay: there is no server to ask." if situation.replay else ""


def needs_live_run(situation: Situation) -> str:
    """A recording has no acts and no journal."""
    return "This is a replay: there is no journal, and nothing was done from here." if situation.replay else ""


COMMANDS: tuple[OperatorCommand, ...] = (
    OperatorCommand(
        "health",
        "Check health now",
        "h",
        "ping_health",
        "Health",
        "Asks for every sign of life now: each with its latency, its age, and what it was before.",
        guard=needs_host,
    ),
    OperatorCommand(
        "restart",
        "Restart the job with the updated script",
        "R",
        "act_on_job('restart')",
        "Restart",
        "Stops the job, puts the new script in place (when one is configured) and starts it; it resumes where it was.",
        guard=needs_control,
        acts=True,
        asks=True,
    ),
    OperatorCommand(
        "start",
        "Start the job",
        "S",
        "act_on_job('start')",
        "Start",
        "Starts the job on the host; it goes on without this console.",
        guard=needs_control,
        acts=True,
        asks=True,
    ),
    OperatorCommand(
        "stop",
        "Stop the job",
        "K",
        "act_on_job('stop')",
        "Stop",
        "Ends the job's whole process group, after proving that it is the job's.",
        guard=needs_control,
        acts=True,
        asks=True,
    ),
    OperatorCommand(
        "rollback",
        "Roll back to the former script",
        "B",
        "roll_back",
        "Roll back",
        "Puts back the script and the command that the last act has replaced, and starts the job with them.",
        guard=needs_control,
        acts=True,
        asks=True,
        shown=False,
    ),
    OperatorCommand(
        "restart-server",
        "Restart the inference server",
        "ctrl+r",
        "restart_server",
        "Restart server",
        "Restarts the server as server.control says, once the host's name was typed, and tells how it comes up.",
        guard=needs_server_control,
        acts=True,
        asks=True,
        shown=False,
    ),
    OperatorCommand(
        "act",
        "Show the last act and its proof",
        "p",
        "show_act",
        "Proof",
        "Shows the steps of the act under way, or of the last one, and the checklist that proves that it worked.",
        guard=needs_live_run,
        shown=False,
    ),
    OperatorCommand(
        "journal",
        "Show the journal",
        "J",
        "show_journal",
        "Journal",
        "Lists who did what to the run, when, why, and what came of it.",
        guard=needs_live_run,
        shown=False,
    ),
    OperatorCommand(
        "reconnect",
        "Reconnect now",
        "r",
        "reconnect",
        "Reconnect",
        "Connects now instead of waiting for the next try.",
        guard=needs_broken_link,
    ),
    OperatorCommand(
        "logs",
        "Next log",
        "l",
        "focus_next_log",
        "Logs",
        "Goes to the server's log, then to the job's.",
    ),
    OperatorCommand(
        "filter",
        "Filter the log",
        "/",
        "filter_log",
        "Filter",
        "Shows only lines that match a regular expression (with ! before it: that don't); an empty one shows all.",
        beside_logs=True,
    ),
    OperatorCommand(
        "search",
        "Search the log",
        "s",
        "search_log",
        "Search",
        "Marks what matches a pattern and counts it, with all lines shown; ! before it means lines without it.",
        shown=False,
        beside_logs=True,
        only="logs",
    ),
    OperatorCommand(
        "save-picture",
        "Save a picture and the reading",
        "s",
        "save_picture",
        "Picture",
        "Saves the screen as an SVG, and the reading behind it as JSON beside it; in a log the key searches instead.",
        shown=False,
        only="elsewhere",
    ),
    OperatorCommand(
        "next-match",
        "Go to the next match",
        "n",
        "go_to_match('next')",
        "Next",
        "Goes to the next line that the search, or else the filter, has found.",
        shown=False,
        only="logs",
    ),
    OperatorCommand(
        "note",
        "Write a note",
        "n",
        "write_note",
        "Note",
        "Adds your own words to the journal; while a log has the focus, the key goes to the next match instead.",
        guard=needs_live_run,
        shown=False,
        only="elsewhere",
    ),
    OperatorCommand(
        "former-match",
        "Go to the former match",
        "N",
        "go_to_match('former')",
        "Former",
        "Goes to the line found before this one.",
        shown=False,
    ),
    OperatorCommand(
        "next-error",
        "Go to the next error",
        "e",
        "go_to_error('next')",
        "Error",
        "Goes to the next error line of the log.",
        shown=False,
        beside_logs=True,
    ),
    OperatorCommand(
        "former-error",
        "Go to the former error",
        "E",
        "go_to_error('former')",
        "Former error",
        "Goes to the error line before this one.",
        shown=False,
    ),
    OperatorCommand(
        "rank",
        "Show one rank's lines",
        "d",
        "turn_rank",
        "Rank",
        "Shows the lines of one rank after the other (DP0, DP1), then all again.",
        shown=False,
        beside_logs=True,
    ),
    OperatorCommand(
        "kind",
        "Show one kind of lines",
        "t",
        "turn_kind",
        "Kind",
        "Shows figures only, then warnings and errors, then all lines again.",
        shown=False,
        beside_logs=True,
    ),
    OperatorCommand(
        "copy",
        "Copy the line or the figure",
        "y",
        "copy_line",
        "Copy",
        "Copies the line or the figure at hand of any pane: to the clipboard by OSC 52, and into a file.",
        shown=False,
        beside_logs=True,
    ),
    OperatorCommand(
        "copy-block",
        "Copy the block or the pane",
        "Y",
        "copy_block",
        "Copy block",
        "Copies the whole pane as text; of a log the marked lines, or those in sight when none are marked.",
        shown=False,
    ),
    OperatorCommand(
        "mouse",
        "Give the mouse to the terminal",
        "M",
        "turn_mouse",
        "Mouse",
        "Gives the mouse back to the terminal, for selecting text; again takes it back.",
        shown=False,
    ),
    OperatorCommand(
        "wrap",
        "Break long lines",
        "w",
        "turn_wrap",
        "Wrap",
        "Breaks long log lines into rows, or cuts them again.",
        shown=False,
    ),
    OperatorCommand(
        "shapes",
        "Show what is not understood",
        "u",
        "show_shapes",
        "Unread",
        "Lists the log lines that longwait can't read, with numbers masked, counted.",
        shown=False,
    ),
    OperatorCommand(
        "follow",
        "Follow the log's end",
        "f",
        "follow_log",
        "Follow",
        "Goes to the newest line and stays there.",
        shown=False,
    ),
    OperatorCommand(
        "zoom",
        "Fill the screen with this pane",
        "z",
        "zoom_pane",
        "Zoom",
        "Fills the screen with the pane that has the focus; again or Esc brings all panes back.",
        shown=False,
        beside_logs=True,
    ),
    OperatorCommand(
        "quiet",
        "Turn the quiet screen on or off",
        "Q",
        "app.turn_quiet",
        "Quiet",
        "Writes at most 2 kB/s to the terminal, for a slow line; again writes as usual.",
        shown=False,
    ),
    OperatorCommand(
        "back",
        "Go back",
        "escape",
        "go_back",
        "Back",
        "Brings all panes back, else leaves the pane that has the focus; it never closes the console.",
        shown=False,
    ),
    OperatorCommand(
        "verdict", "Go to the verdict", "1", "focus_pane('verdict')", "Verdict", "Focuses the verdict.", shown=False
    ),
    OperatorCommand(
        "datasets",
        "Go to the datasets",
        "2",
        "focus_pane('progress')",
        "Datasets",
        "Focuses the datasets.",
        shown=False,
    ),
    OperatorCommand(
        "open-dataset",
        "Open a dataset",
        "enter",
        "open_dataset",
        "Open",
        "Shows the dataset at the cursor, else the one at work: lengths, progress, errors by kind.",
        shown=False,
        only="elsewhere",
    ),
    OperatorCommand(
        "server",
        "Go to the server",
        "3",
        "focus_pane('server')",
        "Server",
        "Focuses the server's figures.",
        shown=False,
    ),
    OperatorCommand(
        "machine",
        "Go to the host and its GPUs",
        "6",
        "focus_pane('machine')",
        "Host",
        "Focuses the host's own figures: GPUs, disk, memory, load.",
        shown=False,
    ),
    OperatorCommand(
        "span-shorter",
        "Show a shorter span in the chart",
        "[",
        "change_span(-1)",
        "Shorter",
        "Shows a shorter span of throughput in the server's chart: all, 1 h, 5 min.",
        shown=False,
    ),
    OperatorCommand(
        "span-longer",
        "Show a longer span in the chart",
        "]",
        "change_span(1)",
        "Longer",
        "Shows a longer span of throughput in the server's chart: 5 min, 1 h, all.",
        shown=False,
    ),
    OperatorCommand("log-pane", "Go to the logs", "4", "focus_pane('logs')", "Logs", "Focuses the log.", shown=False),
    OperatorCommand(
        "timeline",
        "Go to the timeline",
        "5",
        "focus_pane('timeline')",
        "Timeline",
        "Focuses the run's line of time: left and right choose a moment, Enter opens the reading of that time.",
        shown=False,
    ),
    OperatorCommand(
        "since",
        "Show what happened since you last looked",
        "a",
        "show_since",
        "Since",
        "Shows what happened while you were away, or since a console of this run was last looked at.",
        guard=needs_live_run,
        shown=False,
    ),
    OperatorCommand(
        "status",
        "Go to link, health and job",
        "7",
        "focus_pane('status')",
        "Link",
        "Focuses link, health and job.",
        shown=False,
    ),
    OperatorCommand(
        "help",
        "Help",
        "?",
        "show_help",
        "Help",
        "Explains the keys and every figure, those of the focused pane first.",
        beside_logs=True,
    ),
    OperatorCommand(
        "quit",
        "Quit (the job goes on)",
        "q",
        "leave",
        "Quit",
        "Closes the console; the job and the server go on.",
        beside_logs=True,
    ),
)
"""In the order of footer, palette and help."""


def bindings(
    commands: Iterable[OperatorCommand] = COMMANDS,
) -> list[Binding | tuple[str, str] | tuple[str, str, str]]:
    """Give the keys of commands, with ids so that they can be remapped."""
    return [
        Binding(command.key, command.action, command.label, show=command.shown, tooltip=command.help, id=command.id)
        for command in commands
    ]


def in_footer(
    active: ActiveBinding, commands: Iterable[OperatorCommand] = COMMANDS, *, beside_logs: bool
) -> ActiveBinding:
    """Give a key as the footer shows or hides it; one that is no command's is left as it is.

    Args:
        active: The key.
        commands: The commands of the screen.
        beside_logs: A log has the focus.
    """
    command = next((command for command in commands if command.id == active.binding.id), None)
    if command is None:
        return active
    show = command.beside_logs if beside_logs else command.shown
    return active._replace(binding=replace(active.binding, show=show))


def keys_of(command: OperatorCommand, keymap: Mapping[str, str]) -> tuple[str, ...]:
    """Give a command's keys, in Textual's names of keys.

    Args:
        command: The command.
        keymap: Command ids to keys, several separated by commas; a command that is not named keeps its own.
    """
    made = Binding.make_bindings([Binding(keymap.get(command.id) or command.key, command.action)])
    return tuple(binding.key for binding in made)


def completed(keymap: Mapping[str, str], commands: Iterable[OperatorCommand] = COMMANDS) -> dict[str, str]:
    """Give a keymap that Textual applies as it is meant.

    Textual takes a command's old key away from every other command that shares it, and the new key from the one that
    has it. So all commands that share a key with one that was given another are named, too, each with its own keys.

    Args:
        keymap: Command ids to keys, several separated by commas.
        commands: The commands of the screen.
    """
    whole = dict(keymap)
    known = tuple(commands)
    while True:
        moved = [command for command in known if command.id in whole]
        touched = {key for command in moved for names in (keymap, {}) for key in keys_of(command, names)}
        more = {
            command.id: command.key
            for command in known
            if command.id not in whole and not touched.isdisjoint(keys_of(command, {}))
        }
        if not more:
            return whole
        whole |= more


def alone(keymap: Mapping[str, str], commands: Iterable[OperatorCommand] = COMMANDS) -> frozenset[str]:
    """Give the ids of the commands that share no key with another: they need no limit to where they are meant.

    Args:
        keymap: Command ids to keys, several separated by commas.
        commands: The commands of the screen.
    """
    known = tuple(commands)
    return frozenset(
        one.id for one in known if all(len(sharing(key, keymap, known)) == 1 for key in keys_of(one, keymap))
    )


def by_key(keymap: Mapping[str, str], commands: Iterable[OperatorCommand] = COMMANDS) -> dict[str, OperatorCommand]:
    """Give the command behind each key, in Textual's names of keys.

    Args:
        keymap: Command ids to keys, several separated by commas; commands that are not named keep their keys.
        commands: Which commands.
    """
    return {key: command for command in commands for key in keys_of(command, keymap)}


def sharing(key: str, keymap: Mapping[str, str], among: Iterable[OperatorCommand] = COMMANDS) -> list[OperatorCommand]:
    """Give the commands that a key may mean, in Textual's name of the key."""
    return [command for command in among if key in by_key(keymap, (command,))]


def by_action(
    action: str, parameters: tuple[object, ...] = (), commands: Iterable[OperatorCommand] = COMMANDS
) -> OperatorCommand | None:
    """Give the command that an action belongs to; None when it is no command's."""
    called = f"{action}({', '.join(repr(parameter) for parameter in parameters)})" if parameters else action
    return next((command for command in commands if command.action == called), None)


WRITTEN = {"comma": ",", "escape": "Esc", "enter": "Enter", "space": "Space"}
"""Keys that a person calls otherwise than Textual does."""


def key_words(command: OperatorCommand, keymap: Mapping[str, str]) -> str:
    """Give a command's keys as a person reads them."""
    keys = keymap.get(command.id, command.key).split(",")
    return " or ".join(WRITTEN.get(key, key) for key in keys)
