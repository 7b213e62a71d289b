"""Spans of time that a chart can show."""

from __future__ import annotations

import math

SPANS: dict[str, float] = {"5 min": 300.0, "1 h": 3600.0, "all": math.inf}
"""What can be looked at, and its seconds, from the shortest to the longest."""
