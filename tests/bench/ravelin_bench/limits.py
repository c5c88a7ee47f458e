"""What the gate demands: least ratios of work per proxy CPU second in the same run, on one CPU.

Ratios are of the redirector to a candidate; against a newer haproxy than Debian's the bulk limits are lower, since that
one is faster in bulk.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Limit:
    workload: str  # its title
    figure: str
    against: str  # "" = the figure itself, else the reference or the reference's tuned variant
    least: float | None = None
    most: float | None = None
    congestion_control: str | None = None  # None: the system's


COMMON = [
    Limit("bulk up, 16 conn.", "bytes_per_cpu", "tuned", least=1.0, congestion_control="cubic"),
    Limit("ping-pong 64 B, 1 conn.", "messages_per_cpu", "default", least=1.18),
    Limit("ping-pong 64 B, 1 conn.", "p50_added", "default", most=0.9),
    Limit("ping-pong 64 B, 64 conn.", "messages_per_cpu", "default", least=1.2),
    Limit("ping-pong 1 KiB, 64 conn.", "messages_per_cpu", "default", least=1.2),
    Limit("ping-pong 16 KiB, 64 conn.", "messages_per_cpu", "default", least=1.15),
    Limit("connect, 200 B, 1000 B, close; 16 at once", "connections_per_cpu", "default", least=1.3),
    Limit("9,500 idle sessions", "memory", "", most=0.5),
    Limit("9,500 idle sessions", "idle_cpu", "", most=0.2),
    Limit("origin reads nothing, 16 conn.", "stopped", "", least=1),
]
AGAINST_NEWER = [
    Limit("bulk up, 16 conn.", "bytes_per_cpu", "default", least=1.9, congestion_control="bbr"),
    Limit("bulk up, 16 conn.", "bytes_per_cpu", "default", least=2.5, congestion_control="cubic"),
    Limit("bulk up, 1 conn.", "bytes_per_cpu", "default", least=1.8, congestion_control="bbr"),
    Limit("bulk up, 1 conn.", "bytes_per_cpu", "default", least=3.0, congestion_control="cubic"),
]
AGAINST_DEBIAN = [
    Limit("bulk up, 16 conn.", "bytes_per_cpu", "default", least=2.5, congestion_control="bbr"),
    Limit("bulk up, 16 conn.", "bytes_per_cpu", "default", least=2.5, congestion_control="cubic"),
    Limit("bulk up, 1 conn.", "bytes_per_cpu", "default", least=4.0, congestion_control="bbr"),
    Limit("bulk up, 1 conn.", "bytes_per_cpu", "default", least=4.0, congestion_control="cubic"),
]

# The worst of ten runs, of their median. With cubic: BBR's pacing alone makes runs differ by a factor of three.
STEADY = Limit("bulk up, 16 conn.", "bytes_per_cpu", "", least=0.8, congestion_control="cubic")


def for_reference(reference: str) -> list[Limit]:
    return (AGAINST_DEBIAN if reference == "haproxy" else AGAINST_NEWER) + COMMON
