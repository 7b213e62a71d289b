"""Reads the settings from a YAML file: every fault at once, each with its line and the nearest known key."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, TypeVar

import yaml

from console.config import Settings
from console.config_model import Misfit, Model, UnfitError, built, fields_of, model_in
from console.config_theme import ThemesFile

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from console.config_model import Loc

Read = TypeVar("Read", bound=Model)

MAX_BYTES = 1_048_576
"""A config is a page of text; anything larger is another file given by mistake."""


@dataclass(frozen=True, slots=True, order=True)
class Fault:
    """One thing wrong with a config file.

    Attributes:
        line: Line in the file, from 1; 0 when it concerns the whole file.
        key: The key as a dotted path; empty for the whole file.
        message: What is wrong and what would be right.
    """

    line: int
    key: str
    message: str


class ConfigError(Exception):
    """A config that can't be used, with all its faults in the order of their lines."""

    def __init__(self, path: Path, faults: list[Fault]) -> None:
        self.path = path
        self.faults = tuple(sorted(faults))
        super().__init__(self.report())

    def report(self) -> str:
        """All faults as text for a person, one a line."""
        count = len(self.faults)
        head = f"{self.path}: {count} {'fault' if count == 1 else 'faults'}; nothing was started."
        return "\n".join([head, *(f"  {self._place(fault)}{fault.message}" for fault in self.faults)])

    @staticmethod
    def _place(fault: Fault) -> str:
        line = f"line {fault.line}: " if fault.line else ""
        return f"{line}{fault.key}: " if fault.key else line


def load(path: Path) -> Settings:
    """Read and check a config file.

    Raises:
        ConfigError: With every fault found.
    """
    return _load(path, Settings)


def load_themes(path: Path) -> ThemesFile:
    """Read and check a file of themes: the section of that name alone.

    Raises:
        ConfigError: With every fault found.
    """
    return _load(path, ThemesFile)


def _load(path: Path, model: type[Read]) -> Read:
    tree = _Tree(path)
    tree.read(_text_of(path))
    if any(fault.key == "" for fault in tree.faults):
        raise ConfigError(path, tree.faults)
    try:
        settings = built(model, tree.data)
    except UnfitError as error:
        faults = [tree.fault_of(misfit, model) for misfit in error.misfits]
        raise ConfigError(path, [*tree.faults, *_without_echoes(faults, tree.faults)]) from error
    if tree.faults:
        raise ConfigError(path, tree.faults)
    return settings


def _text_of(path: Path) -> str:
    try:
        if path.is_file() and path.stat().st_size > MAX_BYTES:
            raise ConfigError(path, [Fault(0, "", f"is larger than {MAX_BYTES:,} bytes; is it the right file?")])
        return path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise ConfigError(
            path, [Fault(0, "", "there is no such file; `longwait init` shows how to make one")]
        ) from error
    except IsADirectoryError as error:
        raise ConfigError(path, [Fault(0, "", "is a folder; give the YAML file itself")]) from error
    except UnicodeDecodeError as error:
        raise ConfigError(path, [Fault(0, "", f"is not UTF-8 text (byte {error.start})")]) from error
    except OSError as error:
        raise ConfigError(path, [Fault(0, "", f"can't be read: {error.strerror}")]) from error


def _without_echoes(faults: list[Fault], earlier: list[Fault]) -> list[Fault]:
    """Leave out what is said already about the same key: a wrong scalar also has a wrong type."""
    said = {fault.key for fault in earlier}
    return [fault for fault in faults if fault.key not in said]


