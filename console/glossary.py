"""The words of the trade that the console uses, each explained in a sentence; help and docs take them from here."""

from __future__ import annotations

GLOSSARY: tuple[tuple[str, str], ...] = (
    ("budget", "The output tokens after which the job ends a dataset, whether all prompts are done or not."),
    ("completion", "What the model wrote for one prompt. Its length is counted in tokens."),
    ("concurrency", "How many requests the job sends at once and waits for."),
    ("dataset", "A list of prompts that the job works off; a run has several, one after the other."),
    ("DP rank", "One of several copies of the model in a server (data parallel), each with its own KV cache."),
    ("evidence", "The figures that a verdict is drawn from, with their units and ages."),
    ("in flight", "Requests that the job has sent and has no answer to yet: running and queued ones together."),
    (
        "KV cache",
        "GPU memory in which a server keeps what it has computed of each running request. Full is good in a batch run.",
    ),
    (
        "mean completion",
        "Tokens of the completions so far, divided by their number. It grows at first: short ones end first.",
    ),
    ("progress line", "A line of the job's log that says how many requests are done."),
    ("queue", "Requests that the server has taken and not begun."),
    ("reading", "All that is known at one moment; `longwait status --json` prints it."),
    (
        "retraction",
        "A running request that is put back for want of KV cache, to be done again (vLLM: preemption). Many are waste.",
    ),
    ("running", "Requests that the server is making tokens for now."),
    ("tail", "The end of a dataset: few requests are left, the long ones, so tokens a second fall. No fault."),
    ("tok/req", "Mean completion in tokens per request."),
    ("tok/s", "Tokens made in a second by all requests together. The one figure that says how fast a run is."),
    ("token", "A piece of a word, as the model counts text."),
    ("token usage", "The share of the KV cache in use, 0 to 1."),
    ("verdict", "Whether to touch the run: WAIT, WATCH, INTERVENE or BLIND."),
)
"""Terms in the order of the alphabet, upper and lower case alike."""


def glossary_help() -> str:
    """Give the glossary as a part of the help, in Markdown."""
    return "\n".join(("### Glossary", "", *(f"- **{term}**: {meaning}" for term, meaning in GLOSSARY)))
