#!/usr/bin/env python3
"""Sends the prompts of one or more datasets to an inference server, keeps it full, and loses nothing on the way.

One file on purpose, and long for that reason: it is copied to the GPU host as it is, runs there for days without the
console, and needs only Python 3.10 and httpx (0.25 or newer).

    run_inference.py --config job.json [--server URL] [--out DIR] ...

The config is JSON (or YAML, when PyYAML is there and the name ends in .yaml or .yml):

    {"server": "http://127.0.0.1:30000", "out": "results", "api": "auto",
     "defaults": {"token_budget": 10000000},
     "datasets": [{"name": "B1_glaive", "kind": "short", "prompts": "b1.jsonl", "concurrency": 150, "max_tokens": 10240,
                   "token_budget": 10000000, "limit": null, "sampling": {"temperature": 0.7}, "system_prompt": null}]}

Paths in it are relative to its own folder. A prompts file has one JSON object a line with one of `prompt` (text),
`messages` (chat) or `input_ids` (token ids), and optionally `id`; without one, the id is the first 16 hex digits of the
SHA-256 of the content. Text with a `system_prompt` becomes messages, since only the server's chat template knows where
a system prompt belongs. A server that wants a key finds it in the environment variable INFERENCE_API_KEY.

What it writes, under --out:

    .lock                 held (flock) while a job runs here; says who and since when
    progress.jsonl        what happens, for machines: one JSON object a line with "t" (UTC) and "event"
    NAME/results.jsonl    one line per completion; what stands here is done, and is never asked again
    NAME/errors.jsonl     prompts given up in some run; the next run tries them again
    NAME/rejected.jsonl   lines of the prompts file that can't be used, each with its reason

Exit status: 0 everything is done or has met its budget; 2 the config or the command line is wrong; 3 another job holds
--out; 4 the server was gone for --server-timeout, or refuses us; 5 the results can't be written (disk full);
6 stopped by a signal; 7 every dataset was gone through, but some prompts were given up or their lines rejected;
1 a fault of this program.

Signals: TERM or INT: start nothing more, let requests in flight finish for --drain seconds, abort the rest; a second
one ends at once. USR1: write a status block into the log. HUP is ignored.

What is tried again: timeouts, lost connections, 5xx, aborted and unreadable answers, --max-attempts times with growing
pauses. A busy server (429, 503) is asked again for --server-timeout, at the cost of no attempts. A server that can't be
reached is waited for, also at no cost. When many prompts in a row fail and none succeeds, the server is held to be
unwell: nothing new is sent but one trial at a time, until one succeeds; so a bad hour doesn't use up the attempts of a
whole dataset. Other 4xx answers are recorded with their reason and not tried again in this run.

The log's figures: counts and `avg_comp` are of this process; `tot` is the dataset's in all. Rates are over the last
15 minutes. ETA = min(budget left, prompts left x mean completion) / tokens per second. Tokens of requests in flight are
not known, so the ETA is a little late; and early completions are the short ones, so early ETAs are too good.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import difflib
import errno
import fcntl
import hashlib
import heapq
import json
import os
import random
import re
import resource
import signal
import sys
import threading
import time
import zoneinfo
from array import array
from collections import deque
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

VERSION = 1
"""Version of this program and of the shapes it writes."""

EXIT_DONE = 0
EXIT_FAULT = 1
EXIT_CONFIG = 2
EXIT_LOCKED = 3
EXIT_SERVER = 4
EXIT_STORAGE = 5
EXIT_STOPPED = 6
EXIT_ERRORS = 7

KIND_DEFAULTS = {"short": (150, 10240), "long": (32, 16384)}
"""Concurrency and max_tokens by kind: what suited a KV-limited server of eight GPUs with a reasoning model."""

APIS = ("auto", "sglang", "completions", "chat")
"""How requests are sent; ``auto`` asks the server what it is."""

KEY_VARIABLE = "INFERENCE_API_KEY"
"""Environment variable with the server's key: a command line or a config would show it to everyone on the host."""

HEARTBEAT_S = 15.0
"""Seconds between heartbeats in progress.jsonl."""

WINDOW_S = 900.0
"""Rates are over this many seconds: several completions of the longest kind, yet short enough to follow a change."""

LONGEST_PAUSE_S = 60.0
"""The pause before another attempt grows to this many seconds."""

LONGEST_RETRY_AFTER_S = 600.0
"""A server's Retry-After counts up to this many seconds: some proxies send an hour."""

LONGEST_TRIAL_PAUSE_S = 30.0
"""An unwell server gets one trial request at least this often, in seconds."""

FEWEST_FOR_UNWELL = 20
"""So many different prompts must fail in a row before the server, not the prompts, is held to be at fault."""

ERROR_LINES_S = 5.0
"""At most one line about prompts given up in so many seconds: a storm must not bury the log."""

SAY_AGAIN_S = 60.0
"""While the server is away the log says so this often, in seconds."""

REFUSALS = frozenset({301, 302, 307, 308, 401, 403, 404, 405})
"""Statuses that say the set-up is wrong (address, key, model), not the prompt."""

BUSY = frozenset({429, 503})
"""Statuses that say: later."""

JSON_HEADERS = {"Content-Type": "application/json"}
"""What every body is."""

TRY_AGAIN_4XX = frozenset({408, 409, 425})
"""Client-side statuses that may pass by themselves."""


class JobEnded(Exception):  # noqa: N818 - it is an end, not always an error
    """The job can't or need not go on.

    Args:
        message: One sentence for a person.
        exit_code: What the process returns.
        reason: ``stopped`` or ``failed``, for progress.jsonl.
    """

    def __init__(self, message: str, exit_code: int, reason: str = "failed") -> None:
        super().__init__(message)
        self.message = message
        self.exit_code = exit_code
        self.reason = reason


def utc_now() -> str:
    """Now, as ISO 8601 in UTC with milliseconds and a Z."""
    now = datetime.now(timezone.utc)
    return now.strftime("%Y-%m-%dT%H:%M:%S.") + f"{now.microsecond // 1000:03d}Z"


def clean(text: str, longest: int = 300) -> str:
    """Text from outside, fit for one line of a log: no control characters, bounded length."""
    flat = " ".join("".join(c if c.isprintable() else " " for c in text[: 4 * longest]).split())
    return flat if len(flat) <= longest else flat[: longest - 3] + "..."


# --------------------------------------------------------------------------------------------------------------- config


@dataclass(frozen=True, slots=True)
class Dataset:
    """One dataset of the config, with all defaults filled in.

    Attributes:
        name: Its name, and the name of its folder under ``out``.
        kind: ``short`` or ``long``.
        prompts: The prompts file.
        concurrency: Requests in flight at most.
        max_tokens: New tokens a request may make at most.
        token_budget: No request starts once the dataset has so many completion tokens; None: no budget.
        limit: Only so many prompts from the file's beginning; None: all.
        sampling: Sampling parameters, passed on as they are.
        system_prompt: Put before every text prompt and conversation; None: nothing.
    """

    name: str
    kind: str
    prompts: Path
    concurrency: int
    max_tokens: int
    token_budget: int | None
    limit: int | None
    sampling: Mapping[str, Any]
    system_prompt: str | None


@dataclass(frozen=True, slots=True)
class Settings:
    """All that the config and the command line say.

    Attributes:
        server: Base URL, without a trailing slash or ``/v1``.
        out: Where everything is written.
        api: One of ``APIS``.
        model: Model name for OpenAI endpoints; None: the server's first.
        datasets: In the order in which they are done.
        stamps: Whether log lines carry the time.
        request_timeout: Seconds without any part of an answer after which a request has failed.
        server_timeout: Seconds to wait for a server that is gone, unwell or busy.
        drain: Seconds that requests in flight have after TERM.
        max_attempts: Attempts per prompt and run.
        progress_every: Completions between progress lines.
        progress_seconds: Seconds between progress lines at most.
        backoff: First pause before another attempt, seconds.
        probe_every: Seconds between looks for a server that is gone.
    """

    server: str
    out: Path
    api: str
    model: str | None
    datasets: tuple[Dataset, ...]
    stamps: bool
    request_timeout: float
    server_timeout: float
    drain: float
    max_attempts: int
    progress_every: int
    progress_seconds: float
    backoff: float
    probe_every: float


TOP_KEYS = ("server", "out", "api", "model", "defaults", "datasets")
DEFAULTS_KEYS = ("kind", "concurrency", "max_tokens", "token_budget", "limit", "sampling", "system_prompt")
DATASET_KEYS = ("name", "prompts", *DEFAULTS_KEYS)
RESERVED_SAMPLING = {
    "n": "one prompt gives one completion",
    "stream": "answers are read whole",
    "max_tokens": "set max_tokens of the dataset",
    "max_new_tokens": "set max_tokens of the dataset",
    "model": "use --model",
}
NAME_PATTERN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")


class Faults(list[str]):
    """Everything that is wrong with the config, one sentence each; readers add to it and go on."""

    def unknown_keys(self, where: str, given: Mapping[str, Any], known: Sequence[str]) -> None:
        """Names each key that isn't known, with the nearest one that is."""
        for key in given:
            if key not in known:
                near = difflib.get_close_matches(str(key), known, n=1, cutoff=0.5)
                hint = f"did you mean '{near[0]}'?" if near else f"known are: {', '.join(known)}."
                self.append(f"{where}: unknown key '{clean(str(key), 60)}'; {hint}")

    def whole(self, where: str, value: object, *, optional: bool = False) -> int | None:
        """Reads a whole number of at least 1, or None where that is allowed."""
        if isinstance(value, int) and not isinstance(value, bool) and value >= 1:
            return value
        if value is None and optional:
            return None
        extra = " or null" if optional else ""
        self.append(
            f"{where} must be a whole number of at least 1{extra}, not {clean(json.dumps(value, default=str), 60)}."
        )
        return None

    def text(self, where: str, value: object, *, optional: bool = False) -> str | None:
        """Reads a text that isn't empty, or None where that is allowed."""
        if isinstance(value, str) and value.strip():
            return value
        if not (value is None and optional):
            self.append(f"{where} must be a text that isn't empty.")
        return None

    def table(self, where: str, value: object) -> dict[str, Any]:
        """Reads an object; anything else counts as an empty one."""
        if isinstance(value, dict):
            return value
        self.append(f"{where} must be an object with keys and values.")
        return {}


