"""Recorded logs as a feed: played at a speed, paused, stepped and scrubbed. asyncio only, no screen.

Two walks go through the recording. One reads ahead in what time is left, notes every change of verdict and leaves
checkpoints; the other stands at the moment shown and leaps to the nearest checkpoint. Both work in short slices
between which the screen is drawn.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from console.facts import LinesArrived, LinesReplaced, Noticed, Replayed, SnapshotTaken
from console.replay import why
from console.replay_checkpoints import Checkpoints
from console.replay_lines import LogTape
from console.replay_moments import span_of
from console.replay_player import FRAME_S, Player
from console.replay_transport import DEFAULT_SPEED, Survey, Transport, neighbour
from console.replay_walk import STEP, Replay
from remote.errors import RemoteError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable
    from datetime import timedelta

    from console.facts import Fact
    from console.job.dataset_detail import DatasetDetail
    from console.job.events import HealthProbe
    from console.replay_files import Recording

SLICE_S = 0.02
"""Seconds of work at once, at most, while the operator may press a key."""

AHEAD_PAUSE_S = 0.04
"""Seconds left free after each slice of reading ahead: it takes a third of one core."""

TOLD_S = 1.0
"""Seconds between two words on how far the recording has been read, while nothing else changes."""

STILL_READING = "The recording is still being read."


class ReplayFeed:
    """A recording, as the screen's feed and as what the replay's keys act on.

    Args:
        load: Reads the recording; runs in a thread behind the first frame.
        speed: Seconds of the log in one of ours.
        ticks: A clock that only runs onward, seconds.
    """

    def __init__(
        self,
        load: Callable[[], Recording],
        *,
        speed: float = DEFAULT_SPEED,
        ticks: Callable[[], float] = time.monotonic,
    ) -> None:
        self._load = load
        self._speed = speed
        self._ticks = ticks
        self._wake = asyncio.Event()
        self._survey = Survey()
        self._player: Player | None = None
        self._shown: Replay | None = None

    # ------------------------------------------------------------ what the screen asks

    def moment(self) -> datetime:
        """The moment shown; the present before there is one."""
        return self._player.at if self._player is not None else datetime.now(UTC)

    async def ping(self) -> HealthProbe:
        """Refuse: there is nothing to ask."""
        raise RemoteError("This is a replay: there is no server to ask.")

    def reconnect(self) -> None:
        """Do nothing: there is no connection."""

    def look(self) -> None:
        """Do nothing: there is no process."""

    def detail(self, name: str) -> DatasetDetail | None:
        """One dataset seen closely at the moment shown; None before there is one."""
        return None if self._shown is None else self._shown.detail(name)

    # ------------------------------------------------------------ what the keys do

    def turn_play(self) -> None:
        """Pause, or go on; at the end, begin again."""
        self._do(Player.turn_play)

    def step(self, by: timedelta) -> None:
        """Pause, and go on or back by some log time."""
        self._do(lambda player: player.step(by))

    def go_by(self, by: timedelta) -> None:
        """Go on or back by some log time; whether it plays stays as it is."""
        self._do(lambda player: player.go_by(by))

    def go_to_share(self, share: float) -> None:
        """Go to a share of the recording, 0 to 1."""
        self._do(lambda player: player.go_to(_standing(player, self._survey).moment(share)))

    def change_pace(self, *, faster: bool) -> None:
        """Play faster or slower."""
        self._do(lambda player: player.change_pace(faster=faster))

    def go_to_change(self, *, back: bool) -> str:
        """Go to the next change of verdict, or the former; gives a sentence when none is known."""
        if self._player is None:
            return STILL_READING
        player = self._player
        found = neighbour(self._survey.changes, player.target or player.at, back=back)
        if found is not None:
            player.playing = False
            self._do(lambda player: player.go_to(found.at))
            return ""
        if back:
            return "The verdict did not change before this moment."
        if self._read_until(player.last):
            return "The verdict does not change any more."
        return "No later change of verdict is known yet: the recording is still being read ahead."

    def _do(self, act: Callable[[Player], None]) -> None:
        if self._player is not None:
            act(self._player)
            self._wake.set()

    # ------------------------------------------------------------ the work

    async def facts(self) -> AsyncGenerator[Fact]:
        """Give facts until closed: readings, lines, and where the replay stands."""
        recording = await self._recorded()
        if not recording.logs:
            yield Noticed("The recording holds no line.", "warning")
            return
        if recording.guessed:
            yield Noticed("The job's log has no stamps: its times are guessed from the durations that it tells.")
        checkpoints = Checkpoints()
        shown, ahead = (Replay(recording.logs, recording.fresh, checkpoints) for _ in range(2))
        self._shown = shown
        tape = LogTape(recording.logs, recording.fresh)
        player = self._player = Player(*span_of(recording.logs), speed=self._speed, ticks=self._ticks)
        work = asyncio.create_task(self._read_ahead(ahead, player.last), name="read ahead")
        work.add_done_callback(lambda _: self._wake.set())
        try:
            while True:
                self._wake.clear()
                async for fact in self._on_the_way(ahead, player):
                    yield fact
                for fact in self._picture(shown, tape, player):
                    yield fact
                if work.done():
                    work.result()  # a defect of ours must not look like a recording that is not read yet
                with suppress(TimeoutError):
                    moving = player.playing or player.target is not None
                    await asyncio.wait_for(self._wake.wait(), FRAME_S if moving else None)
        except OSError as error:
            raise _unread(error) from error
        finally:
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)

    async def _recorded(self) -> Recording:
        try:
            return await asyncio.to_thread(self._load)
        except OSError as error:
            raise _unread(error) from error

    async def _on_the_way(self, ahead: Replay, player: Player) -> AsyncGenerator[Fact]:
        """Read what lies before the wanted moment and was not read yet; its readings pass by meanwhile."""
        drawn = 0.0
        while not self._read_until(player.wanted()):
            passed = self._read_slice(ahead, player.wanted())
            if passed is not None and time.perf_counter() - drawn > FRAME_S:
                drawn = time.perf_counter()
                player.passed(passed)
                yield SnapshotTaken(ahead.read(passed))
                yield Replayed(_standing(player, self._survey))
            await asyncio.sleep(0)

    def _picture(self, shown: Replay, tape: LogTape, player: Player) -> list[Fact]:
        """Reading and lines of the wanted moment, when it is another one than is shown."""
        goal = player.wanted()
        told: list[Fact] = []
        if goal != player.at or player.target is not None:
            back = goal < player.at
            reading = SnapshotTaken(shown.at(goal))
            onward = tape.onward(goal)
            lines = LinesReplaced(tape.around(goal)) if onward is None else LinesArrived(onward)
            # The screen may be drawn between the two: lines must never be newer than the moment that stands over them.
            told += [lines, reading] if back else [reading, lines]
            if player.arrived(goal):
                told.append(Noticed("The recording ends here."))
        return [*told, Replayed(_standing(player, self._survey))]

    async def _read_ahead(self, ahead: Replay, last: datetime) -> None:
        """Read the recording to its end, in what time is left."""
        told = time.perf_counter()
        while not self._read_until(last):
            self._read_slice(ahead, last)
            if time.perf_counter() - told > TOLD_S:
                told = time.perf_counter()
                self._wake.set()
            await asyncio.sleep(AHEAD_PAUSE_S)

    def _read_until(self, moment: datetime) -> bool:
        """Whether all points of the grid until then have been read."""
        return self._survey.until is not None and moment - self._survey.until < STEP

    def _read_slice(self, ahead: Replay, goal: datetime) -> datetime | None:
        """Read on for a moment of ours; the last point of the grid that was passed."""
        until = time.perf_counter() + SLICE_S
        reached = None
        for reached, verdict, _ in ahead.towards(goal):
            self._survey.take(reached, verdict)
            if time.perf_counter() >= until:
                break
        return reached


def _unread(error: OSError) -> RemoteError:
    return RemoteError(f"The recording can't be read: {why(error)}")


def _standing(player: Player, survey: Survey) -> Transport:
    """Where the replay stands, frozen."""
    return Transport(
        player.at,
        player.first,
        player.last,
        player.speed,
        player.playing,
        player.target,
        tuple(survey.changes),
        survey.until,
    )
