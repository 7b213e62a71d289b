"""A card says its finding first, wraps, and keeps its foot in sight."""

from __future__ import annotations

import pytest

from tests.widgets.stage import NASTY, WIDTHS, Stage, safe, screen_text
from widgets.card import SIGNS, Card, CardTone
from widgets.large import enlarged

FACTS = tuple(f"fact number {number} with its unit and age" for number in range(12))


def fixed(height: int) -> Card:
    card = Card("wait", "good", "The server is KV-limited.", FACTS, "Next look 03:40.")
    card.styles.height = height
    return card


def test_every_tone_has_its_own_sign() -> None:
    assert len(set(SIGNS.values())) == len(SIGNS)


@pytest.mark.parametrize("width", WIDTHS)
async def test_word_first_foot_in_sight_evidence_scrolled(width: int) -> None:
    card = fixed(9)
    async with Stage(card).run_test(size=(width, 12)) as pilot:
        shown = screen_text(pilot.app)
        assert "✓ wait" in shown.splitlines()[0]
        assert "Next look" in shown
        assert "number 11" not in shown
        assert card.max_scroll_y > 0
        card.focus()
        await pilot.press("end")
        shown = " ".join(screen_text(pilot.app).replace("█", " ").split())
        assert "fact number 11" in shown
        assert "Next look" in shown


@pytest.mark.parametrize("tone", SIGNS)
async def test_tone_is_a_sign_and_a_class(tone: CardTone) -> None:
    card = Card("word")
    async with Stage(card).run_test(size=(40, 6)) as pilot:
        card.tone = tone
        await pilot.pause()
        assert f"{SIGNS[tone]} word" in screen_text(pilot.app)
        assert card.has_class(f"-{tone}")
        assert sum(card.has_class(f"-{other}") for other in SIGNS) == 1


async def test_another_word_is_shown_from_the_top() -> None:
    card = fixed(6)
    async with Stage(card).run_test(size=(40, 12)) as pilot:
        card.scroll_end(animate=False, immediate=True)
        await pilot.pause()
        assert card.scroll_y > 0
        card.word = "watch"
        await pilot.pause()
        assert card.scroll_y == 0
        card.facts, card.foot = (), ""
        await pilot.pause()
        assert "fact" not in screen_text(pilot.app)
        assert card.max_scroll_y == 0


async def test_text_is_never_markup() -> None:
    card = Card(NASTY, "bad", NASTY, (NASTY, NASTY), f"{NASTY}\nsecond line")
    async with Stage(card).run_test(size=(200, 12)) as pilot:
        shown = screen_text(pilot.app)
        assert shown.count("[b]bold[/b]") == 5
        assert "second line" in shown
        assert safe(shown)


ASIDES = ("kv limited · since 01:14 · look again in 1 h", "since 01:14 · look again in 1 h", "since 01:14")


@pytest.mark.parametrize(("width", "shown"), [(80, ASIDES[0]), (48, ASIDES[1]), (30, ASIDES[2]), (16, "")])
async def test_the_band_says_as_much_as_fits_beside_the_word(width: int, shown: str) -> None:
    card = Card("WAIT", "good", "headline")
    card.asides = ASIDES
    async with Stage(card).run_test(size=(width, 6)) as pilot:
        band = screen_text(pilot.app).splitlines()[0]
        assert "✓ WAIT" in band
        assert all((aside in band) == (aside in shown) for aside in ASIDES)
        assert band.rstrip().endswith(shown or "WAIT")


async def test_a_large_card_has_its_word_in_letters_and_in_text() -> None:
    card = Card("INTERVENE", "bad", "It stands still.", ("fact",), "Do: something")
    card.asides = ASIDES
    card.large = True
    async with Stage(card).run_test(size=(100, 12)) as pilot:
        await pilot.pause()
        lines = screen_text(pilot.app).splitlines()
        assert enlarged("✗ INTERVENE")[1] in lines[1]
        assert "It stands still." in lines[0]
        assert "INTERVENE: kv limited" in screen_text(pilot.app)
        await pilot.resize_terminal(60, 12)
        await pilot.pause()
        lines = screen_text(pilot.app).splitlines()
        assert "It stands still." in lines[3]
        card.word, card.tone = "WAIT", "good"
        await pilot.pause()
        lines = screen_text(pilot.app).splitlines()
        assert "It stands still." in lines[3]
        assert "since 01:14 · look again in 1 h" in lines[4]
        card.deep = False
        await pilot.pause()
        lines = screen_text(pilot.app).splitlines()
        assert "It stands still." in lines[0]
