#!/usr/bin/env python3
"""Sends the prompts of one or more datasets to an inference server, keeps it full, and loses nothing on the way.

One file on purpose, and long for that reason: it is copied to the GPU host as it is, runs there for days without the
console, and needs only Python 3.10 and an HTTP client: aiohttp (3.9 or newer; wherever vLLM or SGLang is installed, it
is there) or httpx (0.25 or newer), which costs several times the CPU.

    run_inference.py --config job.json [--server URL] [--out DIR] ...
    run_inference.py --dataset name=B1,prompts=b1.jsonl,token_budget=10000000 --out results [--server URL] ...

The config is JSON (or YAML, when PyYAML is there and the name ends in .yaml or .yml):

    {"server": "http://127.0.0.1:30000", "out": "results", "api": "auto",
     "defaults": {"token_budget": 10000000},
     "datasets": [{"name": "B1_glaive", "kind": "short", "prompts": "b1.jsonl", "concurrency": 150, "max_tokens": 10240,
                   "token_budget": 10000000, "limit": null, "order": "file", "sampling": {"temperature": 0.7},
                   "system_prompt": null}]}

`server` may be a list, as --server may be given several times. Paths in the config are relative to its own folder,
those of --dataset to the present one. A prompts file has one JSON object a line with one of `prompt` (text), `messages`
(chat) or `input_ids` (token ids), and optionally `id`; without one, the id is the first 16 hex digits of the SHA-256 of
the content. It may be compressed with gzip or zstd. Text with a `system_prompt` becomes messages, since only the
server's chat template knows where a system prompt belongs. A server that wants a key finds it in the environment
variable INFERENCE_API_KEY.

What it writes, under --out:

    .lock                 held (flock) while a job runs here; says who and since when
    progress.jsonl        what happens, for machines: one JSON object a line with "t" (UTC) and "event"
    NAME/results.jsonl    one line per completion; what stands here is done, and is never asked again
    NAME/errors.jsonl     prompts given up in some run; the next run tries them again
    NAME/rejected.jsonl   lines of the prompts file that can't be used, each with its reason

Exit status: 0 everything is done or has met its budget; 2 the config or the command line is wrong, or a prompts file
can't be read; 3 another job holds --out; 4 the server was gone for --server-timeout, or refuses us; 5 the results can't
be written (disk full); 6 stopped by a signal; 7 every dataset was gone through, but some prompts were given up or their
lines rejected; 1 a fault of this program.

Signals: TERM or INT: start nothing more, let requests in flight finish for --drain seconds, abort the rest; a second
one ends at once. USR1: write a status block into the log. HUP is ignored.

Keeping the server full: a request starts the moment one ends. When a dataset has none left to start (or its budget has
no room for more), the next one's requests fill the free places, unless --no-overlap is given. A dataset's concurrency
says how many of its requests fill the server, so each takes 1/concurrency of it, and requests start while these shares
add up to at most 1; the dataset that came first is served first. While two are at work, a progress line of any but the
one announced last begins with its name. --order says which prompts of a dataset go first: `file` (as they stand there),
`longest-first` (by the number under `expected_tokens` of its line, else by the length of the line; lines that say a
number go before those that don't), which shortens the tail, or `shuffle` (the same in every run).

Budgets: nothing is started once finished tokens and the expected ones of what is in flight reach the budget. A request
in flight is expected to make as many tokens as answers do that were at least as long as it is by now, those that are
still in flight included. What is in flight is finished; how far the budget is overshot is said in the dataset's last
line.

Several servers: each request goes to the one with the fewest in flight. One that is gone or fails everything is left
out until it answers again; only when none is left does the job wait. Each result names its server.

What is tried again: timeouts, lost connections, 5xx, aborted and unreadable answers, --max-attempts times with growing
pauses. A busy server (429, 503) is asked again for --server-timeout, at the cost of no attempts. A server that can't be
reached is waited for, also at no cost. When many prompts in a row fail and none succeeds, the server is held to be
unwell: nothing new is sent but one trial at a time, until one succeeds; so a bad hour doesn't use up the attempts of a
whole dataset. Other 4xx answers are recorded with their reason and not tried again in this run.

The log's figures: counts and `avg_comp` are of this process; `tot` is the dataset's in all. Rates are over the last
15 minutes. The ETA is reckoned from tokens: first what is still to be started, by tokens per second, with those that
requests in flight have made so far (their age, less the wait in the server's queue, x the speed of a request; both as
the completions show them; never more than all that is finished); then the last request and the longest one beside it.
While very few are done, the ETA is far too long.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import difflib
import errno
import fcntl
import gc
import gzip
import hashlib
import heapq
import importlib
import io
import itertools
import json
import math
import operator
import os
import random
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import zlib
import zoneinfo
from array import array
from collections import deque
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, NoReturn, Protocol
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

VERSION = 2
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

ORDERS = ("file", "longest-first", "shuffle")
"""Which prompts of a dataset go first."""

CLIENTS = ("auto", "aiohttp", "httpx")
"""The HTTP libraries; ``auto`` takes the first that is there."""

KEY_VARIABLE = "INFERENCE_API_KEY"
"""Environment variable with the server's key: a command line or a config would show it to everyone on the host."""

HEARTBEAT_S = 15.0
"""Seconds between heartbeats in progress.jsonl."""

COLD_SHARE = 0.25
"""Of max_tokens, what a request is expected to make before anything is known: most answers end far below it."""

PRIOR = 3
"""So many requests more than there are count as longer than every completion: early completions are the short ones, and
a budget that is small beside what is in flight would be filled with requests that look short."""

NEW_BESIDE = 0.25
"""Of the requests beside the last one to start, the share that counts as new as it; the others are well on their way.
So chosen that the ETA is true on simulated servers."""

FEWEST_FOR_LINE = 20
"""Completions that a straight line is drawn through; with fewer, chance draws it."""

NEARLY = 0.9
"""The next dataset is read in advance when the expected tokens in flight take the present one to this share of its
budget: reading may take longer than the last requests before it has room."""

KEEP_ALIVE_S = 2.0
"""Seconds that an idle connection is kept: well below the 5 s after which uvicorn closes one, perhaps in our hands."""

LOCK_WATCH_S = 4.0
"""Seconds for which the lock of a job on another host is watched for signs of life."""

COLLECT_EVERY = 50_000
"""Python looks for garbage in circles after so many new objects, not 700: a request makes hundreds, few in circles,
and a tenth of the CPU went there."""

CHUNK = 1024 * 1024
"""Bytes of a file that are looked at together: they stay in the processor's cache."""

WINDOW_S = 900.0
"""Rates are over this many seconds: several completions of the longest kind, yet short enough to follow a change."""

LONGEST_PAUSE_S = 60.0
"""The pause before another attempt grows to this many seconds."""

LONGEST_RETRY_AFTER_S = 600.0
"""A server's Retry-After counts up to this many seconds: some proxies send an hour."""

LONGEST_TRIAL_PAUSE_S = 30.0
"""An unwell server gets one trial request at least this often, in seconds."""

SILENT_PROBES = 20
"""So many times --probe-every a server may be silent before it is probed; and so long requests may be open to one that
is gone before they are taken for lost. A server that stops can close its port and leave them open for ever."""

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
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"


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
        order: One of ``ORDERS``.
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
    order: str = "file"


@dataclass(frozen=True, slots=True)
class Settings:
    """All that the config and the command line say.

    Attributes:
        servers: Base URLs, without a trailing slash or ``/v1``.
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
        overlap: Whether a dataset may begin while the last requests of the one before are in flight.
        client: One of ``CLIENTS``.
    """

    servers: tuple[str, ...]
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
    overlap: bool
    client: str

    @property
    def where(self) -> str:
        """The servers, as the log names them."""
        return ", ".join(self.servers)


TOP_KEYS = ("server", "out", "api", "model", "defaults", "datasets")
DEFAULTS_KEYS = ("kind", "concurrency", "max_tokens", "token_budget", "limit", "sampling", "system_prompt", "order")
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
    order = merged.get("order") or "file"
    if order not in ORDERS:
        faults.append(
            f"{where}.order must be one of {', '.join(ORDERS)}, not {clean(json.dumps(order, default=str), 60)}."
        )
    if len(faults) > before or numbers is None:
        return None
    concurrency, max_tokens, budget, limit = numbers
    sampling = merged["sampling"]
    return Dataset(
        str(name), merged["kind"], path, concurrency, max_tokens, budget, limit, sampling, system_prompt, order
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


def read_servers(value: object, faults: Faults) -> tuple[str, ...]:
    """Reads one server or a list of them; each counts once."""
    given = value if isinstance(value, list) else [value]
    if not given:
        faults.append("server must name at least one server.")
    return tuple(dict.fromkeys(read_server(each, faults) for each in given))


def read_dataset_flag(text: str, faults: Faults) -> dict[str, Any]:
    """Reads one ``--dataset KEY=VALUE,...``; numbers, true, false, null and ``{...}`` are read as JSON."""
    table: dict[str, Any] = {}
    for part in re.split(r",(?=[a-z_]+=)", text):
        key, found, value = part.partition("=")
        if not found or key in table:
            what = "stands there twice" if found else "has no value"
            faults.append(
                f"--dataset: '{clean(key, 60)}' {what}; write name=B1,prompts=b1.jsonl,token_budget=10000000."
            )
            continue
        try:
            table[key] = value if key in {"name", "prompts"} else json.loads(value)
        except ValueError:
            table[key] = value
    if isinstance(table.get("prompts"), str):
        table["prompts"] = str(Path(table["prompts"]).absolute())
    return table


def read_settings(args: argparse.Namespace) -> Settings:
    """Joins config and command line.

    Raises:
        JobEnded: With every fault, one a line.
    """
    faults = Faults()
    path = Path(args.config) if args.config else None
    config = load_config(path, faults) if path else {}
    if not config and faults:
        raise JobEnded("\n".join(faults), EXIT_CONFIG)
    faults.unknown_keys("The config", config, TOP_KEYS)
    given = [read_dataset_flag(text, faults) for text in args.dataset]
    if given:
        of_config = config.get("datasets")
        config = {**config, "datasets": [*(of_config if isinstance(of_config, list) else []), *given]}
    if args.order:
        config = with_order(config, args.order)
    servers = read_servers(args.server or config.get("server", "http://127.0.0.1:30000"), faults)
    api = args.api or config.get("api", "auto")
    if api not in APIS:
        faults.append(f"api must be one of {', '.join(APIS)}, not {clean(json.dumps(api, default=str), 60)}.")
    model = args.model or faults.text("model", config.get("model"), optional=True)
    folder = path.parent if path else Path()
    out = Path(args.out) if args.out else folder / (faults.text("out", config.get("out")) or "")
    datasets = read_datasets(config, folder, args.only, faults)
    check_numbers(args, faults)
    if faults:
        raise JobEnded("\n".join(faults), EXIT_CONFIG)
    return Settings(
        servers, out, api, model, datasets, not args.no_stamps, args.request_timeout, args.server_timeout, args.drain,
        args.max_attempts, args.progress_every, args.progress_seconds, args.backoff, args.probe_every,
        not args.no_overlap, args.client,
    )  # fmt: skip


def with_order(config: Mapping[str, Any], order: str) -> dict[str, Any]:
    """The config with one order for all datasets: the command line's word counts more than the file's."""
    defaults, entries = config.get("defaults") or {}, config.get("datasets")
    changed = {**config, "defaults": {**defaults, "order": order} if isinstance(defaults, dict) else defaults}
    if isinstance(entries, list):
        kept = [{k: v for k, v in e.items() if k != "order"} if isinstance(e, dict) else e for e in entries]
        changed["datasets"] = kept
    return changed


def read_datasets(config: Mapping[str, Any], folder: Path, only: Sequence[str], faults: Faults) -> tuple[Dataset, ...]:
    """Reads ``defaults`` and ``datasets``, and keeps those that ``--only`` names."""
    defaults = faults.table("defaults", config.get("defaults") or {})
    faults.unknown_keys("defaults", defaults, DEFAULTS_KEYS)
    if defaults.get("sampling") is not None:
        faults.table("defaults.sampling", defaults["sampling"])
    entries = config.get("datasets")
    if not isinstance(entries, list) or not entries:
        faults.append("datasets must be a list of at least one dataset; give it in --config, or as --dataset.")
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
        expected: The completion tokens that the line expects, under ``expected_tokens``; None when it says no number.
    """

    id: str
    form: str
    content: Any
    expected: float | None = None


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
    return Prompt(prompt_id(table.get("id"), form, content), form, content, _number(table.get("expected_tokens")))


def _number(value: object) -> float | None:
    """A number of at least 0, or None for anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < 1e12:  # noqa: PLR2004 - no inf
        return None
    return float(value)


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


GZIP_MAGIC = b"\x1f\x8b"
ZSTD_MAGICS = (b"\x28\xb5\x2f\xfd", *(bytes([0x50 + n]) + b"\x2a\x4d\x18" for n in range(16)))
"""How a zstd file begins: with a frame, or with one to be skipped (RFC 8878, sections 3.1.1 and 3.1.2)."""

ZSTD_WINDOW_LOG = 31
"""The largest window that is unpacked, as a power of 2: what ``zstd --ultra --long=31`` makes."""


class UnreadableError(Exception):
    """A prompts file can't be read to its end; the text says why."""


def unpacked(file: BinaryIO, path: Path) -> BinaryIO | None:
    """The unpacked contents of a compressed file, read as they are asked for; None when it isn't compressed.

    Args:
        file: The file, at its beginning; closed with what is returned.
        path: Its path.

    Raises:
        UnreadableError: When nothing on this host can unpack it.
    """
    magic = file.read(4)
    file.seek(0)
    if magic.startswith(GZIP_MAGIC):
        return io.BufferedReader(gzip.GzipFile(fileobj=file), CHUNK)
    if magic not in ZSTD_MAGICS:
        return None
    with contextlib.suppress(ImportError):
        module = importlib.import_module("compression.zstd")  # Python 3.14
        options = {module.DecompressionParameter.window_log_max: ZSTD_WINDOW_LOG}
        return io.BufferedReader(Unpacker(module.open(file, "rb", options=options), module.ZstdError), CHUNK)
    with contextlib.suppress(ImportError):
        module = importlib.import_module("zstandard")
        return io.BufferedReader(Unpacker(ZstdFrames(file, module), module.ZstdError), CHUNK)
    command = shutil.which("zstd")
    if command is None:
        raise UnreadableError("it is packed with zstd; install the zstd command or the zstandard package, or unpack it")
    argv = [command, "-dc", f"--long={ZSTD_WINDOW_LOG}", str(path)]
    return io.BufferedReader(CommandOutput(argv), CHUNK)


class Readable(Protocol):
    """What bytes can be read from."""

    def read(self, size: int, /) -> bytes:
        """At most ``size`` bytes; none at the end."""

    def close(self) -> None:
        """Gives it back."""


class Unpacker(io.RawIOBase):
    """Reads on, and makes an ``OSError`` of the errors that a library has of its own.

    Args:
        source: What is read.
        error: The library's error.
    """

    def __init__(self, source: Readable, error: type[Exception]) -> None:
        self._source = source
        self._error = error

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: Any, /) -> int:  # noqa: ANN401 - as io.RawIOBase has it
        """Fills a buffer; returns how much of it."""
        try:
            data = self._source.read(len(buffer))
        except self._error as error:
            raise OSError(clean(str(error))) from error
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        """Closes the file below too."""
        self._source.close()
        super().close()


