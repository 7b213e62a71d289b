"""What is asked of the host now and then: its clock, the server's metrics page, the API key."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.config import ServerSettings
from console.feed_probes import MARK, ClockUnread, KeyUnusable, ServerProbe, api_key, read_clock
from console.job.events import MetricsMissing
from remote.errors import HttpUnavailable
from tests.fakes import FakeHost

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
        (f"Welcome to gpu01!\nlongwait-clock {EPOCH} +0100\n/usr/share/zoneinfo/Europe/Berlin\n", "Europe/Berlin", 0.0),
    ],
)
def test_zone_and_offset(text: str, zone: str, offset_s: float) -> None:
    read = read_clock(text if MARK in text else f"{MARK} {text}", MIDDLE)
    assert (str(read.zone), read.offset_s) == (zone, offset_s)


def test_a_named_zone_follows_its_daylight_saving() -> None:
    read = read_clock(f"{MARK} {EPOCH} +0100\n/usr/share/zoneinfo/Europe/Berlin\n", MIDDLE)
    assert read.zone.utcoffset(datetime(2026, 7, 1)) == timedelta(hours=2)  # noqa: DTZ001 - a host's local time


@given(st.text(max_size=80))
def test_any_other_answer_is_told_and_never_taken_for_utc(text: str) -> None:
    with pytest.raises(ClockUnread, match="date"):
        read_clock(text, MIDDLE)


@given(st.text(max_size=40))
def test_any_answer_behind_the_mark_is_a_clock_or_told(text: str) -> None:
    try:
        read = read_clock(f"{MARK} {text}", MIDDLE)
    except ClockUnread:
        return
    assert read.zone is not None


@pytest.mark.parametrize("key", ["sekret\rx", "two words", "schlüssel", "a\x00b"])
def test_a_key_that_no_header_can_carry_is_told_without_being_shown(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.environ", {"LW_KEY": key})
    with pytest.raises(KeyUnusable) as caught:
        api_key(ServerSettings(api_key_env="LW_KEY"))
    assert key not in str(caught.value)
    assert "LW_KEY" in str(caught.value)


def test_the_line_end_of_a_key_read_from_a_file_is_no_part_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LW_KEY", "sekret123\r\n")
    assert api_key(ServerSettings(api_key_env="LW_KEY")) == "sekret123"
    assert api_key(ServerSettings()) is None


def probe_of(host: FakeHost) -> ServerProbe:
    return ServerProbe(host, ServerSettings(url="http://127.0.0.1:9"))


def expect(host: FakeHost, path: str, **answer: Any) -> None:
    host.expect_fetch(f"http://127.0.0.1:9{path}", **answer)


async def test_the_second_place_of_a_metrics_page_is_tried_once_and_remembered() -> None:
    host = FakeHost()
    expect(host, "/metrics", status=404)
    expect(host, "/prometheus/metrics", body=b"trtllm_a 1\n", times=3)
    probe = probe_of(host)
    assert [await probe.metrics() for _ in range(3)] == ["trtllm_a 1\n"] * 3
    host.assert_done()


async def test_another_server_at_the_same_address_is_found_again() -> None:
    host = FakeHost()
    expect(host, "/metrics", status=404)
    expect(host, "/prometheus/metrics", body=b"a 1\n")
    expect(host, "/prometheus/metrics", status=404)
    expect(host, "/metrics", body=b"b 2\n", times=2)
    probe = probe_of(host)
    assert [await probe.metrics() for _ in range(3)] == ["a 1\n", "b 2\n", "b 2\n"]
    host.assert_done()


async def test_a_page_that_is_at_neither_place_is_told() -> None:
    host = FakeHost()
    expect(host, "/metrics", status=404)
    expect(host, "/prometheus/metrics", status=404)
    missing = await probe_of(host).metrics()
    assert isinstance(missing, MetricsMissing)
    assert missing.answered
    assert missing.reason.startswith("/metrics and /prometheus/metrics answered 404")
    host.assert_done()


@pytest.mark.parametrize(
    ("answer", "reason", "answered"),
    [({"status": 401}, "/metrics answered 401", True), ({"error": HttpUnavailable("Refused.")}, "Refused.", False)],
)
async def test_only_a_page_that_is_not_there_is_looked_for_elsewhere(
    answer: dict[str, Any], reason: str, answered: bool
) -> None:
    host = FakeHost()
    expect(host, "/metrics", **answer)
    assert await probe_of(host).metrics() == MetricsMissing(reason, answered=answered)
    host.assert_done()
