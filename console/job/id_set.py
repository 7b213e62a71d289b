"""A set of ids that is frozen and still cheap to grow."""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import blake2b

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
        key = _key(name)
        return key in self.buckets[key % _BUCKETS]

    def add(self, name: str) -> IdSet:
        """The set with one more id; itself when the id is in it."""
        key = _key(name)
        place = key % _BUCKETS
        bucket = self.buckets[place]
        if key in bucket:
            return self
        buckets = (*self.buckets[:place], bucket | {key}, *self.buckets[place + 1 :])
        return IdSet(buckets, self.size + 1)


class IdSetDraft:
    """A set of ids that grows in place.

    Args:
        ids: What it begins with.
    """

    __slots__ = ("_buckets", "_grown", "size")

    def __init__(self, ids: IdSet) -> None:
        self._buckets = ids.buckets
        self._grown: dict[int, set[int]] = {}
        self.size = ids.size

    def add(self, name: str) -> bool:
        """Add an id; False when it is in the set already."""
        key = _key(name)
        place = key % _BUCKETS
        bucket = self._grown.get(place)
        if bucket is None:
            bucket = self._grown[place] = set(self._buckets[place])
        if key in bucket:
            return False
        bucket.add(key)
        self.size += 1
        return True

    def freeze(self) -> IdSet:
        """The set as it stands."""
        grown = self._grown
        buckets = (frozenset(grown[at]) if at in grown else self._buckets[at] for at in range(_BUCKETS))
        return IdSet(tuple(buckets), self.size)


def _key(name: object) -> int:
    """64 bits of an id, the same in every process: a restarted console goes on with the set (``hash`` is salted)."""
    return int.from_bytes(blake2b(str(name).encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")