class ZstdFrames:
    """All frames of a zstd file, through the ``zstandard`` package, whose own reader takes a cut file for a whole one.

    Args:
        file: The packed file.
        module: The package.
    """

    def __init__(self, file: BinaryIO, module: Any) -> None:  # noqa: ANN401 - an optional package
        self._file = file
        self._frames = module.ZstdDecompressor(max_window_size=1 << ZSTD_WINDOW_LOG)
        self._frame: Any = None
        self._packed = b""
        self._ready = memoryview(b"")

    def read(self, size: int, /) -> bytes:
        """At most ``size`` bytes; none at the end."""
        while not self._ready:
            self._packed = self._packed or self._file.read(128 * 1024)
            if not self._packed:
                if self._frame is not None:
                    raise OSError("the file ends in the middle of its last frame")
                return b""
            self._frame = self._frame or self._frames.decompressobj()
            self._ready = memoryview(self._frame.decompress(self._packed))
            self._packed = b""
            if self._frame.eof:
                self._packed, self._frame = self._frame.unused_data, None
        data, self._ready = bytes(self._ready[:size]), self._ready[size:]
        return data

    def close(self) -> None:
        """Closes the file."""
        self._file.close()


class CommandOutput(io.RawIOBase):
    """What a command writes; an ``OSError`` at its end when the command failed.

    Args:
        argv: The command.
    """

    def __init__(self, argv: Sequence[str]) -> None:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed with this
        self._process = subprocess.Popen(  # noqa: S603 - no shell, and the program is looked up by its name
            argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self._errors
        )

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: Any, /) -> int:  # noqa: ANN401 - as io.RawIOBase has it
        """Fills a buffer; returns how much of it."""
        assert self._process.stdout is not None  # noqa: S101 - it is a pipe
        data = self._process.stdout.read(len(buffer))
        if not data and self._process.wait() != 0:
            self._errors.seek(0)
            raise OSError(clean(self._errors.read(2000).decode("utf-8", "replace")) or "the command failed")
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        """Ends the command, when it still runs."""
        if not self.closed:
            self._process.kill()
            self._process.communicate()
            self._errors.close()
        super().close()


# -------------------------------------------------------------------------------------------------------------- lengths


def length_bin(tokens: int) -> int:
    """The bin of a length: one for each up to 15, then eight for each doubling."""
    if tokens < 16:  # noqa: PLR2004 - four bits
        return tokens
    bits = min(tokens, MOST_TOKENS).bit_length()
    return 16 + 8 * (bits - 5) + ((min(tokens, MOST_TOKENS) >> (bits - 4)) & 7)


MOST_TOKENS = (1 << 40) - 1
"""No completion is longer: a wrong figure in a results file must not make a table of any size."""


class Lengths:
    """How long the completions of a dataset were: counts and sums in bins of about 9 %, whatever their number."""

    def __init__(self) -> None:
        self.count = 0
        self.tokens = 0
        self._bins: dict[int, tuple[int, int]] = {}

    def add(self, tokens: int, number: int = 1) -> None:
        """One more completion, or so many of the same length."""
        place = length_bin(tokens)
        count, total = self._bins.get(place, (0, 0))
        self._bins[place] = (count + number, total + number * tokens)
        self.count += number
        self.tokens += number * tokens

    def outlook(self, made: Sequence[float], limit: int) -> Outlook:
        """What is known of the lengths while some requests are in flight.

        Args:
            made: What each in flight has made, tokens.
            limit: What none exceeds, tokens.
        """
        more = limit * COLD_SHARE
        if not self.count:
            return Outlook(limit, more, 0.0, [], [])
        more = max(more, (self.tokens + sum(made)) / self.count)
        last = max(self._bins)
        beyond = [0.0] * (last + 1)
        for place in (length_bin(int(each)) for each in made if each >= 1):
            if place > last:
                beyond[last] += 1.0
            else:
                beyond[place] += 0.5
                beyond[max(0, place - 1)] += 0.5
        reached = 0.0
        shares = [0.0] * (last + 1)
        count, tokens = self._bins[last]
        longest = tokens / count
        ahead = longest + more
        expected = [ahead] * (last + 1)
        for place in range(last, -1, -1):
            count, tokens = self._bins.get(place, (0, 0))
            reached += count + beyond[place]
            if count:
                shares[place] = count / reached
                share = count / (reached + PRIOR)
                ahead = share * tokens / count + (1 - share) * min(limit, ahead)
            expected[place] = ahead
        alive = list(itertools.accumulate((1 - share for share in shares), operator.mul))
        return Outlook(limit, more, longest, expected, alive)


@dataclass(frozen=True, slots=True)
class Outlook:
    """How long a dataset's requests become, by its completions and by what is in flight.

    Those in flight count as answers that are at least so long as they are by now, and so do, for the mean, ``PRIOR``
    more that are longer than all. Of those that came as far as bin b, the share ``h_b`` ends in it, ``m_b`` tokens long
    on average: ``h_b`` is the completions in it by the completions in it and above, with those in flight that are
    beyond it and half of those in it (Kaplan and Meier, 1958, in bins). So one that comes as far is expected to make
    ``E_b = h_b m_b + (1 - h_b) E_(b+1)``. Beyond the longest completion, and before the first: so many more as all
    have made for each that has ended, but at least ``COLD_SHARE`` of the limit.

    Attributes:
        limit: What none exceeds, tokens.
        more: What one makes on average beyond the longest completion, tokens.
        longest: The longest completions, tokens; 0 before the first.
        expected: By bin, what one makes in all that comes as far, tokens; none before the first completion.
        alive: By bin, the share of all that goes beyond it.
    """

    limit: int
    more: float
    longest: float
    expected: list[float]
    alive: list[float]

    @property
    def fresh(self) -> float:
        """What a new request makes, tokens."""
        return self.whole(0.0)

    def whole(self, made: float) -> float:
        """What a request makes in all that has made so many tokens already."""
        place = length_bin(int(made)) + 1 if made >= 1 else 0
        longer = self.expected[place] if place < len(self.expected) else made + self.more
        return min(self.limit, max(made, longer))

    def last(self, made: Sequence[float], new: float = 0.0) -> float:
        """Tokens until the last of some requests ends: as many are exceeded by one of them or by none, at equal odds.

        The number of those that exceed x more is Poisson, nearly, with ``sum(S(made + x) / S(made))`` as its mean, and
        so is 0 at equal odds where the mean is ln 2.

        Args:
            made: What each has made by now, tokens.
            new: So many more begin now.
        """
        open_ = [(each, share) for each in made if (share := self._beyond(each)) > 0]
        low, high = 0.0, float(self.limit)
        while high - low > 1 + low / 50:
            middle = (low + high) / 2
            left = new * self._beyond(middle) + sum(self._beyond(each + middle) / share for each, share in open_)
            low, high = (middle, high) if left > LN_2 else (low, middle)
        return high

    def _beyond(self, tokens: float) -> float:
        """The share of all that is longer."""
        if tokens >= self.limit:
            return 0.0
        if tokens < 1:
            return 1.0
        place = length_bin(int(tokens))
        if place < len(self.alive):
            return self.alive[place]
        last = self.alive[-1] if self.alive else 1.0
        return last * math.exp(-max(0.0, tokens - self.longest) / self.more)


LN_2 = math.log(2)


# -------------------------------------------------------------------------------------------------------- what is to do


