"""The bytes of one frame, gathered from reads of any size into blocks; each byte is copied once.

A frame counts only when its footer has come, which says how many of its bytes are the file's; until then they wait
here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


class FrameBody:
    """The bytes of a frame that is under way.

    Args:
        inode: The file that they are of.
        offset: Where in it they start.
        length: How many there will be.
        block_bytes: Bytes of a block.

    Attributes:
        missing: How many have not come yet.
    """

    __slots__ = ("_block_bytes", "_blocks", "_filled", "_pieces", "inode", "length", "missing", "offset")

    def __init__(self, inode: int, offset: int, length: int, block_bytes: int) -> None:
        self.inode = inode
        self.offset = offset
        self.length = length
        self.missing = length
        self._block_bytes = block_bytes
        self._blocks: list[bytes] = []
        self._pieces: list[memoryview] = []
        self._filled = 0

    def take(self, data: bytes, at: int) -> int:
        """Take what belongs to the frame of ``data`` from ``at`` on; give the place after it."""
        view = memoryview(data)
        while self.missing and at < len(data):
            size = min(len(data) - at, self.missing, self._block_bytes - self._filled)
            self._pieces.append(view[at : at + size])
            at += size
            self._filled += size
            self.missing -= size
            if self._filled == self._block_bytes or not self.missing:
                self._blocks.append(b"".join(self._pieces))
                self._pieces, self._filled = [], 0
        return at

    def blocks(self, count: int) -> Iterator[bytes]:
        """The first ``count`` bytes, as blocks that are not empty; they are given away."""
        blocks, self._blocks = self._blocks, []
        for block in blocks:
            if count <= 0:
                return
            yield block if len(block) <= count else block[:count]
            count -= len(block)
