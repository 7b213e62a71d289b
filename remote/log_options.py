"""Command lines taken apart into options and operands, and put together again without some of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Sequence


@dataclass(frozen=True, slots=True)
class Grammar:
    """Which options take a value, as far as it matters for taking a command line apart.

    Attributes:
        letters: Short options with a value.
        names: Long options with a value, which may stand in the next word.
        counts: Short and long options whose next word is theirs only when it is a number or ``all``.
    """

    letters: str = ""
    names: frozenset[str] = frozenset()
    counts: frozenset[str] = frozenset()

    def _takes(self, name: str, following: str | None) -> bool:
        """Whether an option without a value in its own word takes the next word."""
        if following is None:
            return False
        if name in self.counts:
            return following == "all" or following.lstrip("+-").isdigit()
        return name in self.names or (len(name) == 1 and name in self.letters)

    def split(self, words: Sequence[str]) -> list[Item]:
        """The options and operands of a command line, in order; all after ``--`` are operands."""
        items: list[Item] = []
        at = 0
        while at < len(words) and words[at] != "--":
            found, at = self.take(words, at)
            items += found
        return [*items, *(Item("", (word,)) for word in words[at:])]

    def take(self, words: Sequence[str], at: int) -> tuple[list[Item], int]:
        """What the word at a place is, with its value, and the place after them."""
        items = self._items(words[at], words[at + 1] if at + 1 < len(words) else None)
        return items, at + len(items[-1].words)

    def _items(self, word: str, following: str | None) -> list[Item]:
        """What a word, and perhaps the next one, is; several for short options in one word."""
        if word.startswith("--"):
            name, equals, _ = word[2:].partition("=")
            more = not equals and following is not None and self._takes(name, following)
            return [Item(name, (word, following) if more and following is not None else (word,))]
        if len(word) < 2 or not word.startswith("-"):  # noqa: PLR2004  (a sign and a letter)
            return [Item("", (word,))]
        return self._cluster(word[1:], following)

    def _cluster(self, letters: str, following: str | None) -> list[Item]:
        items: list[Item] = []
        for at, letter in enumerate(letters):
            rest = letters[at + 1 :]
            if rest and (letter in self.letters or (letter in self.counts and rest.isdigit())):
                return [*items, Item(letter, (f"-{letter}{rest}",))]
            if not rest and following is not None and self._takes(letter, following):
                return [*items, Item(letter, (f"-{letter}", following))]
            items.append(Item(letter, (f"-{letter}",)))
        return items


@dataclass(frozen=True, slots=True)
class Item:
    """An option with its value, or an operand.

    Attributes:
        name: The option's name or letter without dashes; empty for an operand.
        words: Its words.
    """

    name: str
    words: tuple[str, ...]


def names_of(items: Iterable[Item]) -> set[str]:
    """The options that are there."""
    return {item.name for item in items if item.name}


def words_without(items: Iterable[Item], dropped: Container[str]) -> list[str]:
    """The words of all but these options."""
    return [word for item in items if not item.name or item.name not in dropped for word in item.words]
