"""A request on its way through the simulated scheduler."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from remote.demo.happenings import Request

CLIP_TOKENS = 4096
"""A request's future counts with at most so many tokens when admission is decided."""


@dataclass(slots=True, eq=False)
class Slot:
    """A request on its way.

    Attributes:
        request: Which.
        made: Tokens it had made when it joined the batch, or in all while it waits.
        joined: The decode step at which it joined.
        retractions: How often it was thrown out of the batch.
    """

    request: Request
    made: int = 0
    joined: int = 0
    retractions: int = 0

    def tokens_at(self, step: int) -> int:
        """Tokens it has made at a decode step."""
        return self.made + step - self.joined

    def ends_at(self) -> int:
        """The decode step at which it has all its tokens."""
        return self.joined + self.request.target - self.made

    def future_at(self, step: int) -> int:
        """Tokens that it may still make, as admission counts them."""
        return min(self.request.max_new_tokens - self.tokens_at(step), CLIP_TOKENS)

    def leave(self, step: int) -> None:
        """Take it out of the batch at a decode step."""
        self.made, self.joined = self.tokens_at(step), 0
