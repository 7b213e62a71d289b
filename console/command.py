"""What an operator's command is, and what keeps it from running now."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Callable


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
