"""The base of every process test: starts daemons, opens connections, and leaves nothing behind.

After each test, passed or not: clients close, then origins, then each daemon must be back to the sockets it had at its
start and end cleanly on TERM, and this process must have the descriptors, children and threads it had before.
"""

import errno
import json
import os
import pathlib
import shutil
import socket
import tempfile
import threading
import unittest

from . import daemon as daemons
from .build import program
from .ports import free_port, reservations
from .waiting import PATIENCE, patience, wait_until
from .wire import Listener, Server, Wire


def _descriptors():
    return len(os.listdir("/proc/self/fd")) - reservations()


class ProcessTest(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self._before = _descriptors()
        self.folder = tempfile.mkdtemp(prefix="ravelin-test-")
        self._clients, self._origins, self._daemons = [], [], []
        self.addCleanup(self._leave)

    # What a test starts

    def own(self, closable):
        """Closes it at the end, between the clients and the daemons."""
        self._origins.append(closable)
        return closable

    def listener(self, host="127.0.0.1", **options):
        return self.own(Listener(host, **options))

    def server(self, handler, **options):
        return self.own(Server(handler, **options))

    def daemon(self, name, *arguments, ports=(), prefix=(), wait=True, **popen):
        """Starts build/<preset>/bin/<name> with an admin socket and a JSON log."""
        return self.daemon_at(program(name), *arguments, ports=ports, prefix=prefix, wait=wait, **popen)

    def daemon_at(self, path, *arguments, ports=(), prefix=(), wait=True, **popen):
        """The same, from a file of the test's choice."""
        path = str(path)
        admin = f"{self.folder}/{pathlib.Path(path).name}-{len(self._daemons)}.sock"
        common = ["--admin", f"unix:{admin}", "--log-format", "json"]
        started = daemons.Daemon(path, [*prefix, path, *arguments, *common], admin, ports, **popen)
        self._daemons.append(started)
        started.port = ports[0] if ports else None
        started.address = f"127.0.0.1:{started.port}"
        return started.wait_ready() if wait else started

    def edge(self, origin, *arguments, listen="127.0.0.1", **popen):
        """A redirector in front of one origin or several."""
        port = free_port()
        origins = [origin] if isinstance(origin, str) else origin
        named = [part for each in origins for part in ("--origin", each)]
        return self.daemon(
            "redirector", "--listen", self.address(listen, port), *named, *arguments, ports=[port], **popen
        )

    def gateway(
        self, inner, *arguments, policy="sniff", trusted=("127.0.0.0/8", "::1/128"), listen="127.0.0.1", **popen
    ):
        port = free_port()
        edges = [part for cidr in trusted for part in ("--trusted-edge", cidr)]
        return self.daemon(
            "gateway",
            "--listen",
            self.address(listen, port),
            "--inner",
            inner,
            "--policy",
            policy,
            *edges,
            *arguments,
            ports=[port],
            **popen,
        )

    def configured(self, name, settings, ports, **popen):
        """A daemon from a config file. JSON is YAML."""
        path = self.write(f"{name}-{len(self._daemons)}.yaml", json.dumps(settings, indent=1))
        return self.daemon(name, "--config", path, ports=ports, **popen)

    def write(self, name, text):
        path = pathlib.Path(self.folder) / name
        path.write_text(text)
        return str(path)

    @staticmethod
    def address(host, port):
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    def is_refused(self, to, **options):
        """True if a new connection is reset at once, be it before the client looks at its own socket."""
        try:
            client = self.connect(to, **options)
        except OSError as error:
            if error.errno not in (errno.ECONNRESET, errno.ENOTCONN):
                raise
            return True
        refused = client.is_reset()
        client.close()
        return refused

    def connect(self, to, host="127.0.0.1", seconds=PATIENCE, source=None):
        """A client connection to a daemon, neighbour or port."""
        port = to if isinstance(to, int) else to.port
        sock = socket.create_connection((host, port), timeout=patience(), source_address=source)
        wire = Wire(sock, seconds)
        self._clients.append(wire)
        return wire

    # How it ends

    def stop(self, daemon, kill=False):
        """Stops one of the daemons before the test's end; `kill`: as the OOM killer would."""
        self._daemons.remove(daemon)
        daemon.kill() if kill else daemon.stop()

    def _leave(self):
        problems = []

        def attempt(action):
            try:
                action()
            except Exception as problem:
                problems.append(str(problem))

        for closable in self._clients + list(reversed(self._origins)):
            attempt(closable.close)
        for daemon in self._daemons:
            attempt(daemon.check_at_rest)
        for daemon in reversed(self._daemons):
            attempt(daemon.stop)
        if self._outcome and not self._outcome.success:
            for daemon in self._daemons:
                print(f"# log of {' '.join(daemon.arguments)}\n{daemon.log_text()}")
        shutil.rmtree(self.folder)
        attempt(self._check_nothing_left)
        if problems:
            self.fail("\n".join(problems))

    def _check_nothing_left(self):
        wait_until(lambda: threading.active_count() == 1, lambda: f"the threads {threading.enumerate()} to end")
        self.assertLessEqual(_descriptors(), self._before, "descriptors left open by the test")
        self.assertEqual(daemons.process_tree(os.getpid())[1:], [], "processes left by the test")
