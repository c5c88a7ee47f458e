"""A measured process and its children: started on one CPU, watched until it listens, ended for certain."""

import os
import signal
import socket
import subprocess
import time
from pathlib import Path

DEADLINE_SECONDS = 30.0  # generous: a busy machine is slow, not wrong


class StartFailed(Exception):
    pass


def free_port() -> int:
    """A port that nobody uses; the room is ours alone, so nobody takes it before the proxy does."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def is_listening(port: int) -> bool:
    """Looked up without a connection, which a proxy would count, or pass on to the origin."""
    wanted = f":{port:04X}"
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            lines = Path(table).read_text().splitlines()[1:]
        except OSError:
            continue
        if any(line.split()[1].endswith(wanted) and line.split()[3] == "0A" for line in lines):
            return True
    return False


class Process:
    def __init__(self, command: list[str], cpu: int, log: Path):
        self._log = log
        with open(log, "wb") as output:
            self._child = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=output,
                start_new_session=True,
                preexec_fn=lambda: os.sched_setaffinity(0, {cpu}),
            )
        self.name = Path(command[0]).name

    def first_line(self) -> str:
        line = self._child.stdout.readline().decode().strip()
        if not line:
            raise StartFailed(self._why("said nothing"))
        return line

    def wait_until_listening(self, port: int, processes: int) -> None:
        """Until the port is open and the process has had at least `processes` processes for a while."""
        deadline = time.monotonic() + DEADLINE_SECONDS
        seen, calm = [], 0
        while calm < 3:
            if self._child.poll() is not None:
                raise StartFailed(self._why(f"ended with {self._child.returncode}"))
            if time.monotonic() > deadline:
                raise StartFailed(self._why("did not listen in time"))
            now = self.pids()
            calm = calm + 1 if now == seen and len(now) >= processes and is_listening(port) else 0
            seen = now
            time.sleep(0.03)

    def pids(self) -> list[int]:
        """The process and all that live in its session: what it forked, also when the parent has died since."""
        others = [pid for pid, session in _sessions() if session == self._child.pid and pid != self._child.pid]
        return [self._child.pid, *sorted(others)]

    def stop(self) -> None:
        """Ends all of them. A process that replaces a killed one in between is met by the next round."""
        deadline = time.monotonic() + DEADLINE_SECONDS
        while time.monotonic() < deadline:
            left = [pid for pid, session in _sessions() if session == self._child.pid]
            if not left:
                break
            for pid in left:
                _kill(pid)
            self._child.poll()
            time.sleep(0.005)
        if self._child.stdout:
            self._child.stdout.close()

    def _why(self, what: str) -> str:
        said = self._log.read_text(errors="replace").strip().splitlines()[-3:]
        return f"{self.name} {what}: {' / '.join(said) or 'nothing on stderr'}"


def _sessions() -> list[tuple[int, int]]:
    """(pid, session) of every process that is not a zombie (proc(5), stat)."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                after_name = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            if after_name[0] != "Z":
                found.append((int(entry.name), int(after_name[3])))
    return found


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
