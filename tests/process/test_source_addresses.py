"""Several local addresses toward an origin: each has its own ports."""

import json

from ravelin import build, wire
from ravelin.case import ProcessTest
from ravelin.daemon import run_to_end
from ravelin.ports import free_port
from ravelin.settings import edge_settings


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

    def test_what_is_no_address_is_refused_with_its_place(self):
        settings = edge_settings(free_port(), ["127.0.0.1:1"], pool={"source_addresses": ["localhost"]})
        ended = run_to_end([build.program("redirector"), "--config", self.write("edge.yaml", json.dumps(settings)), "--check"])
        self.assertEqual(ended.code, 78)
        self.assertRegex(ended.stderr, r"edge.yaml:\d+:\d+: .*'localhost' is not an address to come from")
