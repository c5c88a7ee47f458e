"""Runs the tests of one file or several: python3 -m ravelin.run_file test_relay... [--long] [--only PATTERN].

Ends with "N passed, N failed, N skipped". A test's name is a sentence, and is printed as one.
"""

import argparse
import faulthandler
import sys
import time
import unittest

from .build import SANITIZERS


def sentence(test):
    name = test._testMethodName if hasattr(test, "_testMethodName") else str(test)
    return name.removeprefix("test_").replace("_", " ")


class Result(unittest.TestResult):
    def __init__(self):
        super().__init__()
        self.passed = 0
        self._start = 0.0

    def startTest(self, test):
        super().startTest(test)
        self._start = time.monotonic()

    def _say(self, test, verdict):
        print(f"{verdict}: {sentence(test)} ({time.monotonic() - self._start:.1f} s)", flush=True)

    def addSuccess(self, test):
        self.passed += 1
        self._say(test, "passed")

    def _fail(self, test, error):
        self._say(test, "FAILED")
        print(self._exc_info_to_string(error, test), flush=True)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self._fail(test, err)

    def addError(self, test, err):
        super().addError(test, err)
        self._fail(test, err)

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            print(f"in {subtest._subDescription()}:")
            self._fail(test, err)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        print(f"skipped: {sentence(test)}: {reason}", flush=True)


def selected(suite, options):
    for entry in suite:
        if isinstance(entry, unittest.TestSuite):
            yield from selected(entry, options)
            continue
        method = getattr(entry, entry._testMethodName, None)
        if getattr(method, "long", False) and not options.long:
            continue
        of_entry = getattr(entry, "only_unsanitized", False)  # a class may be marked too
        if (of_entry or getattr(method, "only_unsanitized", False)) and SANITIZERS:
            continue
        if options.only and options.only not in sentence(entry) and options.only not in entry._testMethodName:
            continue
        yield entry


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="+")
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    faulthandler.dump_traceback_later(840, exit=True)
    tests = list(selected(unittest.defaultTestLoader.loadTestsFromNames(options.names), options))
    result = Result()
    for test in tests:
        test.run(result)
    # A test whose clean-up failed too, or that failed in several subtests, is one failed test.
    failed = len({getattr(test, "test_case", test).id() for test, _ in result.failures + result.errors})
    print(f"{result.passed} passed, {failed} failed, {len(result.skipped)} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
