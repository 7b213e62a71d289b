"""A page: Markdown as far as help needs it, wrapped at any width, searched."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.visual import Visual

from tests.widgets.stage import NASTY, Stage, safe, screen_text
from widgets.log_find import Without
from widgets.page import Page, blocks, inline

TEXT = """\
### Fruit

Two kinds, *both* sweet;
this goes on.

- **apple**: keeps long, `a` opens it
  and this belongs to it
- pear

### Stones

- flint
"""


def test_blocks_are_headings_paragraphs_and_items() -> None:
    found = blocks(TEXT)
    assert [(block.kind, block.text, block.section) for block in found] == [
        ("heading", "Fruit", 0),
        ("paragraph", "Two kinds, both sweet; this goes on.", 0),
        ("item", "apple: keeps long, a opens it and this belongs to it", 0),
        ("item", "pear", 0),
        ("heading", "Stones", 1),
        ("item", "flint", 1),
    ]


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("**a** b", (("a", "bold"), (" b", ""))),
        ("`a*b*` *c*", (("a*b*", "bold"), (" ", ""), ("c", "italic"))),
        ("2 * 3 * 4", (("2 * 3 * 4", ""),)),
        (r"\*a\* [b](c)", (("*", ""), ("a", ""), ("*", ""), (" [b](c)", ""))),
        ("", ()),
    ],
)
def test_marks_within_a_line(text: str, pieces: tuple[tuple[str, str], ...]) -> None:
    assert inline(text) == pieces


@given(st.text(max_size=200))
def test_any_text_is_a_page(text: str) -> None:
    for block in blocks(text):
        assert safe(block.text)
        assert block.section >= -1


async def test_a_search_keeps_what_is_found_below_its_heading() -> None:
    page = Page(TEXT)
    async with Stage(page).run_test(size=(40, 20)) as pilot:
        assert page.count == 4
        page.search = re.compile("flint|pear")
        await pilot.pause()
        assert [line.strip() for line in screen_text(pilot.app).split("\n") if line.strip()] == [
            "Fruit",
            "• pear",
            "Stones",
            "• flint",
        ]
        assert [page.row_of(number) for number in range(2)] == [1, 4]
        page.search = re.compile("Stones")
        await pilot.pause()
        assert [block.text for block in page.found] == ["flint"]
        page.search = Without(re.compile("e"))
        await pilot.pause()
        assert [block.text for block in page.found] == ["flint"]
        page.search = re.compile("nothing like it")
        await pilot.pause()
        assert len(page.found) == 0
        assert not screen_text(pilot.app).strip()


@pytest.mark.parametrize("width", [1, 2, 7, 20, 80, 200])
async def test_it_is_wrapped_at_any_width(width: int) -> None:
    page = Page(f"{TEXT}\n{NASTY}\n\n- {NASTY}")
    async with Stage(page).run_test(size=(width, 40)) as pilot:
        assert safe(screen_text(pilot.app))
        assert page.size.height == max(1, len(page._lines(page.content_size.width)[1]))
        page.search = re.compile("a")
        page.here = 0
        await pilot.pause()
        assert safe(screen_text(pilot.app))


async def test_the_rows_of_an_item_stand_below_its_text() -> None:
    page = Page("- one two three four")
    async with Stage(page).run_test(size=(12, 4)) as pilot:
        assert [line.rstrip() for line in screen_text(pilot.app).split("\n")][:2] == ["• one two", "  three four"]


@given(st.text(max_size=300), st.integers(1, 60))
async def test_row_by_row_it_is_drawn_as_a_whole(text: str, width: int) -> None:
    page = Page(f"{TEXT}\n\n{text}")
    async with Stage(page).run_test(size=(width, 80)):
        whole = Visual.to_strips(
            page, page.render(), page.content_size.width, page.content_size.height, page.visual_style
        )
        rows = [page.render_line(y) for y in range(page.content_size.height)]
        assert [row.text.rstrip() for row in rows] == [row.text.rstrip() for row in whole]
