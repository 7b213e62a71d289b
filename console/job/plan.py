"""What the config says of the run before any line of it is read."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import tzinfo


@dataclass(frozen=True, slots=True)
class PlannedDataset:
    """One dataset as the config names it.

    Attributes:
        name: As the job prints it.
        prompts: How many prompts it holds; None when not said.
        budget: Completion tokens it may make; None when it has no budget or none is said.
        kind: ``SHORT``, ``LONG`` or empty.
        concurrency: Requests in flight at most; None when not said.
        max_tokens: New tokens a request may make at most; None when not said.
        mean_tokens: Mean completion that is expected, tokens; None when not said.
    """

    name: str
    prompts: int | None = None
    budget: int | None = None
    kind: str = ""
    concurrency: int | None = None
    max_tokens: int | None = None
    mean_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """The run as planned; a dataset that is not in it is added as it appears in the log.

    Attributes:
        datasets: In the order in which they are to be done.
        zone: The zone of stamps without one: the host's local time.
        host: The host's name as the operator wrote it; empty when there is none (a replay).
        engine: The server's engine, or empty (found out from the log).
        script_sha256: SHA-256 that the running script must have, hex; empty when that is not said.
    """

    datasets: tuple[PlannedDataset, ...] = ()
    zone: tzinfo = field(default=UTC)
    host: str = ""
    engine: str = ""
    script_sha256: str = ""
