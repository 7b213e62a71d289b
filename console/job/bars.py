"""Progress that other people's jobs print: tqdm bars, vLLM's batch bars, plain ``n/m`` counters.

Shapes: tqdm's ``desc:  45%|####5     | 450/1000 [12:30<15:20,  1.67s/it, postfix]``; vLLM's ``Processed prompts:``,
one of those; ``Running batch: 45% Completed | 450/1000 [12:30<15:20, 1.67req/s]`` of its ``run_batch``. A bar that
loads weights, captures graphs or prepares data is no progress of the run; nor is a date, a path or a shard count.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from console.job.figures import NUMBER, clock, magnitude, real, whole
from console.job.formats import QUIET, Format
from console.job.job_events import Progress

if TYPE_CHECKING:
    from console.job.events import Event

_FIGURE = r"[0-9][0-9.,]{0,20}[kKMGT]?"
_TIMES = (
    r"\[(?P<spent>[0-9:]{1,12})<(?P<left>[0-9:?]{1,12})"
    r"(?:, *(?P<rate>[0-9]{1,9}(?:\.[0-9]{1,9})?|\?) ?(?P<unit>[^\],\s]{1,24}))?"
    r"[^\]]{0,200}\]?"
)
_PERCENT = r"[0-9]{1,3}(?:\.[0-9]+)?%"
_BAR = re.compile(rf"{_PERCENT}\|[^|]{{0,400}}\| *(?P<done>{_FIGURE})/(?P<total>{_FIGURE}) {_TIMES}")
_COMPLETED = re.compile(rf"{_PERCENT} Completed \| *(?P<done>{NUMBER})/(?P<total>{NUMBER}) {_TIMES}")
_COUNTER = re.compile(
    rf"^\s*(?P<name>[A-Za-z][A-Za-z ]{{0,30}}?[:=]? +)?\[?(?P<done>{NUMBER})(?:/| of | / )(?P<total>{NUMBER})"
    rf"(?=$|[\s;:)\]-]|,\s|\.$)(?! *[0-9]{{2}}:[0-9]{{2}})"
)
_NOT_THE_RUN = re.compile(
    r"\b(?:load|loading|shards?|captur\w*|map|filter|adding|rendering|generating|download\w*|fetch\w*|tokeniz\w*|warm\w*"
    r"|compil\w*|epoch|attempt|try|retry|retries|gpu|rank|worker|node|layer|page|part|file|port|version|cpu|import\w*|save\w*)\b",
    re.IGNORECASE,
)
"""Words before a bar or counter that count something other than the run's requests."""
_SCALES = {"kit/s": 1e3, "Mit/s": 1e6}
_NAME = 200
"""Characters before a bar in which its name is looked for."""
_LEAST = 3
"""Totals below this are shards, retries and phases, not prompts."""


def _progress(found: re.Match[str]) -> tuple[Event, ...] | None:
    """The progress that a bar or counter shows; quiet for other bars, None for what is no counter."""
    groups = found.groupdict()
    done, total = _amount(groups["done"]), _amount(groups["total"])
    if done is None or total is None or done > total:
        return None
    name = groups.get("name") or found.string[: found.start()][-_NAME:]
    if _NOT_THE_RUN.search(name) or (groups.get("unit") or "").endswith("B/s"):
        return QUIET
    rate = _per_second(groups.get("rate"), groups.get("unit") or "")
    return (Progress("", done, total, requests_per_s=rate, eta_s=clock(groups.get("left"))),)


def _counter(found: re.Match[str]) -> tuple[Event, ...] | None:
    """A plain counter's progress; None when the total is too small to be one, or it counts something else."""
    if (whole(found["total"]) or 0) < _LEAST or _NOT_THE_RUN.search(found["name"] or ""):
        return None
    return _progress(found)


def _amount(text: str) -> int | None:
    """``450``, ``9,263`` or tqdm's scaled ``1.23k``."""
    plain = whole(text)
    scaled = magnitude(text) if plain is None else None
    return plain if scaled is None else round(scaled)


def _per_second(rate: str | None, unit: str) -> float | None:
    """A bar's rate: ``1.67s/it`` below one a second, ``1.67it/s`` above."""
    figure = real(rate)
    if not figure or figure < 0:
        return None
    return 1.0 / figure if unit.startswith("s/") else figure * _SCALES.get(unit, 1.0)


BARS = (
    Format(
        "tqdm bar",
        "%|",
        _BAR,
        _progress,
        (
            "generate:  45%|####5     | 450/1000 [12:30<15:20,  1.67s/it, ok=449]",
            " 64%|██████▍   | 5971/9263 [2:16:18<1:17:49,  1.42s/it]",
            "Processed prompts:  64%|█▌ | 5971/9263 [2:16:18<1:17:49,  1.42s/it, est. speed input: 72.62 toks/s]",
            "  0%|          | 0/83288 [00:00<?, ?it/s]",
        ),
    ),
    Format(
        "batch bar",
        "% Completed |",
        _COMPLETED,
        _progress,
        ("Running batch:  45% Completed | 450/1000 [12:30<15:20, 1.67req/s]",),
    ),
    Format(
        "counter",
        "",
        _COUNTER,
        _counter,
        (
            "[450/1000]",
            "450/1000",
            "450 of 1000",
            "processed 450/1000 prompts",
            "Batch 3/20",
            "Done: 1,450/83,288, 3 failed",
        ),
    ),
)
"""Bars first: a counter's pattern would find its figures in them."""
