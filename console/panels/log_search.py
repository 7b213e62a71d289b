"""What the operator types after ``/`` and ``s``, as something that can be looked for."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from console.job.endless import may_never_end
from widgets.log_find import Without

if TYPE_CHECKING:
    from widgets.log_find import Finder


def too_slow(typed: str) -> bool:
    """Tell whether an expression could keep the console busy for hours; it is then taken as it stands."""
    return may_never_end(typed)


def as_pattern(typed: str) -> Finder | None:
    """Read what the operator typed; None when that is nothing.

    Args:
        typed: A regular expression, or the plain text when it is none; after a ``!``, what must not be found.
    """
    if typed.startswith("!") and len(typed) > 1:
        return Without(_compiled(typed[1:]))
    return _compiled(typed) if typed else None


def _compiled(typed: str) -> re.Pattern[str]:
    if too_slow(typed):
        return re.compile(re.escape(typed), re.IGNORECASE)
    try:
        return re.compile(typed, re.IGNORECASE)
    except (re.error, OverflowError, RecursionError):
        return re.compile(re.escape(typed), re.IGNORECASE)
