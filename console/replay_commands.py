"""What the keys of a replay do, once each, like the console's own commands."""

from __future__ import annotations

from dataclasses import replace

from console.commands import COMMANDS, OperatorCommand

REPLAY: tuple[OperatorCommand, ...] = (
    OperatorCommand(
        "play",
        "Play or pause",
        "space",
        "turn_play",
        "Play",
        "Stops the replay's time, or lets it go on; at the end it begins again.",
        beside_logs=True,
    ),
    OperatorCommand(
        "minute-back",
        "A minute back",
        "comma",
        "step(-1)",
        "-1 min",
        "Pauses, and goes one minute of the log back.",
        shown=False,
    ),
    OperatorCommand(
        "minute-on",
        "A minute on",
        ".",
        "step(1)",
        "+1 min",
        "Pauses, and goes one minute of the log on.",
        beside_logs=True,
    ),
    OperatorCommand(
        "minutes-back",
        "Ten minutes back",
        "<",
        "step(-10)",
        "-10 min",
        "Pauses, and goes ten minutes of the log back.",
        shown=False,
    ),
    OperatorCommand(
        "minutes-on",
        "Ten minutes on",
        ">",
        "step(10)",
        "+10 min",
        "Pauses, and goes ten minutes of the log on.",
        shown=False,
    ),
    OperatorCommand(
        "hour-back",
        "An hour back",
        "[",
        "go_by(-60)",
        "-1 h",
        "Goes an hour of the log back; a replay that plays plays on from there.",
        shown=False,
    ),
    OperatorCommand(
        "hour-on",
        "An hour on",
        "]",
        "go_by(60)",
        "+1 h",
        "Goes an hour of the log on; a replay that plays plays on from there.",
        beside_logs=True,
    ),
    OperatorCommand(
        "scrub-back",
        "Back along the bar",
        "left",
        "scrub(-1)",
        "Back",
        "Goes a fiftieth of the recording back; the mouse goes anywhere on the bar.",
        shown=False,
    ),
    OperatorCommand(
        "scrub-on",
        "On along the bar",
        "right",
        "scrub(1)",
        "On",
        "Goes a fiftieth of the recording on; the mouse goes anywhere on the bar.",
        shown=False,
    ),
    OperatorCommand(
        "recording-start",
        "Go to the start",
        "home",
        "go_to_edge('start')",
        "Start",
        "Goes to the first line.",
        shown=False,
    ),
    OperatorCommand(
        "recording-end", "Go to the end", "end", "go_to_edge('end')", "End", "Goes to the last line.", shown=False
    ),
    OperatorCommand(
        "slower",
        "Play slower",
        "-",
        "change_pace('slower')",
        "Slower",
        "Lets fewer minutes of the log pass in a second.",
        shown=False,
    ),
    OperatorCommand(
        "faster",
        "Play faster",
        "+,=",
        "change_pace('faster')",
        "Faster",
        "Lets more minutes of the log pass in a second.",
    ),
    OperatorCommand(
        "former-change",
        "Go to the former change of verdict",
        "{",
        "go_to_change('former')",
        "Former change",
        "Pauses where the verdict or its cause last changed before this moment.",
        shown=False,
    ),
    OperatorCommand(
        "next-change",
        "Go to the next change of verdict",
        "}",
        "go_to_change('next')",
        "Change",
        "Pauses where the verdict or its cause changes next.",
        beside_logs=True,
    ),
)
"""What a replay's keys do beside those of the console."""

OTHER_KEYS = {"span-shorter": "(", "span-longer": ")"}
"""Commands of the console whose keys mean a way through time in a replay, and their keys there."""

REPLAYED: tuple[OperatorCommand, ...] = (
    *REPLAY,
    *(replace(command, key=OTHER_KEYS.get(command.id, command.key)) for command in COMMANDS),
)
"""All that a replay knows, in the order of its footer."""
