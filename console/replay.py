"""``longwait replay --at``: recorded logs through the same core as the live console, honest in time.

No link, process or health was asked, so nothing of these is known.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from console.job.reading import reading, text
from console.replay_files import Given, Recording, load
from console.replay_moments import BadMoment, moments_of
from console.replay_walk import Replay

if TYPE_CHECKING:
    from console.config import Settings

GUESSED = "The job's log has no stamps: its times are guessed from the durations that it tells."
"""What is said of a recording whose times are not its own."""


def run_replay(given: Given, settings: Settings | None, moments: str, *, as_json: bool) -> int:
    """Print the reading at each moment, in the order in which they were given."""
    try:
        recording = load(given, settings)
        times = moments_of(moments, recording.logs)
        tell_guesses(recording)
        replay = Replay(recording.logs, recording.fresh)
        taken = {at: replay.at(at) for at in sorted(set(times))}
    except (OSError, BadMoment) as error:
        click.echo(f"The replay can't be made: {why(error)}", err=True)
        return 2
    for at in times:
        click.echo(json.dumps(reading(taken[at])) if as_json else text(taken[at]) + "\n")
    return 0


def tell_guesses(recording: Recording) -> None:
    """Say that times are guessed, when they are."""
    if recording.guessed:
        click.echo(GUESSED, err=True)


def why(error: OSError | BadMoment) -> str:
    """Why a recording can't be played, as a sentence."""
    if isinstance(error, OSError):
        return f"{error.filename}: {error.strerror}."
    return str(error)
