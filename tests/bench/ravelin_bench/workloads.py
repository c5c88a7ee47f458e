"""The table of workloads: what bench_load is told, and which figures its answer gives.

A figure is one number of one run. The first one of a workload is what ratios are made of.
"""

from dataclasses import dataclass, field
from typing import Callable

Result = dict
Figures = dict[str, float]

CROWD = 9500  # two descriptors each in the proxy, and 20,000 is the most that a process here may have

# Seconds: longer than the connect timeouts given, since some proxies let the timer of that run out once and reuse it.
SETTLE = 6.0


@dataclass(frozen=True)
class Figure:
    title: str
    unit: str
    more_is_better: bool = True
    digits: int = 1


FIGURES = {
    "bytes_per_cpu": Figure("data per proxy CPU second", "GB/CPU-s", digits=2),
    "gbit": Figure("throughput", "Gbit/s"),
    "messages_per_cpu": Figure("messages per proxy CPU second", "k/CPU-s"),
    "messages": Figure("messages", "k/s"),
    "connections_per_cpu": Figure("connections per proxy CPU second", "k/CPU-s", digits=2),
    "connections": Figure("connections", "k/s", digits=2),
    "p50": Figure("p50", "µs", False),
    "p99": Figure("p99", "µs", False),
    "p99.9": Figure("p99.9", "µs", False),
    "p50_added": Figure("p50 beyond direct", "µs", False),
    "busy": Figure("proxy's share of its CPU", "%", digits=0),
    "had": Figure("CPU that proxy, client and origin had together", "%", digits=0),
    "cpu_per_million": Figure("proxy CPU for a million messages", "CPU-s", False, 2),
    "memory": Figure("memory of the process with the sessions, each", "KiB", False, 2),
    "memory_all": Figure("memory of all processes, each session", "KiB", False, 2),
    "slab": Figure("kernel slab, each session, with both ends", "KiB", False, 2),
    "slab_added": Figure("kernel slab beyond direct, each session", "KiB", False, 2),
    "idle_cpu": Figure("CPU while nothing happens", "ms/s", False, 2),
    "held": Figure("held between sender and reader, each connection", "MiB", False, 2),
    "stopped": Figure("stopped", "1 = yes", True, 0),
    "memory_growth": Figure("growth of the proxy's own memory, each connection", "KiB", False, 0),
    "tcp_growth": Figure("growth of the kernel's TCP memory, each connection", "MiB", False, 2),
}


def _per_cpu(amount: float, result: Result) -> Figures | None:
    return amount / result["proxy_cpu"] if result["proxy_cpu"] > 0 else None


def _kept(**figures) -> Figures:
    return {name.replace("__", "."): value for name, value in figures.items() if value is not None}


def _busy(result: Result) -> float | None:
    return 100 * result["proxy_cpu"] / result["seconds"] if result["proxy_cpu"] > 0 else None


def had(result: Result) -> float:
    """100 per CPU that was ours for the whole time; under load, less tells that somebody else used the machine."""
    return 100 * (result["proxy_cpu"] + result["client_cpu"] + result["origin_cpu"]) / result["seconds"]


def bulk(result: Result) -> Figures:
    amount = result["bytes_up"] + result["bytes_down"]
    return _kept(
        bytes_per_cpu=_per_cpu(amount / 1e9, result),
        gbit=amount * 8 / 1e9 / result["seconds"],
        busy=_busy(result),
        had=had(result),
    )


def ping_pong(result: Result) -> Figures:
    latency = result["latency_us"]
    return _kept(
        messages_per_cpu=_per_cpu(result["messages"] / 1e3, result),
        messages=result["messages"] / 1e3 / result["seconds"],
        busy=_busy(result),
        had=had(result),
        p50=latency["p50"],
        p99=latency["p99"],
        p99__9=latency["p99.9"],
    )


def requests(result: Result) -> Figures:
    latency = result["latency_us"]
    return _kept(
        connections_per_cpu=_per_cpu(result["messages"] / 1e3, result),
        connections=result["messages"] / 1e3 / result["seconds"],
        busy=_busy(result),
        had=had(result),
        p50=latency["p50"],
        p99=latency["p99"],
    )


def heartbeats(result: Result) -> Figures:
    latency = result["latency_us"]
    proxied = result["proxy_cpu"] > 0
    return _kept(
        cpu_per_million=result["proxy_cpu"] / result["messages"] * 1e6 if proxied else None,
        messages=result["messages"] / 1e3 / result["seconds"],
        p50=latency["p50"],
        p99=latency["p99"],
        p99__9=latency["p99.9"],
    )


def idle(result: Result) -> Figures:
    """Memory is private plus shared resident memory; over several processes, shared memory counts once."""
    sessions = result["sessions"]
    before, standing = result["memory"]["before"], result["memory"]["standing"]
    growth = [(a["rss_anon"] - b["rss_anon"], a["rss_shmem"] - b["rss_shmem"]) for b, a in zip(before, standing)]
    set_up = result["set_up"]
    host = result["host"]
    return _kept(
        memory=max(anon + shared for anon, shared in growth) / sessions if growth else None,
        memory_all=(sum(anon for anon, _ in growth) + max(s for _, s in growth)) / sessions if growth else None,
        slab=(host["standing"]["slab"] - host["before"]["slab"]) / sessions,
        idle_cpu=1000 * result["proxy_cpu"] / result["seconds"] if growth else None,
        connections_per_cpu=_per_cpu(sessions / 1e3, set_up),
        connections=sessions / 1e3 / set_up["seconds"],
        p99=set_up["latency_us"]["p99"],
    )


