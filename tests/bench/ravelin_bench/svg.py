"""Plain SVG charts: grouped bars and lines, readable on a white page without a script."""

import math
from dataclasses import dataclass
from html import escape

FONT = "font-family='system-ui, sans-serif'"
INK, FAINT = "#24292f", "#d0d7de"
WIDTH, LEFT, RIGHT, TOP = 900, 150, 90, 64
BAR, GAP, NAME = 15, 12, 20


@dataclass
class Value:
    middle: float
    low: float
    high: float


def colour(label: str) -> str:
    """The same candidate has the same colour in every chart."""
    if label.startswith("redirector"):
        return "#0969da"
    if label == "direct":
        return "#8c959f"
    if label.startswith("nginx"):
        return "#1a7f37"
    newer, tuned = label.removesuffix("-tuned") != "haproxy", label.endswith("-tuned")
    return {(False, False): "#fb8f44", (False, True): "#bc4c00", (True, False): "#d4a72c", (True, True): "#7d4e00"}[
        newer, tuned
    ]


def _text(x: float, y: float, text: str, size: int = 12, anchor: str = "start", fill: str = INK, more: str = "") -> str:
    return (
        f"<text x='{x:.1f}' y='{y:.1f}' font-size='{size}' text-anchor='{anchor}' fill='{fill}' {FONT} {more}>"
        f"{escape(text)}</text>"
    )


def _page(height: float, title: str, unit: str, parts: list[str]) -> str:
    head = [
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {WIDTH} {height:.0f}' role='img'>",
        f"<title>{escape(title)}</title>",
        f"<rect width='{WIDTH}' height='{height:.0f}' fill='white'/>",
        _text(16, 26, title, 16, more="font-weight='600'"),
        _text(16, 46, unit, 12, fill="#57606a"),
    ]
    return "\n".join([*head, *parts, "</svg>"]) + "\n"


def _steps(highest: float) -> list[float]:
    """Round tick values from 0 to just above the highest."""
    if highest <= 0:
        return [0.0, 1.0]
    rough = highest / 5
    size = 10 ** math.floor(math.log10(rough))
    step = next(size * factor for factor in (1, 2, 2.5, 5, 10) if size * factor >= rough)
    return [step * i for i in range(math.ceil(highest / step) + 1)]


def bars(title: str, unit: str, groups: list[tuple[str, dict[str, Value]]], digits: int) -> str:
    """One group a row label; in it a bar a candidate, with a whisker from the lowest to the highest round."""
    ticks = _steps(max((v.high for _, values in groups for v in values.values()), default=1))
    scale = (WIDTH - LEFT - RIGHT) / ticks[-1]
    body, y = [], float(TOP + 10)
    for name, values in groups:
        body.append(_text(16, y + NAME - 7, name, 12, more="font-weight='600'"))
        y += NAME
        for label, value in values.items():
            width, low, high = max(1.0, value.middle * scale), LEFT + value.low * scale, LEFT + value.high * scale
            middle = y + BAR / 2 - 1
            body += [
                _text(LEFT - 6, y + BAR - 4, label, 10, "end", "#57606a"),
                f"<rect x='{LEFT}' y='{y:.1f}' width='{width:.1f}' height='{BAR - 3}' rx='2' fill='{colour(label)}'/>",
                f"<path d='M{low:.1f} {middle:.1f}H{high:.1f}' stroke='{INK}'/>",
                _text(max(LEFT + width, high) + 6, y + BAR - 4, f"{value.middle:,.{digits}f}", 11),
            ]
            y += BAR
        y += GAP
    grid = []
    for tick in ticks:
        x = LEFT + tick * scale
        grid += [
            f"<path d='M{x:.1f} {TOP}V{y:.1f}' stroke='{FAINT}'/>",
            _text(x, y + 16, f"{tick:g}", 10, "middle", "#57606a"),
        ]
    return _page(y + 28, title, unit, grid + body)


def lines(title: str, unit: str, across: str, series: dict[str, list[tuple[float, float]]]) -> str:
    """x is logarithmic, in decades."""
    height, left, right, bottom = 420, 70, 190, 52
    points = [point for line in series.values() for point in line]
    low, high = min(x for x, _ in points), max(x for x, _ in points)
    ticks = _steps(max(y for _, y in points))
    span = math.log10(high / low) or 1.0

    def place(x: float, y: float) -> tuple[float, float]:
        return (
            left + math.log10(x / low) / span * (WIDTH - left - right),
            height - bottom - y / ticks[-1] * (height - bottom - TOP),
        )

    parts = []
    for tick in ticks:
        y = place(low, tick)[1]
        parts += [
            f"<path d='M{left} {y:.1f}H{WIDTH - right}' stroke='{FAINT}'/>",
            _text(left - 8, y + 4, f"{tick:g}", 10, "end", "#57606a"),
        ]
    for x in sorted({x for x, _ in points}):
        parts.append(_text(place(x, 0)[0], height - bottom + 18, f"{x:,.0f}", 10, "middle", "#57606a"))
    parts.append(_text((left + WIDTH - right) / 2, height - 14, across, 12, "middle"))
    for (label, line), y in zip(series.items(), _apart([place(*line[-1])[1] for line in series.values()])):
        path = " ".join(f"{x:.1f},{y_:.1f}" for x, y_ in (place(*point) for point in line))
        parts.append(f"<polyline points='{path}' fill='none' stroke='{colour(label)}' stroke-width='2.5'/>")
        parts += [
            f"<circle cx='{x:.1f}' cy='{y_:.1f}' r='3.5' fill='{colour(label)}'/>"
            for x, y_ in (place(*point) for point in line)
        ]
        parts.append(_text(WIDTH - right + 10, y + 4, label, 12, fill=colour(label)))
    return _page(height, title, unit, parts)


def _apart(heights: list[float], least: float = 15) -> list[float]:
    """Moves labels apart that would cover each other, in their order from top to bottom."""
    order = sorted(range(len(heights)), key=heights.__getitem__)
    moved = list(heights)
    for above, here in zip(order, order[1:]):
        moved[here] = max(moved[here], moved[above] + least)
    return moved
