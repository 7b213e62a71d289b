"""Recorded runs for tests of the replay: written by a scene, as files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.replay_files import Given
from tests.job.builders import Scene

if TYPE_CHECKING:
    from pathlib import Path


class Written(Scene):
    """Keeps what a scene writes, as two files."""

    def __init__(self, zone: str = "UTC") -> None:
        super().__init__(zone=zone)
        self.logs = {"server": "", "job": ""}

    def job(self, seconds: float, *lines: str, seen: float | None = None) -> None:  # noqa: ARG002 - a file has no reader
        """Write lines of the job."""
        self.logs["job"] += "".join(f"{self.stamp(seconds)} {line}\n" for line in lines)

    def server(self, seconds: float, *lines: str, seen: float | None = None, rank: str = "") -> None:  # noqa: ARG002
        """Write lines of the server."""
        self.logs["server"] += "".join(f"{self.stamp(seconds)} {line}\n" for line in lines)

    def given(self, folder: Path) -> Given:
        """Write the files; what a replay is given of them."""
        for name, text in self.logs.items():
            (folder / f"{name}.log").write_text(text, encoding="utf-8")
        return Given(folder / "server.log", folder / "job.log", None, None)

    def files(self, folder: Path) -> list[str]:
        """Write the files; the options that name them."""
        given = self.given(folder)
        return ["--server-log", str(given.server_log), "--job-log", str(given.job_log)]


def a_run(zone: str = "UTC", minutes: int = 40) -> Written:
    """A healthy run whose completions get longer; the server began ten minutes before it."""
    scene = Written(zone)
    scene.ready()
    scene.begin()
    go_on(scene, 8, minutes * 60)
    return scene


def go_on(scene: Written, begin: int, end: int, tok_s: float = 846.3) -> None:
    """Let the run go on from one second to another."""
    for second in range(begin, end, 4):
        scene.decode(second, tok_s=tok_s + (second % 7) * 2)
        if second % 120 == 0 and 846 * second > 70_000:
            mean = min(1_990, 900 + second / 3)
            scene.progress(second, int((846 * second - 60_000) / mean), round(mean))


def a_run_with_a_death(minutes: int = 60) -> Written:
    """The server's process dies in the middle of a healthy run, and nothing is logged for ten minutes."""
    scene = a_run(minutes=minutes)
    scene.server(minutes * 60, "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.")
    scene.server(minutes * 60 + 1, "Received sigquit from a child process. It usually means the child failed.")
    scene.job((minutes + 10) * 60, "the job still waits")
    return scene
