"""The build tree under test: RAVELIN_BUILD names it (default build/release)."""

import os
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[3]
TREE = (ROOT / os.environ.get("RAVELIN_BUILD", "build/release")).resolve()
PRESET = TREE.name


def _sanitizers():
    cache = TREE / "CMakeCache.txt"
    found = re.search(r"^RAVELIN_SANITIZE:\w+=(.*)$", cache.read_text(), re.M) if cache.exists() else None
    return set(filter(None, found.group(1).split(","))) if found else set()


SANITIZERS = _sanitizers()

# How much longer everything may take than in a release build.
SLOWNESS = 6 if "thread" in SANITIZERS else 3 if SANITIZERS else 1


def program(name):
    return str(TREE / "bin" / name)


def peer(name):
    """A test peer in C++. Peers are no part of what a sanitizer looks at: they come from the release tree."""
    return str(ROOT / "build/release/bin" / name)


def only_unsanitized(test):
    """Leaves a test out of the sanitizers' runs: it looks at the program from outside in a way they disturb, or
    would say nothing there that the release run has not said."""
    test.only_unsanitized = True
    return test


def long(test):
    """A test for tests/run --long alone."""
    test.long = True
    return test
