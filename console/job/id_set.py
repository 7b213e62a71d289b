"""A set of ids that is frozen and still cheap to grow."""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import blake2b

_LEAST = 256
"""Slots of the smallest table; always a power of two."""

_SLOT = 8
"""Bytes of a slot: a hash, or 0 for none."""


@dataclass(frozen=True, slots=True, eq=False)
class IdSet:
    """Ids seen so far, kept as 64-bit hashes: 10,000 ids take 131 kB, however long they are.

    Two ids with one hash would count as one; with 100,000 ids the chance of any such pair is below 1e-9.

    Attributes:
        table: The hashes in open addressing with linear probing, at most two thirds of the slots in use. One run of
            bytes: it is copied in microseconds, and takes an eighth of what a set of numbers does.
        size: How many there are.
    """

    table: bytes = field(default=b"", repr=False)
    size: int = 0

    def __len__(self) -> int:
        return self.size

    def __contains__(self, name: object) -> bool:
        if not self.table:
            return False
        slots, key = memoryview(self.table).cast("Q"), _key(name)
        return slots[_place(slots, key)] == key

    def __eq__(self, other: object) -> bool:
        return isinstance(other, IdSet) and self._keys() == other._keys()

    def __hash__(self) -> int:
        return hash(self._keys())

    def _keys(self) -> frozenset[int]:
        return frozenset(memoryview(self.table).cast("Q")) - {0}

    def add(self, name: str) -> IdSet:
        """The set with one more id; itself when the id is in it."""
        draft = IdSetDraft(self)
        return draft.freeze() if draft.add(name) else self


class IdSetDraft:
    """A set of ids that grows in place.

    Args:
        ids: What it begins with.
    """

    __slots__ = ("_given", "_slots", "size")

    def __init__(self, ids: IdSet) -> None:
        self._given = ids
        self._slots: memoryview[int] | None = None
        self.size = ids.size

    def add(self, name: str) -> bool:
        """Add an id; False when it is in the set already."""
        slots, key = self._slots, _key(name)
        if slots is None:
            slots = self._slots = memoryview(bytearray(self._given.table or _LEAST * _SLOT)).cast("Q")
        place = _place(slots, key)
        if slots[place]:
            return False
        if (self.size + 1) * 3 > len(slots) * 2:
            slots = self._slots = _twice(slots)
            place = _place(slots, key)
        slots[place] = key
        self.size += 1
        return True

    def freeze(self) -> IdSet:
        """The set as it stands."""
        return self._given if self._slots is None else IdSet(self._slots.tobytes(), self.size)


def _place(slots: memoryview[int], key: int) -> int:
    """The slot of a hash, or the empty one in which it would be put."""
    last = len(slots) - 1
    place = key & last
    while (there := slots[place]) and there != key:
        place = (place + 1) & last
    return place


def _twice(slots: memoryview[int]) -> memoryview[int]:
    """The same hashes in a table of twice the size."""
    larger = memoryview(bytearray(2 * len(slots) * _SLOT)).cast("Q")
    for key in slots:
        if key:
            larger[_place(larger, key)] = key
    return larger


def _key(name: object) -> int:
    """64 bits of an id, the same in every process: a restarted console goes on with the set (``hash`` is salted).

    None of them is 0, which stands for an empty slot.
    """
    return int.from_bytes(blake2b(str(name).encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little") or 1
