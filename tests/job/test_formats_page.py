"""docs/formats.md says what is true of the code."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

from console.config import ServerSettings
from console.config_model import fields_of
from console.job.metrics import ENGINES as PAGES
from console.job.server_log import ENGINES
from console.job.user_patterns import GROUPS, pattern_format

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "formats.md").read_text(encoding="utf-8")


def rows(head: str) -> dict[str, str]:
    """The rows of the table whose first column has this head."""
    table = PAGE.partition(f"| {head} |")[2].partition("\n\n")[0]
    return dict(re.findall(r"^\| `(\w+)` \| (.*) \|$", table, re.MULTILINE))


def test_each_engine_named_is_in_the_code_and_the_other_way_round() -> None:
    named = rows("engine")
    assert {name for name, row in named.items() if not row.startswith("nothing")} == set(ENGINES)
    assert set(named) == set(PAGES)


def test_each_engine_whose_log_is_read_may_be_set() -> None:
    assert set(get_args(dict(fields_of(ServerSettings))["engine"])) == {"auto", *ENGINES}


def test_each_group_of_a_pattern_is_explained() -> None:
    assert set(rows("group")) == GROUPS


def test_the_pattern_that_is_shown_works() -> None:
    regex = re.search(r"regex: '(.*)'", PAGE)
    sample = re.search(r"sample: '(.*)'", PAGE)
    assert regex is not None
    assert sample is not None
    assert pattern_format("shown", regex[1], sample[1]).read(sample[1]) is not None


def test_files_that_are_named_exist_and_the_page_is_short() -> None:
    for name in re.findall(r"`((?:[\w/]+/)?\w+\.py)`", PAGE):
        places = (ROOT / name, ROOT / "console" / "job" / name, ROOT / "remote" / "payload" / name)
        assert any(place.exists() for place in places), name
    assert len(PAGE.splitlines()) < 150
