"""A snapshot as the JSON object of ``status --json`` and ``replay --json``, and as plain text for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from console.job.dataset_run import AT_WORK
from console.job.machine_values import machine_line, machine_values
from console.job.snapshot import Judgement
from console.job.units import age, ahead, count, duration, latency, percent, plural, rate, share, tokens

if TYPE_CHECKING:
    from datetime import datetime

    from console.job.snapshot import DatasetView, Eta, LogView, Option, ServerView, Snapshot

TOLD_SHAPES = 5
"""Shapes of lines that were not understood, in a reading; the console lists more."""

EXIT_CODES = {Judgement.WAIT: 0, Judgement.WATCH: 10, Judgement.INTERVENE: 20, Judgement.BLIND: 30}
"""What ``status`` exits with."""


def reading(snapshot: Snapshot) -> dict[str, Any]:
    """The snapshot as plain values, ready for ``json.dumps``: times are ISO 8601 in UTC, the unknown is None."""
    verdict, eta = snapshot.verdict, snapshot.eta
    return {
        "at": _iso(snapshot.at),
        "verdict": verdict.verdict.value,
        "cause": verdict.cause,
        "headline": verdict.headline,
        "evidence": list(verdict.evidence),
        "action": verdict.action,
        "since": _iso(verdict.since),
        "next_look": _iso(verdict.next_look),
        "options": [_option(each) for each in verdict.options],
        "eta": _iso(eta.at),
        "eta_low": _iso(eta.low),
        "eta_high": _iso(eta.high),
        "eta_coverage": eta.coverage,
        "eta_basis": eta.basis,
        "eta_score": eta.score,
        "tokens_left": eta.tokens_left,
        "datasets": [_dataset(view) for view in snapshot.datasets],
        "server": _server(snapshot.server),
        "health": _health(snapshot),
        "link": _link(snapshot),
        "job": _job(snapshot),
        "logs": [_log(snapshot, place) for place in range(len(snapshot.logs))],
        "machine": machine_values(snapshot.machine),
    }


def _option(option: Option) -> dict[str, Any]:
    return {
        "act": option.act,
        "words": option.words,
        "tokens_lost": option.tokens_lost,
        "minutes_lost": _rounded(option.minutes_lost, 1),
    }


def _iso(at: datetime | None) -> str | None:
    return at.isoformat(timespec="seconds") if at is not None else None


def _rounded(figure: float | None, digits: int) -> float | None:
    return None if figure is None else round(figure, digits)


def _dataset(view: DatasetView) -> dict[str, Any]:
    return {
        "name": view.name,
        "kind": view.kind,
        "state": view.state.value,
        "done": view.done,
        "done_before": view.done_before,
        "total": view.total,
        "in_flight": view.in_flight,
        "errors": view.errors,
        "tokens": view.tokens,
        "budget": view.budget,
        "mean_completion_tokens": _rounded(view.expected_completion_tokens, 1),
        "mean_finished_tokens": _rounded(view.mean_completion_tokens, 1),
        "mean_trend": view.mean_trend.value or None,
        "budget_share": _rounded(view.budget_share, 4),
        "requests_per_s": view.requests_per_s,
        "concurrency": view.concurrency,
        "max_tokens": view.max_tokens,
        "share": _rounded(view.share, 4),
        "eta": _iso(view.eta),
        "eta_low": _iso(view.eta_low),
        "eta_high": _iso(view.eta_high),
        "updated_at": _iso(view.updated_at),
    }


def _server(view: ServerView) -> dict[str, Any]:
    return {
        "engine": view.engine,
        "phase": view.phase,
        "running": view.running,
        "queue": view.queue,
        "token_usage": view.token_usage,
        "gen_throughput": _rounded(view.gen_throughput, 2),
        "usual_throughput": _rounded(view.usual_throughput, 2),
        "peak_throughput": _rounded(view.peak_throughput, 2),
        "retractions": view.retractions,
        "ranks": view.ranks,
        "usage_by_rank": dict(view.usage_by_rank),
        "capacity_tokens": view.capacity_tokens,
        "kv": view.kv,
        "retractions_last_hour": view.retractions_last_hour,
        "accept_length": _rounded(view.accept_length, 2),
        "cache_hit_rate": _rounded(view.cache_hit_rate, 4),
        "queues": dict(view.queues),
        "updated_at": _iso(view.updated_at),
        "trouble": view.trouble,
    }


def _health(snapshot: Snapshot) -> dict[str, Any]:
    health = snapshot.health
    return {
        "state": health.state,
        "path": health.path,
        "status": health.status,
        "latency_s": _rounded(health.latency_s, 3),
        "checked_at": _iso(health.checked_at),
        "error": health.error,
        "failing_since": _iso(health.failing_since),
    }


def _link(snapshot: Snapshot) -> dict[str, Any]:
    link = snapshot.link
    return {
        "host": link.host,
        "state": link.state,
        "since": _iso(link.since),
        "reason": link.reason,
        "attempt": link.attempt,
        "next_try_at": _iso(link.next_try_at),
        "latency_s": _rounded(link.latency_s, 3),
    }


def _job(snapshot: Snapshot) -> dict[str, Any]:
    job = snapshot.job
    return {
        "pid": job.pid,
        "alive": job.alive,
        "started_at": _iso(job.started_at),
        "command": job.command,
        "script_sha256": job.script_sha256,
        "adopted": job.adopted,
        "checked_at": _iso(job.checked_at),
        "finished": job.finished,
    }


def _log(snapshot: Snapshot, place: int) -> dict[str, Any]:
    log = snapshot.logs[place]
    return {
        "source": log.source,
        "state": log.state,
        "path": log.path,
        "reason": log.reason,
        "lines": log.lines,
        "understood": _rounded(log.understood, 4),
        "lost_bytes": log.lost_bytes,
        "updated_at": _iso(log.updated_at),
        "not_understood": [{"shape": shape, "count": times} for shape, times in log.shapes[:TOLD_SHAPES]],
    }


def line(snapshot: Snapshot) -> str:
    """One line for people: verdict, headline, the dataset at work, throughput, and the end."""
    parts = [f"{snapshot.verdict.verdict.value.upper()} ({snapshot.verdict.cause}): {snapshot.verdict.headline}"]
    at_work = [view for view in snapshot.datasets if view.state in AT_WORK]
    parts.extend(f"{view.name} {count(view.done)}/{count(view.total)} ({percent(view.share)})" for view in at_work)
    if snapshot.server.gen_throughput is not None:
        parts.append(rate(snapshot.server.gen_throughput))
    parts.append(f"ends {_span(snapshot.eta, snapshot.at)}")
    return " | ".join(parts)


def _span(eta: Eta, now: datetime) -> str:
    """When it ends, and the range as durations from now."""
    if eta.at is None:
        return "--"
    if eta.tokens_left == 0 or eta.at <= now:
        return age(eta.at, now)
    if eta.low is None or eta.high is None:
        return ahead(eta.at, now)
    low, high = ((end - now).total_seconds() for end in (eta.low, eta.high))
    return f"{ahead(eta.at, now)} ({duration(low)} to {duration(high)})"


def text(snapshot: Snapshot) -> str:
    """Several lines for people: what ``longwait status`` prints."""
    verdict = snapshot.verdict
    held_s = (snapshot.at - verdict.since).total_seconds() if verdict.since else 0.0
    held = f" (for {duration(held_s)})" if held_s >= 1 else ""
    lines = [f"{verdict.verdict.value.upper()}  {verdict.cause}{held}", verdict.headline]
    lines.extend(f"  - {sentence}" for sentence in verdict.evidence)
    if verdict.action:
        lines.append(f"To do: {verdict.action}")
    lines.extend(f"What it would cost: {option.words}" for option in verdict.options)
    if verdict.next_look:
        lines.append(f"Look again {ahead(verdict.next_look, snapshot.at)}.")
    lines.extend(("", f"Ends {_span(snapshot.eta, snapshot.at)}. {snapshot.eta.basis}".rstrip(), ""))
    lines.extend(_dataset_line(view, snapshot.at) for view in snapshot.datasets)
    lines.extend(("", _server_line(snapshot), _job_line(snapshot)))
    lines.extend(told for told in (machine_line(snapshot.machine, snapshot.at),) if told)
    lines.extend(_log_line(log) for log in snapshot.logs if log.state not in {"", "following"})
    return "\n".join(lines)


def _dataset_line(view: DatasetView, now: datetime) -> str:
    done = f"{count(view.done)}/{count(view.total)}"
    made = f"{tokens(view.tokens)}/{tokens(view.budget)} tokens" if view.budget else f"{tokens(view.tokens)} tokens"
    end = f", ends {ahead(view.eta, now)}" if view.eta else ""
    errors = f", {plural(view.errors, 'error')}" if view.errors else ""
    return f"{view.name:<20} {view.state.value:<15} {done:>15}  {percent(view.share):>6}  {made}{errors}{end}"


def _server_line(snapshot: Snapshot) -> str:
    server, health = snapshot.server, snapshot.health
    load = f"{count(server.running)} run, {count(server.queue)} wait, token usage {share(server.token_usage)}"
    known = f"{load}, {rate(server.gen_throughput)}, {age(server.updated_at, snapshot.at)}"
    asked = "" if health.checked_at is None else f", {latency(health.latency_s)}, {age(health.checked_at, snapshot.at)}"
    return f"Server: {known}. Health: {health.state}{asked}."


def _log_line(log: LogView) -> str:
    """A log that is not followed, and what to do."""
    remedy = "it is picked up when it is written" if log.state == "missing" else "`longwait doctor` checks the paths"
    return f"The {log.source}'s log is not followed: {log.path}: {log.reason or log.state}; {remedy}."


def _job_line(snapshot: Snapshot) -> str:
    job, link = snapshot.job, snapshot.link
    alive = {True: f"runs as {job.pid}", False: "does not run", None: "not asked"}[job.alive]
    where = f" Link to {link.host or 'the host'}: {link.state}." if link.state else ""
    return f"Job: {alive}.{where}"