def load_config(path: Path, faults: Faults) -> dict[str, Any]:
    """Reads the config file as one object; on any fault, an empty one."""
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        faults.append(f"The config {path} can't be read ({clean(str(error))}); check --config.")
        return {}
    try:
        loaded = (
            _parse_yaml(text) if path.suffix in {".yaml", ".yml"} else json.loads(text, object_pairs_hook=_no_doubles)
        )
    except (ValueError, RecursionError) as error:
        faults.append(f"The config {path} can't be understood: {clean(str(error))}.")
        return {}
    return faults.table(f"The config {path}", loaded)


def _no_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Builds an object and refuses a key that stands there twice, which JSON readers otherwise swallow."""
    table = dict(pairs)
    if len(table) != len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError("the key '" + next(key for key in keys if keys.count(key) > 1) + "' stands there twice")
    return table


def _parse_yaml(text: str) -> object:
    """Reads YAML.

    Raises:
        ValueError: When it is no YAML, or PyYAML isn't there.
    """
    try:
        import yaml  # noqa: PLC0415 - optional on the host, and only for YAML configs
    except ImportError as error:
        raise ValueError("reading YAML needs PyYAML; install it or write the config as JSON") from error
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error


def read_dataset(
    number: int, given: object, defaults: Mapping[str, Any], folder: Path, faults: Faults
) -> Dataset | None:
    """Reads one entry of ``datasets``; None when it has faults, which then are in ``faults``."""
    before = len(faults)
    table = faults.table(f"datasets[{number}]", given)
    name = table.get("name")
    where = f"datasets[{number}]" + (f" ({clean(name, 40)})" if isinstance(name, str) else "")
    faults.unknown_keys(where, table, DATASET_KEYS)
    if not isinstance(name, str) or not NAME_PATTERN.fullmatch(name):
        faults.append(f"{where}.name must be letters, digits, '.', '_' or '-', since a folder gets this name.")
    prompts = faults.text(f"{where}.prompts", table.get("prompts"))
    path = folder / prompts if prompts else folder
    if prompts and not (path.is_file() and os.access(path, os.R_OK)):
        faults.append(f"{where}.prompts: the file {path} isn't there or can't be read.")
    merged = {"kind": "short", **defaults, **table}
    merged["sampling"] = {**_table_of(defaults.get("sampling")), **_table_of(table.get("sampling"))}
    if "sampling" in table and table["sampling"] is not None:
        faults.table(f"{where}.sampling", table["sampling"])
    numbers = read_limits(where, merged, faults)
    read_sampling(where, merged["sampling"], faults)
    system_prompt = faults.text(f"{where}.system_prompt", merged.get("system_prompt"), optional=True)
    if len(faults) > before or numbers is None:
        return None
    concurrency, max_tokens, budget, limit = numbers
    return Dataset(
        str(name), merged["kind"], path, concurrency, max_tokens, budget, limit, merged["sampling"], system_prompt
    )


def _table_of(value: object) -> dict[str, Any]:
    """The object itself, or an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def read_limits(where: str, given: Mapping[str, Any], faults: Faults) -> tuple[int, int, int | None, int | None] | None:
    """Reads concurrency, max_tokens, token_budget and limit, with what the kind says where nothing is given."""
    kind = given["kind"]
    if not isinstance(kind, str) or kind not in KIND_DEFAULTS:
        faults.append(f"{where}.kind must be 'short' or 'long', not {clean(json.dumps(kind, default=str), 60)}.")
        return None
    usual_concurrency, usual_max_tokens = KIND_DEFAULTS[kind]
    concurrency = faults.whole(f"{where}.concurrency", given.get("concurrency", usual_concurrency))
    max_tokens = faults.whole(f"{where}.max_tokens", given.get("max_tokens", usual_max_tokens))
    budget = faults.whole(f"{where}.token_budget", given.get("token_budget"), optional=True)
    limit = faults.whole(f"{where}.limit", given.get("limit"), optional=True)
    return None if concurrency is None or max_tokens is None else (concurrency, max_tokens, budget, limit)


def read_sampling(where: str, sampling: Mapping[str, Any], faults: Faults) -> None:
    """Refuses the sampling parameters that would break the counting."""
    for key, why in RESERVED_SAMPLING.items():
        if key in sampling:
            faults.append(f"{where}.sampling.{key} can't be set there: {why}.")


def read_server(value: object, faults: Faults) -> str:
    """Reads the server's base URL, without a trailing slash or ``/v1``."""
    text = faults.text("server", value) or ""
    try:
        parts = urlsplit(text)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        faults.append("server: the URL can't be understood; write it like http://127.0.0.1:30000.")
        return ""
    if parts.username or parts.password:
        faults.append(f"server: a URL must not hold a password; put the key into the environment as {KEY_VARIABLE}.")
    elif text and not usable:
        faults.append(f"server: '{clean(text, 80)}' is no http:// or https:// URL.")
    return text.rstrip("/").removesuffix("/v1")


def read_settings(args: argparse.Namespace) -> Settings:
    """Joins config and command line.

    Raises:
        JobEnded: With every fault, one a line.
    """
    faults = Faults()
    path = Path(args.config)
    config = load_config(path, faults)
    if not config and faults:
        raise JobEnded("\n".join(faults), EXIT_CONFIG)
    faults.unknown_keys("The config", config, TOP_KEYS)
    server = read_server(args.server or config.get("server", "http://127.0.0.1:30000"), faults)
    api = args.api or config.get("api", "auto")
    if api not in APIS:
        faults.append(f"api must be one of {', '.join(APIS)}, not {clean(json.dumps(api, default=str), 60)}.")
    model = args.model or faults.text("model", config.get("model"), optional=True)
    out = Path(args.out) if args.out else path.parent / (faults.text("out", config.get("out")) or "")
    datasets = read_datasets(config, path.parent, args.only, faults)
    check_numbers(args, faults)
    if faults:
        raise JobEnded("\n".join(faults), EXIT_CONFIG)
    return Settings(
        server, out, api, model, datasets, not args.no_stamps, args.request_timeout, args.server_timeout, args.drain,
        args.max_attempts, args.progress_every, args.progress_seconds, args.backoff, args.probe_every,
    )  # fmt: skip


def read_datasets(config: Mapping[str, Any], folder: Path, only: Sequence[str], faults: Faults) -> tuple[Dataset, ...]:
    """Reads ``defaults`` and ``datasets``, and keeps those that ``--only`` names."""
    defaults = faults.table("defaults", config.get("defaults") or {})
    faults.unknown_keys("defaults", defaults, DEFAULTS_KEYS)
    if defaults.get("sampling") is not None:
        faults.table("defaults.sampling", defaults["sampling"])
    entries = config.get("datasets")
    if not isinstance(entries, list) or not entries:
        faults.append("datasets must be a list of at least one dataset.")
        return ()
    read = [read_dataset(number, entry, defaults, folder, faults) for number, entry in enumerate(entries)]
    names = [entry.get("name") for entry in entries if isinstance(entry, dict)]
    known = [name for name in names if isinstance(name, str)]
    # Folders on some file systems don't tell case, and two datasets in one folder would spoil each other's resume.
    folded = [name.casefold() for name in known]
    for name in dict.fromkeys(name for name in known if folded.count(name.casefold()) > 1):
        faults.append(f"datasets: the name '{clean(name, 60)}' is used twice (capitals don't count).")
    for name in only:
        if name not in known:
            faults.unknown_keys("--only", {name: None}, known)
    return tuple(dataset for dataset in read if dataset and (not only or dataset.name in only))


def check_numbers(args: argparse.Namespace, faults: Faults) -> None:
    """Checks the numbers of the command line."""
    for flag in ("request_timeout", "server_timeout", "drain", "progress_seconds", "backoff", "probe_every"):
        value = getattr(args, flag)
        lowest = 0.0 if flag in {"drain", "server_timeout"} else 0.001
        if not lowest <= value < float("inf"):
            faults.append(f"--{flag.replace('_', '-')} must be a number of seconds of at least {lowest:g}.")
    for flag in ("max_attempts", "progress_every"):
        if getattr(args, flag) < 1:
            faults.append(f"--{flag.replace('_', '-')} must be at least 1.")


# -------------------------------------------------------------------------------------------------------------- prompts


@dataclass(frozen=True, slots=True)
class Prompt:
    """One prompt, ready to be sent.

    Attributes:
        id: Its id.
        form: ``prompt``, ``messages`` or ``input_ids``.
        content: What stands under that key.
    """

    id: str
    form: str
    content: Any


FORMS = ("prompt", "messages", "input_ids")


def parse_prompt(line: bytes, *, system_prompt: bool = False) -> Prompt:
    """Reads one line of a prompts file.

    Args:
        line: The line, with or without its end.
        system_prompt: Whether the dataset puts a system prompt before it.

    Raises:
        ValueError: With the reason why it can't be used.
    """
    try:
        table = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"it is no JSON: {error}") from error
    if not isinstance(table, dict):
        raise ValueError("it is no JSON object")  # noqa: TRY004 - one kind of error for every unusable line
    forms = [form for form in FORMS if table.get(form) is not None]
    if len(forms) != 1:
        raise ValueError(f"it must have one of prompt, messages and input_ids, and has {' and '.join(forms) or 'none'}")
    form = forms[0]
    content = table[form]
    fault = content_fault(form, content)
    if fault:
        raise ValueError(fault)
    if system_prompt and form == "input_ids":
        raise ValueError("a system prompt can't be put before input_ids")
    return Prompt(prompt_id(table.get("id"), form, content), form, content)


def content_fault(form: str, content: object) -> str | None:
    """Says what is wrong with a prompt's content; None when nothing is."""
    if form == "prompt":
        return None if isinstance(content, str) and content else "prompt must be a text that isn't empty"
    if not isinstance(content, list) or not content:
        return f"{form} must be a list that isn't empty"
    if form == "messages":
        good = all(isinstance(m, dict) and isinstance(m.get("role"), str) and "content" in m for m in content)
        return None if good else "each of messages must be an object with role and content"
    good = all(type(token) is int and token >= 0 for token in content)
    return None if good else "input_ids must be whole numbers of at least 0"


