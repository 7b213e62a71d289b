"""The host itself: its GPUs, the disk of the output, memory, load."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.content import Content

from console.panels import words
from console.panels.machine_words import gpu_note, gpu_rows, host_rows, note
from console.panels.panel import Panel
from widgets.gauges import Gauges
from widgets.plain import clean
from widgets.still import Still

if TYPE_CHECKING:
    from datetime import datetime, tzinfo

    from textual.app import ComposeResult

    from console.job.snapshot import Snapshot


class MachinePanel(Panel):
    """A row for each GPU, or one for all; disk, memory and load below."""

    HELP: ClassVar[str] = """\
### Host and GPUs

One command a minute over the connection asks for all of it, while a console or `watch` is open.

- **GPU**: how busy each is (the share of the time in which it computed), its memory, temperature and power. On small
  screens all stand in one row: the mean, memory and power in all, the hottest. While the job runs, near 100 % is usual;
  0 % with running requests is a stalled server. `!` from 85 °C on. A GPU that does not answer has fallen off the bus or
  must be reset. Split GPUs (MIG) do not tell how busy they are.
- **disk**: the disk that the job writes to, and when it will be full if it goes on as in the last hours: the median
  slope of all pairs of points. `--` while it does not fill. `!` when that is before the run's late end, or within 12 h.
- **mem**, **load**: memory in use; processes that run or wait, the mean of 1, 5 and 15 minutes, against the cores.

Source: `nvidia-smi` or `rocm-smi`, `df`, `/proc`. What the host does not have is `--`, and why is said.
"""
    TITLE: ClassVar[str] = "Host"
    DEFAULT_CSS = """
    MachinePanel {
        #gpus-missing { height: auto; max-height: 2; color: $text-muted; display: none; }
        #gpus-missing.-said { display: block; }
    }
    """

    def __init__(self, zone: tzinfo | None = None, *, id: str | None = None) -> None:  # noqa: A002 -- textual's name for it
        """Take the operator's zone; None is this machine's."""
        super().__init__(zone, id=id)
        self._gpus = Gauges(id="gpus")
        self._host = Gauges(aligned=False, id="host")
        self._missing = Still(id="gpus-missing", markup=False)
        self._said_missing = ""

    def compose(self) -> ComposeResult:
        """Lay why there are no GPUs below what there is."""
        yield self._gpus
        yield self._host
        yield self._missing

    def on_resize(self) -> None:
        """Choose again what fits."""
        self._draw()

    @property
    def is_whole(self) -> bool:
        """Whether there is room for a row of each GPU."""
        return self.has_class("-maximized") or self.screen.has_class("-huge")

    def show(self, snapshot: Snapshot, now: datetime) -> None:
        """Draw the host's figures."""
        view = snapshot.machine
        self._gpus.rows = gpu_rows(view) if self.is_whole else ()
        self._host.rows = host_rows(view, snapshot.eta, now, whole=self.is_whole)
        missing = gpu_note(view, now)
        if missing != self._said_missing:
            self._said_missing = missing
            self._missing.write(Content(clean(missing)))
            self._missing.set_class(bool(missing), "-said")
        told = "a recording" if view.at is None and snapshot.link.state == "" else note(view, now)
        self.say(told, old=words.link_broken(snapshot.link) or (view.at is not None and bool(told)))
