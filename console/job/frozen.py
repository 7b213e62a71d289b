"""A tracker's whole state as bytes and back, so that a restarted console goes on where it stopped.

Two kinds of things are in it. Data (frozen dataclasses, times, numbers) are pickled. Machinery (parsers, splitters)
is not: a fresh one is made as always and takes over the former one's attributes, without those that belong to the
program (formats, patterns, functions). What was frozen by another program is refused, never guessed at.
"""

from __future__ import annotations

import dataclasses
import hashlib
import importlib
import io
import pickle
import re
from enum import Enum
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import TYPE_CHECKING, Any, cast
from zoneinfo import ZoneInfo

import console
from console.job.formats import Format

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_OURS = "console.job."
_PROTOCOL = 5
_DIGEST_BYTES = 32
"""SHA-256 of what follows: damaged bytes never reach the unpickler."""
_LARGE, _LONG = 4_096, 16
"""Bytes, and rows, from which on a run of them is worth being shared: chunks of a history are, the shortest too."""
_FIGURES = {bool, float, int, str, type(None)}
_PLAIN = {
    "builtins": {"bytearray", "complex", "dict", "frozenset", "list", "set", "tuple"},
    "collections": {"Counter", "OrderedDict", "defaultdict", "deque"},
    "datetime": {"date", "datetime", "time", "timedelta", "timezone"},
    "zoneinfo": {"ZoneInfo"},
}
"""What may be built besides this package's own classes."""

_PROGRAM = (Format, re.Pattern, FunctionType, BuiltinFunctionType, type)
_SKIP = ("program", None)
_DAMAGE = (
    pickle.UnpicklingError, ArithmeticError, AttributeError, EOFError, ImportError, LookupError, TypeError, ValueError
)  # fmt: skip
"""What reading the bytes of a changed program may raise."""
_Node = tuple[str, object]
"""``(kind, content)``: ``data`` with a value, ``part`` with a class's name and its attributes' nodes, ``parts`` with
a dictionary of nodes, or ``program``."""


class NotOurs(ValueError):  # noqa: N818
    """These bytes were not frozen by this very program from this very plan, or are damaged."""


def freeze(owner: object, leave: Iterable[str], key: str, shared: list[object] | None = None) -> bytes:
    """Everything that an object has learned.

    Args:
        owner: An object of this package.
        leave: Names of attributes that its maker gives it anew.
        key: What must be the same for the bytes to be of use again (a zone, an engine).
        shared: Where long runs of bytes and figures are put instead of copied, for who stays in this process:
            successive states have most of them in common. None keeps all in what is given.
    """
    kept = dict(_parts(owner, leave))
    packed = io.BytesIO()
    pickler = _Freeze(packed) if shared is None else _FreezeShared(packed, shared)
    pickler.dump(kept)
    names = tuple(sorted(pickler.classes))
    head = (console.__version__, key, names, _definitions(names))
    body = pickle.dumps((head, packed.getvalue()), _PROTOCOL)
    return hashlib.sha256(body).digest() + body


def thaw(owner: object, frozen: bytes, leave: Iterable[str], key: str, shared: Sequence[object] = ()) -> None:
    """Give a fresh object what another one had learned; all of it or nothing.

    Raises:
        NotOurs: The bytes can't be used; the object is as it was.
    """
    try:
        changes = _changes(owner, frozen, leave, key, shared)
    except _DAMAGE as error:
        raise NotOurs(f"damaged ({type(error).__name__})") from error
    for target, name, value in changes:
        setattr(target, name, value)


def pack_run(run: object) -> bytes:
    """One of the runs that ``freeze`` put into ``shared``, as bytes: for who keeps them elsewhere than in memory."""
    packed = io.BytesIO()
    _Freeze(packed).dump(run)
    return packed.getvalue()


def unpack_run(packed: bytes) -> object:
    """The run again.

    Raises:
        NotOurs: The bytes are damaged.
    """
    try:
        return _load(packed)
    except _DAMAGE as error:
        raise NotOurs(f"damaged ({type(error).__name__})") from error


def key_of(frozen: bytes) -> str:
    """The key that an object was frozen with.

    Raises:
        NotOurs: The bytes can't be used.
    """
    try:
        return _head(frozen)[0][1]
    except _DAMAGE as error:
        raise NotOurs(f"damaged ({type(error).__name__})") from error


def _head(frozen: bytes) -> tuple[tuple[str, str, tuple[str, ...], str], bytes]:
    """What says by which program and with which key it was frozen; and the rest."""
    digest, body = frozen[:_DIGEST_BYTES], frozen[_DIGEST_BYTES:]
    if digest != hashlib.sha256(body).digest():
        raise NotOurs("damaged")
    return cast("tuple[tuple[str, str, tuple[str, ...], str], bytes]", _load(body))


def _changes(
    owner: object, frozen: bytes, leave: Iterable[str], key: str, shared: Sequence[object]
) -> list[tuple[object, str, object]]:
    """What must be set, and to what; nothing is set yet."""
    head, packed = _head(frozen)
    version, was, names, definitions = head
    if (version, was, definitions) != (console.__version__, key, _definitions(names)):
        raise NotOurs("frozen by another version, or of another plan")
    changes: list[tuple[object, str, object]] = []
    _match(owner, cast("dict[str, _Node]", _load(packed, shared)), leave, changes)
    return changes


def _parts(owner: object, leave: Iterable[str] = ()) -> Iterable[tuple[str, _Node]]:
    for name, value in _attributes(owner).items():
        node = _SKIP if name in leave else _node(value)
        if node is not _SKIP:
            yield name, node


