"""What a simulated run is made from: everything that chance does not decide."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bench.judgement.laws import LengthLaw

BEGIN = datetime(2026, 2, 23, 9, 30, 0, tzinfo=UTC).timestamp()
"""When runs begin unless said otherwise, seconds since the epoch."""


@dataclass(frozen=True, slots=True)
class ServerSpec:
    """The inference server and its GPU.

    A decode step takes ``step_s + request_s x running + token_s x tokens held``, a prefill ``prefill_s + tokens /
    prefill_rate``, both times a factor of mean 1 that wanders.

    Attributes:
        engine: ``sglang`` or ``vllm``: the shapes of its log, and its admission.
        shape: Version of SGLang's shapes: ``0.4.6`` or ``0.5.9``.
        pool: KV pool of one rank, tokens.
        ranks: DP ranks.
        step_s: A decode step's fixed part, seconds.
        request_s: What each running request adds.
        token_s: What each token held adds.
        prefill_s: A prefill batch's fixed part.
        prefill_rate: Prompt tokens a second.
        noise: Log-standard deviation of the wandering factor.
        noise_tau_s: Its correlation time, seconds.
        stalls_per_h: Short pauses an hour.
        stall_s: Their mean length, seconds.
        page: Page size of the pool, tokens.
        ratio_start: SGLang's new-token ratio when it begins, and after it was idle.
        ratio_floor: Where it decays to.
        clip: A request's future counts with at most so many tokens.
        max_running: Requests that one rank runs at most.
        startup_s: Seconds before the job at which the server starts; 0: its log begins with the job.
        access_s: Seconds between health checks that leave an access line; 0: none.
        health_noise: Share of these that fail although all is well.
        late: Share of the log's lines that are written up to some seconds late, out of order.
    """

    engine: str = "sglang"
    shape: str = "0.5.9"
    pool: int = 140_000
    ranks: int = 1
    step_s: float = 0.0092
    request_s: float = 0.000_83
    token_s: float = 6.0e-8
    prefill_s: float = 0.015
    prefill_rate: float = 18_000.0
    noise: float = 0.02
    noise_tau_s: float = 240.0
    stalls_per_h: float = 0.5
    stall_s: float = 5.0
    page: int = 1
    ratio_start: float = 0.7
    ratio_floor: float = 0.098
    clip: int = 4096
    max_running: int = 2048
    startup_s: float = 180.0
    access_s: float = 0.0
    health_noise: float = 0.0
    late: float = 0.0


@dataclass(frozen=True, slots=True)
class DatasetSpec:
    """One dataset.

    Attributes:
        name: Its name.
        kind: ``SHORT`` or ``LONG``.
        prompts: How many.
        budget: Completion tokens; None for none.
        concurrency: Requests in flight at most.
        max_tokens: Where answers are cut.
        law: Their lengths.
        prompt_mean: Mean prompt, tokens.
        prompt_sigma: Log-standard deviation of prompts.
        prefix: Tokens that all prompts share at their beginning (radix cache).
        load_s: Seconds to load and tokenize it.
        done_before: Prompts that an earlier process has done.
        tokens_before: Their completion tokens.
        bad: Share of prompts that the server refuses.
        bursts: Share of the file in stretches of long prompts, which prefill in bursts.
    """

    name: str
    kind: str
    prompts: int
    budget: int | None
    concurrency: int
    max_tokens: int
    law: LengthLaw
    prompt_mean: float = 800.0
    prompt_sigma: float = 0.5
    prefix: int = 0
    load_s: float = 20.0
    done_before: int = 0
    tokens_before: int = 0
    bad: float = 0.0
    bursts: float = 0.0


@dataclass(frozen=True, slots=True)
class JobSpec:
    """The batch job's script, and what the console's config says of the run.

    Attributes:
        script: ``current`` (``run_inference.py``) or ``plain`` (the same line shapes, nothing around them).
        stamps: Whether lines bear the host's local time.
        zone: IANA name of the host's zone.
        progress_every: Completions between progress lines.
        progress_s: A progress line at least so often, seconds; 0: never by time.
        budget_rule: ``expected`` (starts nothing that would go over), ``met`` (starts until it is met, then drains) or
            ``cut`` (aborts what is in flight when it is met).
        eta_rule: How its own ETA is reckoned: ``tokens`` or ``requests``.
        prints_budget: Whether it knows budgets at all; an old script does not, and goes past them.
        progress_jsonl: Whether it writes ``progress.jsonl``.
        plan_kind: The config gives each dataset's kind.
        plan_prompts: The config gives the numbers of prompts.
        plan_budget: The config gives the budgets.
        plan_datasets: The config names the datasets at all.
    """

    script: str = "current"
    stamps: bool = True
    zone: str = "UTC"
    progress_every: int = 50
    progress_s: float = 60.0
    budget_rule: str = "expected"
    eta_rule: str = "tokens"
    prints_budget: bool = True
    progress_jsonl: bool = True
    plan_kind: bool = True
    plan_prompts: bool = True
    plan_budget: bool = True
    plan_datasets: bool = True


@dataclass(frozen=True, slots=True)
class FaultSpec:
    """Something that happens to the run, a fault or a harmless thing that looks like one.

    Attributes:
        kind: One of ``bench.judgement.faults``.
        at_s: Seconds after the job's start; for a fault of one dataset, ``dataset`` counts instead.
        variant: Which form of it.
        size: How much: a share of the speed, a share of errors, a shift in seconds.
        span_s: Over how long it builds up, or how long it lasts, seconds.
        dataset: Index of the dataset from whose beginning it holds; -1: by time.
    """

    kind: str
    at_s: float = 0.0
    variant: str = ""
    size: float = 0.0
    span_s: float = 0.0
    dataset: int = -1


@dataclass(frozen=True, slots=True)
class RunSpec:
    """A whole run.

    Attributes:
        seed: Of all chance in it.
        family: What it was drawn from, for the tables.
        server: The server.
        job: The script.
        datasets: In their order.
        events: What happens to it.
        begin: When the job starts, seconds since the epoch.
        after_s: Seconds after the last line for which it is still looked at.
        limit_s: No run goes on longer than so many seconds after its start.
        plan_changes: Dataset's name to what the config says of it in place of the truth.
    """

    seed: int
    family: str
    server: ServerSpec
    job: JobSpec
    datasets: tuple[DatasetSpec, ...]
    events: tuple[FaultSpec, ...] = field(default=())
    begin: float = BEGIN
    after_s: float = 600.0
    limit_s: float = 120 * 3600.0
    plan_changes: dict[str, dict[str, object]] = field(default_factory=dict)
