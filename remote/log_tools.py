"""The tools whose logs can be resumed, as data: which of their options matter, and which ones they are given.

Written from the tools' own manuals: journalctl(1) of systemd 252, Docker 28, kubectl 1.32.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from remote.log_options import Grammar

if TYPE_CHECKING:
    from remote.log_cursor import CursorKind


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_FOLLOW = frozenset({"f", "follow"})


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool whose output can be resumed.

    Attributes:
        kind: How a place in its output is known.
        before: Options before its word ``logs``; None when it has no such word.
        after: Options after it.
        ours: Options that it always gets.
        replaced: The user's options that ours take the place of.
        bounds: The user's options that say where to begin; they are left out when resuming.
        count: The option for a number of lines.
        everything: The option for all lines.
        since: The option for the place to resume at.
    """

    kind: CursorKind
    before: Grammar | None
    after: Grammar
    ours: tuple[str, ...]
    replaced: frozenset[str]
    bounds: frozenset[str]
    count: str
    everything: str
    since: str


_JOURNAL = Tool(
    "journal",
    None,
    Grammar(
        "oSUcutpgMDF",
        _names(
            "output output-fields since until cursor after-cursor cursor-file unit user-unit identifier priority grep "
            "machine directory file root image namespace field facility case-sensitive"
        ),
        frozenset({"n", "lines"}),
    ),
    # The message alone; --all, or a long one is left out; _LINE_BREAK tells a long line that journald cut.
    ("--output=json", "--output-fields=MESSAGE,_LINE_BREAK", "--all", "--no-pager", "--quiet", "--follow"),
    _FOLLOW | _names("o output output-fields show-cursor cursor-file r reverse no-pager e pager-end x catalog"),
    _names("n lines no-tail S since c cursor after-cursor"),
    "--lines=",
    "--no-tail",
    "--cursor=",
)
_CONTAINER = Tool(
    "stamped",
    Grammar(
        "Hclfp",
        _names(
            "host context config log-level tlscacert tlscert tlskey file project-name project-directory env-file "
            "profile namespace address connection url root runroot"
        ),
    ),
    Grammar("n", frozenset({"since", "until", "tail", "index"})),
    ("--timestamps", "--follow"),
    _FOLLOW | {"t", "timestamps"},
    frozenset({"since", "n", "tail"}),
    "--tail=",
    "--tail=all",
    "--since=",
)
_KUBERNETES_NAMES = _names(
    "namespace context cluster user kubeconfig server token as as-group request-timeout cache-dir container selector "
    "since since-time tail limit-bytes max-log-requests pod-running-timeout v"
)
_KUBERNETES = Tool(
    "stamped",
    Grammar("nsv", _KUBERNETES_NAMES),
    Grammar("nsvcl", _KUBERNETES_NAMES),
    ("--timestamps", "--follow"),
    _FOLLOW | {"timestamps"},
    frozenset({"since", "since-time", "tail", "limit-bytes"}),
    "--tail=",
    "--tail=-1",
    "--since-time=",
)
TOOLS = {
    "journalctl": _JOURNAL,
    "docker": _CONTAINER,
    "podman": _CONTAINER,
    "nerdctl": _CONTAINER,
    "docker-compose": _CONTAINER,
    "podman-compose": _CONTAINER,
    "kubectl": _KUBERNETES,
    "oc": _KUBERNETES,
}
"""Known tools by the name of the program."""
