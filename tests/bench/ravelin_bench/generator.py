"""Runs bench_load: an origin, a candidate in front of it, and one workload through both, each started afresh."""

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from .process import Process, StartFailed, free_port

LONGEST_RUN_SECONDS = 240


class RunFailed(Exception):
    pass


@dataclass(frozen=True)
class Placement:
    """Which CPU the proxy and which the two ends of the generator run on."""

    name: str
    proxy: int
    ends: int


def placements() -> list[Placement]:
    cpus = sorted(os.sched_getaffinity(0))
    one = [Placement("one CPU", cpus[-1], cpus[-1])]
    return one + ([Placement("cross", cpus[-1], cpus[0])] if len(cpus) > 1 else [])


class Generator:
    def __init__(self, program: str, folder: Path):
        self._program = program
        self._folder = folder

    def run(self, candidate, placement: Placement, words: list[str], sessions: int) -> dict:
        counters = self._folder / "counters"
        counters.unlink(missing_ok=True)
        started: list[Process] = []
        try:
            origin = self._start(started, [self._program, "origin", "--counters", str(counters)], placement.ends)
            address = origin.first_line()
            processes: list[str] = []
            port = free_port()
            start = candidate.start(port, address, sessions, self._folder)
            target = address
            if start:
                proxy = self._start(started, start.command, placement.proxy)
                proxy.wait_until_listening(port, start.processes)
                target = f"127.0.0.1:{port}"
                for pid in proxy.pids():
                    processes += ["--proxy", str(pid)]
            return self._drive(
                placement,
                [
                    *words,
                    "--to",
                    target,
                    "--counters",
                    str(counters),
                    "--origin-process",
                    str(origin.pids()[0]),
                    *processes,
                ],
            )
        except StartFailed as failure:
            raise RunFailed(str(failure)) from failure
        finally:
            for process in reversed(started):
                process.stop()

    def _start(self, started: list[Process], command: list[str], cpu: int) -> Process:
        started.append(Process(command, cpu, self._folder / f"{len(started)}.log"))
        return started[-1]

    def _drive(self, placement: Placement, words: list[str]) -> dict:
        try:
            done = subprocess.run(
                [self._program, *words],
                capture_output=True,
                text=True,
                timeout=LONGEST_RUN_SECONDS,
                preexec_fn=lambda: os.sched_setaffinity(0, {placement.ends}),
            )
        except subprocess.TimeoutExpired as late:
            raise RunFailed(f"no result within {LONGEST_RUN_SECONDS} s") from late
        if done.returncode != 0:
            raise RunFailed(done.stderr.strip() or f"bench_load ended with {done.returncode}")
        return json.loads(done.stdout)
