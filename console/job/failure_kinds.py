"""Attempts of requests that failed, by dataset and kind, as ``progress.jsonl`` tells them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from console.job.job_events import RequestFailed

OTHER = "other"
"""The kind under which those are counted that are one kind too many."""

_KINDS = 16
"""Kinds kept of one dataset: a job names about a dozen."""

_DATASETS = 64
"""Datasets kept; the one that failed first goes first."""


class FailureKind(NamedTuple):
    """How often requests failed in one way.

    Attributes:
        kind: ``timeout``, ``connect``, ``http_500``, ...
        attempts: Attempts that failed so.
        final: Of these, the last ones of their requests: those were given up.
    """

    kind: str
    attempts: int = 0
    final: int = 0


@dataclass(frozen=True, slots=True)
class FailureKinds:
    """Counts over all processes whose lines were read.

    Whoever counts sees to it that each attempt counts once.

    Attributes:
        datasets: Dataset to its kinds, in the order in which they appeared.
    """

    datasets: tuple[tuple[str, tuple[FailureKind, ...]], ...] = ()

    def of(self, name: str) -> tuple[FailureKind, ...]:
        """A dataset's kinds, the most frequent first."""
        kinds = next((kinds for other, kinds in self.datasets if other == name), ())
        return tuple(sorted(kinds, key=lambda one: (-one.attempts, one.kind)))

    def add(self, name: str, event: RequestFailed) -> FailureKinds:
        """With one failed attempt more of a dataset."""
        known = dict(self.datasets)
        kinds = {one.kind: one for one in known.get(name, ())}
        kind = event.kind if event.kind in kinds or len(kinds) < _KINDS else OTHER
        one = kinds.get(kind, FailureKind(kind))
        kinds[kind] = FailureKind(kind, one.attempts + 1, one.final + event.final)
        known[name] = tuple(kinds.values())
        return FailureKinds(tuple(known.items())[-_DATASETS:])
