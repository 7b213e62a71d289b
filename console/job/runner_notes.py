"""What ``run_inference.py`` notes beside its progress: known, and nothing to act on."""

from __future__ import annotations

import re

from console.job.formats import Format, quiet

NOTE = Format(
    "note",
    "",
    re.compile(
        r"^\s*(?:Server is back: |Stopping by SIG[A-Z]+: |Status: pid [0-9]|\([0-9]+ lines of this log could not"
        r"|\S.{0,400}: (?:the last line of results\.jsonl was cut|[0-9]+ lines repeat an id|[0-9]+ results belong to)"
        r"|WARNING: .{0,400}(?:lines of results\.jsonl can't|no prompt that can be|lines rejected, see))"
    ),
    quiet,
    (
        "  Server is back: answers in 0.4 s",
        "Stopping by SIGTERM: 48 requests in flight have 30 s to finish; a second signal ends at once",
        "  B3_magicoder: the last line of results.jsonl was cut off (812 bytes); removed, to be done again",
        "  WARNING: B3_magicoder: 3 lines rejected, see rejected.jsonl; the first is line 4: no text",
    ),
)
