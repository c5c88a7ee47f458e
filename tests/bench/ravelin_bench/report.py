"""Writes the JSON, the Markdown and the plots of a run. Every number in them comes out of the run itself."""

import json
import math
from dataclasses import dataclass
from pathlib import Path

from . import sizing, svg, tables
from .rounds import Cell
from .workloads import FAMILIES, FIGURES

TITLES = {
    "bulk": "Bulk",
    "ping-pong": "Ping-pong",
    "requests": "Connections",
    "scaling": "Scaling: connections beside standing sessions",
    "heartbeats": "Heartbeats",
    "idle": "Idle sessions",
    "stall": "Readers that stall",
}
SECOND = {
    "ping-pong": ["p50_added", "p99"],
    "requests": ["p99"],
    "scaling": ["connections", "p99"],
    "heartbeats": ["p99.9"],
    "idle": ["memory_all", "slab_added", "idle_cpu", "connections_per_cpu", "connections", "p99"],
    "stall": ["stopped", "memory_growth", "tcp_growth"],
}
METHOD = """\
Every proxy, the client and the origin run in a network namespace of their own, over loopback, and are started afresh
for each run. In a round every candidate runs the same workload back to back; the order turns around every other round.
Figures are medians over the rounds with the lowest and the highest; a ratio is the median of the rounds' own ratios to
`{reference}`. CPU seconds are those of all processes of the proxy, as the kernel accounts them
(`clock_getcpuclockid(3)`); on loopback that includes the softirq work which a proxy's own system calls set off.
*one CPU*: proxy, client and origin share a CPU; *cross*: the proxy has a CPU, client and origin share another.
Congestion control is set by the routes of the namespace, so it is the same on every socket of every candidate.
Each candidate first has to return 4 times 4 MiB of random bytes unharmed and half-closed; each bulk run has to deliver
every byte sent. {rounds} rounds, {seconds:g} s measured after {warm_up:g} s of warm-up where a workload does not say
otherwise.
"""


@dataclass
class Run:
    """One call of the benchmark, complete."""

    machine: dict
    candidates: list[dict]
    missing: list[str]
    reference: str
    rounds: int
    seconds: float
    warm_up: float
    iperf: dict[str, float]  # Gbit/s by placement and congestion control
    cells: list[Cell]
    complete: bool = False

    @property
    def labels(self) -> list[str]:
        return [candidate["label"] for candidate in self.candidates if candidate["failure"] is None]


def write(run: Run, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "results.json").write_text(json.dumps(_data(run), indent=1) + "\n")
    plots = _plots(run)
    for name, text in plots.items():
        (folder / name).write_text(text)
    (folder / "results.md").write_text(markdown(run, list(plots)))


def _data(run: Run) -> dict:
    cells = [
        {
            "family": cell.workload.family,
            "workload": cell.workload.title,
            "placement": cell.placement.name,
            "congestion_control": cell.congestion_control,
            "rounds": cell.rounds,
            "failures": cell.failures,
        }
        for cell in run.cells
    ]
    return {
        "machine": run.machine,
        "candidates": run.candidates,
        "missing": run.missing,
        "reference": run.reference,
        "rounds": run.rounds,
        "seconds": run.seconds,
        "warm_up": run.warm_up,
        "iperf3_gbit": run.iperf,
        "complete": run.complete,
        "cells": cells,
    }


def markdown(run: Run, plots: list[str]) -> str:
    parts = [
        "# Performance: what was measured\n",
        "Written by `tests/bench/run`; not edited by hand.\n",
        "" if run.complete else "**This run was not brought to its end.**\n",
        _machine(run),
        "## Method\n",
        METHOD.format(**vars(run)),
        _candidates(run),
        _generator(run),
    ]
    for family in FAMILIES:
        cells = [cell for cell in run.cells if cell.workload.family == family]
        if cells:
            parts += [f"## {TITLES[family]}\n", *_family(run, family, cells, plots)]
    parts.append(sizing.section(run.cells, run.labels))
    parts.append("## Every figure\n\nMedian (lowest..highest) over the rounds.\n")
    for cell in run.cells:
        parts += [f"### {cell.workload.title}; {cell.conditions}\n", tables.in_detail(cell, run.labels)]
    return "\n".join(parts)


def _machine(run: Run) -> str:
    m = run.machine
    facts = [
        f"{m['cpus']} CPUs of {m['cpu']}, {m['memory_gib']} GiB; {m['system']}, Linux {m['kernel']}",
        f"system's congestion control {m['congestion_control']}; tcp_rmem {' '.join(m['tcp_rmem'])}, "
        f"tcp_wmem {' '.join(m['tcp_wmem'])}; largest pipe {m['pipe_max_size']:,} bytes",
        f"at most {m['descriptor_limit']:,} descriptors a process, which ends the crowds at 9,500 sessions",
        f"load of the machine before the run: {m['load_before']:.2f}",
    ]
    if not m["privileged"]:
        facts.append("run without root: the limit on pipe memory per user applies to every candidate")
    shares = [
        share
        for cell in run.cells
        if cell.placement.name == "one CPU"
        for label in run.labels
        for share in cell.values(label, "had")
    ]
    if shares:
        less = sum(share < 90 for share in shares)
        facts.append(
            f"of {len(shares)} loaded runs on one CPU, {less} had less than 90 % of it to themselves "
            f"(median {tables.median(shares):.0f} %); the more had less, the noisier the numbers"
        )
    return "\n".join(f"- {fact}" for fact in facts) + "\n"


