"""Looks at what could spoil the numbers before and beside the measurement: exactness, congestion control, generator."""

import json
import os
import shutil
import subprocess
import threading
import time

from . import room
from .generator import Generator, Placement, RunFailed
from .process import Process, free_port
from .workloads import EXACT

IPERF_SECONDS = 2


def candidates(
    all_candidates: list, generator: Generator, placement: Placement, control: str
) -> tuple[list, list[dict]]:
    """Sends random bytes through each and looks at its sockets meanwhile. What fails is left out, with the reason."""
    room.use_congestion_control(control)
    fit, reports = [], []
    for candidate in all_candidates:
        report = {"label": candidate.label, "version": candidate.version(), "settings": candidate.settings}
        seen: set[str] = set()
        over = threading.Event()
        watch = threading.Thread(target=_watch_sockets, args=(seen, over))
        watch.start()
        try:
            result = generator.run(candidate, placement, EXACT, 16)
            report["header"] = next((kind for kind in ("v2", "v1") if result["headers"][kind]), "none")
            broken = result["errors"] or result["headers"]["wrong"]
            report["failure"] = "bytes came back wrong or not at all" if broken else None
        except RunFailed as failure:
            report["failure"] = str(failure)
        finally:
            over.set()
            watch.join()
        report["congestion_control"] = sorted(seen)
        reports.append(report)
        if report["failure"] is None:
            fit.append(candidate)
    return fit, reports


def _watch_sockets(seen: set[str], over: threading.Event) -> None:
    while not over.is_set():
        seen |= room.congestion_controls_in_use()
        time.sleep(0.02)


def iperf(placement: Placement, control: str, folder) -> float | None:
    """Gbit/s of one iperf3 connection, both ends where the generator's ends run; None when it is not installed."""
    program = shutil.which("iperf3")
    if not program:
        return None
    room.use_congestion_control(control)
    port = free_port()
    server = Process([program, "-s", "-p", str(port)], placement.ends, folder / "iperf.log")
    try:
        server.wait_until_listening(port, 1)
        done = subprocess.run(
            [program, "-c", "127.0.0.1", "-p", str(port), "-t", str(IPERF_SECONDS), "-J"],
            capture_output=True,
            text=True,
            preexec_fn=lambda: os.sched_setaffinity(0, {placement.ends}),
        )
        return json.loads(done.stdout)["end"]["sum_received"]["bits_per_second"] / 1e9
    except (KeyError, ValueError):
        return None
    finally:
        server.stop()
