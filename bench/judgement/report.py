"""The tables of each command."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.judgement.families_faulty import FAULTS
from bench.judgement.score_eta import DATASET, WHOLE
from bench.judgement.score_lengths import AFTER
from bench.judgement.tables import eta_table, missing_as, percent, quantile, table, worst

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench.judgement.score_alarms import AlarmScore
    from bench.judgement.score_eta import EtaScore
    from bench.judgement.scored import Scored

_TITLES = {"logs": "by logs alone", "all": "with progress.jsonl"}


def accuracy(scored: Sequence[Scored]) -> str:
    """Times left, by each way of reading."""
    parts = []
    for way, title in _TITLES.items():
        mine = [each for each in scored if each.way == way]
        if not mine:
            continue
        whole = [said for each in mine for said in each.eta.whole]
        datasets = [said for each in mine for said in each.eta.datasets]
        parts += [
            eta_table(f"Time left of the whole run, {title}: |said - true| / true", whole, WHOLE),
            worst(whole, 0.05),
            eta_table(f"Time left of the dataset at work, {title}", datasets, DATASET),
            worst(datasets, 0.10),
        ]
    return "\n".join(parts)


def luck(scores: Sequence[EtaScore]) -> str:
    """What luck alone leaves, of the same form as ``accuracy``."""
    parts = {
        "the whole run": [said for score in scores for said in score.whole],
        "the dataset at work": [said for score in scores for said in score.datasets],
    }
    return "\n".join(
        eta_table(f"Time left of {what}, the middle of other futures", said, sorted({one.stage for one in said}))
        for what, said in parts.items()
    )


def lengths(scored: Sequence[Scored]) -> str:
    """Mean completion lengths, by each way of reading."""
    parts = []
    for way, title in _TITLES.items():
        found = [length for each in scored if each.way == way for length in each.lengths]
        if not found:
            continue
        rows = []
        for after in AFTER:
            here = [length for length in found if length.after == after]
            errors = missing_as([length.error(length.expected) for length in here], 1.0)
            printed = missing_as([length.error(length.printed) for length in here], 1.0)
            silent = sum(length.expected is None for length in here)
            figures = [quantile(errors, 0.5), quantile(errors, 0.9), quantile(printed, 0.5), quantile(printed, 0.9)]
            rows.append((f"{after}", str(len(here)), str(silent), *map(percent, figures)))
        head = ("completions", "n", "none", "median", "90th", "avg_comp median", "avg_comp 90th")
        parts.append(table(f"Mean completion length of a dataset, {title}: error", head, rows))
        known = sorted(
            (length for length in found if length.after in {100, 200}),
            key=lambda one: -(one.error(one.expected) or 1.0),
        )
        lines = [
            f"  {length.where} after {length.after}: {length.expected or 0:.0f} expected, {length.true:.0f} true"
            for length in known[:6]
        ]
        parts.append("\n".join(["worst:", *lines, ""]))
    return "\n".join(parts)


def alarms(scored: Sequence[Scored]) -> str:
    """False alarms, and how faults were found, by each way of reading."""
    parts = []
    for way, title in _TITLES.items():
        mine = [each.alarms for each in scored if each.way == way]
        if mine:
            parts += [_false(mine, title), _found(mine, title)]
    return "\n".join(parts)


def _false(scores: Sequence[AlarmScore], title: str) -> str:
    families = sorted({score.family for score in scores})
    rows = []
    for family in families:
        here = [score for score in scores if score.family == family]
        rows.append((family, *_row(here)))
    rows.append(("all", *_row(scores)))
    head = ("family", "runs", "healthy h", "intervene", "watch", "watch min/h", "changes/h", "verdicts/h")
    text = table(f"False alarms in healthy hours, {title}", head, rows)
    wrong = [alarm for score in scores for alarm in score.false]
    wrong.sort(key=lambda alarm: (alarm.verdict != "intervene", -alarm.lasted_s))
    lines = [
        f"  {alarm.family} seed {alarm.seed} at {alarm.at_s / 3600:.2f}h for {alarm.lasted_s / 60:.0f} min: "
        f"{alarm.verdict} {alarm.cause}: {alarm.headline}"
        for alarm in wrong[:12]
    ]
    return "\n".join([text, *lines, ""]) if lines else text


def _row(scores: Sequence[AlarmScore]) -> tuple[str, ...]:
    hours = sum(score.healthy_h for score in scores)
    wrong = [alarm for score in scores for alarm in score.false]
    watched = sum(alarm.lasted_s for alarm in wrong if alarm.verdict == "watch") / 60
    per_h = [watched, sum(score.changes for score in scores), sum(score.flips for score in scores)]
    counts = [sum(alarm.verdict == word for alarm in wrong) for word in ("intervene", "watch")]
    rates = (f"{value / hours:.2f}" if hours else "--" for value in per_h)
    return (str(len(scores)), f"{hours:.0f}", *map(str, counts), *rates)


def _found(scores: Sequence[AlarmScore], title: str) -> str:
    rows, misses = [], []
    for kind in FAULTS:
        here = [score for score in scores if score.kind == kind]
        if not here:
            continue
        delays = [score.delay_s for score in here if score.delay_s is not None]
        missed = [score for score in here if score.delay_s is None]
        other = [score for score in here if score.first and not score.named]
        worst_s = max(delays, default=None)
        rows.append(
            (
                kind,
                str(len(here)),
                str(len(missed)),
                _minutes(quantile(delays, 0.5)),
                _minutes(worst_s),
                str(len(other)),
            )
        )
        late = [score for score in here if worst_s is not None and score.delay_s == worst_s and worst_s > _LATE_S]
        misses += [f"  {kind} seed {score.seed} missed; said {_most(score)}" for score in missed[:4]]
        misses += [f"  {kind} seed {score.seed} late: {_minutes(score.delay_s)}; said {_most(score)}" for score in late]
        misses += [f"  {kind} seed {score.seed} first said {score.first}" for score in other[:3]]
    if not rows:
        return ""
    head = ("fault", "runs", "missed", "median min", "worst min", "other cause first")
    return "\n".join([table(f"Faults found, {title}: minutes after the logs can show them", head, rows), *misses, ""])


_LATE_S = 900.0


def _minutes(seconds: float | None) -> str:
    return "--" if seconds is None else f"{seconds / 60:.1f}"


def _most(score: AlarmScore) -> str:
    said = sorted(score.said.items(), key=lambda each: -each[1])
    return ", ".join(f"{words} {minutes} min" for words, minutes in said[:3])


def speed(scored: Sequence[Scored]) -> str:
    """What simulating and playing takes."""
    rows = [
        (
            f"{each.family} seed {each.seed} {each.way}",
            f"{each.hours:.1f}",
            f"{each.lines:,}",
            f"{each.simulate_s:.2f}",
            f"{each.play_s:.2f}",
            f"{1000 * each.play_s / max(1.0, each.hours * 60):.2f}",
        )
        for each in scored
    ]
    return table("Seconds", ("run", "hours", "lines", "simulate s", "play s", "play ms/reading"), rows)
