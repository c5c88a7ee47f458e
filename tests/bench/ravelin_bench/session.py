"""What `run` and `gate` share: the command line, the build, the candidates that are fit, the cells to measure."""

import argparse
import subprocess
import sys
from pathlib import Path

from . import candidates, check, machine, room
from .generator import Generator, placements
from .rounds import Cell, run_cell
from .workloads import Workload

ROOT = Path(__file__).resolve().parents[3]
BIN = ROOT / "build" / "release" / "bin"


def arguments(description: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument(
        "--haproxy",
        metavar="[LABEL=]PATH",
        action="append",
        default=[],
        help="another haproxy beside the installed one; the first is what ratios refer to",
    )
    parser.add_argument(
        "--nginx", metavar="[LABEL=]PATH", action="append", default=[], help="another nginx beside the installed one"
    )
    parser.add_argument("--redirector", metavar="PATH", default=str(BIN / "redirector"))
    parser.add_argument("--without", metavar="LABEL", action="append", default=[], help="leave a candidate out")
    parser.add_argument("--rounds", type=int, help="how often each candidate runs each workload")
    parser.add_argument("--seconds", type=float, help="measured time of a run")
    parser.add_argument("--warm-up", type=float, default=0.3, help="seconds before it")
    parser.add_argument("--no-build", action="store_true", help="take the programs as they are")
    return parser


def build() -> None:
    """Outside the room, where the compiler cache is."""
    steps = [
        ["cmake", "--preset", "release"],
        ["cmake", "--build", "--preset", "release", "--target", "bench_load", "redirector"],
    ]
    for step in steps:
        done = subprocess.run(step, cwd=ROOT, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join(step)} failed:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")


def enter(options: argparse.Namespace) -> None:
    if not options.no_build and not room.entered():
        build()
    room.enter()
    machine.raise_descriptor_limit()


class Session:
    """The candidates in the room, checked, and the means to measure cells with them."""

    def __init__(self, options: argparse.Namespace, rounds: int, seconds: float):
        self.rounds, self.seconds, self.warm_up = options.rounds or rounds, options.seconds or seconds, options.warm_up
        self.machine = machine.describe()
        self.generator = Generator(str(BIN / "bench_load"), room.folder())
        found, self.missing = candidates.find(options.redirector, options.haproxy, options.nginx)
        found = [candidate for candidate in found if candidate.label not in options.without]
        self.controls = [
            name
            for name in dict.fromkeys([room.system_congestion_control(), "bbr", "cubic"])
            if name in room.available_congestion_controls()
        ]
        self.candidates, self.reports = check.candidates(found, self.generator, placements()[0], self.controls[0])
        haproxies = [c.label for c in self.candidates if isinstance(c, candidates.Haproxy)]
        self.reference = haproxies[0] if haproxies else self.candidates[0].label

    def cells(self, workloads: list[Workload]) -> list[Cell]:
        return [
            Cell(workload, placement, control)
            for workload in workloads
            for placement in placements()
            if placement.name in workload.placements
            for control in (self.controls if workload.every_congestion_control else self.controls[:1])
        ]

    def minutes(self, cells: list[Cell]) -> float:
        """About how long they take: each run has its set-up, its warm-up and its end beside what is measured."""
        runs = self.rounds * len(self.candidates) / 60
        crowds = sum(2.0 for cell in cells if cell.workload.sessions > candidates.MANY_SESSIONS)
        return runs * (
            crowds
            + sum((cell.workload.seconds or self.seconds) + self.warm_up + cell.workload.settle + 0.7 for cell in cells)
        )

    def measure(self, cell: Cell) -> None:
        seconds = cell.workload.seconds or self.seconds
        before = max(self.warm_up, cell.workload.settle)
        words = ["--warm-up", f"{before * 1000:.0f}", "--measure", f"{seconds * 1000:.0f}"]
        run_cell(cell, self.candidates, self.generator, self.rounds, words)
