"""Where the panes stand, by the size of the terminal; how they look is their own affair."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

TIMELINE_FROM = 34
"""Rows from which on the timeline stands among the panes: below, the logs need them more; its key opens it there."""

TALL_FROM = 30
"""Rows from which on there is room for what is only good to have."""

DEEP_FROM = 44
"""Rows from which on the headline may stand under the verdict's large letters."""

WIDTHS = ((0, "-slim"), (72, "-narrow"), (110, "-wide"), (170, "-huge"))
"""From how many columns on the screen is of which class: a phone, 80 columns, a window, a wall."""

HEIGHTS = ((0, "-tiny"), (16, "-low"), (24, "-short"), (TALL_FROM, "-tall"))
"""From how many rows on; below 24 panes give way, the verdict and the time left last."""


def class_of(steps: Sequence[tuple[int, str]], length: int) -> str:
    """Give the class of a screen of so many columns or rows, as Textual sets it once it has laid the screen out."""
    return next(name for least, name in reversed(steps) if length >= least)


LAYOUT = """
MainScreen {
    overflow: hidden;
    #above { layout: vertical; height: auto; }
    #middle { layout: horizontal; height: auto; }
    #server { width: 1fr; }
    #side { width: 38; height: auto; }
    #machine { display: none; }

    #verdict { max-height: 6; Card { max-height: 4; } }
    #verdict.-urgent { max-height: 8; Card { max-height: 6; } }
    #progress { max-height: 9; }
    #timeline { display: none; }
    LogView { display: none; }
    LogView.-shown { display: block; }

    &.-wide, &.-huge {
        #server { width: 3fr; }
        #side { width: 2fr; }
        LogView { display: block; }
    }
    &.-tall {
        #timeline { display: block; &.-cramped { display: none; } }
        #verdict, #verdict.-urgent { max-height: 40vh; Card { max-height: 22vh; } }
        #verdict.-urgent Card { max-height: 28vh; }
        #progress { max-height: 40vh; }
    }
    &.-huge {
        #above { layout: horizontal; }
        #verdict, #verdict.-urgent { max-height: 16; Card { max-height: 16; } }
        #verdict, #progress, #server, #side { width: 1fr; }
    }
    &.-tall.-wide, &.-tall.-huge {
        #machine { display: block; }
        #server #chart { display: block; height: 5; }
        #server #trend { display: none; }
        #server #extras.-said { display: block; }
    }
    &.-tall.-huge #server #chart { height: 9; }
    &.-low {
        #progress { max-height: 5; }
        #logs { display: none; }
    }
    &.-tiny {
        #above { height: 1fr; }
        #verdict, #verdict.-urgent { max-height: 55vh; Card { max-height: 40vh; } TimeLeft { max-height: 1; } }
        #progress { height: 1fr; max-height: 100%; }
        #middle, #logs { display: none; }
    }
    &.-slim #side { width: 22; }
    Panel.-maximized, #verdict.-maximized.-urgent {
        display: block !important;
        width: 1fr !important;
        height: 1fr !important;
        max-height: 100% !important;
        overflow-y: auto;
        Card { max-height: 100% !important; }
        #chart { height: 1fr !important; }
    }
}
"""
"""One log at a time below 110 columns, both from there on, verdict beside the datasets from 170 on.

A pane that fills the screen is shown whatever the size, also one that has no place among the others there.

A grid would be shorter, but its rows of automatic height measure a pane that spans columns by the first column's width.
"""
