"""Markdown tables of what was measured."""

from .rounds import Cell
from .workloads import FIGURES, Figures


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] + ["---:"] * (len(head) - 1), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def number(value: float | None, digits: int) -> str:
    return "–" if value is None else f"{value:,.{digits}f}"


def primary(cell: Cell) -> str:
    """The figure that ratios are made of: the first that a proxy's run has."""
    for label, rounds in cell.rounds.items():
        for figures in rounds:
            if figures and label != "direct":
                return next(iter(figures))
    return next((next(iter(figures)) for rounds in cell.rounds.values() for figures in rounds if figures), "")


def median(values: list[float]) -> float | None:
    ordered = sorted(values)
    middle = len(ordered) // 2
    if not ordered:
        return None
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def compared(cells: list[Cell], labels: list[str], reference: str, figure: str) -> str:
    """One row a cell, one column a candidate: the median, and the median of the ratios to the reference."""
    digits = FIGURES[figure].digits
    rows = []
    for cell in cells:
        row = [cell.workload.title, cell.conditions]
        for label in labels:
            text = number(cell.median(label, figure), digits)
            ratio = median(cell.ratio(label, reference, figure))
            row.append(text if ratio is None or label == reference else f"{text} ({ratio:.2f}x)")
        rows.append(row)
    return table(["workload", "placement", *labels], rows)


def in_detail(cell: Cell, labels: list[str]) -> str:
    """One row a candidate, every figure as median (min..max) over the rounds."""
    names = [name for name in FIGURES if any(cell.values(label, name) for label in labels)]
    rows = []
    for label in labels:
        row = [label]
        for name in names:
            values, digits = cell.values(label, name), FIGURES[name].digits
            spread = f" ({number(min(values), digits)}..{number(max(values), digits)})" if len(values) > 1 else ""
            row.append(number(median(values), digits) + spread)
        rows.append(row)
    return table(["candidate", *(f"{FIGURES[name].title}, {FIGURES[name].unit}" for name in names)], rows)


def least_squares(points: list[tuple[float, float]]) -> float | None:
    if len(points) < 2:
        return None
    mean_x = sum(x for x, _ in points) / len(points)
    mean_y = sum(y for _, y in points) / len(points)
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / spread if spread else None
