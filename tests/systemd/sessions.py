"""The base of these tests: a service with sessions through it whose every byte is known, and a clean table afterwards."""

import http.client
import json
import unittest

from machine import Unit, machine
from ravelin.coded import CodedClients, EchoOrigin
from ravelin.packages import built_packages
from ravelin.settings import edge_settings
from ravelin.waiting import wait_until

PORT = 443
MOVING = 12


class SessionTest(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.machine = machine()
        self.unit = Unit(self.machine, "ravelin-redirector")
        self.socket = Unit(self.machine, "ravelin-redirector.socket")
        self.packages = built_packages()
        self.unit.mark()
        self.addCleanup(self.clean_up)

    def clean_up(self):
        if self._outcome and not self._outcome.success:
            print("# journal\n" + "\n".join(self.unit.journal()))

    def own(self, closable):
        self.addCleanup(closable.close)
        return closable

    def install(self):
        self.machine.install(self.packages["ravelin-redirector"])

    def configure(self, **more):
        self.origin = self.own(EchoOrigin())
        settings = edge_settings(PORT, [self.origin.address], host="", **more)
        settings["admin"] = ["unix:/run/ravelin/redirector.sock"]
        self.machine.write("/etc/ravelin/redirector.yaml", json.dumps(settings, indent=1))

    def drop_in(self, name, text):
        """Adds to a unit until the test ends."""
        folder = f"/run/systemd/system/{name}.d"
        self.machine.write(f"{folder}/test.conf", text)
        self.addCleanup(self.machine.run, "systemctl", "daemon-reload")
        self.addCleanup(self.machine.run, "rm", "-rf", folder)
        self.machine.run("systemctl", "daemon-reload")

    def begin_sessions(self, moving=MOVING):
        self.clients = self.own(CodedClients(PORT, moving))
        wait_until(lambda: all(client.received for client in self.clients.clients), "every session's first bytes")
        self.check_moving()

    def check_moving(self, count=1 << 20):
        goal = self.clients.received + count
        wait_until(lambda: self.clients.received >= goal or self.clients.faults(), f"{count} bytes to move")
        self.assertEqual(self.clients.faults(), [])

    def end_sessions(self):
        wait_until(self.clients.finish, "all sessions to end")
        self.assertEqual(self.clients.faults(), [])

    def readiness(self):
        try:
            return self.machine.admin("redirector").get("/readyz")[0]
        except (OSError, http.client.HTTPException):
            return None