@dataclass(slots=True)
class Plan:
    """What a run has to do for one dataset.

    Attributes:
        dataset: The dataset.
        total: Prompts in all: valid, without doubles, within the limit.
        todo: Where in ``file`` those stand that have no result yet, in the order in which they go; prompts are read
            when they are sent, and no text is held.
        file: The prompts file itself, open; of a compressed one, the lines to do, unpacked into a file without a name
            that is gone with the process. None when nothing is to be read.
        done: Prompts that have a result.
        tokens: Completion tokens of all results.
        results: How many results there are (more than ``done`` when the prompts file was changed).
        lengths: How long they are.
        doubles: Lines whose id had come before.
        rejected: Lines that can't be used: number and reason.
    """

    dataset: Dataset
    total: int = 0
    todo: array[int] = field(default_factory=lambda: array("Q"))
    file: BinaryIO | None = None
    done: int = 0
    tokens: int = 0
    results: int = 0
    lengths: Lengths = field(default_factory=Lengths)
    doubles: int = 0
    rejected: list[tuple[int, str]] = field(default_factory=list)

    @property
    def budget_met(self) -> bool:
        """Whether the dataset has all the tokens it may have."""
        return self.dataset.token_budget is not None and self.tokens >= self.dataset.token_budget

    def close(self) -> None:
        """Closes the prompts."""
        if self.file is not None:
            self.file.close()


class Halt(threading.Event):
    """Set when what is being read in a thread isn't wanted any more."""

    def check(self) -> None:
        """Ends the reading.

        Raises:
            JobEnded: When it is set.
        """
        if self.is_set():
            raise JobEnded("Stopped while the files were read.", EXIT_STOPPED, "stopped")


ID_HEAD = re.compile(rb'\s*\{\s*"id":\s*(?:"([^"\\\n]+)"|([0-9]+))\s*[,}]')
"""How most prompt lines begin, so that those that are done already need not be parsed to know which they are."""


def quick_id(line: bytes) -> str | None:
    """The id of a line that begins with it and has no other ``"id"``; None when only parsing can tell."""
    head = ID_HEAD.match(line)
    if head is None or line.count(b'"id"') > 1:
        return None
    try:
        return (head[1] or head[2]).decode()
    except UnicodeDecodeError:
        return None


class PromptScan:
    """Goes through a prompts file once and fills in a plan; only ids and offsets stay in memory.

    Args:
        plan: The plan.
        done: Ids that have a result. Taken out as they are met, so that no id is held twice.
        folder: Where the lines to do of a compressed file are unpacked to; None when they will not be read.
        halt: Ends it early.
    """

    def __init__(self, plan: Plan, done: set[str], folder: Path | None = None, halt: Halt | None = None) -> None:
        self._plan = plan
        self._done = done
        self._folder = folder
        self._halt = halt or Halt()
        self._seen: set[str] = set()
        self._hints = array("d")
        self._spool: BinaryIO | None = None

    def run(self) -> None:
        """Does it.

        Raises:
            UnreadableError: When the file can't be read to its end.
            JobEnded: When what must be written can't be.
        """
        plan, path = self._plan, self._plan.dataset.prompts
        with contextlib.ExitStack() as opened:
            try:
                file = opened.enter_context(path.open("rb"))
                packed = unpacked(file, path)
                if packed is not None:
                    opened.enter_context(packed)
                    if self._folder is not None:
                        self._spool = opened.enter_context(make_spool(self._folder))
                self._take_all(packed or file, packed=packed is not None)
            except (OSError, EOFError, zlib.error) as error:
                raise UnreadableError(clean(str(error))) from error
            if self._folder is not None:
                # It stays open from here on: a file that is put in its place later changes nothing.
                plan.file = file if self._spool is None else self._spool
                opened.pop_all()
                if packed is not None:
                    packed.close()
                    file.close()
        self._put_in_order()

    def _take_all(self, lines: Iterable[bytes], *, packed: bool) -> None:
        plan, limit = self._plan, self._plan.dataset.limit
        offset = 0
        for number, line in enumerate(lines, start=1):
            if limit is not None and plan.total >= limit:
                break
            if self._is_todo(number, line):
                plan.todo.append(offset)
                if self._spool is not None:
                    offset += self._keep(line)
            if not packed:
                offset += len(line)
            if number % 1024 == 0:
                self._halt.check()

    def _keep(self, line: bytes) -> int:
        assert self._spool is not None  # noqa: S101 - asked before
        whole = line if line.endswith(b"\n") else line + b"\n"
        try:
            self._spool.write(whole)
        except OSError as error:
            raise storage_failed(self._folder or Path(), error) from error
        return len(whole)

    def _is_todo(self, number: int, line: bytes) -> bool:
        """Counts a line; says whether it is to be done."""
        plan = self._plan
        if not line.strip():
            return False
        quick = quick_id(line)
        if quick is not None and quick in self._done:
            self._meet(quick)
            return False
        try:
            prompt = parse_prompt(line, system_prompt=plan.dataset.system_prompt is not None)
        except ValueError as error:
            plan.rejected.append((number, clean(str(error))))
            return False
        if prompt.id in self._seen:
            plan.doubles += 1
            return False
        if prompt.id in self._done:
            self._meet(prompt.id)
            return False
        self._seen.add(prompt.id)
        plan.total += 1
        if plan.dataset.order == "longest-first":
            self._hints.append(len(line) if prompt.expected is None else SAID + prompt.expected)
        return True

    def _meet(self, key: str) -> None:
        self._done.discard(key)
        self._seen.add(key)
        self._plan.total += 1
        self._plan.done += 1

    def _put_in_order(self) -> None:
        plan, order = self._plan, self._plan.dataset.order
        if order == "file":
            return
        places = list(range(len(plan.todo)))
        if order == "shuffle":
            # The dataset's own name is the seed: the next run goes on in the same order.
            random.Random(plan.dataset.name).shuffle(places)  # noqa: S311 - no secret
        else:
            places.sort(key=self._hints.__getitem__, reverse=True)
        plan.todo = array("Q", (plan.todo[place] for place in places))


SAID = 1e12
"""Added to a length that a line says itself, so that it goes before all that are guessed from the prompt's length."""


def make_spool(folder: Path) -> BinaryIO:
    """A file without a name, gone with the process; in the results' folder, for /tmp is often small and in memory."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return tempfile.TemporaryFile(dir=folder)
    except OSError as error:
        raise storage_failed(folder, error) from error


# -------------------------------------------------------------------------------------------------------------- results


@dataclass(slots=True)
class Results:
    """What a results file holds.

    Attributes:
        ids: Ids of the prompts that are done.
        tokens: Their completion tokens.
        counts: How many of them have each length.
        unreadable: Lines within the file that can't be read; their prompts are done again.
        whole: Bytes up to the end of the last whole line.
        half: Bytes after it: a line that a killed process did not finish.
        unended: Whether the last line is whole but for its line end.
    """

    ids: set[str] = field(default_factory=set)
    tokens: int = 0
    counts: dict[int, int] = field(default_factory=dict)
    unreadable: int = 0
    whole: int = 0
    half: int = 0
    unended: bool = False

    def add(self, result: tuple[str, int] | None) -> None:
        """Counts what a line holds."""
        if result is None:
            self.unreadable += 1
        elif result[0] not in self.ids:
            self.ids.add(result[0])
            self.tokens += result[1]
            self.counts[result[1]] = self.counts.get(result[1], 0) + 1


RESULT_HEAD = re.compile(rb'\{"id": ?"([^"\\\n]+)", ?"completion_tokens": ?(\d+), ?"')
"""How a result line of ours begins, so that gigabytes of texts need not be parsed to know what is done."""


def read_result(data: bytearray, start: int, stop: int) -> tuple[str, int] | None:
    """The id and the completion tokens of one line of a results file; None when it isn't a whole result.

    Args:
        data: Where the line stands.
        start: Its first byte.
        stop: The byte after its last one, its end included if it has one.
    """
    head = RESULT_HEAD.match(data, start)
    # A line without its end is read in full: half a text may well end with a brace.
    if head and head.end() <= stop and data.endswith(WHOLE_ENDS, start, stop):
        with contextlib.suppress(UnicodeDecodeError):
            return head[1].decode("ascii"), int(head[2])
    try:
        table = json.loads(data[start:stop])
    except (ValueError, RecursionError):
        return None
    if not isinstance(table, dict):
        return None
    key, tokens = table.get("id"), table.get("completion_tokens")
    return (key, tokens) if isinstance(key, str) and type(tokens) is int and tokens >= 0 else None


WHOLE_ENDS = (b"}\n", b"}\r\n")
"""How a whole line ends."""


def read_results(path: Path, halt: Halt | None = None) -> Results:
    """Reads a results file; a missing one is empty.

    Raises:
        JobEnded: When it is there and can't be read: starting anew would do everything twice.
    """
    results = Results()
    try:
        with path.open("rb", buffering=0) as file:
            add_results(results, file, halt or Halt())
    except FileNotFoundError:
        return results
    except OSError as error:
        raise JobEnded(f"{path} can't be read: {clean(str(error))}.", EXIT_STORAGE) from error
    return results


def add_results(results: Results, file: io.RawIOBase, halt: Halt) -> None:
    """Adds what a results file holds, up to a half line.

    A long run's results are gigabytes, nearly all of it text that is of no interest here: the file goes through one
    buffer piece by piece, and of a line only the beginning and the end are looked at.
    """
    data = bytearray(CHUNK)
    held = 0
    while size := file.readinto(memoryview(data)[held:]):
        halt.check()
        filled, start = held + size, 0
        # The line that was begun in the piece before has no end there: look for it in the new one.
        stop = data.find(b"\n", held, filled) + 1
        while stop > 0:
            if stop - start > 2 or data[start:stop].strip():  # noqa: PLR2004 - a line end, of whatever kind
                results.add(read_result(data, start, stop))
            start = stop
            stop = data.find(b"\n", start, filled) + 1
        results.whole += start
        held = filled - start
        data[:held] = data[start:filled]
        if held == len(data):
            data.extend(bytes(len(data)))  # a line longer than the buffer
    last = read_result(data[:held], 0, held) if held else None
    if last is not None:
        results.add(last)
        results.unended = True
        results.whole += held
    else:
        results.half = held


class AppendFile:
    """A file of JSON lines that only grows, and holds whole lines only.

    Lines go to the kernel at once, so that a killed process loses none; ``sync`` takes them to the disk. A line that
    the disk has no room for is taken back. Errors of the file system end the job with ``EXIT_STORAGE``.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.dirty = False
        self._held = bytearray()
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
        self._held += json.dumps(table).encode("ascii") + b"\n"
        self.flush()

    def append_soon(self, table: Mapping[str, Any], failed: Callable[[JobEnded], None]) -> None:
        """Adds one line with all others of this turn of the event loop: answers often come many at once.

        Args:
            table: The line.
            failed: Called when it can't be written.
        """
        if not self._held:
            asyncio.get_running_loop().call_soon(self._flush_or_tell, failed)
        self._held += json.dumps(table).encode("ascii") + b"\n"

    def _flush_or_tell(self, failed: Callable[[JobEnded], None]) -> None:
        try:
            self.flush()
        except JobEnded as end:
            failed(end)

    def flush(self) -> None:
        """Hands the lines that are held to the kernel."""
        lines, self._held = self._held, bytearray()
        if lines and not self._closed:
            self._write(lines)

    def _write(self, lines: bytes | bytearray) -> None:
        written = 0
        try:
            while written < len(lines):
                written += os.write(self._fd, memoryview(lines)[written:])
        except OSError as error:
            # A full disk takes what fits and refuses the rest: half a line must not stay.
            self._size += lines.rfind(b"\n", 0, written) + 1
            with contextlib.suppress(OSError):
                os.ftruncate(self._fd, self._size)
            raise storage_failed(self.path, error) from error
        self._size += len(lines)
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
        """Writes what is held, syncs and closes."""
        try:
            self.flush()
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

    def completion(self, at: str, fields: Mapping[str, Any], failed: Callable[[JobEnded], None]) -> None:
        """Writes a completion, with all others of this turn of the event loop."""
        self.file.append_soon({"t": at, "event": "completion", **fields}, failed)


