"""Runs one cell (workload, placement, congestion control) over all candidates in interleaved rounds.

In each round every candidate runs the same thing back to back, in an order that turns around every other round, so that
a slow minute of the machine hits all of them, and what comes first does not always come first.
"""

import statistics
from dataclasses import dataclass, field

from . import room
from .generator import Generator, Placement, RunFailed
from .workloads import Figures, Workload


@dataclass
class Cell:
    workload: Workload
    placement: Placement
    congestion_control: str
    rounds: dict[str, list[Figures | None]] = field(default_factory=dict)  # by candidate; None: the run failed
    failures: list[str] = field(default_factory=list)

    @property
    def conditions(self) -> str:
        return f"{self.placement.name}, {self.congestion_control}"

    def values(self, label: str, figure: str) -> list[float]:
        return [run[figure] for run in self.rounds.get(label, []) if run and figure in run]

    def median(self, label: str, figure: str) -> float | None:
        values = self.values(label, figure)
        return statistics.median(values) if values else None

    def ratio(self, label: str, to: str, figure: str) -> list[float]:
        """Per round, so that what a round had in common cancels out."""
        pairs = zip(self.rounds.get(label, []), self.rounds.get(to, []))
        return [a[figure] / b[figure] for a, b in pairs if a and b and figure in a and b.get(figure)]


def run_cell(cell: Cell, candidates: list, generator: Generator, rounds: int, words: list[str]) -> None:
    room.use_congestion_control(cell.congestion_control)
    for number in range(rounds):
        order = candidates if number % 2 == 0 else candidates[::-1]
        this_round = {candidate.label: _run(cell, candidate, generator, words) for candidate in order}
        _subtract_direct(cell.workload, this_round)
        for label, figures in this_round.items():
            cell.rounds.setdefault(label, []).append(figures)


def _run(cell: Cell, candidate, generator: Generator, words: list[str]) -> Figures | None:
    try:
        result = generator.run(candidate, cell.placement, [*cell.workload.words, *words], cell.workload.sessions)
    except RunFailed as failure:
        cell.failures.append(f"{candidate.label}: {failure}")
        return None
    if result["errors"] or result["headers"]["wrong"]:
        cell.failures.append(
            f"{candidate.label}: {result['errors']} errors, {result['headers']['wrong']} wrong headers"
        )
        return None
    return cell.workload.figures(result)


def _subtract_direct(workload: Workload, this_round: dict[str, Figures | None]) -> None:
    direct = this_round.get("direct")
    for label, figures in this_round.items():
        for figure, added in workload.added.items():
            if label != "direct" and direct and figures and figure in direct and figure in figures:
                figures[added] = figures[figure] - direct[figure]
