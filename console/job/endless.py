r"""Which regular expressions could keep Python busy for hours on one line.

Python's matcher tries every way in which a repeat can share a text with what it repeats, or with the next repeat. Three
shapes are refused: a repeated group that holds a repeat, ``(a+)+``, or a choice, ``(a|ab)*``; and more than two
repeats of "anything", ``.*a.*b.*c``. Only the text of an expression is looked at, so some harmless ones are refused.
"""

from __future__ import annotations

import re

_REPEAT = r"[*+]|\{[0-9]*,[0-9]*\}"
_TOKEN = re.compile(
    r"(?P<atom>\\.|\[\^?\]?(?:\\.|[^\]\\])*\])|(?P<open>\((?:\?(?:P<\w+>|[:=!]|<[=!]|>))?)"
    rf"|(?P<close>\)(?P<repeat>{_REPEAT})?)|(?P<wild>\.(?:[*+]|\{{[0-9]*,\}}))|(?P<again>{_REPEAT})|(?P<choice>\|)|.",
    re.DOTALL,
)
"""One step: an escape or a set, a group's begin or end (with its repeat), a repeat, a choice, anything else."""

_WILD = 2
"""Repeats of "anything" that may stand in one expression: three of them take the cube of a line's length."""


def may_never_end(regex: str) -> bool:
    """Whether an expression has one of the shapes that can run for hours."""
    groups, wild = [False], 0
    for token in _TOKEN.finditer(regex):
        match token.lastgroup:
            case "open":
                groups.append(False)
            case "close" | "repeat" if len(groups) > 1:
                inner, repeated = groups.pop(), token["repeat"] is not None
                if inner and repeated:
                    return True
                groups[-1] = groups[-1] or inner or repeated
            case "wild":
                wild += 1
                groups[-1] = True
            case "again" | "choice":
                groups[-1] = True
            case _:
                pass
    return wild > _WILD
