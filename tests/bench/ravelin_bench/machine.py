"""What a reader has to know of the machine to judge the numbers."""

import os
import platform
import re
import resource
from pathlib import Path

from . import room


def describe() -> dict:
    cpu = re.search(r"model name\s*:\s*(.+)", Path("/proc/cpuinfo").read_text())
    memory = re.search(r"MemTotal:\s+(\d+)", Path("/proc/meminfo").read_text())
    system = re.search(r'PRETTY_NAME="(.+)"', Path("/etc/os-release").read_text())
    return {
        "cpu": cpu.group(1) if cpu else platform.machine(),
        "cpus": len(os.sched_getaffinity(0)),
        "memory_gib": round(int(memory.group(1)) / 2**20, 1) if memory else None,
        "system": system.group(1) if system else "unknown",
        "kernel": platform.release(),
        "descriptor_limit": resource.getrlimit(resource.RLIMIT_NOFILE)[1],
        "congestion_control": room.system_congestion_control(),
        "tcp_rmem": Path("/proc/sys/net/ipv4/tcp_rmem").read_text().split(),
        "tcp_wmem": Path("/proc/sys/net/ipv4/tcp_wmem").read_text().split(),
        "pipe_max_size": int(Path("/proc/sys/fs/pipe-max-size").read_text()),
        "load_before": os.getloadavg()[0],
        "privileged": room.is_privileged(),
    }


def raise_descriptor_limit() -> None:
    """To the hard limit, for everything started from here; bench_load needs a descriptor a session on either side."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
