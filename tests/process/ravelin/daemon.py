"""A daemon under test: started with a deadline, its log read as parsed JSON, stopped and looked at for leaks."""

import collections
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import threading
import time

from .admin import Admin
from .waiting import PATIENCE, patience, wait_until

Finished = collections.namedtuple("Finished", "code stderr stdout")


def run_to_end(arguments, seconds=PATIENCE, **popen):
    """Runs a program that should end by itself."""
    done = subprocess.run(
        arguments, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=patience(seconds), **popen
    )
    return Finished(done.returncode, done.stderr, done.stdout)


def _children(pid):
    found = []
    for listing in pathlib.Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            found += [int(child) for child in listing.read_text().split()]
        except OSError:
            continue
    return found


def process_tree(pid):
    tree = [pid]
    for member in tree:
        tree += _children(member)
    return tree


def end_tree(pid):
    """Kills a process and its descendants, of which some or all may be gone."""
    for member in reversed(process_tree(pid)):
        with contextlib.suppress(ProcessLookupError):
            os.kill(member, signal.SIGKILL)


def _command_of(pid):
    """The program's name as it was started; a process in the middle of an exec has none for a moment."""
    for _ in range(100):
        try:
            if name := pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0].decode():
                return name
        except OSError:
            return None
        time.sleep(0.001)
    return None


def sockets_of(pid):
    """How many descriptors of this process and its descendants are sockets."""
    count = 0
    for member in process_tree(pid):
        try:
            names = os.listdir(f"/proc/{member}/fd")
        except OSError:
            continue
        for name in names:
            try:
                count += os.readlink(f"/proc/{member}/fd/{name}").startswith("socket:")
            except OSError:
                continue
    return count


def is_listening(port):
    """Whether somebody listens on the port here. Asked of the kernel: a connection would be counted by the daemon."""
    wanted = f":{port:04X}"
    for table in ("/proc/self/net/tcp", "/proc/self/net/tcp6"):
        for line in pathlib.Path(table).read_text().splitlines()[1:]:
            fields = line.split()
            if fields[1].endswith(wanted) and fields[3] == "0A":
                return True
    return False


class Daemon:
    """Owned by the test that started it. Its stderr is read by a thread of its own that ends with the process."""

    def __init__(self, program, arguments, admin_path, ports, **popen):
        self.arguments = arguments
        self.program = program
        self.admin = Admin(admin_path) if admin_path else None
        self.ports = ports
        self.lines = []  # parsed log lines, in order
        self.noise = []  # what was no JSON: a sanitizer's report, an assert
        self._news = threading.Condition()
        self.process = subprocess.Popen(arguments, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, **popen)
        self._reader = threading.Thread(target=self._read_log, daemon=True)
        self._reader.start()
        self._sockets_at_rest = None

    @property
    def pid(self):
        """The daemon's own process, also where another program (strace, unshare) has started it."""
        for member in process_tree(self.process.pid):
            if _command_of(member) == self.program:
                return member
        return self.process.pid

    @property
    def worker(self):
        """The process that has the sessions: with a keeper its child."""
        return process_tree(self.pid)[1]

    def _read_log(self):
        for raw in self.process.stderr:
            text = raw.decode(errors="replace").rstrip("\n")
            with self._news:
                try:
                    self.lines.append(json.loads(text))
                except ValueError:
                    self.noise.append(text)
                self._news.notify_all()

    def wait_ready(self):
        """Ready is: every port listens and the admin socket exists."""

        def ready():
            if self.process.poll() is not None:
                self._reader.join()
                raise AssertionError(f"{self.arguments} ended with {self.process.returncode}:\n{self.log_text()}")
            if not all(map(is_listening, self.ports)) or (self.admin and not os.path.exists(self.admin.path)):
                return False
            # Its last descriptor is open when it says so, where the level lets it.
            return "--log-level" in self.arguments or self.events("ready")

        wait_until(ready, f"{self.program} to listen")
        wait_until(self._keeper_has_heard, "the keeper to hear that its worker serves")
        self._sockets_at_rest = sockets_of(self.pid)
        return self

    def _keeper_has_heard(self):
        """A keeper keeps a second descriptor of the program once its worker has told it everything."""
        tree = process_tree(self.pid)
        if len(tree) == 1:
            return True
        kept = 0
        for name in os.listdir(f"/proc/{tree[0]}/fd"):
            with contextlib.suppress(OSError):
                kept += os.path.samefile(f"/proc/{tree[0]}/fd/{name}", f"/proc/{tree[0]}/exe")
        return kept >= 2

    def log_text(self):
        return "\n".join([json.dumps(line) for line in self.lines] + self.noise)

    def events(self, event, **fields):
        with self._news:
            return [
                line
                for line in self.lines
                if line.get("event") == event and all(line.get(key) == value for key, value in fields.items())
            ]

    def wait_event(self, event, count=1, seconds=PATIENCE, **fields):
        """The first log line of this event with these fields, once `count` of them are there."""
        found = wait_until(
            lambda: (lambda seen: seen if len(seen) >= count else None)(self.events(event, **fields)),
            lambda: f"{count} x {event} {fields} in the log, which has:\n{self.log_text()}",
            seconds,
        )
        return found[0] if count == 1 else found

    def closed_sessions(self, count):
        """The session_closed lines, once there are that many."""
        found = self.wait_event("session_closed", count=count)
        return found if count > 1 else [found]

    def resident_bytes(self):
        total = 0
        for member in process_tree(self.pid):
            for line in pathlib.Path(f"/proc/{member}/status").read_text().splitlines():
                if line.startswith("VmRSS:"):
                    total += int(line.split()[1]) * 1024
        return total

    def check_at_rest(self):
        """Every socket that came with sessions must be gone again."""
        if self._sockets_at_rest is None or self.process.poll() is not None:
            return
        wait_until(
            lambda: sockets_of(self.pid) <= self._sockets_at_rest,
            lambda: f"{self.program} to close its sockets: {sockets_of(self.pid)}, "
            f"{self._sockets_at_rest} at the start; log:\n{self.log_text()}",
        )

    def drain(self):
        """TERM; returns when the ports are free for a successor. Sessions that run go on."""
        os.kill(self.pid, signal.SIGTERM)
        wait_until(lambda: not any(map(is_listening, self.ports)), f"{self.program} to let go of its ports")

    def stop(self, code=0):
        """TERM, and a clean end."""
        if self.process.poll() is None:
            os.kill(self.pid, signal.SIGTERM)
        try:
            self.process.wait(patience())
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"{self.program} did not end after TERM; log:\n{self.log_text()}") from None
        self._reader.join(patience())
        self.process.stderr.close()
        if self.process.returncode != code or self.noise:
            raise AssertionError(f"{self.program} ended with {self.process.returncode}; log:\n{self.log_text()}")

    def kill(self):
        for member in reversed(process_tree(self.process.pid)):
            try:
                os.kill(member, signal.SIGKILL)
            except ProcessLookupError:
                continue
        self.process.wait()
        self._reader.join(patience())
        self.process.stderr.close()