def prompt_id(given: object, form: str, content: object) -> str:
    """The given id as text, or the first 16 hex digits of the SHA-256 of the content, keys sorted."""
    if given is None:
        canonical = json.dumps({form: content}, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()[:16]
    if isinstance(given, bool) or not isinstance(given, (str, int)) or given == "":
        raise ValueError("id must be a text that isn't empty, or a whole number")
    return str(given)


@dataclass(slots=True)
class Plan:
    """What a run has to do for one dataset.

    Attributes:
        dataset: The dataset.
        total: Prompts in all: valid, without doubles, within the limit.
        todo: Byte offsets in the prompts file of those that have no result yet; prompts are read when they are sent.
        done: Prompts that have a result.
        tokens: Completion tokens of all results.
        results: How many results there are (more than ``done`` when the prompts file was changed).
        doubles: Lines whose id had come before.
        rejected: Lines that can't be used: number and reason.
    """

    dataset: Dataset
    total: int = 0
    todo: array[int] = field(default_factory=lambda: array("Q"))
    done: int = 0
    tokens: int = 0
    results: int = 0
    doubles: int = 0
    rejected: list[tuple[int, str]] = field(default_factory=list)

    @property
    def budget_met(self) -> bool:
        """Whether the dataset has all the tokens it may have."""
        return self.dataset.token_budget is not None and self.tokens >= self.dataset.token_budget


def scan_prompts(plan: Plan, done: set[str]) -> None:
    """Goes through a prompts file once and fills in the plan; only ids and offsets stay in memory."""
    dataset = plan.dataset
    seen: set[str] = set()
    offset = 0
    with dataset.prompts.open("rb") as file:
        for number, line in enumerate(file, start=1):
            start, offset = offset, offset + len(line)
            if dataset.limit is not None and plan.total >= dataset.limit:
                break
            if not line.strip():
                continue
            try:
                prompt = parse_prompt(line, system_prompt=dataset.system_prompt is not None)
            except ValueError as error:
                plan.rejected.append((number, clean(str(error))))
                continue
            if prompt.id in seen:
                plan.doubles += 1
                continue
            seen.add(prompt.id)
            plan.total += 1
            if prompt.id in done:
                plan.done += 1
            else:
                plan.todo.append(start)


# -------------------------------------------------------------------------------------------------------------- results


@dataclass(slots=True)
class Results:
    """What a results file holds.

    Attributes:
        ids: Ids of the prompts that are done.
        tokens: Their completion tokens.
        unreadable: Lines within the file that can't be read; their prompts are done again.
        whole: Bytes up to the end of the last whole line.
        half: Bytes after it: a line that a killed process did not finish.
        unended: Whether the last line is whole but for its line end.
    """

    ids: set[str] = field(default_factory=set)
    tokens: int = 0
    unreadable: int = 0
    whole: int = 0
    half: int = 0
    unended: bool = False


RESULT_HEAD = re.compile(rb'\{"id": ?"([^"\\]+)", ?"completion_tokens": ?(\d+), ?"')
"""How a result line of ours begins, so that gigabytes of texts need not be parsed to know what is done."""


def read_result(line: bytes) -> tuple[str, int] | None:
    """The id and the completion tokens of one line of a results file; None when it isn't a whole result."""
    head = RESULT_HEAD.match(line)
    # A line without its end is read in full: half a text may well end with a brace.
    if head and line.endswith((b"}\n", b"}\r\n")):
        with contextlib.suppress(UnicodeDecodeError):
            return head[1].decode("ascii"), int(head[2])
    try:
        table = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(table, dict):
        return None
    key, tokens = table.get("id"), table.get("completion_tokens")
    return (key, tokens) if isinstance(key, str) and type(tokens) is int and tokens >= 0 else None


def read_results(path: Path) -> Results:
    """Reads a results file, line by line; a missing one is empty.

    Raises:
        JobEnded: When it is there and can't be read: starting anew would do everything twice.
    """
    results = Results()
    try:
        with path.open("rb") as file:
            add_results(results, file)
    except FileNotFoundError:
        return results
    except OSError as error:
        raise JobEnded(f"{path} can't be read: {clean(str(error))}.", EXIT_STORAGE) from error
    return results


def add_results(results: Results, lines: Iterable[bytes]) -> None:
    """Adds what the lines of a results file hold, up to a half one."""
    for line in lines:
        result = read_result(line)
        ended = line.endswith(b"\n")
        if not ended and result is None:
            results.half = len(line)
            break
        results.unended = not ended
        results.whole += len(line)
        if result is None:
            results.unreadable += bool(line.strip())
        elif result[0] not in results.ids:
            results.ids.add(result[0])
            results.tokens += result[1]


class AppendFile:
    """A file of JSON lines that only grows, and holds whole lines only.

    Each line goes to the kernel at once, so that a killed process loses none; ``sync`` takes them to the disk. A line
    that the disk has no room for is taken back. Errors of the file system end the job with ``EXIT_STORAGE``.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.dirty = False
        self._guard = threading.Lock()
        self._closed = False
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
            self._size = os.fstat(self._fd).st_size
        except OSError as error:
            raise storage_failed(path, error) from error

    def mend(self) -> int:
        """Ends a last line that has no end; returns 1 when there was one."""
        if self._size == 0 or os.pread(self._fd, 1, self._size - 1) == b"\n":
            return 0
        self._write(b"\n")
        return 1

    def cut(self, size: int) -> None:
        """Cuts the file to ``size`` bytes."""
        try:
            os.ftruncate(self._fd, size)
        except OSError as error:
            raise storage_failed(self.path, error) from error
        self._size = size

    def append(self, table: Mapping[str, Any]) -> None:
        """Adds one line. Only ASCII goes out: no reader can split it elsewhere, and lone surrogates survive."""
        self._write(json.dumps(table).encode("ascii") + b"\n")

    def _write(self, line: bytes) -> None:
        rest = memoryview(line)
        try:
            while rest:
                rest = rest[os.write(self._fd, rest) :]
        except OSError as error:
            # A full disk takes what fits and refuses the rest: half a line must not stay.
            with contextlib.suppress(OSError):
                os.ftruncate(self._fd, self._size)
            raise storage_failed(self.path, error) from error
        self._size += len(line)
        self.dirty = True

    def sync(self) -> None:
        """Takes what was written to the disk; may take long on a network file system, so it is called in a thread."""
        with self._guard:
            if not self.dirty or self._closed:
                return
            self.dirty = False
            try:
                os.fsync(self._fd)
                removed = os.fstat(self._fd).st_nlink == 0
            except OSError as error:
                raise storage_failed(self.path, error) from error
            if removed:
                raise JobEnded(f"{self.path} was removed while the job wrote it; start again.", EXIT_STORAGE)

    def close(self) -> None:
        """Syncs and closes."""
        try:
            self.sync()
        finally:
            # The guard: a sync that still runs in its thread must not meet a closed or re-used descriptor.
            with self._guard:
                self._closed = True
                os.close(self._fd)


def storage_failed(path: Path, error: OSError) -> JobEnded:
    """The end of a job that can't write any more."""
    full = error.errno in {errno.ENOSPC, errno.EDQUOT}
    what = "the disk is full; make room, then start again: what is written is whole" if full else clean(str(error))
    return JobEnded(f"{path} can't be written: {what}.", EXIT_STORAGE)


# ------------------------------------------------------------------------------------------------------------------ log


class Log:
    """The log on stdout, one line at a time.

    A log that can't be written (its disk is full, its reader is gone) never ends the job: lost lines are counted, and
    said when it can be written again. It goes past Python's buffers: what is stuck in them at the end would replace
    the exit status.

    Args:
        stamps: Whether each line begins with the host's local time.
        descriptor: Where it goes.
    """

    def __init__(self, *, stamps: bool, descriptor: int = 1) -> None:
        self._descriptor = descriptor
        self._stamps = stamps
        self._offset: timedelta | None = None
        self._lost = 0

    def line(self, text: str) -> None:
        """Writes one line; says the zone first when it isn't said yet or has changed (summer time)."""
        if not self._stamps:
            self._put(text)
            return
        now = datetime.now(timezone.utc).astimezone()
        stamp = now.strftime("[%Y-%m-%d %H:%M:%S] ")
        if now.utcoffset() != self._offset:
            self._offset = now.utcoffset()
            self._put(f"{stamp}Time zone: {zone_name()} (UTC{now.strftime('%z')[:3]}:{now.strftime('%z')[3:5]})")
        self._put(stamp + text)

    def _put(self, text: str) -> None:
        # The line end first: the last of the lost lines may stand there in half.
        before = f"\n({self._lost} lines of this log could not be written)\n" if self._lost else ""
        rest = memoryview(f"{before}{text}\n".encode("utf-8", "backslashreplace"))
        try:
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]
        except OSError:
            self._lost += 1
        else:
            self._lost = 0


def zone_name() -> str:
    """The host's zone as an IANA name where one is found that fits the clock, else as an abbreviation."""
    given = os.environ.get("TZ")
    candidates = [] if given is None else [given.lstrip(":")]
    if given is None:
        with contextlib.suppress(OSError):
            candidates.append(str(Path("/etc/localtime").readlink()))
        with contextlib.suppress(OSError, UnicodeDecodeError):
            candidates.append(Path("/etc/timezone").read_text("ascii").strip())
    names = (text.rpartition("zoneinfo/")[2] for text in candidates)
    now = datetime.now(timezone.utc)
    return next((name for name in names if zone_fits(name, now)), clean(now.astimezone().tzname() or "local", 60))


def zone_fits(name: str, now: datetime) -> bool:
    """Whether a zone exists and has the clock's offset: in containers /etc/timezone often speaks of another machine."""
    try:
        return zoneinfo.ZoneInfo(name).utcoffset(now) == now.astimezone().utcoffset()
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        return False


