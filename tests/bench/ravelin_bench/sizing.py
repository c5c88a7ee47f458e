"""What one machine holds: measured costs of a session, multiplied openly beyond what was measured."""

from pathlib import Path

from . import tables
from .rounds import Cell
from .workloads import CROWD

SIZES = (1_000, CROWD, 30_000, 100_000)
HEARTBEAT_SECONDS = 30

TEXT = """\
## Sizing

Up to {crowd:,} sessions is measured; beyond, each line multiplies a measured cost of one session and says nothing of
what else may change on the way. Descriptors: 2 in each process that holds a session. Ports: {ports:,} for each pair of
source and origin address (`ip_local_port_range`). Memory: of the proxy's processes, and of the kernel's slab for the
proxy's sockets beyond what a direct session costs; bytes in flight come on top. CPU: one heartbeat of 200 bytes each
way a session every {seconds} s. Set-up: CPU seconds to set all sessions up once, as after a lost edge.
"""


def ports() -> int:
    low, high = map(int, Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split())
    return high - low + 1


def section(cells: list[Cell], labels: list[str]) -> str:
    idle = next((c for c in cells if c.workload.family == "idle" and c.workload.sessions == CROWD), None)
    beats = next((c for c in cells if c.workload.family == "heartbeats" and c.placement.name == "one CPU"), None)
    if not idle:
        return ""
    rows = []
    for label in labels:
        memory, slab = idle.median(label, "memory_all"), idle.median(label, "slab_added")
        set_up = idle.median(label, "connections_per_cpu")
        message = beats.median(label, "cpu_per_million") if beats else None
        if memory is None:
            continue
        for size in SIZES:
            rows.append(
                [
                    label,
                    f"{size:,}" + (" (extrapolated)" if size > CROWD else ""),
                    f"{2 * size:,}",
                    f"{-(-size // ports())}",
                    tables.number(memory * size / 1024, 1),
                    "–" if slab is None else tables.number(slab * size / 1024, 0),
                    "–" if message is None else tables.number(100 * size / HEARTBEAT_SECONDS * message / 1e6, 1),
                    "–" if set_up is None else tables.number(size / set_up / 1000, 1),
                ]
            )
    head = [
        "candidate",
        "sessions",
        "descriptors a process",
        "source addresses an origin",
        "memory, MiB",
        "kernel slab, MiB",
        "CPU of heartbeats, %",
        "CPU to set up, s",
    ]
    return TEXT.format(crowd=CROWD, ports=ports(), seconds=HEARTBEAT_SECONDS) + "\n" + tables.table(head, rows)