# ----------------------------------------------------------------------------------------------------------------- lock


class Lock:
    """Keeps a second job out of the same folder; held until the process ends.

    ``flock`` dies with its owner. Where it holds on one host alone (some network file systems), the file also names
    its host, and its time is renewed every second: a lock that another host signed and still renews is respected too.

    Raises:
        JobEnded: When another process holds it; the message names it.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / ".lock"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise storage_failed(self._path, error) from error
        try:
            self._take(folder)
        except BaseException:
            os.close(self._fd)
            raise

    def _take(self, folder: Path) -> None:
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise self._held(folder) from error
        except OSError as error:
            if error.errno not in {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP}:
                raise storage_failed(self._path, error) from error
        if self._is_renewed_elsewhere():
            raise self._held(folder)
        try:
            os.ftruncate(self._fd, 0)
            said = {"pid": os.getpid(), "since": utc_now(), "host": socket.gethostname()}
            os.pwrite(self._fd, json.dumps(said).encode() + b"\n", 0)
        except OSError as error:
            raise storage_failed(self._path, error) from error

    def _held(self, folder: Path) -> JobEnded:
        table = self._signed()
        try:
            holder = f"pid {int(table['pid'])}, since {clean(str(table['since']), 40)}"
        except (ValueError, TypeError, KeyError):
            holder = "it has just started"
        elsewhere = table.get("host") not in {None, socket.gethostname()}
        host = f" on {clean(str(table['host']), 80)}" if elsewhere else ""
        return JobEnded(f"Another job works on {folder}: {holder}{host}; stop it first.", EXIT_LOCKED)

    def _signed(self) -> dict[str, Any]:
        """What the owner wrote; empty when nobody did, or when it ended in order."""
        try:
            return _table_of(json.loads(os.pread(self._fd, 4096, 0)))
        except (OSError, ValueError, RecursionError):
            return {}

    def _is_renewed_elsewhere(self) -> bool:
        """Whether a job on another host, which did not end in order, still renews the file's time."""
        host = self._signed().get("host")
        if host is None or host == socket.gethostname():
            return False
        first, until = self._renewed_at(), time.monotonic() + LOCK_WATCH_S
        while time.monotonic() < until:
            time.sleep(min(0.5, LOCK_WATCH_S / 4))
            if self._renewed_at() != first:
                return True
        return False

    def _renewed_at(self) -> int:
        # Opened anew each time: on NFS only that asks the server, and not the cache of this host.
        try:
            descriptor = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return 0
        try:
            return os.fstat(descriptor).st_mtime_ns
        finally:
            os.close(descriptor)

    def renew(self) -> None:
        """Shows other hosts that the owner lives. A file system that refuses it ends nothing: the lock itself holds."""
        with contextlib.suppress(OSError):
            os.utime(self._fd)

    def release(self) -> None:
        """Lets the next job in, and says that nobody need be watched for."""
        with contextlib.suppress(OSError):
            os.ftruncate(self._fd, 0)
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
        free: Whether it costs no attempt.
    """

    kind: str
    message: str
    again: bool = True
    busy: bool = False
    refused: bool = False
    retry_after: float = 0.0
    free: bool = False


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


class Reply(NamedTuple):
    """An HTTP answer: status, body, and the Retry-After header when there is one."""

    status: int
    body: bytes
    retry_after: str | None = None


class Client(Protocol):
    """An HTTP library, as far as it is needed here. Nothing but ``Failure`` comes out of it."""

    name: str

    async def post(self, url: str, content: bytes) -> Reply | Failure:
        """Posts JSON and waits for the whole answer."""

    async def get(self, url: str) -> Reply | Failure:
        """Asks a small question; an answer comes in 10 seconds or not at all."""

    async def close(self) -> None:
        """Closes every connection; servers abort what they still work on."""


def say_error(error: BaseException) -> str:
    """An error's name and text on one line."""
    return clean(f"{type(error).__name__}: {error}".rstrip(": "))


def key_header() -> dict[str, str]:
    """The header with the server's key, when the environment has one."""
    key = os.environ.get(KEY_VARIABLE)
    return {"Authorization": f"Bearer {key}"} if key else {}


def open_client(settings: Settings, connections: int) -> Client:
    """The HTTP library that the settings name, or the first that is there.

    Raises:
        JobEnded: When there is none.
    """
    try:
        return _open_client(settings, connections)
    except ImportError:
        what = "aiohttp or httpx" if settings.client == "auto" else settings.client
        lacks = f"{sys.executable} has no {what}; install it, or start this with another Python."
        raise JobEnded(lacks, EXIT_CONFIG) from None


def _open_client(settings: Settings, connections: int) -> Client:
    """Likewise. The one stands in for the other where it is imported: who looks at the imports sees that one will do.

    They are imported here, since they take a fifth of a second and more, which --help, --status and a run that skips
    all can spare.
    """
    try:
        if settings.client == "httpx":
            raise ImportError  # noqa: TRY301 - passed over by choice, not for want of it
        import aiohttp  # noqa: PLC0415 - as said above
    except ImportError:
        if settings.client == "aiohttp":
            raise
        import httpx  # noqa: PLC0415 - as said above

        return HttpxClient(httpx, settings, connections)
    return AiohttpClient(aiohttp, settings)


class AiohttpClient:
    """Over aiohttp. Connections are kept for the next request, which follows at once; an idle one is soon closed.

    Args:
        aiohttp: The library.
        settings: Timeouts.
    """

    name = "aiohttp"

    def __init__(self, aiohttp: Any, settings: Settings) -> None:  # noqa: ANN401 - it need not be there
        self._aiohttp = aiohttp
        self._timeout_s = settings.request_timeout
        kept: dict[str, Any] = {"limit": 0, "keepalive_timeout": KEEP_ALIVE_S}
        try:
            connector = aiohttp.TCPConnector(**kept, socket_factory=make_socket)
        except TypeError:  # before aiohttp 3.12: without TCP's own keep-alive
            connector = aiohttp.TCPConnector(**kept)
        self._session = aiohttp.ClientSession(
            connector=connector,
            headers=key_header(),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=10.0, sock_read=settings.request_timeout),
            cookie_jar=aiohttp.DummyCookieJar(),
        )
        self._unreachable = (aiohttp.ClientConnectorError, getattr(aiohttp, "ConnectionTimeoutError", ()))

    async def post(self, url: str, content: bytes) -> Reply | Failure:
        """See ``Client``."""
        return await self._ask("POST", url, data=content, headers=JSON_HEADERS)

    async def get(self, url: str) -> Reply | Failure:
        """See ``Client``."""
        return await self._ask("GET", url, timeout=self._aiohttp.ClientTimeout(total=10.0))

    async def _ask(self, method: str, url: str, **more: Any) -> Reply | Failure:  # noqa: ANN401 - passed on as it is
        aiohttp = self._aiohttp
        try:
            async with self._session.request(method, url, allow_redirects=False, **more) as answer:
                return Reply(answer.status, await answer.read(), answer.headers.get("Retry-After"))
        except (
            asyncio.TimeoutError,
            aiohttp.ClientError,
            OSError,
            ValueError,
            TypeError,
            LookupError,
            RuntimeError,
        ) as error:
            return self._failure(error)

    def _failure(self, error: Exception) -> Failure:
        if isinstance(error, self._unreachable):
            return Failure("connect", say_error(error), free=True)
        if isinstance(error, asyncio.TimeoutError):
            # aiohttp before 3.10 has one error for both ends of a request.
            if "onnection timeout" in str(error):
                return Failure("connect", say_error(error), free=True)
            return Failure("timeout", f"no answer in {self._timeout_s:g} s ({type(error).__name__})")
        if isinstance(error, (self._aiohttp.ClientError, OSError)):
            return Failure("reset", say_error(error))
        # A surprise inside the HTTP library about one prompt must not end a run of days; it is recorded.
        return Failure("client", say_error(error))

    async def close(self) -> None:
        """See ``Client``."""
        await self._session.close()


class HttpxClient:
    """Over httpx. No connection is used twice: its pool looks through all of them for each request, which costs more.

    Args:
        httpx: The library.
        settings: Timeouts.
        connections: Requests that may be open at once.
    """

    name = "httpx"

    def __init__(self, httpx: Any, settings: Settings, connections: int) -> None:  # noqa: ANN401 - as above
        self._httpx = httpx
        self._timeout_s = settings.request_timeout
        transport = httpx.AsyncHTTPTransport(
            limits=httpx.Limits(max_connections=connections + 8, max_keepalive_connections=0),
            socket_options=keepalive_options(),
            trust_env=False,
        )
        self._client = httpx.AsyncClient(
            transport=transport,
            timeout=httpx.Timeout(settings.request_timeout, connect=10.0, pool=None),
            headers=key_header(),
            trust_env=False,
        )

    async def post(self, url: str, content: bytes) -> Reply | Failure:
        """See ``Client``."""
        return await self._ask("POST", url, content=content, headers=JSON_HEADERS)

    async def get(self, url: str) -> Reply | Failure:
        """See ``Client``."""
        return await self._ask("GET", url, timeout=10.0)

    async def _ask(self, method: str, url: str, **more: Any) -> Reply | Failure:  # noqa: ANN401 - passed on as it is
        httpx = self._httpx
        try:
            answer = await self._client.request(method, url, **more)
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            return Failure("connect", say_error(error), free=True)
        except httpx.TimeoutException as error:
            return Failure("timeout", f"no answer in {self._timeout_s:g} s ({type(error).__name__})")
        except (httpx.HTTPError, httpx.StreamError, OSError) as error:
            return Failure("reset", say_error(error))
        except (ValueError, TypeError, LookupError, RuntimeError) as error:
            # A surprise inside the HTTP library about one prompt must not end a run of days; it is recorded.
            return Failure("client", say_error(error))
        return Reply(answer.status_code, answer.content, answer.headers.get("retry-after"))

    async def close(self) -> None:
        """See ``Client``."""
        await self._client.aclose()


