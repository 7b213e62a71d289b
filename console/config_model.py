"""Plain data as a frozen struct: each value checked against its field's annotation, every misfit named with its place.

msgspec says whether a word or a number is what it should be; it stops at the first that is not. Who edits a config by
hand wants all of them at once, so the structs, lists and mappings are walked here.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, TypeVar, Union, get_args, get_origin

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

Loc = tuple[str | int, ...]
"""Where a value stands: keys and list positions from the top."""

SHOWN = 60
"""Characters of a wrong value that are shown."""


class Misfit(NamedTuple):
    """One value that is not what it should be.

    Attributes:
        loc: Where it stands.
        message: What is wrong and what would be right; empty for a key that nothing is known of.
    """

    loc: Loc
    message: str


class UnfitError(Exception):
    """Data that makes no struct, with all its misfits."""

    def __init__(self, misfits: Iterable[Misfit]) -> None:
        self.misfits = tuple(misfits)
        super().__init__("; ".join(f"{'.'.join(map(str, loc))}: {message}" for loc, message in self.misfits))


class Model(msgspec.Struct, frozen=True, kw_only=True):
    """A part of the settings. Made by hand its values are taken as they are; ``built`` checks them."""

    def misfits(self) -> Iterator[Misfit]:
        """What its fields are only wrong in together, with places from here."""
        yield from ()


@dataclass(frozen=True, slots=True)
class Check:
    """A rule of a field that a type can't say, for ``Annotated``.

    Attributes:
        apply: Takes the value and gives it back, tidied up; a ``ValueError`` says what is wrong with it.
    """

    apply: Callable[[Any], Any]


Built = TypeVar("Built", bound=Model)


def built(model: type[Built], data: object) -> Built:
    """A struct of plain data, as YAML or JSON gives it.

    Raises:
        UnfitError: With every misfit.
    """
    walk = _Walk([])
    made = walk.struct(model, data, ())
    if walk.misfits:
        raise UnfitError(walk.misfits)
    return made  # type: ignore[no-any-return]  # without misfits it is one


@cache
def _fields(model: type[Model]) -> tuple[msgspec.structs.FieldInfo, ...]:
    return msgspec.structs.fields(model)


def fields_of(model: type[Model]) -> tuple[tuple[str, Any], ...]:
    """Name and annotation of each field."""
    return tuple((each.name, each.type) for each in _fields(model))


def model_in(kind: Any) -> type[Model] | None:  # noqa: ANN401 - annotations are anything
    """The model that an annotation names, within tuples and unions too."""
    if isinstance(kind, type) and issubclass(kind, Model):
        return kind
    return next((found for part in get_args(kind) if (found := model_in(part))), None)


@dataclass(frozen=True, slots=True)
class _Walk:
    misfits: list[Misfit]

    def struct(self, model: type[Model], data: object, loc: Loc) -> Any:  # noqa: ANN401 - a Model, or nothing of use
        if not isinstance(data, dict):
            return self._say(loc, "should be keys and values", data)
        before = len(self.misfits)
        known = {each.name: each for each in _fields(model)}
        self.misfits.extend(Misfit((*loc, key), "") for key in data if key not in known)
        values = {key: self.value(known[key].type, data[key], (*loc, key)) for key in known if key in data}
        missing = [key for key, each in known.items() if each.required and key not in data]
        self.misfits.extend(Misfit((*loc, key), "is missing") for key in missing)
        if len(self.misfits) > before:
            return None
        made = model(**values)
        self.misfits.extend(Misfit((*loc, *place), message) for place, message in made.misfits())
        return made

    def value(self, kind: Any, data: object, loc: Loc) -> Any:  # noqa: ANN401 - what the annotation says
        before = len(self.misfits)
        made = self._unchecked(kind, data, loc)
        for each in getattr(kind, "__metadata__", ()):
            if len(self.misfits) > before:
                return None
            if isinstance(each, Check):
                try:
                    made = each.apply(made)
                except ValueError as error:
                    self.misfits.append(Misfit(loc, str(error)))
        return made

    def _unchecked(self, kind: Any, data: object, loc: Loc) -> Any:  # noqa: ANN401 - what the annotation says
        """The value by its type and limits."""
        bare = _bare(kind)
        origin, parts = get_origin(bare), get_args(bare)
        if origin in {Union, UnionType}:
            return self._one_of(parts, data, loc)
        if origin is tuple and isinstance(data, list) and (data or not _needs_one(kind)):
            return tuple(self.value(parts[0], each, (*loc, place)) for place, each in enumerate(data))
        if origin is dict and isinstance(data, dict):
            return {key: self.value(parts[1], each, (*loc, key)) for key, each in data.items()}
        if isinstance(bare, type) and issubclass(bare, Model):
            return self.struct(bare, data, loc)
        try:
            return msgspec.convert(data, kind)
        except msgspec.ValidationError:
            return self._say(loc, _should_be(kind), data)

    def _one_of(self, parts: tuple[Any, ...], data: object, loc: Loc) -> Any:  # noqa: ANN401 - what the annotation says
        if data is None and NoneType in parts:
            return None
        choices = [part for part in parts if part is not NoneType]
        lists = [part for part in choices if get_origin(_bare(part)) is tuple]
        return self.value((lists if lists and isinstance(data, list) else choices)[0], data, loc)

    def _say(self, loc: Loc, message: str, data: object) -> None:
        shown = json.dumps(data, ensure_ascii=False)
        self.misfits.append(
            Misfit(loc, f"{message}, not {shown if len(shown) <= SHOWN else shown[: SHOWN - 3] + '...'}")
        )


def _bare(kind: Any) -> Any:  # noqa: ANN401 - annotations are anything
    """The type without its limits and checks."""
    return kind.__origin__ if get_origin(kind) is Annotated else kind


def _limits(kind: Any) -> list[msgspec.Meta]:  # noqa: ANN401 - annotations are anything
    return [each for each in getattr(kind, "__metadata__", ()) if isinstance(each, msgspec.Meta)]


def _needs_one(kind: Any) -> bool:  # noqa: ANN401 - annotations are anything
    return any(each.min_length for each in _limits(kind))


KINDS = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}


def _should_be(kind: Any) -> str:  # noqa: ANN401 - annotations are anything
    """What a field wants, in words: ``should be a number greater than 0``."""
    bare, limits = _bare(kind), _limits(kind)
    described = next((each.description for each in limits if each.description), None)
    if described:
        return f"should be {described}"
    if get_origin(bare) is Literal:
        *rest, last = get_args(bare)
        return f"should be {', '.join(rest)} or {last}" if rest else f"should be {last}"
    if get_origin(bare) is tuple:
        return f"should be a list{' of one or more' if _needs_one(kind) else ''}"
    if get_origin(bare) is dict:
        return "should be keys and values"
    bounds = [
        f"{words} {bound:,}"
        for each in limits
        for words, bound in (("greater than", each.gt), ("at least", each.ge), ("at most", each.le))
        if bound is not None
    ]
    wanted = KINDS[bare] + (" that is not empty" if bare is str and _needs_one(kind) else "")
    return f"should be {wanted} {' and '.join(bounds)}".rstrip()
