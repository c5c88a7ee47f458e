"""Waiting for an event, with a deadline that knows how slow the build under test is."""

import time

from .build import SLOWNESS

PATIENCE = 30.0  # seconds for anything that takes milliseconds on a machine that is not busy with other things


def patience(seconds=PATIENCE):
    return seconds * SLOWNESS


def wait_until(condition, what, seconds=PATIENCE):
    """Returns the first true value of condition(). "waited N s for {what}" is the error; what may be a function."""
    end = time.monotonic() + patience(seconds)
    pause = 0.001
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"waited {patience(seconds):.0f} s for {what() if callable(what) else what}")
        time.sleep(pause)
        pause = min(pause * 1.5, 0.05)


def pace(seconds):
    """The pause between two things whose pace the test is about. Never a way to wait for something to happen."""
    time.sleep(seconds)