@dataclass(slots=True)
class _Tree:
    """The file as plain data, the line of each value, and what YAML itself gets wrong silently."""

    path: Path
    data: Any = None
    lines: dict[Loc, int] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    seen: set[int] = field(default_factory=set)

    def read(self, text: str) -> None:
        try:
            node = yaml.compose(text, Loader=yaml.SafeLoader)
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            self._say(mark.line + 1 if mark else 0, (), f"is not YAML here: {error.problem or error.context}")
            return
        except yaml.YAMLError as error:
            self._say(0, (), f"is not YAML: {error}")
            return
        except RecursionError:
            self._say(0, (), "is nested deeper than any config; is it the right file?")
            return
        if not isinstance(node, yaml.MappingNode):
            self._say(1, (), "must be keys and values, such as `host: gpu01`")
            return
        self.data = self._value(node, ())

    def _say(self, line: int, loc: Loc, message: str) -> None:
        self.faults.append(Fault(line, dotted(loc), message))

    def _value(self, node: yaml.Node, loc: Loc) -> Any:  # noqa: ANN401 - YAML is anything
        self.lines[loc] = node.start_mark.line + 1
        if id(node) in self.seen:
            # An alias may contain itself, or grow without bounds; a page of settings needs none.
            self._say(node.start_mark.line + 1, loc, "uses a YAML alias (*name); write the value out")
            return None
        self.seen.add(id(node))
        if isinstance(node, yaml.MappingNode):
            return dict(self._pairs(node, loc))
        if isinstance(node, yaml.SequenceNode):
            return [self._value(item, (*loc, place)) for place, item in enumerate(node.value)]
        return self._scalar(node, loc)

    def _pairs(self, node: yaml.MappingNode, loc: Loc) -> Iterator[tuple[str, Any]]:
        seen: dict[str, int] = {}
        for key_node, value_node in node.value:
            key, line = str(key_node.value), key_node.start_mark.line + 1
            here = (*loc, key)
            if key in seen:
                self._say(line, here, f"stands twice (first in line {seen[key]}); YAML would silently take the last")
                continue
            seen[key] = line
            value = self._value(value_node, here)
            self.lines[here] = line
            yield key, value

    def _scalar(self, node: yaml.Node, loc: Loc) -> Any:  # noqa: ANN401 - YAML is anything
        surprise = _surprise(node)
        if surprise:
            self._say(node.start_mark.line + 1, loc, surprise)
            return str(node.value)
        value = yaml.SafeLoader("").construct_object(node, deep=True)
        if isinstance(value, float) and not math.isfinite(value):
            self._say(node.start_mark.line + 1, loc, f"{node.value} is no number that can be used here")
            return 0
        if isinstance(value, str) and not _is_unicode(value):
            self._say(node.start_mark.line + 1, loc, "holds half a surrogate pair, which is no character")
            return ""
        return value

    def fault_of(self, misfit: Misfit, model: type[Model]) -> Fault:
        """A fault of the models, with the line it stands in."""
        known = misfit.loc
        while known and known not in self.lines:
            known = known[:-1]
        message = misfit.message or _unknown_key(misfit.loc, model)
        return Fault(self.lines.get(known, 0), dotted(misfit.loc), message)


def dotted(loc: Loc) -> str:
    """``('datasets', 0, 'name')`` as ``datasets[0].name``."""
    text = ""
    for part in loc:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _surprise(node: yaml.Node) -> str:
    """What YAML 1.1 would make of a plain word that a person means otherwise; empty when there is no surprise."""
    if getattr(node, "style", None) is not None:
        return ""
    text, tag = str(node.value), node.tag.rpartition(":")[2]
    if tag == "bool" and text.lower() not in {"true", "false"}:
        return f"YAML reads {text} as {text.lower() in {'yes', 'on', 'y'}}; write true or false, or quote it: '{text}'"
    if tag in {"int", "float"} and ":" in text:
        return f"YAML reads {text} as a number in base 60; quote it, or write plain seconds"
    if tag == "int" and text.lstrip("+-").startswith("0") and len(text.lstrip("+-")) > 1:
        return f"YAML reads {text} as an octal or hexadecimal number; write a decimal number, or quote it"
    if tag not in {"bool", "int", "float", "null", "str"}:
        return f"YAML reads {text} as a {tag}; quote it"
    return ""


def _unknown_key(loc: Loc, model: type[Model]) -> str:
    """Name the nearest known key, here first and then anywhere."""
    here = [name for name, _ in fields_of(_model_at(loc[:-1], model))]
    key = str(loc[-1])
    near = get_close_matches(key, here, n=1, cutoff=0.5)
    if near:
        return f"is no known key; did you mean {near[0]}?"
    elsewhere = {dotted((*where, name)): name for where, name in _all_keys(model, ())}
    places = [
        place for place, name in elsewhere.items() if name in get_close_matches(key, elsewhere.values(), cutoff=0.8)
    ]
    if places:
        return f"is no known key here; did you mean {places[0]}?"
    return f"is no known key; known here: {', '.join(here)}"


def _model_at(loc: Loc, model: type[Model]) -> type[Model]:
    for part in loc:
        known = dict(fields_of(model))
        if part in known:  # else it is a name within a mapping
            model = model_in(known[part]) or model
    return model


def _all_keys(model: type[Model], where: Loc) -> Iterator[tuple[Loc, str]]:
    for name, kind in fields_of(model):
        yield where, name
        inner = model_in(kind)
        if inner:
            yield from _all_keys(inner, (*where, name))
