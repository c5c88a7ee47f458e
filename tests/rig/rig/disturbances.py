"""What happens to a daemon, or to the wire, in the middle of a round. TABLE has them all.

A disturbance begins when the sessions have ended up to a share of themselves, or when nothing has moved for a while, so
that a slow machine sees the same order of things. It lasts for some seconds at most, less than any timeout.
"""

import dataclasses
import os
import signal
import time

from . import network


@dataclasses.dataclass
class Disturbance:
    after: float  # the share of the round's sessions that is over when it begins
    seconds: float

    def begin(self, stage):
        raise NotImplementedError

    def end(self, stage):
        """Also called after a failure, and then perhaps for a daemon that is gone."""


@dataclasses.dataclass
class Stop(Disturbance):
    """The worker stands still wherever it is."""

    which: int

    def begin(self, stage):
        os.kill(stage.daemon(self.which).worker, signal.SIGSTOP)

    def end(self, stage):
        os.kill(stage.daemon(self.which).worker, signal.SIGCONT)


@dataclasses.dataclass
class Kill(Disturbance):
    """The worker is gone in the middle of whatever it does."""

    which: int

    def begin(self, stage):
        os.kill(stage.daemon(self.which).worker, signal.SIGKILL)


@dataclasses.dataclass
class Upgrade(Disturbance):
    """The next worker takes over from one that freezes."""

    which: int

    def begin(self, stage):
        os.kill(stage.daemon(self.which).pid, signal.SIGUSR2)


@dataclasses.dataclass
class BlackHole(Disturbance):
    """All packets of one way are lost."""

    way: str

    def begin(self, stage):
        stage.network.lose(self.way)

    def end(self, stage):
        stage.network.lose(self.way, False)


@dataclasses.dataclass
class ClockJump(Disturbance):
    """The wall clock is wrong by this much, from now on."""

    by: int

    def begin(self, stage):
        for daemon in range(2):
            stage.faults(daemon).move_clock(self.by)


def _of_a_daemon(kind):
    return lambda rng, **when: kind(**when, which=rng.randrange(2))


def _black_hole(rng, **when):
    return BlackHole(**when, way=rng.choice(network.WAYS))


def _clock_jump(rng, **when):
    return ClockJump(**when, by=rng.choice((-1, 1)) * rng.choice((1, 61, 3600, 86_400, 400 * 86_400)))


TABLE = {
    "stop": _of_a_daemon(Stop),
    "kill": _of_a_daemon(Kill),
    "upgrade": _of_a_daemon(Upgrade),
    "black_hole": _black_hole,
    "clock_jump": _clock_jump,
}


def draw(name, rng):
    return TABLE[name](rng, after=round(0.8 * rng.random(), 2), seconds=round(0.1 + 2 * rng.random(), 2))


class Timeline:
    """Begins and ends a round's disturbances, one at a time."""

    PATIENCE = 0.4  # seconds without any movement after which the next one begins anyhow

    def __init__(self, disturbances, stage):
        self._waiting, self._stage = list(disturbances), stage
        self._now, self._until = None, 0.0
        self._moved = time.monotonic()

    def look(self, share, moved):
        """Call often. Share: of the sessions that are over."""
        now = time.monotonic()
        if moved:
            self._moved = now
        if self._now and now >= self._until:
            self.finish()
        due = self._waiting and (share >= self._waiting[0].after or now - self._moved > self.PATIENCE)
        if due and not self._now:
            self._now = self._waiting.pop(0)
            self._until = now + self._now.seconds
            self._now.begin(self._stage)

    @property
    def is_going_on(self):
        return self._now is not None

    def finish(self):
        if self._now:
            ending, self._now = self._now, None
            ending.end(self._stage)