def words_for_seconds(seconds: float | None) -> str:
    """Seconds as the log says them: ``45s``, ``12m``, ``1.9h``; ``?`` when not known."""
    if seconds is None:
        return "?"
    if seconds < 59.5:  # noqa: PLR2004 - what rounds to a minute is one
        return f"{seconds:.0f}s"
    if seconds < 59.5 * 60:
        return f"{seconds / 60:.0f}m"
    return f"{seconds / 3600:.1f}h"


def words_for_rate(rate: float) -> str:
    """Requests per second as the log says them; slow ones keep a second digit, so that slow isn't none."""
    return f"{rate:.2f}" if 0 < rate < 0.095 else f"{rate:.1f}"  # noqa: PLR2004 - what rounds to 0.1 is 0.1


class Events:
    """``progress.jsonl``: what happens, for machines."""

    def __init__(self, path: Path) -> None:
        self.file = AppendFile(path)
        # A half line of a killed process is ended, not cut: readers that follow the file take a cut for a new file.
        self.file.mend()

    def say(self, event: str, **fields: object) -> None:
        """Writes one event with the time now."""
        self.file.append({"t": utc_now(), "event": event, **fields})


# ----------------------------------------------------------------------------------------------------------------- lock


class Lock:
    """Keeps a second job out of the same folder; held until the process ends.

    Raises:
        JobEnded: When another process holds it; the message names it.
    """

    def __init__(self, folder: Path) -> None:
        path = folder / ".lock"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise storage_failed(path, error) from error
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            holder = self._holder()
            os.close(self._fd)
            raise JobEnded(f"Another job works on {folder}: {holder}; stop it first.", EXIT_LOCKED) from error
        except OSError as error:
            os.close(self._fd)
            raise storage_failed(path, error) from error
        self._sign(path)

    def _sign(self, path: Path) -> None:
        try:
            os.ftruncate(self._fd, 0)
            os.pwrite(self._fd, json.dumps({"pid": os.getpid(), "since": utc_now()}).encode() + b"\n", 0)
        except OSError as error:
            raise storage_failed(path, error) from error

    def _holder(self) -> str:
        try:
            table = json.loads(os.pread(self._fd, 4096, 0))
            return f"pid {int(table['pid'])}, since {clean(str(table['since']), 40)}"
        except (OSError, ValueError, TypeError, KeyError):
            return "it has just started"

    def release(self) -> None:
        """Lets the next job in."""
        os.close(self._fd)


# ------------------------------------------------------------------------------------------------- requests and answers


@dataclass(frozen=True, slots=True)
class Completion:
    """A good answer.

    Attributes:
        text: The text made.
        finish_reason: ``stop``, ``length``, ...
        prompt_tokens: Tokens of the prompt.
        completion_tokens: Tokens made.
        extra: What else must be kept when the server gave it: output_ids, reasoning, tool_calls.
    """

    text: str
    finish_reason: str
    prompt_tokens: int
    completion_tokens: int
    extra: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Failure:
    """An attempt without a usable answer.

    Attributes:
        kind: ``timeout``, ``connect``, ``reset``, ``http_500``, ``abort``, ``bad_answer``, ``bad_prompt``, ``client``.
        message: What the server or the network said.
        again: Whether another attempt makes sense.
        busy: Whether the server asked to come later.
        refused: Whether the set-up is wrong rather than the prompt.
        retry_after: Seconds that the server asked for.
    """

    kind: str
    message: str
    again: bool = True
    busy: bool = False
    refused: bool = False
    retry_after: float = 0.0


@dataclass(frozen=True, slots=True)
class Request:
    """What is posted where.

    Attributes:
        path: ``/generate``, ``/v1/completions`` or ``/v1/chat/completions``.
        body: The JSON body.
    """

    path: str
    body: Mapping[str, Any]


def build_request(api: str, model: str, dataset: Dataset, prompt: Prompt) -> Request:
    """Says what to post for a prompt.

    SGLang's ``/generate`` makes only 128 tokens unless told otherwise, and ``/v1/completions`` 16: the limit is always
    sent. Conversations go to the chat endpoint in every case, since only the server has the chat template.
    """
    form, content = prompt.form, prompt.content
    if form == "prompt" and (api == "chat" or dataset.system_prompt is not None):
        form, content = "messages", [{"role": "user", "content": content}]
    if form == "messages":
        if dataset.system_prompt is not None and content[0]["role"] != "system":
            content = [{"role": "system", "content": dataset.system_prompt}, *content]
        body = {**_openai_sampling(dataset), "model": model, "messages": content}
        return Request("/v1/chat/completions", body)
    if api == "sglang":
        sampling = {_renamed(key, "min_tokens", "min_new_tokens"): value for key, value in dataset.sampling.items()}
        key = "text" if form == "prompt" else "input_ids"
        return Request(
            "/generate", {key: content, "sampling_params": {**sampling, "max_new_tokens": dataset.max_tokens}}
        )
    return Request("/v1/completions", {**_openai_sampling(dataset), "model": model, "prompt": content})


def _renamed(key: str, old: str, new: str) -> str:
    return new if key == old else key


def _openai_sampling(dataset: Dataset) -> dict[str, Any]:
    sampling = {_renamed(key, "min_new_tokens", "min_tokens"): value for key, value in dataset.sampling.items()}
    return {**sampling, "max_tokens": dataset.max_tokens, "return_token_ids": True, "stream": False}


def read_answer(path: str, status: int, body: bytes, retry_after: str | None = None) -> Completion | Failure:
    """Reads an HTTP answer; any answer at all gives a value."""
    if status != 200:  # noqa: PLR2004 - HTTP's OK
        return read_refusal(status, body, retry_after)
    try:
        table = json.loads(body)
        if "error" in table and not ("meta_info" in table or "choices" in table):
            return Failure("bad_answer", clean("an error inside a 200: " + _error_text(table)))
        return read_generate(table) if path == "/generate" else read_openai(table)
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError) as error:
        return Failure("bad_answer", clean(f"{type(error).__name__}: {error}; the answer begins: {body[:120]!r}"))


def read_refusal(status: int, body: bytes, retry_after: str | None) -> Failure:
    """Reads an answer whose status isn't 200."""
    try:
        message = _error_text(json.loads(body))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        message = body[:400].decode("utf-8", "replace")
    busy = status in BUSY
    again = busy or status in TRY_AGAIN_4XX or status >= 500 or status in REFUSALS or status < 400  # noqa: PLR2004
    pause = read_retry_after(retry_after)
    return Failure(f"http_{status}", clean(message), again, busy, status in REFUSALS, pause)


def _error_text(table: dict[str, Any]) -> str:
    """The message of an error envelope: ``{"error": {"message": ..}}``, ``{"message": ..}`` or ``{"error": ".."}``."""
    inner = table.get("error", table)
    return str(inner.get("message", inner)) if isinstance(inner, dict) else str(inner)


def read_retry_after(text: str | None) -> float:
    """Seconds that a Retry-After header asks for; 0 when there is none, or when it is a date."""
    try:
        seconds = float(text or 0)
    except ValueError:
        return 0.0
    return min(seconds, LONGEST_RETRY_AFTER_S) if seconds > 0 else 0.0


def read_generate(table: Mapping[str, Any]) -> Completion | Failure:
    """Reads an answer of SGLang's ``/generate``: an abort comes with HTTP 200 and must not count as done."""
    meta = table["meta_info"]
    finish = meta["finish_reason"]
    reason = finish["type"] if isinstance(finish, dict) else finish
    if reason == "abort":
        told = finish.get("message") if isinstance(finish, dict) else None
        return Failure("abort", clean(str(told or "the server aborted the request")))
    output_ids = table.get("output_ids")
    extra = {} if output_ids is None else {"output_ids": output_ids}
    text = table.get("text")
    if text is None and output_ids is None:
        return Failure("bad_answer", "neither text nor output_ids in the answer")
    counts = _count(meta["prompt_tokens"]), _count(meta["completion_tokens"])
    return Completion(text or "", _reason(reason), *counts, extra)


def read_openai(table: Mapping[str, Any]) -> Completion | Failure:
    """Reads an answer of ``/v1/completions`` or ``/v1/chat/completions``."""
    choice = table["choices"][0]
    reason = choice["finish_reason"]
    if reason in {"abort", "error"}:
        return Failure("abort", f"the server ended the request with finish_reason {reason}")
    message = choice.get("message") or {}
    text = message.get("content") if "message" in choice else choice["text"]
    extra = {
        "output_ids": choice.get("token_ids"),
        # Reasoning parsers move the thinking out of the content; it is most of what was paid for.
        "reasoning": message.get("reasoning_content") or message.get("reasoning"),
        "tool_calls": message.get("tool_calls") or None,
    }
    kept = {key: value for key, value in extra.items() if value is not None}
    usage = table["usage"]
    counts = _count(usage["prompt_tokens"]), _count(usage["completion_tokens"])
    return Completion(text or "", _reason(reason), *counts, kept)


def _count(value: object) -> int:
    if type(value) is not int or value < 0:
        raise ValueError(f"a token count is {value!r}")
    return value


def _reason(value: object) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError(f"finish_reason is {value!r}")
    return value


