"""Reading the host's clock."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.feed_probes import read_clock

MIDDLE = datetime(2026, 2, 24, 3, 19, 40, tzinfo=UTC)
EPOCH = int(MIDDLE.timestamp())


@pytest.mark.parametrize(
    ("text", "zone", "offset_s"),
    [
        (f"{EPOCH} +0000\n/usr/share/zoneinfo/Etc/UTC\n", "Etc/UTC", 0.0),
        (f"{EPOCH + 7} +0100\n/usr/share/zoneinfo/Europe/Berlin\n", "Europe/Berlin", 7.0),
        (f"{EPOCH} -0330\n", "UTC-03:30", 0.0),
        (f"{EPOCH} +0200\n/usr/share/zoneinfo/Europe/Berlin\n", "UTC+02:00", 0.0),
        (f"{EPOCH} +0100\n/etc/localtime\n", "UTC+01:00", 0.0),
        ("no date here", "UTC", 0.0),
    ],
)
def test_zone_and_offset(text: str, zone: str, offset_s: float) -> None:
    read = read_clock(text, MIDDLE)
    assert (str(read.zone), read.offset_s) == (zone, offset_s)


def test_a_named_zone_follows_its_daylight_saving() -> None:
    read = read_clock(f"{EPOCH} +0100\n/usr/share/zoneinfo/Europe/Berlin\n", MIDDLE)
    assert read.zone.utcoffset(datetime(2026, 7, 1)) == timedelta(hours=2)  # noqa: DTZ001 - a host's local time


@given(st.text(max_size=80))
def test_any_answer_gives_a_clock(text: str) -> None:
    assert read_clock(text, MIDDLE).zone is not None
