"""One dataset in words: each figure with its unit and its source, and what can't be told."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from console.job import units
from console.job.snapshot import DatasetState, DatasetView, Trend
from console.panels import words
from console.panels.dataset_columns import ENDED, is_seen

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime, tzinfo

    from console.job.dataset_detail import DatasetDetail
    from console.job.snapshot import ServerView

JOB_LOG, PROGRESS, SERVER, RECKONED = "job's log", "progress.jsonl", "server's log", "reckoned"
"""Where figures come from."""

HARDLY = 50
"""What former processes did is told apart where it is more than this part of all."""

KINDS_SHOWN = 6
"""Kinds of errors that are named; the others are counted together."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One line about the dataset.

    Attributes:
        label: One or two words.
        text: The figure with its unit, as a sentence or two.
        source: Where it comes from, and how old it is; may be empty.
        alert: It is a reason to look closer.
    """

    label: str
    text: str
    source: str = ""
    alert: bool = False


def figures(
    view: DatasetView, detail: DatasetDetail | None, server: ServerView, now: datetime, zone: tzinfo | None
) -> tuple[Figure, ...]:
    """Say all that is known of a dataset.

    Args:
        view: Its line in the snapshot.
        detail: What was looked up beside it; None while it is not there.
        server: The server.
        now: The present.
        zone: The operator's zone; None is this machine's.
    """
    told = _told_by(view, detail, now)
    found = [
        Figure("Prompts", _prompts(view), told),
        Figure("Tokens", _tokens(view, detail), told),
        Figure("Length", _length(view, detail), RECKONED if view.expected_completion_tokens else told),
        Figure("Limits", _limits(view), told),
    ]
    if view.state is DatasetState.RUNNING:
        found.append(Figure("In flight", _flight(view, detail, server), _flight_source(detail)))
        found.append(Figure("Speed", f"{units.requests_rate(view.requests_per_s)} as the job printed it last", told))
    found += [
        _errors(view, detail, told),
        *_over(view, detail),
        Figure("End", _end(view, detail, now, zone), RECKONED if view.state not in ENDED else told),
    ]
    if missing := tuple(untold(view, detail)):
        found.append(Figure("Not told", " ".join(missing)))
    return tuple(found)


def _told_by(view: DatasetView, detail: DatasetDetail | None, now: datetime) -> str:
    by = f"{JOB_LOG}, {PROGRESS}" if detail is not None and detail.has_progress else JOB_LOG
    return f"{by}, {units.age(view.updated_at, now)}" if view.updated_at else "the plan"


def _prompts(view: DatasetView) -> str:
    if not is_seen(view):
        return f"{units.count(view.total)} to do; it has not begun"
    share = f" ({units.percent(view.done / view.total)})" if view.total else ""
    said = [f"{units.count(view.done)} of {units.count(view.total)} done{share}"]
    if view.done_before:
        said.append(f"{units.count(view.done_before)} of them by former processes of the job")
    if view.budget_share is not None and view.total and view.state not in ENDED:
        said.append(f"the budget will end it at about {units.count(view.budget_share * view.total)}")
    elif view.budget_share is not None and view.total:
        said.append(f"the budget left out {units.count(view.total - view.done)}")
    return "; ".join(said)


def _tokens(view: DatasetView, detail: DatasetDetail | None) -> str:
    budget = f" of a budget of {units.tokens(view.budget)}" if view.budget else ", no budget known"
    said = [f"{units.tokens(view.tokens)} completion tokens{budget}"]
    if view.budget and view.tokens is not None:
        said[0] += f" ({units.percent(view.tokens / view.budget)})"
    if detail is not None and detail.tokens_run is not None and view.done_before * HARDLY > view.done:
        said.append(f"{units.tokens(detail.tokens_run)} by this process")
    if detail is not None and detail.lengths.ages:
        said.append(f"{units.tokens(sum(detail.lengths.ages))} more made by what is in flight")
    if detail is not None and detail.prompt_tokens:
        said.append(f"prompts took {units.tokens(detail.prompt_tokens)}")
    return "; ".join(said)


TRENDS = {
    Trend.RISING: ", and longer of late",
    Trend.FALLING: ", and shorter of late",
    Trend.FLAT: ", and steady",
    Trend.UNKNOWN: "",
}
"""How the mean length moves, in words."""


def _length(view: DatasetView, detail: DatasetDetail | None) -> str:
    said = f"{units.count(view.mean_completion_tokens)} tok/req on average{TRENDS[view.mean_trend]}"
    if view.expected_completion_tokens is None or view.state in ENDED:
        return said
    span = detail.expected if detail is not None else None
    low_high = f" ({units.count(span[0])} to {units.count(span[1])})" if span else ""
    return f"{said}; {units.count(view.expected_completion_tokens)} tok/req expected of all{low_high}"


def _limits(view: DatasetView) -> str:
    return (
        f"at most {units.count(view.max_tokens)} new tok a request (max_tokens),"
        f" {units.count(view.concurrency)} requests at once (concurrency)"
    )


def _flight(view: DatasetView, detail: DatasetDetail | None, server: ServerView) -> str:
    said = [f"{units.count(view.in_flight)} requests sent and not answered"]
    if server.running is not None:
        said.append(f"the server runs {units.count(server.running)}, {units.count(server.queue)} wait in it")
    ages = detail.lengths.ages if detail is not None else ()
    if ages:
        said.append(
            f"{units.count(len(ages))} of known age have made {units.count(ages[0])} to {units.count(ages[-1])} tok,"
            f" {units.count(median(ages))} in the middle"
        )
    if detail is not None and ages and detail.lengths.ageless:
        said.append(f"{units.count(detail.lengths.ageless)} of unknown age")
    return "; ".join(said)


def _flight_source(detail: DatasetDetail | None) -> str:
    return f"{JOB_LOG}, {SERVER}, reconstructed" if detail is not None and detail.lengths.ages else JOB_LOG


def _errors(view: DatasetView, detail: DatasetDetail | None, told: str) -> Figure:
    given = view.errors if is_seen(view) else None
    share = f" ({units.percent(view.errors / tried)})" if (tried := view.done + view.errors) and view.errors else ""
    said = [f"{units.count(given)} given up for good{share}"]
    kinds = detail.failures if detail is not None else ()
    if not kinds:
        return Figure("Errors", said[0], told, alert=bool(view.errors))
    named = [
        f"{one.kind} {units.count(one.attempts)}" + (f" ({units.count(one.final)} for good)" if one.final else "")
        for one in kinds[:KINDS_SHOWN]
    ]
    if rest := kinds[KINDS_SHOWN:]:
        named.append(f"{len(rest)} other kinds {units.count(sum(one.attempts for one in rest))}")
    said.append(f"failed attempts by kind, all processes: {', '.join(named)}")
    return Figure("Errors", "; ".join(said), PROGRESS, alert=bool(view.errors))


def _over(view: DatasetView, detail: DatasetDetail | None) -> Iterable[Figure]:
    """What was made for nothing: answers cut at the cap, and tokens beyond the budget."""
    if detail is None:
        return
    said = []
    lengths = detail.lengths
    if lengths.capped is not None and lengths.judged:
        share = units.percent(lengths.capped / lengths.judged)
        cost = f", {units.tokens(lengths.capped_tokens)} tok" if lengths.capped and lengths.capped_tokens else ""
        said.append(
            f"{units.count(lengths.capped)} of {units.count(lengths.judged)} completions"
            f" ended at the length cap ({share}{cost})"
        )
    if detail.over_budget is not None:
        beyond = units.percent(detail.over_budget / view.budget) if view.budget else ""
        said.append(
            f"{units.tokens(detail.over_budget)} tok beyond the budget ({beyond})"
            if detail.over_budget
            else "no token beyond the budget"
        )
    if said:
        by = {"progress": PROGRESS, "server": f"{SERVER}, reconstructed"}.get(lengths.source, JOB_LOG)
        yield Figure("Over", "; ".join(said), by)


def _end(view: DatasetView, detail: DatasetDetail | None, now: datetime, zone: tzinfo | None) -> str:
    if detail is not None and detail.ended_at is not None:
        said = [f"ended {words.clock(detail.ended_at, now, zone)}, {units.age(detail.ended_at, now)}"]
        held = [one.told.holds(detail.ended_at) for one in detail.said]
        if held:
            said.append(f"of {units.plural(len(held), 'range')} said before, {sum(held)} held")
        return "; ".join(said)
    if view.state in ENDED:
        return "ended"
    if view.eta is None:
        return "can't be told now"
    left = units.duration((view.eta - now).total_seconds())
    said = [f"{left} left: {words.clock(view.eta, now, zone)}"]
    if view.eta_low is not None and view.eta_high is not None:
        low, high = (words.clock(at, now, zone) for at in (view.eta_low, view.eta_high))
        said[0] += f", 80 % sure {low} to {high}"
    if detail is not None and len(detail.said) > 1:
        first = detail.said[0].told
        low, high = (words.clock(at, now, zone) for at in (first.low, first.high))
        said.append(f"said first, at {words.clock(first.at, now, zone)}: {low} to {high}")
    return "; ".join(said)


def untold(view: DatasetView, detail: DatasetDetail | None) -> Iterable[str]:
    """Say what can't be told from the logs at hand, and why; nothing of what has not begun."""
    if detail is None:
        yield "Nothing has been looked up yet."
        return
    if not is_seen(view):
        return
    if not detail.has_progress:
        yield f"No {PROGRESS} is read: errors have no kinds, and lengths are no more than the server's log shows."
    yield from _untold_lengths(view, detail)
    if view.state is DatasetState.RUNNING:
        yield from _untold_flight(detail)
    if len(detail.path) < 2:  # noqa: PLR2004 -- a line has two ends
        yield "How far it was before: no line of the job at hand tells that."


def _untold_lengths(view: DatasetView, detail: DatasetDetail) -> Iterable[str]:
    lengths = detail.lengths
    left = view.done - view.done_before - lengths.counted
    if not lengths.source:
        yield "Single lengths: neither log lets requests be told apart."
    elif not lengths.counted and view.done > view.done_before:
        yield "Lengths of what is finished: no more than what is in flight can be told apart in the server's log now."
    elif lengths.source == "server" and left > 0:
        yield (
            f"Lengths of {units.plural(left, 'completion')}: the server's log lets only the first some hundred of a"
            " dataset be told apart."
        )


def _untold_flight(detail: DatasetDetail) -> Iterable[str]:
    if not detail.lengths.ages:
        yield "Ages of what is in flight: the server's log does not show what joined and left."
    elif detail.at_work > 1:
        yield f"Which of the requests in flight are its own: {detail.at_work} datasets are at work."