class Server:
    """The inference server over HTTP; the only part that knows httpx.

    Args:
        settings: Address, API, timeouts.
        connections: Requests that may be open at once.
    """

    def __init__(self, settings: Settings, connections: int) -> None:
        import httpx  # noqa: PLC0415 - a fifth of a second that --help, --status and a run that skips all can spare

        self._httpx = httpx
        self._settings = settings
        self.api = settings.api
        self.model = settings.model or "default"
        self._probe_path = "/v1/models"
        key = os.environ.get(KEY_VARIABLE)
        # No connection is used twice: a request lasts minutes, and a kept one may be closed by the server just then.
        # Keep-alive of the TCP kind tells a dead path from a long answer where a firewall forgets idle connections.
        transport = httpx.AsyncHTTPTransport(
            limits=httpx.Limits(max_connections=connections + 8, max_keepalive_connections=0),
            socket_options=keepalive_options(),
            trust_env=False,
        )
        self._client = httpx.AsyncClient(
            base_url=settings.server,
            transport=transport,
            timeout=httpx.Timeout(settings.request_timeout, connect=10.0, pool=None),
            headers={"Authorization": f"Bearer {key}"} if key else {},
            trust_env=False,
        )

    async def ask(self, request: Request) -> Completion | Failure:
        """Posts one request and waits for its answer."""
        httpx = self._httpx
        try:
            # Only ASCII, as in the results: a lone surrogate in a prompt can't be sent in any other way.
            content = json.dumps(request.body).encode("ascii")
            answer = await self._client.post(request.path, content=content, headers=JSON_HEADERS)
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            return Failure("connect", self._say(error))
        except httpx.TimeoutException as error:
            return Failure("timeout", f"no answer in {self._settings.request_timeout:g} s ({type(error).__name__})")
        except (httpx.HTTPError, httpx.StreamError, OSError) as error:
            return Failure("reset", self._say(error))
        except (ValueError, TypeError, LookupError, RuntimeError) as error:
            # A surprise inside the HTTP library about one prompt must not end a run of days; it is recorded.
            return Failure("client", self._say(error))
        return read_answer(request.path, answer.status_code, answer.content, answer.headers.get("retry-after"))

    @staticmethod
    def _say(error: Exception) -> str:
        return clean(f"{type(error).__name__}: {error}".rstrip(": "))

    async def _get(self, path: str) -> tuple[int, object] | str:
        """Asks a small question: status and JSON (None when it isn't), or what went wrong."""
        httpx = self._httpx
        try:
            answer = await self._client.get(path, timeout=10.0)
        except (httpx.HTTPError, httpx.StreamError, OSError) as error:
            return self._say(error)
        try:
            return answer.status_code, answer.json()
        except (ValueError, RecursionError):
            return answer.status_code, None

    async def probe(self) -> str | None:
        """None when the server answers; else what went wrong. A gateway's 5xx means that nobody is behind it."""
        got = await self._get(self._probe_path)
        if isinstance(got, str):
            return got
        return f"HTTP {got[0]}" if got[0] >= 500 else None  # noqa: PLR2004 - HTTP's server errors

    async def identify(self) -> str | None:
        """Finds out API and model. None when done; else why the server can't say yet.

        Raises:
            JobEnded: When the server refuses, or is none that we know.
        """
        statuses = []
        if self.api in {"auto", "sglang"}:
            for path in ("/get_model_info", "/model_info"):
                got = await self._get(path)
                if isinstance(got, str):
                    return got
                statuses.append(got[0])
                if got[0] == 200 and isinstance(got[1], dict) and "model_path" in got[1]:  # noqa: PLR2004
                    self.api, self._probe_path = "sglang", path
                    break
        models = await self._get("/v1/models")
        if isinstance(models, str):
            return models
        if models[0] >= 500 or any(status >= 500 for status in statuses):  # noqa: PLR2004
            return f"HTTP {models[0] if models[0] >= 500 else max(statuses)}"  # noqa: PLR2004
        self._settle(models)
        return None

    def _settle(self, models: tuple[int, object]) -> None:
        """Takes the model's name from ``/v1/models``, and the OpenAI endpoints when the server isn't SGLang."""
        status, table = models
        try:
            name = str(table["data"][0]["id"])  # type: ignore[index] # any other shape is caught below
        except (TypeError, KeyError, IndexError):
            name = ""
        if self.api != "sglang":
            if not name and (self.api == "auto" or self._settings.model is None):
                hint = f"set {KEY_VARIABLE}" if status in {401, 403} else "check --server, or name --api and --model"
                what = f"neither SGLang nor an OpenAI-compatible server answers there (HTTP {status} for /v1/models)"
                raise JobEnded(f"{self._settings.server}: {what}; {hint}.", EXIT_SERVER)
            self.api = "completions" if self.api == "auto" else self.api
        self.model = self._settings.model or name or "default"

    async def close(self) -> None:
        """Closes every connection; the server aborts what it still works on."""
        await self._client.aclose()


def keepalive_options() -> list[tuple[int, int, int]]:
    """Socket options for TCP keep-alive after a silent minute, as far as the system has them."""
    import socket  # noqa: PLC0415 - httpx has loaded it by now

    options = [(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)]
    for name, value in (("TCP_KEEPIDLE", 60), ("TCP_KEEPINTVL", 30), ("TCP_KEEPCNT", 4)):
        if hasattr(socket, name):
            options.append((socket.IPPROTO_TCP, getattr(socket, name), value))
    return options


# ----------------------------------------------------------------------------------------------------------------- gate


class Gate:
    """Says whether requests may be sent, from how the last ones ended.

    Four states. ``up``: send. ``doubted``: a connection broke, a probe is on its way. ``gone``: nobody answers; wait.
    ``unwell``: somebody answers, but so many different prompts failed in a row that the server is at fault: one trial
    at a time. Every method takes the time (monotonic seconds).

    Args:
        tell: Called with ``gone`` or ``back`` and a sentence when that changes, and with ``still`` each minute.
        pause: Seconds before the first trial; doubled after each that fails, to ``LONGEST_TRIAL_PAUSE_S``.
    """

    def __init__(self, tell: Callable[[str, str], None], pause: float = 1.0) -> None:
        self._tell = tell
        self._pause = pause
        self.state = "up"
        self.threshold = FEWEST_FOR_UNWELL
        self.message = ""
        self.doubt = asyncio.Event()
        self._closed_at: float | None = None
        self._closed_before = 0.0
        self._said_at = 0.0
        self._failing: set[int] = set()
        self._trial: int | None = None
        self._trial_at = 0.0
        self._trial_pause = pause

    def may_send(self, now: float) -> bool:
        """Whether a request may start now."""
        return self.state == "up" or (self.state == "unwell" and self._trial is None and now >= self._trial_at)

    def wait_s(self, now: float) -> float:
        """Seconds until ``may_send`` could change by the passing of time alone."""
        return self._trial_at - now if self.state == "unwell" and self._trial_at > now else 1.0

    def started(self, key: int) -> None:
        """A request of the prompt ``key`` starts; while the server is unwell, it is the trial."""
        if self.state == "unwell":
            self._trial = key

    def ended(self, key: int) -> None:
        """The request of ``key`` ended in any way."""
        if self._trial == key:
            self._trial = None

    def completed(self, now: float) -> None:
        """A completion came: the server is well."""
        self._failing.clear()
        self._closed_before = 0.0
        if self.state == "unwell":
            self._open("it completes requests again")
        elif self._closed_at is not None:
            self._closed_at = now

    def failed(self, key: int, kind: str, now: float) -> None:
        """The server failed the prompt ``key``."""
        self._failing.add(key)
        if self.state == "up" and len(self._failing) >= self.threshold:
            self._trial, self._trial_pause, self._trial_at = None, self._pause, now + self._pause
            self._close("unwell", f"{len(self._failing)} prompts in a row failed ({kind}); one is tried at a time", now)
        elif self.state == "unwell" and self._trial in {None, key}:
            self._trial_pause = min(LONGEST_TRIAL_PAUSE_S, 2 * self._trial_pause)
            self._trial_at = now + self._trial_pause

    def doubted(self, now: float) -> None:
        """A connection broke in the middle: nothing starts until a probe has been answered."""
        if self.state == "up":
            self.state, self._closed_at = "doubted", now
            self.doubt.set()

    def lost(self, message: str, now: float) -> None:
        """Nobody answers."""
        if self.state != "gone":
            self._close("gone", message, now)
        self.doubt.set()

    def answered(self, now: float) -> None:
        """A probe was answered."""
        self.doubt.clear()
        if self.state == "doubted":
            self.state = "up"
            self._count_closed(now)
        elif self.state == "gone":
            self._failing.clear()
            self._count_closed(now)
            self._open("it answers again")

    def closed_for(self, now: float) -> float:
        """Seconds without service since the last completion."""
        return self._closed_before + (0.0 if self._closed_at is None else now - self._closed_at)

    def remind(self, now: float) -> None:
        """Says once a minute that the server is still away."""
        if self.state in {"gone", "unwell"} and now - self._said_at >= SAY_AGAIN_S:
            self._said_at = now
            self._tell("still", f"{self.message}; for {words_for_seconds(self.closed_for(now))} now")

    def _count_closed(self, now: float) -> None:
        self._closed_before = self.closed_for(now)
        self._closed_at = None

    def _close(self, state: str, message: str, now: float) -> None:
        was_said = self.state in {"gone", "unwell"}
        self.state, self.message = state, message
        self._closed_at = now if self._closed_at is None else self._closed_at
        if not was_said:
            self._said_at = now
            self._tell("gone", message)

    def _open(self, message: str) -> None:
        self.state, self._closed_at, self._trial = "up", None, None
        self._tell("back", message)


# -------------------------------------------------------------------------------------------------------------- figures


