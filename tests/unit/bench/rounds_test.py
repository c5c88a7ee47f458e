"""What the benchmark makes of the rounds it ran."""

import sys
import tempfile
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))
sys.dont_write_bytecode = True

from ravelin_bench import tables  # noqa: E402
from ravelin_bench.candidates import Haproxy  # noqa: E402
from ravelin_bench.generator import Placement  # noqa: E402
from ravelin_bench.process import Process, StartFailed  # noqa: E402
from ravelin_bench.rounds import Cell, _subtract_direct  # noqa: E402
from ravelin_bench.workloads import WORKLOADS  # noqa: E402


def cell_of(family: str) -> Cell:
    return Cell(next(w for w in WORKLOADS if w.family == family), Placement("one CPU", 0, 0), "cubic")


class Rounds(unittest.TestCase):
    def test_a_slow_round_does_not_move_the_ratio(self):
        cell = cell_of("bulk")
        cell.rounds = {
            "a": [{"gbit": 20.0}, {"gbit": 2.0}, {"gbit": 20.0}],
            "b": [{"gbit": 10.0}, {"gbit": 1.0}, {"gbit": 10.0}],
        }
        self.assertEqual(cell.ratio("a", "b", "gbit"), [2.0, 2.0, 2.0])

    def test_a_failed_run_takes_its_round_out_of_the_ratio_and_nothing_else(self):
        cell = cell_of("bulk")
        cell.rounds = {"a": [None, {"gbit": 3.0}], "b": [{"gbit": 1.0}, {"gbit": 1.5}]}
        self.assertEqual(cell.ratio("a", "b", "gbit"), [2.0])
        self.assertEqual(cell.median("a", "gbit"), 3.0)
        self.assertIsNone(cell.median("c", "gbit"))

    def test_what_a_proxy_adds_is_told_against_direct_of_the_same_round(self):
        cell = cell_of("ping-pong")
        figures = {"direct": {"p50": 10.0}, "proxy": {"p50": 25.0}, "failed": None}
        _subtract_direct(cell.workload, figures)
        self.assertEqual(figures["proxy"]["p50_added"], 15.0)
        self.assertNotIn("p50_added", figures["direct"])

    def test_every_workload_has_a_title_of_its_own(self):
        titles = [workload.title for workload in WORKLOADS]
        self.assertEqual(len(titles), len(set(titles)))

    def test_a_slope_is_that_of_the_line(self):
        self.assertAlmostEqual(tables.least_squares([(1, 3), (2, 5), (3, 7)]), 2.0)
        self.assertIsNone(tables.least_squares([(1, 3)]))


class Processes(unittest.TestCase):
    def test_a_process_that_replaces_its_killed_parent_is_ended_too(self):
        with tempfile.TemporaryDirectory() as folder:
            script = "sleep 1000 & echo ready; wait; sleep 1000"
            process = Process(["sh", "-c", script], 0, Path(folder) / "log")
            self.assertEqual(process.first_line(), "ready")
            pids = process.pids()
            self.assertEqual(len(pids), 2)
            process.stop()
            deadline = time.monotonic() + 5
            while any(running(pid) for pid in pids) and time.monotonic() < deadline:
                time.sleep(0.01)
            self.assertFalse([pid for pid in pids if running(pid)])

    def test_a_program_that_ends_at_once_says_why(self):
        with tempfile.TemporaryDirectory() as folder:
            process = Process(["sh", "-c", "echo no such option >&2; exit 3"], 0, Path(folder) / "log")
            with self.assertRaisesRegex(StartFailed, "ended with 3: no such option"):
                process.wait_until_listening(1, 1)
            process.stop()


class Candidates(unittest.TestCase):
    def test_a_crowd_leaves_haproxy_within_the_descriptor_limit(self):
        with tempfile.TemporaryDirectory() as folder:
            Haproxy("/usr/sbin/haproxy", "haproxy", True).start(1, "127.0.0.1:2", 9500, Path(folder))
            config = (Path(folder) / "haproxy.cfg").read_text()
        self.assertIn("maxconn 9750", config)
        self.assertIn("tune.pipesize 1048576", config)


def running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


if __name__ == "__main__":
    unittest.main()