class Server:
    """One inference server: what it is, how it is asked, and whether it is well.

    Args:
        url: Its base URL.
        settings: API and model, as far as they are given.
        client: The HTTP library.
        gate: Says whether it may be sent anything.

    Attributes:
        known: Whether it has said what it is.
        in_flight: Requests sent to it and not answered.
        busy_until: When it may be asked again, as it said itself, monotonic seconds.
        heard_at: When it last answered a request, or was sent one after it had none.
        lost_at: When it was last found to be gone, while requests of that time may be open.
        patience_until: When these are taken for lost.
    """

    def __init__(self, url: str, settings: Settings, client: Client, gate: Gate) -> None:
        self.url = url
        self.gate = gate
        self.api = settings.api
        self.model = settings.model or "default"
        self.known = False
        self.in_flight = 0
        self.busy_until = 0.0
        self.heard_at = 0.0
        self.lost_at: float | None = None
        self.patience_until = 0.0
        self._settings = settings
        self._client = client
        self._probe_path = "/v1/models"

    @property
    def away(self) -> bool:
        """Whether the job must do without it: it hasn't said what it is, or nothing but trials may be sent."""
        return not self.known or self.gate.away

    def sent(self, now: float) -> None:
        """A request goes to it."""
        if not self.in_flight:
            self.heard_at = now
        self.in_flight += 1

    def heard(self, sent_at: float, now: float) -> None:
        """It answered a request that was sent at ``sent_at``."""
        self.heard_at = now
        if self.lost_at is not None and sent_at <= self.lost_at:
            self.patience_until = now + self._silence_s

    @property
    def _silence_s(self) -> float:
        return SILENT_PROBES * self._settings.probe_every

    def look(self, now: float) -> float | None:
        """Looks after its silence; called each second.

        A silent server is probed. Requests that were open when it was found to be gone get the same time again; each
        answer to one of them renews it, for a server may stop by finishing what it has.

        Returns:
            Requests sent until this moment are lost; None while there is hope.
        """
        gate = self.gate
        if gate.state == "up" and self.in_flight and now - self.heard_at >= self._silence_s:
            self.heard_at = now
            gate.doubted(now)
        if gate.state == "gone" and self.lost_at is None:
            self.lost_at, self.patience_until = now, now + self._silence_s
        if self.lost_at is None or now < self.patience_until:
            return None
        lost_at, self.lost_at = self.lost_at, now if gate.state == "gone" else None
        return lost_at

    async def ask(self, request: Request) -> Reply | Failure:
        """Posts one request and waits for its answer, which is not yet read."""
        # Only ASCII, as in the results: a lone surrogate in a prompt can't be sent in any other way.
        content = json.dumps(request.body).encode("ascii")
        return await self._client.post(self.url + request.path, content)

    async def _get(self, path: str) -> tuple[int, object] | str:
        """Asks a small question: status and JSON (None when it isn't), or what went wrong."""
        answer = await self._client.get(self.url + path)
        if isinstance(answer, Failure):
            return answer.message
        try:
            return answer.status, json.loads(answer.body)
        except (ValueError, RecursionError):
            return answer.status, None

    async def probe(self) -> str | None:
        """None when the server answers; else what went wrong. A gateway's 5xx means that nobody is behind it."""
        if not self.known:
            try:
                return await self.identify()
            except JobEnded as end:
                return end.message
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
        self.known = True
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
                raise JobEnded(f"{self.url}: {what}; {hint}.", EXIT_SERVER)
            self.api = "completions" if self.api == "auto" else self.api
        self.model = self._settings.model or name or "default"