class Figures:
    """The counts of one dataset in this process, and what follows from them.

    Args:
        plan: What there is to do, and what was there before.
        now: Monotonic seconds.
    """

    def __init__(self, plan: Plan, now: float) -> None:
        self.plan = plan
        self.started = now
        self.done = 0
        self.errors = 0
        self.new_tokens = 0
        self._window: deque[tuple[float, int, int]] = deque([(now, 0, 0)])

    @property
    def tokens(self) -> int:
        """Completion tokens of the dataset in all."""
        return self.plan.tokens + self.new_tokens

    @property
    def budget_met(self) -> bool:
        """Whether the budget, if there is one, is reached."""
        budget = self.plan.dataset.token_budget
        return budget is not None and self.tokens >= budget

    def expected(self) -> float:
        """Tokens that a request in flight will make: the dataset's mean so far, at most max_tokens; 0 before any."""
        results = self.plan.results + self.done
        return min(self.tokens / results, self.plan.dataset.max_tokens) if results else 0.0

    def may_start(self, in_flight: int) -> bool:
        """Whether another request fits: finished tokens + in flight x expected must be below the budget."""
        budget = self.plan.dataset.token_budget
        return budget is None or self.tokens + in_flight * self.expected() < budget

    def sample(self, now: float) -> None:
        """Notes the counts for the rates, and forgets those older than the window."""
        self._window.append((now, self.done, self.new_tokens))
        while len(self._window) > 2 and now - self._window[1][0] >= WINDOW_S:  # noqa: PLR2004 - two make a rate
            self._window.popleft()

    def rates(self, now: float) -> tuple[float, float]:
        """Requests and completion tokens per second over the window."""
        then, done, tokens = self._window[0]
        span = max(now - then, 1e-3)
        return (self.done - done) / span, (self.new_tokens - tokens) / span

    def eta_s(self, now: float) -> float | None:
        """Seconds left: min(budget left, prompts left x mean) / tokens per second; None while that isn't known."""
        _, tokens_per_s = self.rates(now)
        if not self.done or tokens_per_s <= 0:
            return None
        work = (len(self.plan.todo) - self.done - self.errors) * self.new_tokens / self.done
        budget = self.plan.dataset.token_budget
        if budget is not None:
            work = min(work, budget - self.tokens)
        return max(0.0, work) / tokens_per_s

    def progress_line(self, now: float) -> str:
        """The progress line, without its stamp."""
        mean = f"{self.new_tokens / self.done:.0f}" if self.done else "?"
        return (
            f"  {self.done}/{len(self.plan.todo)} ({self.errors} err) {words_for_rate(self.rates(now)[0])} req/s"
            f" avg_comp={mean}tok tot={self.tokens / 1e6:.1f}M ETA={words_for_seconds(self.eta_s(now))}"
        )

    def end_line(self, now: float, reason: str) -> str:
        """The line at a dataset's end, without its stamp."""
        tail = {"budget": ", budget reached", "stopped": ", stopped"}.get(reason, "")
        return (
            f"  {self.plan.dataset.name}: done {self.done} ({self.errors} err), {self.tokens:,} tokens"
            f" in {(now - self.started) / 3600:.2f}h{tail}"
        )


# -------------------------------------------------------------------------------------------------------------- running


@dataclass(slots=True)
class Pending:
    """A prompt on its way.

    Attributes:
        offset: Where it stands in the prompts file; its key everywhere in this run.
        attempts: Attempts begun that count.
        pauses: Pauses made, for their growth.
        busy_since: When the server first said that it is busy, monotonic seconds.
    """

    offset: int
    attempts: int = 0
    pauses: int = 0
    busy_since: float | None = None


class Stop:
    """What signals ask for.

    Args:
        drain: Seconds that requests in flight have.
    """

    def __init__(self, drain: float) -> None:
        self._drain = drain
        self.event = asyncio.Event()
        self.signal = ""
        self.deadline = float("inf")

    def ask(self, name: str) -> bool:
        """A signal came. True for the first; a second moves the deadline to now."""
        first = not self.event.is_set()
        self.signal = self.signal or name
        self.deadline = time.monotonic() + (self._drain if first else 0.0)
        self.event.set()
        return first


class Job:
    """The whole run: what the datasets share.

    Args:
        settings: What to do.
        log: Where to say it.
    """

    def __init__(self, settings: Settings, log: Log) -> None:
        self.settings = settings
        self.log = log
        self.events = Events(settings.out / "progress.jsonl")
        self.stop = Stop(settings.drain)
        self.gate = Gate(self._tell, settings.backoff)
        self.wake = asyncio.Event()
        self.server: Server | None = None
        self.running: DatasetRun | None = None
        self.completions = 0
        self.given_up = 0
        self.rejected = 0
        self.total_tokens = 0

    def _tell(self, what: str, message: str) -> None:
        name = self.running.name if self.running else None
        gone = "WARNING: Server gone" if self.gate.state == "gone" else "ERROR: Server fails"
        words = {"gone": gone, "still": "Still waiting for the server", "back": "Server is back"}
        self.log.line(f"  {words[what]}: {message}")
        if what != "still":
            self.events.say(f"server_{what}", dataset=name, state=self.gate.state, message=message)
        self.wake.set()

    def signalled(self, name: str) -> None:
        """TERM or INT came."""
        first = self.stop.ask(name)
        in_flight = len(self.running.in_flight) if self.running else 0
        if first:
            drain = f"{in_flight} requests in flight have {self.settings.drain:g} s to finish"
            self.log.line(f"Stopping by {name}: {drain}; a second signal ends at once")
        self.wake.set()

    def status_block(self) -> None:
        """USR1 came: says in the log where things stand."""
        self.log.line(f"Status: pid {os.getpid()}, server {self.settings.server} is {self.gate.state}")
        if self.running:
            for line in self.running.status_lines():
                self.log.line(line)

    async def run(self) -> int:
        """Does all datasets, one after another; returns the exit status."""
        names = [dataset.name for dataset in self.settings.datasets]
        offset = datetime.now(timezone.utc).astimezone().utcoffset() or timedelta()
        self.log.line(f"Run started: pid {os.getpid()}, {len(names)} datasets, server {self.settings.server}")
        zone = {"zone": zone_name(), "utc_offset_s": int(offset.total_seconds())}
        self.events.say("run_started", pid=os.getpid(), version=VERSION, **zone, datasets=names)
        started = time.monotonic()
        prober = asyncio.create_task(self._probe())
        try:
            for dataset in self.settings.datasets:
                await self._one_dataset(dataset)
        finally:
            prober.cancel()
            await asyncio.gather(prober, return_exceptions=True)
            if self.server:
                await self.server.close()
        errors = f", {self.given_up} prompts given up (see errors.jsonl)" if self.given_up else ""
        errors += f", {self.rejected} lines rejected (see rejected.jsonl)" if self.rejected else ""
        hours = (time.monotonic() - started) / 3600
        self.log.line(f"All datasets done: {len(names)} datasets, {self.total_tokens:,} tokens in {hours:.2f}h{errors}")
        return EXIT_ERRORS if self.given_up or self.rejected else EXIT_DONE

    async def _one_dataset(self, dataset: Dataset) -> None:
        self.log.line("=" * 60)
        self.log.line(f"Processing: {dataset.name} ({dataset.kind.upper()})")
        self.log.line("=" * 60)
        # In a thread: signals must be heard while gigabytes of results are read.
        plan = await asyncio.to_thread(load_plan, dataset, self.settings.out, self.log)
        if self.stop.event.is_set():
            raise stopped(self.stop.signal, f"{dataset.name} was not begun")
        if plan.budget_met or not plan.todo:
            self.total_tokens += plan.tokens
            self.rejected += len(plan.rejected)
            self._skip(plan)
            return
        server = await self._ready_server()
        self.running = DatasetRun(self, server, plan)
        try:
            reason = await self.running.run()
            if reason != "budget":
                self.given_up += self.running.figures.errors
                self.rejected += len(plan.rejected)
        finally:
            self.total_tokens += self.running.figures.tokens
            self.running = None

    def _skip(self, plan: Plan) -> None:
        name, budget = plan.dataset.name, plan.dataset.token_budget
        self.log.line(skip_line(plan))
        self.events.say(
            "dataset_skipped",
            dataset=name,
            reason="budget" if plan.budget_met else "all_done",
            done=plan.results if plan.budget_met else plan.done,
            total=None if plan.budget_met else plan.total,
            tokens=plan.tokens,
            budget=budget,
        )

    async def _ready_server(self) -> Server:
        """Waits until the server says what it is; a job may well be started before its server is up."""
        if self.server:
            return self.server
        self.server = Server(self.settings, max(dataset.concurrency for dataset in self.settings.datasets))
        while (trouble := await self.server.identify()) is not None:
            now = time.monotonic()
            self.gate.lost(trouble, now)
            self.gate.remind(now)
            self.check_server(now)
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self.stop.event.wait(), self.settings.probe_every)
            if self.stop.event.is_set():
                raise stopped(self.stop.signal, "the server had not answered yet")
        self.gate.answered(time.monotonic())
        return self.server

    def check_server(self, now: float) -> None:
        """Ends the job when the server has been away for too long.

        Raises:
            JobEnded: With ``EXIT_SERVER``.
        """
        if self.gate.state in {"gone", "unwell"} and self.gate.closed_for(now) >= self.settings.server_timeout:
            waited = words_for_seconds(self.gate.closed_for(now))
            hint = "start it, then start this job again: nothing done is lost"
            message = f"The server {self.settings.server} was away for {waited} ({self.gate.message}); {hint}."
            raise JobEnded(message, EXIT_SERVER)

    async def _probe(self) -> None:
        """Looks after the server whenever the gate has doubts; runs as long as the job."""
        while True:
            await self.gate.doubt.wait()
            if self.gate.state == "gone":
                # Somebody was refused just now: asking at once could call it back and lose it many times a second.
                await asyncio.sleep(self.settings.probe_every)
            trouble = await self.server.probe() if self.server and self.running else None
            if self.running:
                if trouble is None:
                    self.gate.answered(time.monotonic())
                    self.wake.set()
                    continue
                self.gate.lost(trouble, time.monotonic())
            else:
                await asyncio.sleep(self.settings.probe_every)


def stopped(name: str, where: str) -> JobEnded:
    """The end by a signal."""
    return JobEnded(f"Stopped by {name}: {where}", EXIT_STOPPED, "stopped")


def skip_line(plan: Plan) -> str:
    """The line of a dataset that needs nothing."""
    name, budget = plan.dataset.name, plan.dataset.token_budget
    if budget is not None and plan.budget_met:
        return f"  {name}: budget already met ({plan.tokens:,} of {budget:,} tokens), skipping"
    return f"  {name}: all {plan.total} prompts done, skipping"


def load_plan(dataset: Dataset, out: Path, log: Log, *, write: bool = True) -> Plan:
    """Finds out what is done and what is to do, and says it.

    Args:
        dataset: The dataset.
        out: The folder of all results.
        log: Where to say it.
        write: Whether files may be mended and written (not when only planning).
    """
    results = read_results(out / dataset.name / "results.jsonl")
    say_results(dataset.name, results, log)
    if write and (results.half or results.unended):
        file = AppendFile(out / dataset.name / "results.jsonl")
        if results.half:
            file.cut(results.whole)
        file.mend()
        file.close()
    plan = Plan(dataset, tokens=results.tokens, results=len(results.ids))
    if plan.budget_met:
        return plan
    log.line(f"Loading and tokenizing prompts for {dataset.name}...")
    try:
        scan_prompts(plan, results.ids)
    except OSError as error:
        message = f"{dataset.name}: the prompts file can't be read ({clean(str(error))})."
        raise JobEnded(message, EXIT_CONFIG) from error
    if write:
        write_rejected(plan, out)
    say_prompts(plan, log)
    return plan


