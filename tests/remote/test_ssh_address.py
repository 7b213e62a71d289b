"""Addresses and jump lists, taken apart."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remote.ssh_address import Address, parse_address, split_jumps


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("gpu01", Address("gpu01")),
        ("me@gpu01", Address("gpu01", "me")),
        ("me@corp@gpu01:2222", Address("gpu01", "me@corp", 2222)),
        ("ssh://me@gpu01:22/", Address("gpu01", "me", 22)),
        ("[::1]:2222", Address("::1", None, 2222)),
        ("me@fe80::1", Address("fe80::1", "me")),
        (" gpu01 ", Address("gpu01")),
    ],
)
def test_addresses(text: str, address: Address) -> None:
    assert parse_address(text) == address


@pytest.mark.parametrize("text", ["", "me@", ":22", "gpu01:0", "gpu01:65536", "gpu01:x", "-oProxyCommand=x", "a b"])
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(ValueError, match=r"host name|port"):
        parse_address(text)


@given(st.text())
def test_any_text_gives_an_address_or_a_value_error(text: str) -> None:
    try:
        assert parse_address(text).name
    except ValueError:
        return


def test_jumps() -> None:
    assert split_jumps(None) == split_jumps("") == ()
    assert split_jumps("one, me@two:22") == (Address("one"), Address("two", "me", 22))