class Servers:
    """All servers: which one gets the next request, and what is told of those that are away.

    Args:
        settings: Where they are.
        client: The HTTP library.
        tell: Called with ``gone``, ``still`` or ``back``, a state and a sentence when none is left or one is back, and
            with ``out`` or ``in`` when one of several is left out or taken in again.
    """

    def __init__(self, settings: Settings, client: Client, tell: Callable[[str, str, str], None]) -> None:
        self.client = client
        self._tell = tell
        self._turn = 0
        self.all = [self._make(url, settings, client) for url in settings.servers]

    def _make(self, url: str, settings: Settings, client: Client) -> Server:
        def tell(what: str, message: str) -> None:
            self._told(server, what, message)

        server = Server(url, settings, client, Gate(tell, settings.backoff))
        return server

    def _told(self, server: Server, what: str, message: str) -> None:
        """Passes on what a gate says: with several servers, only the last one to go means that the job must wait."""
        if len(self.all) == 1:
            self._tell(what, server.gate.state, message)
            return
        away = sum(each.away for each in self.all)
        if what == "still":
            self._tell(what, server.gate.state, f"all {len(self.all)} servers: {message}")
        elif what == "gone":
            last = away == len(self.all)
            text = f"all {away} servers, {server.url} last: {message}" if last else f"{server.url}: {message}"
            self._tell("gone" if last else "out", server.gate.state, text)
        else:
            first = away == len(self.all) - 1
            self._tell("back" if first else "in", server.gate.state, f"{server.url}: {message}")

    def pick(self, now: float) -> Server | None:
        """The server for the next request: of those that may be sent to, the one with the fewest in flight."""
        able = [each for each in self.all if each.known and each.gate.may_send(now)]
        if len(able) < 2:  # noqa: PLR2004 - nothing to choose from
            return able[0] if able else None
        rested = [each for each in able if each.busy_until <= now] or able
        self._turn += 1
        turn = self._turn % len(rested)
        # Those with equally few take turns: else the first would get every request of a job that sends one at a time.
        return min([*rested[turn:], *rested[:turn]], key=lambda each: each.in_flight)

    def others_open(self, server: Server, now: float) -> bool:
        """Whether another server than this one may be sent to."""
        return any(each is not server and each.known and each.gate.may_send(now) for each in self.all)

    @property
    def away(self) -> bool:
        """Whether none is left."""
        return all(each.away for each in self.all)

    def wait_s(self, now: float) -> float:
        """Seconds until ``pick`` could change by the passing of time alone."""
        return min(each.gate.wait_s(now) for each in self.all)

    def closed_for(self, now: float) -> float:
        """Seconds without any service since the last completion."""
        return min(each.gate.closed_for(now) for each in self.all)

    def remind(self, now: float) -> None:
        """Says once a minute that none is left."""
        if self.away:
            self.all[0].gate.remind(now)

    def threshold(self, concurrency: int) -> None:
        """Says how many requests are at work, so that one broken server is not taken for many bad prompts."""
        each_has = -(-concurrency // len(self.all))
        for server in self.all:
            server.gate.threshold = max(FEWEST_FOR_UNWELL, each_has)


def keepalive_options() -> list[tuple[int, int, int]]:
    """Socket options for TCP keep-alive after a silent minute, as far as the system has them.

    It tells a dead path from a long answer, where a firewall forgets idle connections.
    """
    options = [(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)]
    for name, value in (("TCP_KEEPIDLE", 60), ("TCP_KEEPINTVL", 30), ("TCP_KEEPCNT", 4)):
        if hasattr(socket, name):
            options.append((socket.IPPROTO_TCP, getattr(socket, name), value))
    return options


def make_socket(address: tuple[Any, ...]) -> socket.socket:
    """A TCP socket with keep-alive, for an address as ``getaddrinfo`` gives it."""
    family, kind, protocol = address[:3]
    made = socket.socket(family, kind, protocol)
    for option in keepalive_options():
        made.setsockopt(*option)
    return made


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

    @property
    def away(self) -> bool:
        """Whether no more than trials may be sent."""
        return self.state in {"gone", "unwell"}

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
        elif (
            self.state == "unwell" and self._trial == key
        ):  # not those that were in flight before: they say nothing new
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
        if self.away and now - self._said_at >= SAY_AGAIN_S:
            self._said_at = now
            self._tell("still", f"{self.message}; for {words_for_seconds(self.closed_for(now))} now")

    def _count_closed(self, now: float) -> None:
        self._closed_before = self.closed_for(now)
        self._closed_at = None

    def _close(self, state: str, message: str, now: float) -> None:
        was_said = self.away
        self.state, self.message = state, message
        self._closed_at = now if self._closed_at is None else self._closed_at
        if not was_said:
            self._said_at = now
            self._tell("gone", message)

    def _open(self, message: str) -> None:
        self.state, self._closed_at, self._trial = "up", None, None
        self._tell("back", message)


# -------------------------------------------------------------------------------------------------------------- figures


class Sums(NamedTuple):
    """Sums over completions: their number, tokens, seconds, squared tokens, and tokens x seconds."""

    number: int = 0
    tokens: int = 0
    seconds: float = 0.0
    squares: int = 0
    products: float = 0.0

    def plus(self, tokens: int, seconds: float) -> Sums:
        """With one more completion."""
        squares, products = self.squares + tokens * tokens, self.products + tokens * seconds
        return Sums(self.number + 1, self.tokens + tokens, self.seconds + seconds, squares, products)

    def minus(self, former: Sums) -> Sums:
        """Of those that came since."""
        return Sums(*(now - then for now, then in zip(self, former)))  # type: ignore[arg-type] # noqa: B905 - both have five

    def line(self) -> tuple[float, float]:
        """See ``Figures.service``."""
        if self.seconds <= 0:
            return 0.0, 0.0
        spread = self.number * self.squares - self.tokens * self.tokens
        slope = self.number * self.products - self.tokens * self.seconds
        if self.number >= FEWEST_FOR_LINE and spread > 0 and slope > 0:
            wait = (self.seconds - self.tokens * slope / spread) / self.number
            if wait >= 0:
                return wait, spread / slope
        return 0.0, self.tokens / self.seconds


class InFlight(NamedTuple):
    """A dataset's requests in flight, all at one moment.

    Attributes:
        at: The moment, monotonic seconds.
        outlook: What is known of the lengths.
        made: What each has made, tokens.
        whole: What each makes in all, tokens; in the same order.
    """

    at: float
    outlook: Outlook
    made: list[float]
    whole: list[float]


class Figures:
    """The counts of one dataset in this process, and what follows from them.

    Args:
        plan: What there is to do, and what was there before.
        now: Monotonic seconds.
    """

    def __init__(self, plan: Plan, now: float) -> None:
        self.plan = plan
        self.started = now
        self.errors = 0
        self._sums = Sums()
        self._sent: dict[int, float] = {}
        self._window: deque[tuple[float, Sums, float]] = deque([(now, self._sums, 0.0)])
        self._service: tuple[float, float] | None = None
        self._each: InFlight | None = None

    @property
    def done(self) -> int:
        """Completions of this process."""
        return self._sums.number

    @property
    def new_tokens(self) -> int:
        """Completion tokens of this process."""
        return self._sums.tokens

    @property
    def tokens(self) -> int:
        """Completion tokens of the dataset in all."""
        return self.plan.tokens + self.new_tokens

    @property
    def budget_met(self) -> bool:
        """Whether the budget, if there is one, is reached."""
        budget = self.plan.dataset.token_budget
        return budget is not None and self.tokens >= budget

    @property
    def over(self) -> int:
        """Tokens by which the budget is overshot."""
        budget = self.plan.dataset.token_budget
        return 0 if budget is None else max(0, self.tokens - budget)

    @property
    def in_flight(self) -> int:
        """Requests sent and not answered."""
        return len(self._sent)

    def sent(self, key: int, now: float) -> None:
        """A request of the prompt ``key`` was sent."""
        self._sent[key] = now
        self._each = None

    def returned(self, key: int) -> None:
        """It came back, in any way."""
        self._sent.pop(key, None)
        self._each = None

    def completed(self, tokens: int, seconds: float) -> None:
        """A request made so many tokens in so many seconds."""
        self._sums = self._sums.plus(tokens, seconds)
        self._service = self._each = None
        self.plan.lengths.add(tokens)

    def service(self) -> tuple[float, float]:
        """How a request is served: seconds before its first token, and tokens per second after it; of the window.

        The straight line ``seconds = wait + tokens / speed`` that fits the completions best (least squares). Where
        they don't tell both apart (too few, all equally long, or a line that makes no sense), the wait is 0 and the
        speed is all tokens by all seconds. The speed is 0 while nothing is known.
        """
        if self._service is None:
            self._service = self._sums.minus(self._window[0][1]).line()
        return self._service

    def each_in_flight(self, now: float) -> InFlight:
        """What requests in flight have made, and make in all; reckoned once for a moment."""
        if self._each is None or self._each.at != now:
            wait, speed = self.service()
            made = [max(0.0, now - at - wait) * speed for at in self._sent.values()]
            outlook = self.plan.lengths.outlook(made, self.plan.dataset.max_tokens)
            whole = [outlook.whole(each) for each in made]
            self._each = InFlight(now, outlook, [min(part, full) for part, full in zip(made, whole)], whole)  # noqa: B905
        return self._each

    def may_start(self, now: float) -> bool:
        """Whether another request fits: finished tokens and the expected ones in flight must be below the budget."""
        budget = self.plan.dataset.token_budget
        if budget is None:
            return True
        # Most of the time even the worst case is below the budget, and nothing need be reckoned.
        if self.tokens + len(self._sent) * self.plan.dataset.max_tokens < budget:
            return True
        return self.tokens < budget and self.tokens + sum(self.each_in_flight(now).whole) < budget

    def made_in_flight(self, now: float) -> float:
        """Tokens that requests in flight have made by now: a guess, and never more than what is finished."""
        return min(float(self.new_tokens), sum(self.each_in_flight(now).made))

    def sample(self, now: float) -> None:
        """Notes the counts for the rates, and forgets those older than the window."""
        self._window.append((now, self._sums, self.made_in_flight(now)))
        while len(self._window) > 2 and now - self._window[1][0] >= WINDOW_S:  # noqa: PLR2004 - two make a rate
            self._window.popleft()
            self._service = self._each = None

    def rates(self, now: float) -> tuple[float, float]:
        """Requests completed and tokens made, those in flight included, per second over the window."""
        then, former, made = self._window[0]
        span = max(now - then, 1e-3)
        grown = self._sums.minus(former)
        return grown.number / span, max(0.0, grown.tokens + self.made_in_flight(now) - made) / span

    def eta_s(self, now: float) -> float | None:
        """Seconds left; None while that isn't known.

        First those that are still to be started: ``their number x expected length / tokens per second`` until the last
        one starts. Then that one and those beside it: as long as a request waits, and the longest of so many takes.
        When none is to be started, the last of those in flight. With a budget, only as many are started as it has room
        for.
        """
        _, tokens_per_s = self.rates(now)
        wait, speed = self.service()
        if not self.done or tokens_per_s <= 0 or speed <= 0:
            return None
        each = self.each_in_flight(now)
        ends = [
            max(0.0, wait - (now - at)) + (whole - made) / speed
            for at, made, whole in zip(self._sent.values(), each.made, each.whole)  # noqa: B905 - the same ones
        ]
        unstarted = self._unstarted(now)
        if unstarted <= 0:
            return max([*ends, each.outlook.last(each.made) / speed]) if ends else 0.0
        beside = min(self.plan.dataset.concurrency, unstarted + len(ends))
        longest = each.outlook.last((), max(1.0, NEW_BESIDE * beside))
        return max([*ends, unstarted * each.outlook.fresh / tokens_per_s + wait + longest / speed])

    def _unstarted(self, now: float) -> float:
        """Requests that are still to be started, as far as the budget has room for them."""
        left = float(len(self.plan.todo) - self.done - self.errors - len(self._sent))
        budget = self.plan.dataset.token_budget
        if budget is None:
            return left
        room = budget - self.tokens - sum(self.each_in_flight(now).whole)
        return min(left, max(0.0, room) / max(1.0, self.each_in_flight(now).outlook.fresh))

    def progress_line(self, now: float, name: str = "") -> str:
        """The progress line, without its stamp.

        Args:
            now: Monotonic seconds.
            name: The dataset's name, where the line must say it; else it belongs to the one announced last.
        """
        mean = f"{self.new_tokens / self.done:.0f}" if self.done else "?"
        return (
            f"  {name}{': ' if name else ''}{self.done}/{len(self.plan.todo)} ({self.errors} err)"
            f" {words_for_rate(self.rates(now)[0])} req/s"
            f" avg_comp={mean}tok tot={self.tokens / 1e6:.1f}M ETA={words_for_seconds(self.eta_s(now))}"
        )

    def end_line(self, now: float, reason: str) -> str:
        """The line at a dataset's end, without its stamp."""
        tail = {"budget": ", budget reached", "stopped": ", stopped"}.get(reason, "")
        over = f", {self.over:,} tokens over" if reason == "budget" and self.over else ""
        return (
            f"  {self.plan.dataset.name}: done {self.done} ({self.errors} err), {self.tokens:,} tokens"
            f" in {(now - self.started) / 3600:.2f}h{tail}{over}"
        )


# -------------------------------------------------------------------------------------------------------------- running


@dataclass(slots=True)
class Pending:
    """A prompt on its way.

    Attributes:
        offset: Where it stands in the plan's file.
        key: What it is known by in this process; no two datasets share one.
        attempts: Attempts begun that count.
        pauses: Pauses made, for their growth.
        busy_since: When the server first said that it is busy, monotonic seconds.
        sent_at: When it was sent last, monotonic seconds.
        server: Where to; None before that.
        has_place: It takes one of the places of its dataset and server.
        is_lost: Its answer will not come.
    """

    offset: int
    key: int
    attempts: int = 0
    pauses: int = 0
    busy_since: float | None = None
    sent_at: float = 0.0
    server: Server | None = None
    has_place: bool = False
    is_lost: bool = False


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


class HeldLog:
    """A log whose lines wait until they may be said: a dataset is read while another one still speaks.

    Args:
        log: Where they go.
    """

    def __init__(self, log: Log) -> None:
        self._log = log
        self._guard = threading.Lock()
        self._held: list[str] | None = []

    def line(self, text: str) -> None:
        """Says a line, now or later; from any thread."""
        with self._guard:
            if self._held is not None:
                self._held.append(text)
                return
        self._log.line(text)

    def release(self) -> None:
        """Says what waits; from now on lines go through."""
        with self._guard:
            held, self._held = self._held or [], None
            for text in held:
                self._log.line(text)


@dataclass(frozen=True, slots=True)
class Loading:
    """A dataset whose files are being read.

    Attributes:
        dataset: The dataset.
        log: Its lines.
        task: Gives its plan.
    """

    dataset: Dataset
    log: HeldLog
    task: asyncio.Task[Plan]


class Job:
    """The whole run: what is at work, what comes next, and what the datasets share.

    Args:
        settings: What to do.
        log: Where to say it.
        lock: The folder's lock; renewed every second.
    """

    def __init__(self, settings: Settings, log: Log, lock: Lock | None = None) -> None:
        self.settings = settings
        self.log = log
        self.events = Events(settings.out / "progress.jsonl")
        self.stop = Stop(settings.drain)
        self.wake = asyncio.Event()
        self.servers: Servers | None = None
        self.runs: list[DatasetRun] = []
        self.completions = 0
        self.keys = itertools.count()
        self._lock = lock
        self._announced = ""
        self._queue = deque(settings.datasets)
        self._loading: Loading | None = None
        self._halt = Halt()
        self._probers: list[asyncio.Task[None]] = []
        self._given_up = 0
        self._rejected = 0
        self._total_tokens = 0
        self._failure: BaseException | None = None

    # ---- what others tell

    def _tell(self, what: str, state: str, message: str) -> None:
        """Something changed about the servers."""
        gone = "WARNING: Server gone" if state == "gone" else "ERROR: Server fails"
        still = "Still waiting for the server"
        words = {"gone": gone, "still": still, "back": "Server is back", "out": "Left out", "in": "Taken in again"}
        self.log.line(f"  {words[what]}: {message}")
        if what in {"gone", "back"}:
            name = self._announced if self.runs else None
            self.events.say(f"server_{what}", dataset=name, state=state, message=message)
        self.wake.set()

    def signalled(self, name: str) -> None:
        """TERM or INT came."""
        first = self.stop.ask(name)
        self._halt.set()
        in_flight = sum(len(run.in_flight) for run in self.runs)
        if first:
            drain = f"{in_flight} requests in flight have {self.settings.drain:g} s to finish"
            self.log.line(f"Stopping by {name}: {drain}; a second signal ends at once")
        self.wake.set()

    def failed(self, task: asyncio.Task[Any]) -> None:
        """A task ended: its error, if it has one, ends the job."""
        if not task.cancelled() and task.exception() is not None and self._failure is None:
            self._failure = task.exception()
        self.wake.set()

    def storage_failed(self, end: JobEnded) -> None:
        """A result can't be written: that ends the job."""
        self._failure = self._failure or end
        self.wake.set()

    def status_block(self) -> None:
        """USR1 came: says in the log where things stand."""
        for server in self.servers.all if self.servers else ():
            state = server.gate.state if server.known else "not known yet"
            several = f", {server.in_flight} in flight" if len(self.settings.servers) > 1 else ""
            self.log.line(f"Status: pid {os.getpid()}, server {server.url} is {state}{several}")
        if not self.servers:
            self.log.line(f"Status: pid {os.getpid()}, server {self.settings.where} is not known yet")
        for run in self.runs:
            for line in run.status_lines():
                self.log.line(line)
        if self._loading:
            self.log.line(f"  {self._loading.dataset.name}: its files are being read")
        self.log.line(f"  {len(self._queue)} datasets not begun")

    def name_in_log(self, name: str) -> str:
        """What a dataset's progress line must begin with: nothing for the one announced last, else its name."""
        return "" if name == self._announced else name

    # ---- the run

    async def run(self) -> int:
        """Does all datasets; returns the exit status."""
        settings = self.settings
        names = [dataset.name for dataset in settings.datasets]
        offset = datetime.now(timezone.utc).astimezone().utcoffset() or timedelta()
        several = "servers" if len(settings.servers) > 1 else "server"
        self.log.line(f"Run started: pid {os.getpid()}, {len(names)} datasets, {several} {settings.where}")
        zone = {"zone": zone_name(), "utc_offset_s": int(offset.total_seconds())}
        self.events.say("run_started", pid=os.getpid(), version=VERSION, **zone, datasets=names)
        started = time.monotonic()
        ticker = asyncio.create_task(self._tick())
        ticker.add_done_callback(self.failed)
        try:
            await self._work()
        finally:
            await self._end_all(ticker)
        errors = f", {self._given_up} prompts given up (see errors.jsonl)" if self._given_up else ""
        errors += f", {self._rejected} lines rejected (see rejected.jsonl)" if self._rejected else ""
        hours = (time.monotonic() - started) / 3600
        self.log.line(
            f"All datasets done: {len(names)} datasets, {self._total_tokens:,} tokens in {hours:.2f}h{errors}"
        )
        return EXIT_ERRORS if self._given_up or self._rejected else EXIT_DONE

    async def _work(self) -> None:
        """Keeps the servers full until nothing is left.

        Raises:
            JobEnded: When a signal, the servers or the disk end the job.
        """
        while True:
            self._check(time.monotonic())
            for run in [run for run in self.runs if run.is_finished()]:
                self._end(run, run.reason())
            if await self._turn_to_next(time.monotonic()):
                continue
            if not (self.runs or self._queue or self._loading):
                return
            self.start_some(time.monotonic())
            await self._wait()

    def _check(self, now: float) -> None:
        """Looks whether the job must end.

        Raises:
            JobEnded: When it must.
        """
        if self.stop.event.is_set():
            if any(run.in_flight for run in self.runs) and now < self.stop.deadline and not self._failure:
                return
            raise stopped(self.stop.signal, self._where())
        if self._failure:
            raise self._failure
        self._check_servers(now)

    def _where(self) -> str:
        """How far the datasets at work are, for the last words."""
        if self.runs:
            return "; ".join(run.where() for run in self.runs)
        unbegun = self._loading.dataset.name if self._loading else self._queue[0].name if self._queue else ""
        return f"{unbegun} was not begun" if unbegun else "nothing was left to do"

    def _check_servers(self, now: float) -> None:
        servers = self.servers
        if servers and servers.away and servers.closed_for(now) >= self.settings.server_timeout:
            waited = words_for_seconds(servers.closed_for(now))
            hint = "start it, then start this job again: nothing done is lost"
            why = servers.all[0].gate.message
            several = "s" if len(servers.all) > 1 else ""
            were = "were" if several else "was"
            message = f"The server{several} {self.settings.where} {were} away for {waited} ({why}); {hint}."
            raise JobEnded(message, EXIT_SERVER)

    # ---- which dataset

    async def _turn_to_next(self, now: float) -> bool:
        """Reads the next dataset when it is time, and begins it when there is room; True when one was turned to."""
        if self.stop.event.is_set():
            return False
        if self._loading is None and self._queue and self._is_soon(now):
            self._load(self._queue.popleft())
        loading = self._loading
        if loading is None:
            return False
        if not self.runs:
            self._announce(loading)
        if not loading.task.done() or (self.runs and not self._has_place_for(loading, now)):
            return False
        plan = loading.task.result()
        self._announce(loading)
        self._loading = None
        await self._begin(plan)
        return True

    def _is_soon(self, now: float) -> bool:
        """Whether the next dataset's files should be read: nothing is at work, or what is has little left to start."""
        return not self.runs or (self.settings.overlap and all(run.is_nearly_dry(now) for run in self.runs))

    def _has_place_for(self, loading: Loading, now: float) -> bool:
        """Whether the next dataset may begin beside those at work: none of them has anything to start now."""
        if loading.task.exception() is not None:
            return False  # what is in flight is finished before the job ends by it
        return all(run.is_dry(now) for run in self.runs) and self._has_room(loading.dataset.concurrency)

    def _load(self, dataset: Dataset) -> None:
        """Begins to read a dataset; in a thread, for signals and answers must be heard meanwhile."""
        log = HeldLog(self.log)
        work = asyncio.to_thread(load_plan, dataset, self.settings.out, log, halt=self._halt)
        self._loading = Loading(dataset, log, asyncio.create_task(work))
        self._loading.task.add_done_callback(lambda _task: self.wake.set())

    def _announce(self, loading: Loading) -> None:
        if self._announced == loading.dataset.name:
            return
        self._announced = loading.dataset.name
        self.log.line("=" * 60)
        self.log.line(f"Processing: {loading.dataset.name} ({loading.dataset.kind.upper()})")
        self.log.line("=" * 60)
        loading.log.release()

    async def _begin(self, plan: Plan) -> None:
        """Begins a dataset, or skips it when it needs nothing."""
        if plan.budget_met or not plan.todo:
            plan.close()
            self._total_tokens += plan.tokens
            self._rejected += len(plan.rejected)
            self._skip(plan)
            return
        try:
            servers = await self._ready_servers()
            run = DatasetRun(self, plan)
        except BaseException:
            plan.close()
            raise
        self.runs.append(run)
        servers.threshold(max(run.concurrency for run in self.runs))
        run.announce()

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

    def _end(self, run: DatasetRun, reason: str) -> None:
        """Files a dataset that is at its end."""
        self.runs.remove(run)
        self._total_tokens += run.figures.tokens
        if reason not in {"budget", "stopped"}:
            self._given_up += run.figures.errors
            self._rejected += run.rejected
        run.close(reason)

    async def _end_all(self, ticker: asyncio.Task[None]) -> None:
        """Aborts what is in flight and closes everything."""
        tasks = [ticker, *self._probers, *(task for run in self.runs for task in run.in_flight)]
        self._halt.set()
        if self._loading:
            tasks.append(self._loading.task)  # type: ignore[arg-type] # what it gives is not wanted
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self.servers:
            await self.servers.client.close()
        with contextlib.ExitStack() as ends:  # each is closed, whatever another one's end comes to
            for run in reversed(self.runs):
                ends.callback(self._end, run, "stopped")

    # ---- which request

    def _has_room(self, concurrency: int) -> bool:
        """Whether a request of a dataset with this concurrency fits beside those in flight.

        Each takes 1/concurrency of the servers: ``sum(in_flight_d / concurrency_d) + 1 / concurrency <= 1``.
        """
        taken = sum(run.places / run.concurrency for run in self.runs)
        return taken + 1 / concurrency <= 1 + 1e-9

    def start_some(self, now: float) -> None:
        """Starts what may start; the dataset that came first goes first."""
        if self.stop.event.is_set() or self.servers is None or self._failure:
            return
        for run in self.runs:
            while self._has_room(run.concurrency) and run.may_start(now):
                server = self.servers.pick(now)
                if server is None:
                    return
                run.start(server, now)

    async def _wait(self) -> None:
        """Waits until something ended, or a pause is over."""
        now = time.monotonic()
        due = [1.0, self.stop.deadline - now, *(run.wait_s(now) for run in self.runs)]
        if self.servers:
            due.append(self.servers.wait_s(now))
        timer = asyncio.get_running_loop().call_later(max(0.001, min(due)), self.wake.set)
        await self.wake.wait()
        timer.cancel()
        self.wake.clear()

    # ---- the servers

    async def _ready_servers(self) -> Servers:
        """Waits until a server says what it is; a job may well be started before its server is up."""
        if self.servers:
            return self.servers
        connections = max(dataset.concurrency for dataset in self.settings.datasets)
        self.servers = servers = Servers(self.settings, open_client(self.settings, connections), self._tell)
        while True:
            await self._identify(servers)
            if not all(server.away for server in servers.all):
                break
            now = time.monotonic()
            servers.remind(now)
            self._check_servers(now)
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self.stop.event.wait(), self.settings.probe_every)
            if self.stop.event.is_set():
                raise stopped(self.stop.signal, "the server had not answered yet")
        models = sorted({server.model for server in servers.all if server.known})
        if len(models) > 1:
            self.log.line(f"  WARNING: The servers have different models: {clean(', '.join(models))}")
        for server in servers.all:
            prober = asyncio.create_task(self._look_after(server))
            prober.add_done_callback(self.failed)
            self._probers.append(prober)
        return servers

    async def _identify(self, servers: Servers) -> None:
        """Asks those that have not yet said what they are, all at once."""
        unknown = [server for server in servers.all if not server.known]
        troubles = await asyncio.gather(*(server.identify() for server in unknown))
        for server, trouble in zip(unknown, troubles):  # noqa: B905 - as many as were asked
            now = time.monotonic()
            if trouble is None:
                server.gate.answered(now)
            else:
                server.gate.lost(trouble, now)

    async def _look_after(self, server: Server) -> None:
        """Probes a server whenever its gate has doubts; runs as long as the job."""
        gate = server.gate
        while True:
            await gate.doubt.wait()
            if gate.state == "gone":
                # Somebody was refused just now: asking at once could call it back and lose it many times a second.
                await asyncio.sleep(self.settings.probe_every)
            trouble = await server.probe()
            if trouble is None:
                gate.answered(time.monotonic())
                self.wake.set()
            else:
                gate.lost(trouble, time.monotonic())

    # ---- each second

    def _look_at(self, servers: Servers, now: float) -> None:
        """Looks after silent servers, and says again that none is left."""
        servers.remind(now)
        for server in servers.all:
            until = server.look(now)
            lost = 0 if until is None else sum(run.abandon(server, until) for run in self.runs)
            if lost:
                self.log.line(f"  {lost} requests to {server.url} had no answer since it was gone; they are sent again")

    async def _tick(self) -> None:
        """Each second: takes results to the disk, renews the lock, and says what is due to be said."""
        while True:
            await asyncio.sleep(1.0)
            now = time.monotonic()
            for run in self.runs:
                run.tick(now)
            if self.servers:
                self._look_at(self.servers, now)
            if self._lock:
                await asyncio.to_thread(self._lock.renew)
            for file in [*(file for run in self.runs for file in run.files), self.events.file]:
                await asyncio.to_thread(file.sync)


