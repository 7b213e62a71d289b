"""What touching the run would cost: tokens made again, and minutes by which the end moves.

    minutes = (tokens in flight / tok/s + loading + ramp) / 60

Tokens in flight are lost because a restart of the job or of the server ends its requests, and their prompts are done
again. Loading is what the log shows it to have taken last: the prompts' for the job, the weights' for the server. While
the batch fills again, half of the ramp is lost.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from console.job.lengths import tokens_in_flight
from console.job.snapshot import Option
from console.job.units import count, duration, plural, tokens

if TYPE_CHECKING:
    from console.job.dataset_run import DatasetRun
    from console.job.limits import Limits
    from console.job.server_state import ServerState


@dataclass(frozen=True, slots=True)
class Cost:
    """What a restart costs.

    Attributes:
        requests: Requests in flight, which are made again; None when not known.
        tokens: Tokens that they have made so far; None when not known.
        again_s: Seconds to make them again; None when not known.
        prompts_s: Seconds until the job's requests are sent again; None when not known.
        server_s: Seconds until the server serves again; None when no start of it was seen.
        ramp_s: Seconds lost while the batch fills.
    """

    requests: int | None = None
    tokens: int | None = None
    again_s: float | None = None
    prompts_s: float | None = None
    server_s: float | None = None
    ramp_s: float = 0.0

    def minutes(self, *, server: bool) -> float | None:
        """By how much the end moves; None when too little is known.

        Args:
            server: The server is restarted too.
        """
        if self.again_s is None or (server and self.server_s is None):
            return None
        waits = max(self.prompts_s or 0.0, (self.server_s or 0.0) if server else 0.0)
        return (self.again_s + waits + self.ramp_s) / 60


def cost(
    server: ServerState, run: DatasetRun | None, in_flight: int | None, made_per_s: float | None, limits: Limits
) -> Cost:
    """What a restart costs now.

    Args:
        server: The server.
        run: The dataset at work; None between two.
        in_flight: Its requests in flight.
        made_per_s: Tokens a second.
        limits: Thresholds.
    """
    lost = _made_in_flight(server, run) if run is not None else 0.0
    again = lost / made_per_s if lost is not None and made_per_s else 0.0 if lost == 0 else None
    prompts = None
    if run is not None and run.started_at is not None and run.announced_at is not None:
        prompts = max(0.0, (run.started_at - run.announced_at).total_seconds())
    rounded = None if lost is None else round(lost)
    return Cost(in_flight, rounded, again, prompts, server.life.load_s, limits.ramp_s / 2)


def _made_in_flight(server: ServerState, run: DatasetRun) -> float | None:
    """Tokens that the running requests have made: by their ages where these are known, else by what the pool holds."""
    ages = server.flight.in_flight()
    known = [(made, number) for made, number in ages if made is not None]
    requests = sum([number for _, number in ages])
    aged = sum([number for _, number in known])
    if aged and 2 * aged >= requests:
        return sum([made * number for made, number in known]) * requests / aged
    return tokens_in_flight(server, run)


def restart_job(found: Cost, done: int) -> Option:
    """Restart the job, with the present script or another; the server is not touched."""
    kept = f"The job resumes: {plural(done, 'finished prompt')} are kept, {_again(found)}."
    minutes = found.minutes(server=False)
    return Option("restart_job", f"{kept} {_moved(minutes)}", found.tokens, minutes)


def restart_server(found: Cost) -> Option:
    """Restart the server."""
    took = (
        "how long it takes to start has not been seen"
        if found.server_s is None
        else f"its last start took {duration(found.server_s)}"
    )
    minutes = found.minutes(server=True)
    lost = _again(found)
    words = f"Restarting the server: {took}; {lost}. {_moved(minutes)}"
    return Option("restart_server", words, found.tokens, minutes)


def other_concurrency(found: Cost, *, more: bool, gain: str) -> Option:
    """Restart the job with another concurrency.

    Args:
        found: What a restart costs.
        more: Raise it.
        gain: What it would gain, as a sentence.
    """
    minutes = found.minutes(server=False)
    act, word = ("raise_concurrency", "More") if more else ("lower_concurrency", "Less")
    return Option(
        act, f"{word} concurrency: {gain} It needs a restart of the job. {_moved(minutes)}", found.tokens, minutes
    )


def _again(found: Cost) -> str:
    if not found.requests:
        return "what was in flight is made again"
    made = "" if found.tokens is None else f" ({tokens(found.tokens)} tokens made so far)"
    is_one = "is" if found.requests == 1 else "are"
    return f"the {plural(found.requests, 'request')} in flight{made} {is_one} made again"


def _moved(minutes: float | None) -> str:
    if minutes is None:
        return "How far that moves the end is not known."
    return f"The end moves by about {duration(minutes * 60) if minutes >= 1 else count(minutes * 60) + ' s'}."
