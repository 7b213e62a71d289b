"""What a process of the job said it would do with a dataset, for comparison with what was planned."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Terms:
    """The words of one process as it began to send a dataset's requests.

    Attributes:
        requests: Prompts that it means to do.
        concurrency: Requests in flight at most; None when not said.
        max_tokens: New tokens of one request at most; None when not said.
        budget: Token budget; None when it named none.
    """

    requests: int
    concurrency: int | None = None
    max_tokens: int | None = None
    budget: int | None = None
