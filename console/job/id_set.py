"""A set of ids that is frozen and still cheap to grow."""

from __future__ import annotations

from dataclasses import dataclass, field

_BUCKETS = 128
"""With 10,000 ids a bucket holds about 80: one more id copies some 200 references, not 10,000."""

_EMPTY: tuple[frozenset[int], ...] = (frozenset(),) * _BUCKETS


@dataclass(frozen=True, slots=True)
class IdSet:
    """Ids seen so far, kept as 64-bit hashes: 10,000 ids take well under 1 MB, however long they are.

    Two ids with one hash would count as one; with 100,000 ids the chance of any such pair is below 1e-9.

    Attributes:
        buckets: The hashes, spread by their remainder.
        size: How many there are.
    """

    buckets: tuple[frozenset[int], ...] = field(default=_EMPTY, repr=False)
    size: int = 0

    def __len__(self) -> int:
        return self.size

    def __contains__(self, name: object) -> bool:
        key = hash(name)
        return key in self.buckets[key % _BUCKETS]

    def add(self, name: str) -> IdSet:
        """The set with one more id; itself when the id is in it."""
        key = hash(name)
        place = key % _BUCKETS
        bucket = self.buckets[place]
        if key in bucket:
            return self
        buckets = (*self.buckets[:place], bucket | {key}, *self.buckets[place + 1 :])
        return IdSet(buckets, self.size + 1)
