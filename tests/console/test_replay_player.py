"""The hand on a recording: play, pause, step, jump and pace, by a clock that the test turns."""

from __future__ import annotations

from datetime import timedelta

import pytest

from console.job.snapshot import Judgement
from console.replay_player import Player
from console.replay_transport import SPEEDS, Change, Survey, Transport, neighbour, paced
from tests import samples
from tests.job.builders import T0, after

HOURS = 10
LAST = T0 + timedelta(hours=HOURS)


class Hand:
    """A player and its clock."""

    def __init__(self, speed: float = 60.0) -> None:
        self.tick = 100.0
        self.player = Player(T0, LAST, speed=speed, ticks=lambda: self.tick)
        self.drawn()

    def drawn(self, seconds: float = 0.0) -> float:
        """Let time go on and draw a picture; where it is, in seconds of the log."""
        self.tick += seconds
        self.player.arrived(self.player.wanted())
        return (self.player.at - T0).total_seconds()


def test_it_plays_at_its_speed_and_pauses() -> None:
    hand = Hand(speed=10.0)
    assert [hand.drawn(0.25) for _ in range(4)] == [2.5, 5.0, 7.5, 10.0]
    hand.player.turn_play()
    assert [hand.drawn(5.0), hand.drawn(5.0)] == [10.0, 10.0]
    hand.player.turn_play()
    assert hand.drawn(0.25) == 12.5


def test_fast_pictures_lie_on_the_grid_and_lose_no_time() -> None:
    hand = Hand(speed=300.0)
    places = [hand.drawn(0.25) for _ in range(8)]
    assert places == [60, 120, 180, 300, 360, 420, 480, 600]  # 75 seconds of the log a picture
    assert all(place % 60 == 0 for place in places)


def test_a_slow_machine_plays_slower_and_never_leaps() -> None:
    hand = Hand(speed=60.0)
    hand.tick += 10.0  # the picture of now takes ten seconds
    wanted = hand.player.wanted()
    hand.tick += 10.0
    hand.player.arrived(wanted)
    before = hand.player.at
    hand.drawn(0.25)
    assert hand.player.at - before == timedelta(seconds=15)


def test_steps_pause_and_hours_do_not() -> None:
    hand = Hand()
    hand.player.go_by(timedelta(hours=1))
    assert hand.drawn() == 3600
    played = hand.player.playing
    hand.player.step(timedelta(minutes=-1))
    assert hand.drawn() == 3540
    assert (played, hand.player.playing) == (True, False)
    hand.player.step(timedelta(minutes=1))
    hand.player.step(timedelta(minutes=10))  # before the first was drawn
    assert hand.drawn(5.0) == 4200


def test_it_stays_within_the_recording_and_begins_again_at_its_end() -> None:
    hand = Hand(speed=7200.0)
    hand.player.go_by(timedelta(hours=-3))
    assert hand.drawn() == 0
    hand.player.go_to(LAST - timedelta(minutes=1))
    hand.drawn()
    hand.tick += 5.0
    assert hand.player.wanted() == LAST
    assert hand.player.arrived(LAST)
    assert not hand.player.playing
    assert not hand.player.arrived(LAST)  # it is told once
    hand.player.turn_play()
    assert hand.drawn() == 0
    assert hand.player.playing


def test_the_pace_goes_along_a_ladder_and_time_goes_on_from_where_it_is() -> None:
    hand = Hand(speed=10.0)
    hand.drawn(0.5)
    hand.player.change_pace(faster=True)
    assert hand.player.speed == 30.0
    assert hand.drawn(0.5) == 20.0
    assert [paced(known, faster=True) for known in (600.0, 7200.0, 250.0)] == [1200.0, 7200.0, 300.0]
    assert [paced(known, faster=False) for known in (600.0, 1.0, 250.0)] == [300.0, 1.0, 120.0]
    assert list(SPEEDS) == sorted(SPEEDS)


def test_shares_and_moments_are_each_others_inverse() -> None:
    transport = Transport(T0, T0, LAST)
    assert transport.share(transport.moment(0.25)) == 0.25
    assert [transport.share(after(-60)), transport.share(LAST + timedelta(hours=1))] == [0.0, 1.0]
    assert transport.moment(7.0) == LAST
    assert Transport(T0, T0, T0).share(T0) == 1.0


def test_a_survey_keeps_changes_only() -> None:
    survey = Survey()
    calm, warned = samples.healthy(), samples.warned()
    for snapshot in (calm, calm, warned, warned, calm):
        survey.take(snapshot.at, snapshot.verdict)
    assert [change.verdict for change in survey.changes] == [Judgement.WAIT, Judgement.WATCH, Judgement.WAIT]
    assert survey.until == calm.at


@pytest.mark.parametrize(
    ("at", "back", "found"), [(0, False, 60), (60, False, 120), (120, False, None), (120, True, 60), (0, True, None)]
)
def test_the_neighbours_of_a_moment(at: float, back: bool, found: float | None) -> None:
    changes = [Change(after(seconds), Judgement.WAIT, "steady", "") for seconds in (0, 60, 120)]
    change = neighbour(changes, after(at), back=back)
    assert (change and (change.at - T0).total_seconds()) == found
