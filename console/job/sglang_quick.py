"""SGLang's batch lines in their commonest form, read whole by one pattern each: stamp, ranks and figures.

A shortcut, four times as fast as reading pair by pair. What it misses is read in the ordinary way; a test compares the
two. A busy server's log consists of such lines.
"""

from __future__ import annotations

import re

_STAMP = r"\[([0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2})(?: ((?:DP|TP)[0-9]{1,4}(?: TP[0-9]{1,4})?))?\] "
_REAL = r"([0-9]{1,9}(?:\.[0-9]{1,9})?)"
_WHOLE = r"([0-9]{1,15})"
_REST = r"(?:,[\w #:,./()%+-]*)?(?<!:)$"
"""Further pairs behind the known ones, or the comma that some versions leave."""
DECODE = re.compile(
    rf"{_STAMP}Decode batch[.,] #running-req: {_WHOLE}, #token: {_WHOLE}, token usage: {_REAL}, "
    rf"[^#\[\]]*?gen throughput \(token/s\): {_REAL}, #queue-req: {_WHOLE}{_REST}"
)
PREFILL = re.compile(
    rf"{_STAMP}Prefill batch[.,] #new-seq: {_WHOLE}, #new-token: {_WHOLE}, #cached-token: {_WHOLE}, "
    rf"token usage: {_REAL}, #running-req: {_WHOLE}, #queue-req: {_WHOLE}{_REST}"
)
SHORTEST_HEAD = len("[2026-02-24 03:19:40] Decode")
LONGEST_HEAD = len("[2026-02-24 03:19:40 DP1234 TP1234] Prefill batch")
"""Between these places ``batch`` stands in every such line."""
