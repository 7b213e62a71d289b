"""How long the simulated model's answers are, and what stands in them: decided by the prompt alone.

A prompt sent twice gives the same answer, so a retry or a restart of the job changes nothing.
"""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass
from functools import cache
from statistics import NormalDist
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

SHORT_CAP = 10_240
"""A request that may make more tokens than this belongs to a data set of long answers."""
VOCABULARY = 32_000
"""Token ids are below this."""
WORDS = (
    "so",
    "the",
    "sum",
    "of",
    "both",
    "sides",
    "is",
    "then",
    "we",
    "check",
    "each",
    "term",
    "and",
    "let",
    "x",
    "be",
)
"""What answers are made of, one word a token."""
_RING = 65_536


@dataclass(frozen=True, slots=True)
class LengthLaw:
    """A log-normal law of completion lengths.

    The share of a running request that is done at a chance moment is ``mean x exp(sigma^2) / 2`` tokens; with a
    mean of 2,000 and ``sigma`` 0.6 this is about 1,430, which with prompts of 800 fills the pool as was observed.

    Attributes:
        mean: Mean length, tokens.
        sigma: Standard deviation of the logarithm.
        least: No answer is shorter, tokens.
    """

    mean: float
    sigma: float = 0.6
    least: int = 16

    def draw(self, digest: bytes) -> int:
        """The length for a prompt of this digest, tokens."""
        share = (int.from_bytes(digest[:8], "big") + 0.5) / 2**64
        centre = math.log(self.mean) - self.sigma**2 / 2
        return max(self.least, round(math.exp(centre + self.sigma * NormalDist().inv_cdf(share))))


SHORT = LengthLaw(2000)
"""Answers to ordinary prompts."""
LONG = LengthLaw(3200)
"""Answers of the data set that may make 16,384 tokens."""
SLOW_START = LengthLaw(4000, sigma=0.2)
"""Answers that are all long: nothing ends for a long while after the start."""


def digest_of(prompt: Sequence[int] | str) -> bytes:
    """A stable digest of a prompt, given as token ids or as text."""
    text = prompt if isinstance(prompt, str) else json.dumps(list(prompt), separators=(",", ":"))
    return hashlib.blake2b(text.encode(), digest_size=16).digest()


def law_for(max_new_tokens: int, *, slow_start: bool = False) -> LengthLaw:
    """The law that a request's answer follows."""
    if slow_start:
        return SLOW_START
    return LONG if max_new_tokens > SHORT_CAP else SHORT


@cache
def _ring() -> tuple[int, ...]:
    """Token ids without a visible pattern: a linear congruential sequence (Numerical Recipes' constants)."""
    ids, state = [], 1
    for _ in range(2 * _RING):
        state = (1_664_525 * state + 1_013_904_223) % 2**32
        ids.append((state >> 8) % VOCABULARY)
    return tuple(ids)


def answer(digest: bytes, tokens: int) -> tuple[str, list[int]]:
    """The text and the token ids of an answer of ``tokens`` tokens (at most 65,536)."""
    start = int.from_bytes(digest[8:16], "big") % _RING
    ids = list(_ring()[start : start + tokens])
    return " ".join(WORDS[i % len(WORDS)] for i in ids), ids