def say_results(name: str, results: Results, log: Log) -> None:
    """Says what was odd about the results file."""
    if results.half:
        log.line(
            f"  {name}: the last line of results.jsonl was cut off ({results.half} bytes); removed, to be done again"
        )
    if results.unreadable:
        log.line(f"  WARNING: {name}: {results.unreadable} lines of results.jsonl can't be read; to be done again")


def say_prompts(plan: Plan, log: Log) -> None:
    """Says what the prompts file holds."""
    name = plan.dataset.name
    # No tokens are made here: the words are kept from the runs whose logs others can read already.
    log.line(f"  {name}: {plan.total} prompts tokenized")
    if not plan.total:
        log.line(f"  WARNING: {name}: {plan.dataset.prompts} has no prompt that can be used")
    if plan.rejected:
        number, why = plan.rejected[0]
        more = f"{len(plan.rejected)} lines rejected, see rejected.jsonl; the first is line {number}: {why}"
        log.line(f"  WARNING: {name}: {more}")
    if plan.doubles:
        log.line(f"  {name}: {plan.doubles} lines repeat an id, each is done once")
    if plan.results > plan.done:
        log.line(f"  {name}: {plan.results - plan.done} results belong to no prompt of the file; their tokens count")


def write_rejected(plan: Plan, out: Path) -> None:
    """Writes rejected.jsonl anew, or removes it when nothing is rejected: it always speaks of the present file."""
    path = out / plan.dataset.name / "rejected.jsonl"
    try:
        if not plan.rejected:
            path.unlink(missing_ok=True)
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        rows = ({"file": str(plan.dataset.prompts), "line": line, "reason": why} for line, why in plan.rejected)
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), "ascii")
    except OSError as error:
        raise storage_failed(path, error) from error


class DatasetRun:
    """One dataset in this process: keeps the server full until the work or the budget is used up.

    Args:
        job: What the datasets share.
        server: Where the prompts go.
        plan: What there is to do.
    """

    def __init__(self, job: Job, server: Server, plan: Plan) -> None:
        self.name = plan.dataset.name
        self.figures = Figures(plan, time.monotonic())
        self.in_flight: dict[asyncio.Task[None], Pending] = {}
        self._job = job
        self._server = server
        self._plan = plan
        self._next = 0
        self._waiting: list[tuple[float, int, Pending]] = []
        self._order = 0
        self._failure: BaseException | None = None
        self._beat_at = self._line_at = self.figures.started
        self._error_line_at = 0.0
        self._errors_unsaid = 0
        folder = job.settings.out / self.name
        try:
            self._prompts = plan.dataset.prompts.open("rb")
        except OSError as error:
            raise JobEnded(
                f"{self.name}: the prompts file can't be read ({clean(str(error))}).", EXIT_CONFIG
            ) from error
        self._results = AppendFile(folder / "results.jsonl")
        self._errors = AppendFile(folder / "errors.jsonl")
        self._errors.mend()
        job.gate.threshold = max(FEWEST_FOR_UNWELL, plan.dataset.concurrency)

    async def run(self) -> str:
        """Runs to the end; returns the reason: ``all_done``, ``budget`` or ``errors``.

        Raises:
            JobEnded: When the whole job must end.
        """
        self._announce()
        ticker = asyncio.create_task(self._tick())
        ticker.add_done_callback(self._ended)
        reason = "stopped"
        try:
            while not self._finished():
                self._start_some()
                await self._wait()
            reason = self._reason()
        finally:
            ticker.cancel()
            await self._abort()
            await asyncio.gather(ticker, return_exceptions=True)
            self._close(reason)
        return reason

    def _announce(self) -> None:
        plan, dataset, log = self._plan, self._plan.dataset, self._job.log
        budget = dataset.token_budget
        if plan.results:
            log.line(f"  Resuming: {plan.done} already done ({plan.tokens:,} tokens)")
        limits = f"concurrency={dataset.concurrency}, max_tokens={dataset.max_tokens}"
        said = "none" if budget is None else f"{budget:,}"
        log.line(f"  Running {len(plan.todo)} requests ({limits}, token_budget={said})...")
        if budget is not None:
            log.line(f"  Existing tokens: {plan.tokens:,}, remaining budget: {budget - plan.tokens:,}")
        self._job.events.say(
            "dataset_started",
            dataset=self.name,
            kind=dataset.kind,
            total=plan.total,
            todo=len(plan.todo),
            done=plan.done,
            tokens=plan.tokens,
            concurrency=dataset.concurrency,
            max_tokens=dataset.max_tokens,
            budget=budget,
        )

    # ---- what to start, and when to end

    def _finished(self) -> bool:
        """Whether the dataset is at its end.

        Raises:
            JobEnded: When a signal, the server or the disk ends the job.
        """
        now = time.monotonic()
        if self._failure:
            raise self._failure
        if self._job.stop.event.is_set():
            if self.in_flight and now < self._job.stop.deadline:
                return False
            raise stopped(self._job.stop.signal, self._where())
        self._job.check_server(now)
        nothing_left = self._next >= len(self._plan.todo) and not self._waiting
        return not self.in_flight and (nothing_left or self.figures.budget_met)

    def _where(self) -> str:
        figures, plan = self.figures, self._plan
        text = f"{self.name} has {plan.done + figures.done} of {plan.total} done, {figures.tokens:,} tokens"
        aborted = len(self.in_flight)
        return text + (f"; {aborted} requests in flight were aborted, the next run does them" if aborted else "")

    def _reason(self) -> str:
        nothing_left = self._next >= len(self._plan.todo) and not self._waiting
        if self.figures.budget_met and (not nothing_left or self.figures.errors):
            return "budget"
        return "errors" if self.figures.errors else "all_done"

    def _start_some(self) -> None:
        now = time.monotonic()
        while (
            len(self.in_flight) < self._plan.dataset.concurrency
            and not self._job.stop.event.is_set()
            and self._job.gate.may_send(now)
            and self.figures.may_start(len(self.in_flight))
            and (item := self._take(now)) is not None
        ):
            self._job.gate.started(item.offset)
            task = asyncio.create_task(self._one(item))
            self.in_flight[task] = item
            task.add_done_callback(self._ended)

    def _take(self, now: float) -> Pending | None:
        """The next prompt: one whose pause is over, else a new one."""
        if self._waiting and self._waiting[0][0] <= now:
            return heapq.heappop(self._waiting)[2]
        if self._next < len(self._plan.todo):
            self._next += 1
            return Pending(self._plan.todo[self._next - 1])
        return None

    async def _wait(self) -> None:
        """Waits until something ended, or a pause is over."""
        now = time.monotonic()
        due = [1.0, self._job.stop.deadline - now, self._job.gate.wait_s(now)]
        # What is due already and could not start waits for an event, not for the clock: else this would spin.
        if self._waiting and self._waiting[0][0] > now:
            due.append(self._waiting[0][0] - now)
        timer = asyncio.get_running_loop().call_later(max(0.001, min(due)), self._job.wake.set)
        await self._job.wake.wait()
        timer.cancel()
        self._job.wake.clear()

    def _ended(self, task: asyncio.Task[None]) -> None:
        item = self.in_flight.pop(task, None)
        if item is not None:
            self._job.gate.ended(item.offset)
        if not task.cancelled() and task.exception() is not None and self._failure is None:
            self._failure = task.exception()
        self._job.wake.set()

    # ---- one request

    async def _one(self, item: Pending) -> None:
        """Sends one prompt and settles what came of it."""
        try:
            prompt = self._read(item)
        except (OSError, ValueError) as error:
            self._give_up(
                item, f"offset {item.offset}", Failure("bad_prompt", clean(f"the file changed: {error}"), again=False)
            )
            return
        request = build_request(self._server.api, self._server.model, self._plan.dataset, prompt)
        item.attempts += 1
        started = time.monotonic()
        answer = await self._server.ask(request)
        if isinstance(answer, Completion):
            self._keep(item, prompt, answer, time.monotonic() - started)
        else:
            self._settle_failure(item, prompt.id, answer)

    def _read(self, item: Pending) -> Prompt:
        self._prompts.seek(item.offset)
        return parse_prompt(self._prompts.readline(), system_prompt=self._plan.dataset.system_prompt is not None)

    def _keep(self, item: Pending, prompt: Prompt, answer: Completion, seconds: float) -> None:
        """Writes a result; id and tokens come first, see ``RESULT_HEAD``."""
        said = {"prompt_tokens": answer.prompt_tokens, "finish_reason": answer.finish_reason}
        said |= {"seconds": round(seconds, 3), "attempt": item.attempts}
        head = {"id": prompt.id, "completion_tokens": answer.completion_tokens, **said}
        where = {"server": self._job.settings.server, "finished_at": utc_now()}
        self._results.append({**head, **where, "text": answer.text, **answer.extra})
        self._job.events.say("completion", dataset=self.name, **head)
        self.figures.done += 1
        self._job.completions += 1
        self.figures.new_tokens += answer.completion_tokens
        self._job.gate.completed(time.monotonic())
        if self.figures.done % self._job.settings.progress_every == 0:
            self._say_progress(time.monotonic())

    def _settle_failure(self, item: Pending, prompt_id: str, failure: Failure) -> None:
        """Decides what becomes of a prompt whose attempt failed."""
        now = time.monotonic()
        if failure.refused and not self._job.completions:
            hint = (
                f"set {KEY_VARIABLE}"
                if failure.kind in {"http_401", "http_403"}
                else "check --server, --api and --model"
            )
            message = f"The server refuses us ({failure.kind}: {failure.message}); {hint}, then start again."
            raise JobEnded(message, EXIT_SERVER)
        if not failure.again:
            self._give_up(item, prompt_id, failure)
            return
        attempt = item.attempts
        if self._is_spent(item, failure, now):
            self._give_up(item, prompt_id, failure)
        else:
            self._error(item, prompt_id, failure, attempt, final=False)
            self._put_back(item, failure, now)
        self._tell_gate(item, failure, now)

    def _is_spent(self, item: Pending, failure: Failure, now: float) -> bool:
        """Whether a prompt has had all its chances; takes the attempt back where it doesn't count."""
        if failure.kind == "connect":
            item.attempts -= 1
            return False
        if failure.busy:
            item.attempts -= 1
            item.busy_since = now if item.busy_since is None else item.busy_since
            return now - item.busy_since > self._job.settings.server_timeout
        item.busy_since = None
        return item.attempts >= self._job.settings.max_attempts

    def _put_back(self, item: Pending, failure: Failure, now: float) -> None:
        """Lets a prompt wait for its next attempt: pause = backoff x 2^n, at most a minute, times 0.5 to 1."""
        growth = min(LONGEST_PAUSE_S, self._job.settings.backoff * 2 ** min(item.pauses, 16))
        pause = max(failure.retry_after, growth * random.uniform(0.5, 1.0))  # noqa: S311 - spreads load, no secret
        item.pauses += 1
        self._order += 1
        heapq.heappush(self._waiting, (now + pause, self._order, item))

    def _tell_gate(self, item: Pending, failure: Failure, now: float) -> None:
        gate = self._job.gate
        if failure.kind == "connect":
            gate.lost(failure.message, now)
            return
        gate.failed(item.offset, failure.kind, now)
        if failure.kind == "reset":
            gate.doubted(now)

    def _give_up(self, item: Pending, prompt_id: str, failure: Failure) -> None:
        self._error(item, prompt_id, failure, item.attempts, final=True)
        said = {
            "id": prompt_id,
            "kind": failure.kind,
            "message": failure.message,
            "attempts": item.attempts,
            "at": utc_now(),
        }
        self._errors.append(said)
        self.figures.errors += 1
        now = time.monotonic()
        if now - self._error_line_at < ERROR_LINES_S:
            self._errors_unsaid += 1
            return
        more = f" (and {self._errors_unsaid} more before)" if self._errors_unsaid else ""
        tries = f"after {item.attempts} attempts: " if item.attempts > 1 else ""
        text = f"{self.name}: prompt {clean(prompt_id, 80)} given up {tries}{failure.kind}: {failure.message}{more}"
        self._job.log.line(f"  ERROR: {text}")
        self._error_line_at, self._errors_unsaid = now, 0

    def _error(self, item: Pending, prompt_id: str, failure: Failure, attempt: int, *, final: bool) -> None:
        said = {
            "dataset": self.name,
            "id": prompt_id,
            "kind": failure.kind,
            "attempt": max(1, attempt or item.attempts),
        }
        self._job.events.say("error", **said, final=final, message=failure.message)

    # ---- saying where it is

    async def _tick(self) -> None:
        """Each second: takes results to the disk, and says what is due to be said."""
        settings = self._job.settings
        while True:
            await asyncio.sleep(1.0)
            now = time.monotonic()
            if now - self._line_at >= settings.progress_seconds:
                self._say_progress(now)
            elif now - self._beat_at >= HEARTBEAT_S:
                self._beat(now)
            self._job.gate.remind(now)
            for file in (self._results, self._errors, self._job.events.file):
                await asyncio.to_thread(file.sync)

    def _say_progress(self, now: float) -> None:
        self._line_at = now
        self._beat(now)
        self._job.log.line(self.figures.progress_line(now))

    def _beat(self, now: float) -> None:
        self._beat_at = now
        figures = self.figures
        figures.sample(now)
        counts = {"done": figures.done, "errors": figures.errors, "in_flight": len(self.in_flight)}
        self._job.events.say("heartbeat", dataset=self.name, **counts, tokens=figures.tokens)

    def status_lines(self) -> Iterator[str]:
        """The lines of a status block."""
        figures, now = self.figures, time.monotonic()
        yield figures.progress_line(now)
        left = len(self._plan.todo) - self._next
        running = f"{len(self.in_flight)} in flight, {len(self._waiting)} wait for another attempt, {left} not begun"
        yield f"  {self.name}: {running}, {words_for_seconds(now - figures.started)} since its start"

    # ---- ending

    async def _abort(self) -> None:
        """Ends what is in flight; the server aborts a request whose connection closes."""
        tasks = list(self.in_flight)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _close(self, reason: str) -> None:
        now = time.monotonic()
        figures = self.figures
        self._prompts.close()
        try:
            self._results.close()
        finally:
            self._errors.close()
            if self._errors_unsaid:
                self._job.log.line(
                    f"  ERROR: {self.name}: {self._errors_unsaid} more prompts given up, see errors.jsonl"
                )
            self._job.log.line(figures.end_line(now, reason))
        counts = {"done": figures.done, "errors": figures.errors, "tokens": figures.tokens}
        seconds = round(now - figures.started, 3)
        self._job.events.say("dataset_finished", dataset=self.name, **counts, seconds=seconds, reason=reason)