def stall(connections: int) -> Callable[[Result], Figures]:
    def figures(result: Result) -> Figures:
        return _kept(
            held=result["held"] / connections / 2**20,
            stopped=float(result["stopped"]),
            memory_growth=result["proxy_memory_growth"] / connections,
            tcp_growth=result["tcp_memory_growth"] / connections / 1024,
        )

    return figures


@dataclass(frozen=True)
class Workload:
    family: str  # what --only chooses by, and one section of the report
    title: str
    words: list[str]
    figures: Callable[[Result], Figures]
    sessions: int
    placements: tuple[str, ...] = ("one CPU", "cross")
    every_congestion_control: bool = False
    quick: bool = False
    seconds: float | None = None  # measured, or taken all in all; None: as the command line says
    settle: float = 0  # seconds to wait at least before measuring
    across: int = 0  # where it stands on an axis of sessions
    added: dict[str, str] = field(default_factory=dict)  # figure: the same beyond direct


def _bulk() -> list[Workload]:
    """Every congestion control only where targets ask for it, so that a whole run stays under an hour."""
    return [
        Workload(
            "bulk",
            f"bulk {direction}, {connections} conn.",
            ["bulk", "--direction", direction, "--connections", str(connections)],
            bulk,
            connections,
            every_congestion_control=direction != "both" and connections != 64,
            quick=direction == "up" and connections != 64,
        )
        for direction in ("up", "down", "both")
        for connections in (1, 16, 64)
    ]


def _ping_pong() -> list[Workload]:
    sizes = {64: "64 B", 1024: "1 KiB", 16384: "16 KiB", 65536: "64 KiB"}
    return [
        Workload(
            "ping-pong",
            f"ping-pong {name}, {connections} conn.",
            ["ping-pong", "--question", str(size), "--answer", str(size), "--connections", str(connections)],
            ping_pong,
            connections,
            quick=size in (64, 16384),
            added={"p50": "p50_added"},
        )
        for size, name in sizes.items()
        for connections in (1, 64)
    ]


def _requests() -> list[Workload]:
    words = ["requests", "--connections", "16", "--question", "200", "--answer", "1000"]
    return [Workload("requests", "connect, 200 B, 1000 B, close; 16 at once", words, requests, 16, quick=True)]


def _scaling() -> list[Workload]:
    words = ["requests", "--connections", "16", "--question", "200", "--answer", "1000", "--held"]
    return [
        Workload(
            "scaling",
            f"beside {held:,} sessions",
            [*words, str(held)],
            requests,
            held + 16,
            ("one CPU",),
            quick=held in (10, CROWD),
            across=held,
        )
        for held in (10, 100, 1000, CROWD)
    ]


def _idle() -> list[Workload]:
    words = ["idle", "--in-flight", "64", "--question", "200", "--answer", "200", "--connections"]
    return [
        Workload(
            "idle",
            f"{sessions:,} idle sessions",
            [*words, str(sessions)],
            idle,
            sessions,
            ("one CPU",),
            quick=sessions == CROWD,
            seconds=10 if sessions == CROWD else 1,
            settle=SETTLE if sessions == CROWD else 0,
            across=sessions,
            added={"slab": "slab_added"},
        )
        for sessions in (10, 100, 1000, CROWD)
    ]


def _heartbeats() -> list[Workload]:
    words = ["heartbeats", "--question", "200", "--answer", "200", "--connections", str(CROWD), "--interval"]
    return [
        Workload(
            "heartbeats",
            f"{CROWD:,} sessions, 200 B every {interval} s",
            [*words, str(interval * 1000)],
            heartbeats,
            CROWD,
            ("one CPU",) if interval == 30 else ("one CPU", "cross"),
            quick=interval == 3,
            seconds=seconds,
        )
        for interval, seconds in ((30, 10), (3, 5))
    ]


def _stall() -> list[Workload]:
    kinds = {
        "origin reads nothing": ["--direction", "up"],
        "origin reads 64 KiB every 50 ms": ["--direction", "up", "--slow", "1"],
        "client reads nothing": ["--direction", "down"],
    }
    return [
        Workload(
            "stall",
            f"{kind}, {connections} conn.",
            ["stall", "--connections", str(connections), *words],
            stall(connections),
            connections,
            ("one CPU",),
            quick=connections == 16 and "--slow" not in words,
            seconds=2,
        )
        for kind, words in kinds.items()
        for connections in (1, 16)
    ]


WORKLOADS = [*_bulk(), *_ping_pong(), *_requests(), *_scaling(), *_heartbeats(), *_idle(), *_stall()]
FAMILIES = list(dict.fromkeys(workload.family for workload in WORKLOADS))
EXACT = ["exact", "--connections", "4"]