def stopped(name: str, where: str) -> JobEnded:
    """The end by a signal."""
    return JobEnded(f"Stopped by {name}: {where}", EXIT_STOPPED, "stopped")


def skip_line(plan: Plan) -> str:
    """The line of a dataset that needs nothing."""
    name, budget = plan.dataset.name, plan.dataset.token_budget
    if budget is not None and plan.budget_met:
        return f"  {name}: budget already met ({plan.tokens:,} of {budget:,} tokens), skipping"
    return f"  {name}: all {plan.total} prompts done, skipping"


def load_plan(dataset: Dataset, out: Path, log: Log | HeldLog, *, write: bool = True, halt: Halt | None = None) -> Plan:
    """Finds out what is done and what is to do, and says it.

    Args:
        dataset: The dataset.
        out: The folder of all results.
        log: Where to say it.
        write: Whether files may be mended and written (not when only planning).
        halt: Ends it early.
    """
    results = read_results(out / dataset.name / "results.jsonl", halt)
    say_results(dataset.name, results, log)
    if write and (results.half or results.unended):
        file = AppendFile(out / dataset.name / "results.jsonl")
        if results.half:
            file.cut(results.whole)
        file.mend()
        file.close()
    plan = Plan(dataset, tokens=results.tokens, results=len(results.ids))
    for tokens, number in results.counts.items():
        plan.lengths.add(tokens, number)
    if plan.budget_met:
        return plan
    log.line(f"Loading and tokenizing prompts for {dataset.name}...")
    try:
        PromptScan(plan, results.ids, out / dataset.name if write else None, halt).run()
    except UnreadableError as error:
        message = f"{dataset.name}: the prompts file {dataset.prompts} can't be read ({error})."
        raise JobEnded(message, EXIT_CONFIG) from error
    if write:
        write_rejected(plan, out)
    say_prompts(plan, log)
    return plan


def say_results(name: str, results: Results, log: Log | HeldLog) -> None:
    """Says what was odd about the results file."""
    if results.half:
        log.line(
            f"  {name}: the last line of results.jsonl was cut off ({results.half} bytes); removed, to be done again"
        )
    if results.unreadable:
        log.line(f"  WARNING: {name}: {results.unreadable} lines of results.jsonl can't be read; to be done again")