# ------------------------------------------------------------------------------------------------------ status, dry run


def print_status(settings: Settings, log: Log) -> None:
    """Prints where each dataset stands, from the files alone; needs no lock and changes nothing."""
    for dataset in settings.datasets:
        folder = settings.out / dataset.name
        results = read_results(folder / "results.jsonl")
        plan = Plan(dataset, tokens=results.tokens, results=len(results.ids))
        try:
            scan_prompts(plan, results.ids)
        except OSError as error:
            log.line(f"{dataset.name}: the prompts file can't be read ({clean(str(error))})")
            continue
        budget = "no budget" if dataset.token_budget is None else f"budget {dataset.token_budget:,}"
        mean = f"{plan.tokens / plan.results:,.0f}" if plan.results else "?"
        errors = len(open_errors(folder / "errors.jsonl", results.ids))
        counts = f"{plan.done}/{plan.total} done, {plan.tokens:,} tokens ({budget}), {errors} errors"
        log.line(f"{dataset.name}: {counts}, mean {mean} tokens")


def open_errors(path: Path, done: set[str]) -> set[str]:
    """Ids that were given up and have no result since."""
    ids: set[str] = set()
    if path.exists():
        with path.open("rb") as file:
            for line in file:
                with contextlib.suppress(ValueError, TypeError, KeyError, RecursionError):
                    ids.add(str(json.loads(line)["id"]))
    return ids - done


def print_plan(settings: Settings, log: Log) -> None:
    """Prints what a run would do; sends nothing and writes nothing."""
    for dataset in settings.datasets:
        log.line(f"Processing: {dataset.name} ({dataset.kind.upper()})")
        plan = load_plan(dataset, settings.out, log, write=False)
        if plan.budget_met or not plan.todo:
            log.line(skip_line(plan))
        else:
            limits = f"concurrency={dataset.concurrency}, max_tokens={dataset.max_tokens}"
            log.line(f"  Would run {len(plan.todo)} requests ({limits}), {plan.done} already done")


# ----------------------------------------------------------------------------------------------------------------- main


def build_parser() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="run_inference.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--config", required=True, metavar="FILE", help="the job: JSON, or YAML when the name ends in .yaml or .yml")
    add("--server", metavar="URL", help="base URL (default http://127.0.0.1:30000)")
    add("--out", metavar="DIR", help="where results go")
    add("--api", choices=APIS, help="how to ask (default auto: SGLang's own API when the server has it)")
    add("--model", metavar="NAME", help="model for OpenAI endpoints (default: the server's first)")
    add("--no-stamps", action="store_true", help="log lines without the time")
    add("--only", action="append", default=[], metavar="NAME", help="only this dataset; may be given several times")

    def seconds(flag: str, default: float, text: str) -> None:
        add(flag, default=default, type=float, metavar="S", help=f"{text} (default {default:g})")

    seconds("--request-timeout", 3600.0, "seconds that a request waits for its answer")
    seconds("--server-timeout", 3600.0, "give up when the server is away so long")
    seconds("--drain", 30.0, "seconds for requests in flight after TERM")
    add("--max-attempts", default=5, type=int, metavar="N", help="attempts per prompt and run (default 5)")
    add("--progress-every", default=50, type=int, metavar="N", help="completions between progress lines (default 50)")
    seconds("--progress-seconds", 60.0, "a progress line at least so often")
    seconds("--backoff", 1.0, "first pause before another attempt")
    seconds("--probe-every", 3.0, "seconds between looks for a server that is gone")
    add("--dry-run", action="store_true", help="say what would be done, and do nothing")
    add("--status", action="store_true", help="say where each dataset stands, and do nothing")
    add("--version", action="version", version=f"run_inference.py {VERSION}")
    return parser


async def run_job(settings: Settings, log: Log) -> int:
    """Runs the job with its signals and its last words; returns the exit status."""
    job = Job(settings, log)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, job.signalled, number.name)
    loop.add_signal_handler(signal.SIGUSR1, job.status_block)
    reason, exit_code = "failed", EXIT_FAULT
    try:
        exit_code = await job.run()
        reason = "done"
    except JobEnded as end:
        reason, exit_code = end.reason, end.exit_code
        log.line(end.message if reason == "stopped" else f"ERROR: {end.message}")
    finally:
        # On a full disk these last words have no room; the exit status says it too.
        with contextlib.suppress(JobEnded):
            job.events.say("run_finished", reason=reason, exit_code=exit_code)
            job.events.file.close()
    return exit_code


def raise_file_limit(connections: int) -> None:
    """Lets the process open enough sockets: many shells allow 1,024 files, which the kernel would let us raise."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections + 256
    if soft != resource.RLIM_INFINITY and soft < wanted:
        limit = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the program; returns the exit status."""
    args = build_parser().parse_args(argv)
    try:
        settings = read_settings(args)
        log = Log(stamps=settings.stamps and not (args.status or args.dry_run))
        if args.status or args.dry_run:
            (print_status if args.status else print_plan)(settings, log)
            return EXIT_DONE
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        lock = Lock(settings.out)
        raise_file_limit(max(dataset.concurrency for dataset in settings.datasets))
        try:
            return asyncio.run(run_job(settings, log))
        finally:
            lock.release()
    except JobEnded as end:
        print(end.message, file=sys.stderr)
        return end.exit_code


def _run() -> NoReturn:
    sys.exit(main())


if __name__ == "__main__":
    _run()
