"""The daemons of one round, in the proxy's namespace: an edge, or an edge and a gateway behind it.

Owns all that belongs to them. At the end of a round they must be as they were at its start.
"""

import contextlib
import http.client
import json
import os
import pathlib
import socket
import time
import zlib

from ravelin.build import program
from ravelin.daemon import Daemon, sockets_of
from ravelin.isolation import for_everybody
from ravelin.settings import edge_settings, gateway_settings
from ravelin.waiting import wait_until

from . import network, surroundings

EDGE_PORT, GATEWAY_PORT, ORIGIN_PORT = 7000, 7001, 7002
_MEMORY_MAY_GROW = 24 << 20
_LONG = "10m"  # no timeout of the relay may strike: what ends a session has to come from one of its ends
_PROBES = {"keepalive_idle": "3s", "keepalive_interval": "1s", "keepalive_probes": 60, "user_timeout": _LONG}  # as ends
_TIMEOUTS = {"first_byte": _LONG, "connect": "1m", "half_closed": _LONG, "idle": 0}
_LISTENER = {"timeouts": _TIMEOUTS, "client_socket": _PROBES, "origin_socket": _PROBES}


def _other_descriptors(pid):
    """Those that are neither sockets nor pipes: of these a daemon has as many at its end as at its start."""
    count = 0
    for name in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(OSError):
            count += not os.readlink(f"/proc/{pid}/fd/{name}").startswith(("socket:", "pipe:"))
    return count


def _answers(daemon):
    try:
        return daemon.admin.get("/healthz")[0] == 200
    except (OSError, http.client.HTTPException):  # while a worker takes over
        return False


class Stage:
    def __init__(self, round, shared_network, folder, library):
        self.network = shared_network
        self._round, self._folder, self._library = round, folder, library
        self._owned = contextlib.ExitStack()
        self._daemons, self._faults = [], []
        self._entering = surroundings.die_with_parent
        self._prefix = []
        try:
            self._surround(round.case.environment)
            self.network.offload(round.offload)
            self._open_origin(tiny=round.case.environment == "tiny_window_at_the_origin")
            self._start_all()
        except BaseException:
            self.close()
            raise

    def _surround(self, environment):
        if environment == "pipes_at_the_soft_limit":
            self._own(surroundings.NoPipesLeft())
            user = str(surroundings.USER)
            self._prefix = ["setpriv", "--reuid", user, "--regid", user, "--clear-groups", "--bounding-set=-all"]
            os.chmod(self._folder, 0o777)
        elif environment == "memory_limit":
            memory = self._own(surroundings.LittleMemory())
            self._entering = lambda: (surroundings.die_with_parent(), memory.enter())

    def _own(self, closable):
        self._owned.callback(closable.close)
        return closable

    def _open_origin(self, tiny):
        with self.network.inside("origin"):
            self.listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
            self._own(self.listener)
            self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if tiny:
                self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2304)
            self.listener.bind((network.ORIGIN, ORIGIN_PORT))
            self.listener.listen(512)

    def _start_all(self):
        origin = f"{network.ORIGIN}:{ORIGIN_PORT}"
        next_hop = f"127.0.0.1:{GATEWAY_PORT}" if self._round.with_gateway else origin
        edge = edge_settings(EDGE_PORT, [next_hop], host=network.PROXY, listener=_LISTENER, loops=2)
        self._start("redirector", EDGE_PORT, edge)
        if self._round.with_gateway:
            listener = {**_LISTENER, "policy": "require"}
            self._start(
                "gateway",
                GATEWAY_PORT,
                gateway_settings(GATEWAY_PORT, origin, listener, inner_sources=[network.PROXY_TO_ORIGIN], loops=2),
            )

    def _start(self, name, port, settings):
        path = f"{self._folder}/{name}.json"
        pathlib.Path(path).write_text(json.dumps(settings))
        admin = f"{self._folder}/{name}.sock"
        faults = self._own(
            surroundings.Faults(
                self._library,
                self._folder,
                name,
                self._round.case.faults,
                zlib.crc32(f"{self._round.seed} {name}".encode()),
            )
        )
        executable = for_everybody(program(name), self._folder) if self._prefix else program(name)
        command = [executable, "--config", path, "--admin", f"unix:{admin}", "--log-level", "info"]
        prefix = [*self._prefix, "--pdeathsig", "KILL"] if self._prefix else []
        daemon = Daemon(
            executable,
            [*prefix, *command],
            admin,
            [port],
            env={**os.environ, **faults.environment},
            preexec_fn=self._entering,
        )
        self._daemons.append(daemon)
        self._faults.append(faults)
        daemon.wait_ready()
        daemon.rest = {
            "sockets": sockets_of(daemon.pid),
            "others": _other_descriptors(daemon.pid),
            "memory": daemon.resident_bytes(),
        }
        faults.switch(True)

    def daemon(self, which):
        return self._daemons[which % len(self._daemons)]

    def faults(self, which):
        return self._faults[which % len(self._faults)]

    @property
    def injected(self):
        return sum(faults.injected for faults in self._faults)

    def calm(self):
        """No more faults; returns when every daemon that is still there answers."""
        for faults in self._faults:
            faults.switch(False)
        for daemon in self._daemons:
            wait_until(lambda daemon=daemon: daemon.process.poll() is not None or _answers(daemon), "a daemon to answer")

    @property
    def is_at_rest(self):
        return all(sockets_of(daemon.pid) <= daemon.rest["sockets"] for daemon in self._daemons)

    def problems_at_rest(self):
        """What is not as it was at the start."""
        found = []
        for daemon in self._daemons:
            name = os.path.basename(daemon.program)
            if daemon.process.poll() is not None:
                found.append(f"{name} has ended with {daemon.process.returncode}")
                continue
            sockets, others = sockets_of(daemon.pid), _other_descriptors(daemon.pid)
            if sockets > daemon.rest["sockets"] or others > daemon.rest["others"]:
                found.append(f"{name}: {sockets} sockets and {others} other descriptors, at the start {daemon.rest}")
            grown = daemon.resident_bytes() - daemon.rest["memory"]
            if grown > _MEMORY_MAY_GROW:
                found.append(f"{name}: {grown >> 20} MiB of memory more than at the start")
            gauge = daemon.admin.metric(f"{name}_sessions")
            if gauge:
                found.append(f"{name}_sessions is {gauge:.0f} at the end")
        return found

    def problems_at_last(self):
        """What is still not as at the start after a while: a worker that was killed last is being replaced."""
        deadline = time.monotonic() + 10
        while (found := self.problems_at_rest()) and time.monotonic() < deadline:
            time.sleep(0.05)
        return found

    def stop(self):
        """A clean end of all daemons; raises AssertionError where it is none."""
        while self._daemons:
            self._daemons.pop(0).stop()

    def logs(self):
        return "\n".join(
            f"log of {os.path.basename(daemon.program)}:\n{daemon.log_text()[-4000:]}" for daemon in self._daemons
        )

    def close(self):
        for daemon in self._daemons:
            daemon.kill()
        self._daemons = []
        self._owned.close()