def _candidates(run: Run) -> str:
    rows = [
        [
            c["label"],
            c["version"],
            c["settings"],
            c.get("header", "–"),
            ", ".join(c["congestion_control"]) or "–",
            c["failure"] or "exact",
        ]
        for c in run.candidates
    ]
    text = tables.table(["candidate", "version", "settings", "header", "its sockets use", "random bytes"], rows)
    return text + "".join(f"\nNot compared: {sentence}.\n" for sentence in run.missing)


def _generator(run: Run) -> str:
    """Whether the generator could have been the limit, told by its own speed without a proxy."""
    rows = []
    for cell in run.cells:
        if cell.workload.family in ("bulk", "ping-pong", "requests"):
            rate = {"bulk": "gbit", "ping-pong": "messages", "requests": "connections"}[cell.workload.family]
            direct = cell.median("direct", rate)
            proxied = [
                (cell.median(label, rate), label)
                for label in run.labels
                if label != "direct" and cell.median(label, rate)
            ]
            if direct and proxied:
                best, label = max(proxied)
                busy = cell.median(label, "busy")
                rows.append(
                    [
                        cell.workload.title,
                        cell.conditions,
                        f"{direct:,.1f} {FIGURES[rate].unit}",
                        f"{best:,.1f} ({label})",
                        tables.number(busy, 0) + " %",
                    ]
                )
    text = "## Is the generator the limit?\n\n"
    for conditions, gbit in run.iperf.items():
        text += f"iperf3, one connection without a proxy, {conditions}: {gbit:.1f} Gbit/s.\n"
    return (
        text
        + "\n"
        + tables.table(["workload", "placement", "direct", "fastest proxy", "that proxy's CPU is busy"], rows)
    )


def _family(run: Run, family: str, cells: list[Cell], plots: list[str]) -> list[str]:
    parts = []
    for figure in dict.fromkeys([tables.primary(cells[0]), *SECOND.get(family, [])]):
        if figure and any(cell.values(label, figure) for cell in cells for label in run.labels):
            better = "more is better" if FIGURES[figure].more_is_better else "less is better"
            parts += [
                f"{FIGURES[figure].title}, {FIGURES[figure].unit} ({better}); in brackets the ratio to "
                f"`{run.reference}`:\n",
                tables.compared(cells, run.labels, run.reference, figure),
            ]
    if family in ("scaling", "idle"):
        parts += _slopes(run, family, cells)
    parts += [f"![{TITLES[family]}]({name})\n" for name in plots if name.startswith(family)]
    parts += [f"Failed: {failure}.\n" for cell in cells for failure in cell.failures]
    return parts


def _slopes(run: Run, family: str, cells: list[Cell]) -> list[str]:
    figure, title = (
        ("connections_per_cpu", "connections per CPU second, change with each tenfold of sessions, k/CPU-s")
        if family == "scaling"
        else ("memory", "memory of the process with the sessions, slope in KiB a session")
    )
    rows = []
    for label in run.labels:
        points = []
        for cell in cells:
            sessions, value = cell.workload.across, cell.median(label, figure)
            if value is not None:
                points.append((math.log10(sessions), value) if family == "scaling" else (sessions, value * sessions))
        slope = tables.least_squares(points)
        if slope is not None:
            rows.append([label, f"{slope:+.2f}"])
    return [tables.table(["candidate", title], rows)] if rows else []


def _plots(run: Run) -> dict[str, str]:
    plots = {}
    for family in FAMILIES:
        cells = [cell for cell in run.cells if cell.workload.family == family]
        for conditions in dict.fromkeys(cell.conditions for cell in cells):
            chosen = [cell for cell in cells if cell.conditions == conditions]
            figure = tables.primary(chosen[0])
            groups = [(cell.workload.title, _bars(run, cell, figure)) for cell in chosen]
            groups = [group for group in groups if group[1]]
            if groups:
                name = f"{family}-{conditions.replace(', ', '-').replace(' ', '-').lower()}.svg"
                shape = FIGURES[figure]
                better = "more is better" if shape.more_is_better else "less is better"
                plots[name] = svg.bars(
                    f"{TITLES[family]} ({conditions})", f"{shape.title}, {shape.unit}; {better}", groups, shape.digits
                )
    scaling = [cell for cell in run.cells if cell.workload.family == "scaling"]
    if len(scaling) > 1:
        for figure in ("connections_per_cpu", "p99"):
            series = {
                label: [
                    (cell.workload.across, cell.median(label, figure)) for cell in scaling if cell.median(label, figure)
                ]
                for label in run.labels
            }
            shape = FIGURES[figure]
            plots[f"scaling-{figure.replace('_', '-')}.svg"] = svg.lines(
                TITLES["scaling"],
                f"{shape.title}, {shape.unit}",
                "sessions that stand meanwhile",
                {k: v for k, v in series.items() if v},
            )
    return plots


def _bars(run: Run, cell: Cell, figure: str) -> dict[str, svg.Value]:
    values = {label: cell.values(label, figure) for label in run.labels}
    return {label: svg.Value(tables.median(found), min(found), max(found)) for label, found in values.items() if found}
