"""Connections without payload: counted one by one, and not a word in the log."""

import socket

from ravelin import header
from ravelin.build import SLOWNESS
from ravelin.case import ProcessTest
from ravelin.waiting import patience, wait_until

COUNT = 1000 if SLOWNESS == 1 else 200


class Silence(ProcessTest):
    def knock(self, port, first=b"", reset=False):
        for _ in range(COUNT):
            with socket.create_connection(("127.0.0.1", port), timeout=patience()) as client:
                if reset:
                    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
                client.sendall(first)

    def check_silent(self, daemon, counter=None):
        """All are counted, and as nothing else; the only session in the log is the one that said something."""
        count, kind = COUNT, daemon.program.rpartition("/")[2]
        wait_until(
            lambda: daemon.admin.metric(f"{kind}_sessions_ended_total", reason="silent") == count,
            lambda: f"{count} silent sessions; metrics: {daemon.admin.get('/metrics')[1]}",
        )
        self.assertEqual(daemon.admin.metric(f"{kind}_sessions_ended_total"), count)
        self.assertEqual(daemon.admin.metric(f"{kind}_sessions_accepted_total"), count)
        if counter:
            self.assertEqual(daemon.admin.metric(counter), count)
        self.assertFalse(self.origin.has_connection(), "the origin never saw one of them")
        client = self.connect(daemon)
        client.send(b"hello")
        client.finish()
        self.origin.accept().close()
        self.assertEqual(len(daemon.closed_sessions(1)), 1)

    def setUp(self):
        super().setUp()
        self.origin = self.listener()

    def test_1000_connections_that_open_and_close_at_the_edge(self):
        edge = self.edge(self.origin.address)
        self.knock(edge.port)
        self.check_silent(edge)

    def test_1000_connections_that_open_and_close_at_the_gateway(self):
        gateway = self.gateway(self.origin.address)
        self.knock(gateway.port)
        self.check_silent(gateway, "gateway_silent_total")

    def test_1000_connections_that_are_reset_without_a_byte(self):
        gateway = self.gateway(self.origin.address)
        self.knock(gateway.port, reset=True)
        self.check_silent(gateway, "gateway_silent_total")

    def test_1000_headers_with_nothing_behind_them(self):
        gateway = self.gateway(self.origin.address)
        self.knock(gateway.port, header.v2(("203.0.113.7", 51413), ("198.51.100.1", 443)))
        self.check_silent(gateway, "gateway_header_only_total")

    def test_1000_local_headers(self):
        gateway = self.gateway(self.origin.address)
        self.knock(gateway.port, header.v2_local())
        self.check_silent(gateway, "gateway_local_total")
