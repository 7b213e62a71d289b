"""The colours of the console's own themes, on terminals of 16 million, 256 and 16 colours."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Colours:
    """The colours of a theme, by what they are for; ``#rrggbb``.

    Attributes:
        background: Below all.
        surface: Below what lies over the screen: lists, dialogs, fields.
        panel: Below the top line and the keys.
        foreground: Text.
        muted: Text that matters less, and lines between panes in a darker shade of it.
        faint: Lines and the rest of a bar: no text.
        primary: Bars, and what is at work.
        accent: What has the focus.
        good: All is well.
        warning: Look at it.
        bad: Do something.
        chosen: Below the line that is chosen.
        found: Below what was searched for.
        dark: Whether the background is dark.
    """

    background: str
    surface: str
    panel: str
    foreground: str
    muted: str
    faint: str
    primary: str
    accent: str
    good: str
    warning: str
    bad: str
    chosen: str
    found: str
    dark: bool = True


FULL: dict[str, Colours] = {
    "longwait-dark": Colours(
        background="#11161c",
        surface="#171e26",
        panel="#1c252e",
        foreground="#dde4ea",
        muted="#a3b0bc",
        faint="#3a4754",
        primary="#6db3f2",
        accent="#c4a7f5",
        good="#7fd49b",
        warning="#f0c065",
        bad="#ff8f88",
        chosen="#233445",
        found="#4a3c14",
    ),
    "longwait-light": Colours(
        background="#f7f5f0",
        surface="#fffdf9",
        panel="#eae6dc",
        foreground="#1d2329",
        muted="#434b54",
        faint="#c6c0b2",
        primary="#174f8c",
        accent="#6a3aa2",
        good="#17602f",
        warning="#7a4a00",
        bad="#a3182a",
        chosen="#dbe6f2",
        found="#f3e0a6",
        dark=False,
    ),
    "longwait-colorblind": Colours(
        background="#101418",
        surface="#161c22",
        panel="#1c242b",
        foreground="#e2e6ea",
        muted="#a9b2bb",
        faint="#3b454e",
        primary="#a9b8c9",
        accent="#e2e6ea",
        good="#56b4e9",
        warning="#f7ee8a",
        bad="#e8743b",
        chosen="#202b35",
        found="#4b4310",
    ),
    "longwait-mono": Colours(
        background="#131313",
        surface="#1b1b1b",
        panel="#232323",
        foreground="#dadada",
        muted="#ababab",
        faint="#4a4a4a",
        primary="#bcbcbc",
        accent="#ffffff",
        good="#dadada",
        warning="#ffffff",
        bad="#ffffff",
        chosen="#383838",
        found="#4a4a4a",
    ),
    "longwait-contrast": Colours(
        background="#000000",
        surface="#000000",
        panel="#141414",
        foreground="#ffffff",
        muted="#e0e0e0",
        faint="#8a8a8a",
        primary="#80d0ff",
        accent="#ffb8ff",
        good="#6cff98",
        warning="#ffe04d",
        bad="#ff9090",
        chosen="#001f3a",
        found="#4d3d00",
    ),
}
"""The five themes. The colours of ``longwait-colorblind`` for good, warning and bad are blue, yellow and orange after
M. Okabe and K. Ito, Color Universal Design (2008), lightened where text on a dark ground needs it."""

BLACK, BROWN, BLUE, GREY, DARK_GREY = "#000000", "#aa5500", "#0000aa", "#aaaaaa", "#555555"
RED, GREEN, YELLOW, MAGENTA, CYAN, WHITE = "#ff5555", "#55ff55", "#ffff55", "#ff55ff", "#55ffff", "#ffffff"
"""Of the 16 colours, by the values with which Rich finds the nearest; what a terminal shows for them is its own."""

_ON_BLACK = Colours(
    background=BLACK,
    surface=BLACK,
    panel=BLACK,
    foreground=WHITE,
    muted=GREY,
    faint=DARK_GREY,
    primary=CYAN,
    accent=MAGENTA,
    good=GREEN,
    warning=YELLOW,
    bad=RED,
    chosen=BLUE,
    found=BLUE,
)

FEW: dict[str, Colours] = {
    "longwait-dark": _ON_BLACK,
    "longwait-light": Colours(
        background=WHITE,
        surface=WHITE,
        panel=WHITE,
        foreground=BLACK,
        muted=DARK_GREY,
        faint=GREY,
        primary=BLUE,
        accent="#aa00aa",
        good=BLUE,
        warning=BROWN,
        bad="#aa0000",
        chosen=YELLOW,
        found=CYAN,
        dark=False,
    ),
    "longwait-colorblind": replace(_ON_BLACK, primary=GREY, accent=WHITE, good=CYAN, bad=MAGENTA),
    "longwait-mono": replace(
        _ON_BLACK, primary=GREY, accent=WHITE, good=WHITE, warning=WHITE, bad=WHITE, chosen=BLACK, found=BLACK
    ),
    "longwait-contrast": replace(_ON_BLACK, muted=WHITE, accent=YELLOW, bad=MAGENTA),
}
"""The same on terminals of 16 colours, made of those alone."""

SOME: dict[str, Colours] = {
    **FULL,
    "longwait-dark": replace(FULL["longwait-dark"], chosen="#303030"),
    "longwait-light": replace(
        FULL["longwait-light"],
        background="#ffffff",
        surface="#ffffff",
        panel="#e4e4e4",
        accent="#5f00af",
        chosen="#eeeeee",
    ),
    "longwait-colorblind": replace(FULL["longwait-colorblind"], chosen="#303030"),
    "longwait-contrast": replace(FULL["longwait-contrast"], chosen="#303030"),
}
"""What is another on terminals of 256 colours, whose dark and pale shades are few: the nearest would be too near."""
