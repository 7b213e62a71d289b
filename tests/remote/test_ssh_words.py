"""A command's line: plain when every shell reads it alike, else in signs that all of them leave alone."""

from __future__ import annotations

import re
import shlex
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remote.ssh_words import command_line

WORDS = st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])), max_size=5)


@pytest.mark.parametrize("argv", [["true"], ["tail", "-c", "99", "--", "/a b/$c's.log"], ["sh", "-c", 'echo "$@"']])
def test_a_line_that_all_shells_read_alike_stays_as_it_is(argv: list[str]) -> None:
    assert command_line(argv) == shlex.join(argv)


@settings(max_examples=60, deadline=None)
@given(words=WORDS)
def test_a_shell_gives_back_the_words(words: list[str]) -> None:
    line = command_line(["printf", "%s\\0", "", *words])
    done = subprocess.run(["sh", "-c", line], capture_output=True, check=True)
    assert done.stdout.decode().split("\0")[:-1] == ["", *words]


@given(words=WORDS)
def test_no_sign_of_it_is_special_inside_quotes(words: list[str]) -> None:
    line = command_line(["printf", *words])
    assert re.fullmatch(r"[ -~]*", line)
    assert "!" not in line
    assert not re.search(r"\\(?!0[0-7]{3})", line)


def test_bytes_that_are_not_utf_8() -> None:
    line = command_line(["printf", "%s", b"\xff\xfe".decode("utf-8", "surrogateescape")])
    assert subprocess.run(["sh", "-c", line], capture_output=True, check=True).stdout == b"\xff\xfe"