def _node(value: object) -> _Node:
    """How one attribute is kept."""
    if isinstance(value, MethodType):
        value = value.__self__
    if _is_program(value):
        return _SKIP
    if _is_machinery(value):
        return "part", (_name(type(value)), dict(_parts(value)))
    if isinstance(value, dict) and any(_node(item)[0] != "data" for item in value.values()):
        return "parts", {key: node for key, item in value.items() if (node := _node(item)) is not _SKIP}
    return "data", value


def _match(
    owner: object, kept: dict[str, _Node], leave: Iterable[str], changes: list[tuple[object, str, object]]
) -> None:
    """Collect what must be set for a fresh object to be the frozen one; its attributes must be the same."""
    fresh = {name: value for name, value in _attributes(owner).items() if name not in leave}
    if set(kept) - set(fresh) or any(_node(fresh[name]) is not _SKIP for name in set(fresh) - set(kept)):
        raise NotOurs(f"{type(owner).__name__} has other attributes now")
    for name, node in kept.items():
        if node[0] == "data":
            changes.append((owner, name, node[1]))
        else:
            _match_part(fresh[name], node, changes)


def _match_part(fresh: object, node: _Node, changes: list[tuple[object, str, object]]) -> None:
    """Likewise for a part of it, or a dictionary of parts."""
    if isinstance(fresh, MethodType):
        fresh = fresh.__self__
    kind, content = node
    if kind == "part":
        name, kept = cast("tuple[str, dict[str, _Node]]", content)
        if name != _name(type(fresh)):
            raise NotOurs(f"{name} is something else now")
        _match(fresh, kept, (), changes)
        return
    parts = cast("dict[object, _Node]", content)
    if not isinstance(fresh, dict) or set(parts) - set(fresh):
        raise NotOurs("other parts now")
    for key, part in parts.items():
        _match_part(fresh[key], part, changes)


def _attributes(owner: object) -> dict[str, object]:
    slots = [name for cls in type(owner).__mro__ for name in getattr(cls, "__slots__", ()) if hasattr(owner, name)]
    return {**{name: getattr(owner, name) for name in slots}, **getattr(owner, "__dict__", {})}


def _is_program(value: object) -> bool:
    """Whether it is a piece of the program, or a row of such."""
    if isinstance(value, (tuple, list)) and value and type(value) in {tuple, list}:
        return _is_program(value[0])
    return isinstance(value, _PROGRAM)


def _is_machinery(value: object) -> bool:
    """Whether it is an object of this package that works rather than tells."""
    ours = type(value).__module__.startswith(_OURS)
    return ours and not dataclasses.is_dataclass(value) and not isinstance(value, (Enum, tuple))


def _name(cls: type) -> str:
    return f"{cls.__module__}:{cls.__qualname__}"


class _Freeze(pickle.Pickler):
    """Pickles, and notes which of our classes are in it."""

    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file, _PROTOCOL)
        self.classes: set[str] = set()

    def reducer_override(self, obj: object) -> Any:  # noqa: ANN401  (the stub's type names every shape of a reduction)
        """As always, but a class is noted, and a zone is kept by its name: its own way needs a function."""
        if isinstance(obj, type) and obj.__module__.startswith(_OURS):
            self.classes.add(_name(obj))
        return (ZoneInfo, (obj.key,)) if isinstance(obj, ZoneInfo) else NotImplemented


class _FreezeShared(_Freeze):
    """Likewise, but long runs of bytes and figures are named by their place in a list."""

    def __init__(self, file: io.BytesIO, shared: list[object]) -> None:
        super().__init__(file)
        self._shared = shared
        self._places: dict[int, int] = {}

    def persistent_id(self, obj: object) -> int | None:
        """Its place in the list; None for what is kept as always."""
        if not _is_run(obj):
            return None
        place = self._places.setdefault(id(obj), len(self._shared))
        if place == len(self._shared):
            self._shared.append(obj)
        return place


def _is_run(obj: object) -> bool:
    """Whether it is a long run of bytes, numbers or rows of numbers: nobody can change such a one."""
    if type(obj) is bytes:
        return len(obj) >= _LARGE
    if type(obj) is not tuple or len(obj) < _LONG:
        return False
    first = obj[0]
    return type(first) is float or (isinstance(first, tuple) and all(type(each) in _FIGURES for each in first))


class _Thaw(pickle.Unpickler):
    """Builds values of this package and plain ones, nothing else."""

    def __init__(self, file: io.BytesIO, shared: Sequence[object]) -> None:
        super().__init__(file)
        self._shared = shared

    def persistent_load(self, pid: object) -> object:
        """What was put into the list."""
        if not isinstance(pid, int):
            raise NotOurs("damaged")
        return self._shared[pid]

    def find_class(self, module: str, name: str) -> object:
        """A class that may be built."""
        if name in _PLAIN.get(module, ()):
            return getattr(importlib.import_module(module), name)
        return _ours(module, name)


def _load(data: bytes, shared: Sequence[object] = ()) -> object:
    return _Thaw(io.BytesIO(data), shared).load()


def _ours(module: str, name: str) -> type:
    """A class of this package."""
    found = getattr(importlib.import_module(module), name, None) if module.startswith(_OURS) else None
    if not isinstance(found, type) or found.__module__ != module or not name.isidentifier():
        raise NotOurs(f"{module}.{name} may not be built")
    return found


def _definitions(names: Iterable[str]) -> str:
    """A digest of the classes' definitions: fields with their types in order, and an enumeration's values."""
    said = hashlib.sha256()
    for name in names:
        cls = _ours(*name.split(":", 1))
        fields = [
            (field, str(kind)) for base in cls.__mro__ for field, kind in vars(base).get("__annotations__", {}).items()
        ]
        members = [(member.name, member.value) for member in cls] if issubclass(cls, Enum) else []
        said.update(repr((name, fields, members)).encode())
    return said.hexdigest()
