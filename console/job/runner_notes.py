"""What ``run_inference.py`` notes beside its progress: known, and nothing to act on."""

from __future__ import annotations

import re

from console.job.formats import Format, quiet

NOTE = Format(
    "note",
    "",
    re.compile(
        r"^\s*(?:Stopping by SIG[A-Z]+: |Status: pid [0-9]|\([0-9]+ lines of this log could not"
        r"|(?:Left out|Taken in again): https?://|[0-9]+ datasets not begun"
        r"|[0-9]+ requests to https?://\S+ had no answer"
        r"|\S.{0,400}: (?:[0-9]+ in flight, [0-9]+ wait for another attempt, |its files are being read)"
        r"|\S.{0,400}: (?:the last line of results\.jsonl was cut|[0-9]+ lines repeat an id|[0-9]+ results belong to)"
        r"|WARNING: .{0,400}(?:lines of results\.jsonl can't|no prompt that can be|lines rejected, see)"
        r"|WARNING: The servers have different models: )"
    ),
    quiet,
    (
        "Stopping by SIGTERM: 48 requests in flight have 30 s to finish; a second signal ends at once",
        "  B3_magicoder: the last line of results.jsonl was cut off (812 bytes); removed, to be done again",
        "  WARNING: B3_magicoder: 3 lines rejected, see rejected.jsonl; the first is line 4: no text",
        "  Left out: http://10.0.0.2:30000: ClientConnectorError: Cannot connect to host 10.0.0.2:30000",
        "  Taken in again: http://10.0.0.2:30000: it answers again",
        "  WARNING: The servers have different models: large, small",
        "  B3_magicoder: 150 in flight, 2 wait for another attempt, 8100 not begun, 3.2h since its start",
        "  B4_metamath: its files are being read",
        "  4 datasets not begun",
        "  48 requests to http://127.0.0.1:30000 had no answer since it was gone; they are sent again",
    ),
)