def say_prompts(plan: Plan, log: Log | HeldLog) -> None:
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
    """One dataset at work in this process: what of it may start, and what came of what was started.

    Args:
        job: What the datasets share.
        plan: What there is to do.

    Attributes:
        name: Its name.
        concurrency: Its requests that fill the servers.
        rejected: Lines of its prompts file that can't be used.
        figures: Its counts.
        in_flight: Its requests that were sent and are not yet settled.
        places: Those of them that the servers still work on.
        files: What it writes.
    """

    def __init__(self, job: Job, plan: Plan) -> None:
        assert plan.file is not None  # noqa: S101 - there is something to do
        self.name = plan.dataset.name
        self.concurrency = plan.dataset.concurrency
        self.rejected = len(plan.rejected)
        self.figures = Figures(plan, time.monotonic())
        self.in_flight: dict[asyncio.Task[None], Pending] = {}
        self.places = 0
        self._job = job
        self._plan = plan
        self._prompts = plan.file
        self._next = 0
        self._waiting: list[tuple[float, int, Pending]] = []
        self._order = 0
        self._beat_at = self._line_at = self.figures.started
        self._error_line_at = 0.0
        self._errors_unsaid = 0
        folder = job.settings.out / self.name
        self._results = AppendFile(folder / "results.jsonl")
        self._errors = AppendFile(folder / "errors.jsonl")
        self._errors.mend()
        self.files = (self._results, self._errors)

    def announce(self) -> None:
        """Says what is about to be done."""
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

    @property
    def _left(self) -> int:
        """Prompts that were never begun."""
        return len(self._plan.todo) - self._next

    def is_finished(self) -> bool:
        """Whether the dataset is at its end."""
        return not self.in_flight and ((not self._left and not self._waiting) or self.figures.budget_met)

    def is_dry(self, now: float) -> bool:
        """Whether it has nothing to start for now: nothing is left, or its budget has no room.

        Before the first completion nothing is known of its lengths, so a budget that looks full then does not count.
        """
        return not self._left or (self._plan.lengths.count > 0 and not self.figures.may_start(now))

    def is_nearly_dry(self, now: float) -> bool:
        """Whether it will soon have nothing to start."""
        budget = self._plan.dataset.token_budget
        if self._left <= self.concurrency or self.is_dry(now):
            return True
        if budget is None or not self._plan.lengths.count:
            return False
        return self.figures.tokens + sum(self.figures.each_in_flight(now).whole) >= NEARLY * budget

    def where(self) -> str:
        """How far it is, and what is aborted when the job ends now."""
        figures, plan = self.figures, self._plan
        text = f"{self.name} has {plan.done + figures.done} of {plan.total} done, {figures.tokens:,} tokens"
        aborted = len(self.in_flight)
        return text + (f"; {aborted} requests in flight were aborted, the next run does them" if aborted else "")

    def reason(self) -> str:
        """Why it ended: ``all_done``, ``budget`` or ``errors``."""
        nothing_left = not self._left and not self._waiting
        if self.figures.budget_met and (not nothing_left or self.figures.errors):
            return "budget"
        return "errors" if self.figures.errors else "all_done"

    def may_start(self, now: float) -> bool:
        """Whether it has a prompt to send now, and its budget has room for it."""
        due = bool(self._waiting) and self._waiting[0][0] <= now
        return (due or self._left > 0) and self.figures.may_start(now)

    def start(self, server: Server, now: float) -> None:
        """Sends the next prompt: one whose pause is over, else a new one."""
        if self._waiting and self._waiting[0][0] <= now:
            item = heapq.heappop(self._waiting)[2]
        else:
            item = Pending(self._plan.todo[self._next], next(self._job.keys))
            self._next += 1
        item.sent_at, item.server, item.is_lost, item.has_place = now, server, False, True
        self.places += 1
        server.gate.started(item.key)
        server.sent(now)
        self.figures.sent(item.key, now)
        task = asyncio.create_task(self._one(item, server))
        self.in_flight[task] = item

        def ended(task: asyncio.Task[None]) -> None:
            self.in_flight.pop(task, None)
            self._free(item)
            server.gate.ended(item.key)
            self.figures.returned(item.key)
            self._job.failed(task)

        task.add_done_callback(ended)

    def _free(self, item: Pending) -> None:
        """Gives back the place of a request, once."""
        if item.has_place and item.server is not None:
            item.has_place = False
            item.server.in_flight -= 1
            self.places -= 1

    def wait_s(self, now: float) -> float:
        """Seconds until a pause is over. What is due already and could not start waits for an event: no spinning."""
        return self._waiting[0][0] - now if self._waiting and self._waiting[0][0] > now else LONGEST_PAUSE_S

    # ---- one request

    async def _one(self, item: Pending, server: Server) -> None:
        """Sends one prompt and settles what came of it."""
        try:
            prompt = self._read(item)
        except (OSError, ValueError) as error:
            self._give_up(
                item, f"offset {item.offset}", Failure("bad_prompt", clean(f"the file changed: {error}"), again=False)
            )
            return
        request = build_request(server.api, server.model, self._plan.dataset, prompt)
        item.attempts += 1
        started = time.monotonic()
        answer = await self._ask(item, server, request)
        self.figures.returned(item.key)
        if isinstance(answer, Completion):
            self._keep(item, prompt, answer, server, time.monotonic() - started)
        else:
            self._settle_failure(item, prompt.id, answer, server)

    async def _ask(self, item: Pending, server: Server, request: Request) -> Completion | Failure:
        """Waits for an answer, unless it is lost, and reads it."""
        try:
            reply = await server.ask(request)
        except asyncio.CancelledError:
            if not item.is_lost:
                raise
            return Failure("reset", "the server was gone, and this had no answer", free=True)
        if isinstance(reply, Failure):
            return reply
        now = time.monotonic()
        server.heard(item.sent_at, now)
        if reply.status == 200:  # noqa: PLR2004 - HTTP's OK
            # The next request goes out before this answer is read and written: answers often come many at once, and
            # the last of them would wait for all before it. Its tokens stay expected ones until it is read.
            self._free(item)
            self._job.start_some(now)
            await asyncio.sleep(0)
        return read_answer(request.path, reply.status, reply.body, reply.retry_after)

    def abandon(self, server: Server, until: float) -> int:
        """Ends the wait for requests that were sent to a server until a moment; they go elsewhere. Returns how many."""
        lost = [
            task
            for task, item in self.in_flight.items()
            if item.has_place and item.server is server and item.sent_at <= until
        ]
        for task in lost:
            self.in_flight[task].is_lost = True
            task.cancel()
        return len(lost)

    def _read(self, item: Pending) -> Prompt:
        self._prompts.seek(item.offset)
        return parse_prompt(self._prompts.readline(), system_prompt=self._plan.dataset.system_prompt is not None)

    def _keep(self, item: Pending, prompt: Prompt, answer: Completion, server: Server, seconds: float) -> None:
        """Writes a result; id and tokens come first, see ``RESULT_HEAD``."""
        said = {"prompt_tokens": answer.prompt_tokens, "finish_reason": answer.finish_reason}
        said |= {"seconds": round(seconds, 3), "attempt": item.attempts}
        head = {"id": prompt.id, "completion_tokens": answer.completion_tokens, **said}
        at = utc_now()
        where = {"server": server.url, "finished_at": at}
        self._results.append_soon({**head, **where, "text": answer.text, **answer.extra}, self._job.storage_failed)
        self._job.events.completion(at, {"dataset": self.name, **head}, self._job.storage_failed)
        self._job.completions += 1
        self.figures.completed(answer.completion_tokens, seconds)
        server.gate.completed(time.monotonic())
        if self.figures.done % self._job.settings.progress_every == 0:
            self._say_progress(time.monotonic())

    def _settle_failure(self, item: Pending, prompt_id: str, failure: Failure, server: Server) -> None:
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
        spent = self._is_spent(item, failure, now)
        if spent:
            self._give_up(item, prompt_id, failure)
        else:
            self._error(item, prompt_id, failure, attempt, final=False)
        self._tell_gate(item, failure, server, now)
        if not spent:
            self._put_back(item, failure, server, now)

    def _is_spent(self, item: Pending, failure: Failure, now: float) -> bool:
        """Whether a prompt has had all its chances; takes the attempt back where it doesn't count."""
        if failure.free:
            item.attempts -= 1
            return False
        if failure.busy:
            item.attempts -= 1
            item.busy_since = now if item.busy_since is None else item.busy_since
            return now - item.busy_since > self._job.settings.server_timeout
        item.busy_since = None
        return item.attempts >= self._job.settings.max_attempts

    def _put_back(self, item: Pending, failure: Failure, server: Server, now: float) -> None:
        """Lets a prompt wait for its next attempt: pause = backoff x 2^n, at most a minute, times 0.5 to 1.

        Where one of several servers is busy or gone, the prompt goes to another one, and only that server rests.
        """
        growth = min(LONGEST_PAUSE_S, self._job.settings.backoff * 2 ** min(item.pauses, 16))
        pause = max(failure.retry_after, growth * random.uniform(0.5, 1.0))  # noqa: S311 - spreads load, no secret
        item.pauses += 1
        self._order += 1
        if failure.busy:
            server.busy_until = max(server.busy_until, now + pause)
        servers = self._job.servers
        if (failure.busy or failure.kind == "connect") and servers and servers.others_open(server, now):
            pause = 0.0
        heapq.heappush(self._waiting, (now + pause, self._order, item))

    @staticmethod
    def _tell_gate(item: Pending, failure: Failure, server: Server, now: float) -> None:
        if failure.kind == "connect":
            server.gate.lost(failure.message, now)
            return
        if failure.free:
            return
        server.gate.failed(item.key, failure.kind, now)
        if failure.kind == "reset":
            server.gate.doubted(now)

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

    def tick(self, now: float) -> None:
        """Says what is due to be said."""
        if now - self._line_at >= self._job.settings.progress_seconds:
            self._say_progress(now)
        elif now - self._beat_at >= HEARTBEAT_S:
            self._beat(now)

    def _say_progress(self, now: float) -> None:
        self._line_at = now
        self._beat(now)
        self._job.log.line(self.figures.progress_line(now, self._job.name_in_log(self.name)))

    def _beat(self, now: float) -> None:
        self._beat_at = now
        figures = self.figures
        figures.sample(now)
        counts = {"done": figures.done, "errors": figures.errors, "in_flight": figures.in_flight}
        self._job.events.say("heartbeat", dataset=self.name, **counts, tokens=figures.tokens)

    def status_lines(self) -> Iterator[str]:
        """The lines of a status block."""
        figures, now = self.figures, time.monotonic()
        yield figures.progress_line(now, self._job.name_in_log(self.name))
        running = f"{len(self.in_flight)} in flight, {len(self._waiting)} wait for another attempt"
        since = words_for_seconds(now - figures.started)
        yield f"  {self.name}: {running}, {self._left} not begun, {since} since its start"

    # ---- ending

    def close(self, reason: str) -> None:
        """Closes its files and says its last line."""
        now = time.monotonic()
        figures = self.figures
        self._plan.close()
        try:
            self._results.close()
        finally:
            self._errors.close()
            if self._errors_unsaid:
                self._job.log.line(
                    f"  ERROR: {self.name}: {self._errors_unsaid} more prompts given up, see errors.jsonl"
                )
            self._job.log.line(figures.end_line(now, reason))
        counts = {"done": figures.done, "errors": figures.errors, "tokens": figures.tokens, "over": figures.over}
        seconds = round(now - figures.started, 3)
        self._job.events.say("dataset_finished", dataset=self.name, **counts, seconds=seconds, reason=reason)


# ------------------------------------------------------------------------------------------------------ status, dry run


def print_status(settings: Settings, log: Log) -> None:
    """Prints where each dataset stands, from the files alone; needs no lock and changes nothing."""
    for dataset in settings.datasets:
        folder = settings.out / dataset.name
        results = read_results(folder / "results.jsonl")
        plan = Plan(dataset, tokens=results.tokens, results=len(results.ids))
        errors = len(open_errors(folder / "errors.jsonl", results.ids))
        try:
            PromptScan(plan, results.ids).run()
        except UnreadableError as error:
            log.line(f"{dataset.name}: the prompts file can't be read ({error})")
            continue
        budget = "no budget" if dataset.token_budget is None else f"budget {dataset.token_budget:,}"
        mean = f"{plan.tokens / plan.results:,.0f}" if plan.results else "?"
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
            text = f"  Would run {len(plan.todo)} requests ({limits}), {plan.done} already done"
            budget = dataset.token_budget
            log.line(text if budget is None else f"{text}, remaining budget: {budget - plan.tokens:,} tokens")


# ----------------------------------------------------------------------------------------------------------------- main


def build_parser() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="run_inference.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--config", metavar="FILE", help="the job: JSON, or YAML when the name ends in .yaml or .yml")
    text = "a dataset, in place of a config or after its own; keys as there; may be given several times"
    add("--dataset", action="append", default=[], metavar="KEY=VALUE,...", help=text)
    text = "base URL (default http://127.0.0.1:30000); may be given several times"
    add("--server", action="append", default=[], metavar="URL", help=text)
    add("--out", metavar="DIR", help="where results go")
    add("--api", choices=APIS, help="how to ask (default auto: SGLang's own API when the server has it)")
    add("--model", metavar="NAME", help="model for OpenAI endpoints (default: the server's first)")
    add("--order", choices=ORDERS, help="which prompts of a dataset go first (default: as they stand in the file)")
    add("--no-overlap", action="store_true", help="a dataset begins only when the one before is done")
    add("--client", choices=CLIENTS, default="auto", help="HTTP library (default auto: aiohttp, else httpx)")
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


async def run_job(settings: Settings, log: Log, lock: Lock) -> int:
    """Runs the job with its signals and its last words; returns the exit status."""
    job = Job(settings, log, lock)
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
            return asyncio.run(run_job(settings, log, lock))
        finally:
            lock.release()
    except JobEnded as end:
        print(end.message, file=sys.stderr)
        return end.exit_code


def _run() -> NoReturn:
    gc.set_threshold(COLLECT_EVERY, 50, 50)
    sys.exit(main())


if __name__ == "__main__":
    _run()
