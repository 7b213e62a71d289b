"""A share of a whole on one line, with limits above which it warns."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from textual.reactive import reactive
from textual.widget import Widget

from widgets.paint import painted
from widgets.plain import UNKNOWN, clean
from widgets.row import cells, known, percent, plan

if TYPE_CHECKING:
    from textual.content import Content


class Gauge(Widget):
    """A label, a bar, the figure and a note: ``KV ━━━━━━━━━━━━────  82%  114k of 139k tokens``."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"gauge--label", "gauge--bar", "gauge--rest", "gauge--note"}
    """Parts that CSS can reach: the label, the filled part, the rest of the bar, the figure with its note."""

    DEFAULT_CSS = """
    Gauge {
        height: 1;
        width: 1fr;
        text-wrap: nowrap;
        & > .gauge--label { color: $foreground; }
        & > .gauge--bar { color: $primary; }
        & > .gauge--rest { color: $foreground 25%; }
        & > .gauge--note { color: $foreground; }
        &.-warn > .gauge--bar, &.-warn > .gauge--note { color: $text-warning; }
        &.-danger > .gauge--bar, &.-danger > .gauge--note { color: $text-error; }
        &.-unknown > .gauge--note { color: $foreground-muted; }
    }
    """

    label: reactive[str] = reactive("")
    """What the share is of."""

    value: reactive[float | None] = reactive[float | None](None)
    """The share, 0 to 1; None when it is not known."""

    note: reactive[str] = reactive("")
    """Text at the right, after the figure."""

    warn: reactive[float | None] = reactive[float | None](None)
    """From this share on it warns; None for never."""

    danger: reactive[float | None] = reactive[float | None](None)
    """From this share on it is in danger; None for never."""

    calm: reactive[bool] = reactive(False)
    """Whether full is fine: limits are then ignored, and no colour warns."""

    form: reactive[Literal["percent", "share"]] = reactive[Literal["percent", "share"]]("percent")
    """How the figure is written: ``82%``, or ``0.82`` as servers print it."""

    def __init__(
        self,
        label: str = "",
        value: float | None = None,
        note: str = "",
        *,
        warn: float | None = None,
        danger: float | None = None,
        calm: bool = False,
        form: Literal["percent", "share"] = "percent",
        name: str | None = None,
        id: str | None = None,  # noqa: A002 - the name that all Textual widgets have for it
        classes: str | None = None,
    ) -> None:
        super().__init__(name=name, id=id, classes=classes)
        self.label = label
        self.warn = warn
        self.danger = danger
        self.calm = calm
        self.form = form
        self.note = note
        self.value = value

    def watch_value(self) -> None:
        """Set the state's classes."""
        self._show_state()

    def watch_warn(self) -> None:
        """Set the state's classes."""
        self._show_state()

    def watch_danger(self) -> None:
        """Set the state's classes."""
        self._show_state()

    def watch_calm(self) -> None:
        """Set the state's classes."""
        self._show_state()

    @property
    def level(self) -> Literal["", "warn", "danger", "unknown"]:
        """Where the value stands against the limits; "" below them or when calm."""
        value = known(self.value)
        if value is None:
            return "unknown"
        if self.calm:
            return ""
        if self.danger is not None and value >= self.danger:
            return "danger"
        return "warn" if self.warn is not None and value >= self.warn else ""

    def _show_state(self) -> None:
        """Make the classes say what ``level`` says."""
        for level in ("warn", "danger", "unknown"):
            self.set_class(self.level == level, f"-{level}")

    def _figures(self) -> tuple[str, ...]:
        """Write the value, with a sign and a word when a limit is passed, and the note."""
        value = known(self.value)
        if value is None:
            return (UNKNOWN, clean(self.note))
        figure = f"{value:.2f}" if self.form == "share" else percent(value)
        sign, word = {"warn": (" !", "high"), "danger": (" !!", "too high")}.get(self.level, ("", ""))
        return (figure + sign, word, clean(self.note))

    def render(self) -> Content:
        """Draw the line for the width there is."""
        row = plan(self.size.width, clean(self.label), "", self._figures())
        full, rest = cells(row.bar, (known(self.value) or 0.0, 1.0))
        ground = "┄" if self.level == "unknown" else "─"
        pieces = [
            (row.label, "gauge--label"),
            (" " if row.label else "", ""),
            ("━" * full, "gauge--bar"),
            (ground * rest, "gauge--rest"),
            (" " if row.bar else "", ""),
            ("  ".join(row.figures), "gauge--note"),
        ]
        return painted(self, pieces)
