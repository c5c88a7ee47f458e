"""Several local addresses toward an origin: each has its own ports."""

import json
import socket

from ravelin import build, wire
from ravelin.case import ProcessTest
from ravelin.daemon import run_to_end
from ravelin.isolation import ListeningIn, with_local_ports
from ravelin.ports import free_port
from ravelin.settings import edge_settings
from ravelin.waiting import wait_until


class SourceAddressesTest(ProcessTest):
    def edge_from(self, sources, origin):
        port = free_port()
        pool = {"source_addresses": sources}
        return self.configured("redirector", edge_settings(port, [origin.address], pool=pool), [port])

    def test_connections_come_from_each_address_in_turn(self):
        origin = self.server(wire.echo)
        edge = self.edge_from(["127.0.0.5", "127.0.0.6"], origin)
        clients = []
        for _ in range(20):
            clients.append(self.connect(edge))
            clients[-1].send(b"hello")
            self.assertNotEqual(clients[-1].read(5), b"")
        seen = [wire.sock.getpeername()[0] for wire in origin.accepted]
        self.assertEqual((seen.count("127.0.0.5"), seen.count("127.0.0.6")), (10, 10))

    def test_an_address_of_the_other_family_is_not_used(self):
        origin = self.server(wire.echo)
        edge = self.edge_from(["::1", "127.0.0.7"], origin)
        for _ in range(4):
            client = self.connect(edge)
            client.send(b"hello")
            self.assertNotEqual(client.read(5), b"")
        self.assertEqual({wire.sock.getpeername()[0] for wire in origin.accepted}, {"127.0.0.7"})

    def test_an_origin_without_ports_left_is_passed_over_and_the_ports_are_counted(self):
        path, ports, sessions = f"{self.folder}/edge.sock", 4, 6
        settings = edge_settings(0, ["127.0.0.1:9001", "127.0.0.1:9002"], max_sessions=100)
        settings["listeners"][0]["address"] = f"unix:{path}"
        settings["pools"][0]["balancing"] = "first_available"
        config = self.write("edge.yaml", json.dumps(settings))
        edge = self.daemon("redirector", "--config", config, prefix=with_local_ports(40000, 40000 + ports - 1))
        warning = edge.wait_event("source_ports_few")
        self.assertEqual((warning["sessions_possible"], warning["max_sessions"]), (2 * ports, 100))
        self.own(ListeningIn(edge.process.pid, 9001, 9002))
        for _ in range(sessions):
            sock = self.own(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
            sock.connect(path)
            sock.send(b"hello")
        metric = edge.admin.metric
        wait_until(lambda: metric("redirector_sessions") == sessions, "all sessions")
        by_origin = {
            origin: (
                metric("redirector_origin_sessions", address=origin),
                metric("redirector_origin_source_ports_left", address=origin),
            )
            for origin in ("127.0.0.1:9001", "127.0.0.1:9002")
        }
        self.assertEqual(by_origin, {"127.0.0.1:9001": (ports, 0), "127.0.0.1:9002": (sessions - ports, 2 * ports - sessions)})
        self.assertEqual(metric("redirector_source_ports_exhausted_total"), sessions - ports)
        self.assertEqual(metric("redirector_origin_failing", address="127.0.0.1:9001"), 0)

    def test_what_is_no_address_is_refused_with_its_place(self):
        settings = edge_settings(free_port(), ["127.0.0.1:1"], pool={"source_addresses": ["localhost"]})
        ended = run_to_end([build.program("redirector"), "--config", self.write("edge.yaml", json.dumps(settings)), "--check"])
        self.assertEqual(ended.code, 78)
        self.assertRegex(ended.stderr, r"edge.yaml:\d+:\d+: .*'localhost' is not an address to come from")
