"""The inner server asks who its peer really is, at once after accept, and always gets the right answer."""

import concurrent.futures
import ipaddress
import socket

from ravelin import header
from ravelin.build import SLOWNESS
from ravelin.case import ProcessTest
from ravelin.ports import free_port
from ravelin.settings import gateway_settings
from ravelin.waiting import patience, wait_until

CONNECTIONS = 10_000 if SLOWNESS == 1 else 2_000
CLIENTS = 8


class PeerMap(ProcessTest):
    def test_every_inner_accept_of_10000_that_looks_up_at_once_finds_its_peer_and_the_map_is_empty_afterwards(self):
        def answer_with_the_claim(wire):
            peer = gateway.admin.peer("ipv4:%s:%d" % wire.peer)
            wire.read(1)
            wire.send((peer["claimed"] if peer else "unknown").encode().ljust(32))

        inner = self.server(answer_with_the_claim)
        gateway = self.gateway(inner.address)

        def connect_some(first):
            wrong = []
            for number in range(first, CONNECTIONS, CLIENTS):
                claimed = str(ipaddress.ip_address("10.0.0.0") + number), 1024 + number
                with socket.create_connection(("127.0.0.1", gateway.port), timeout=patience()) as client:
                    client.sendall(header.v2(claimed, ("198.51.100.1", 443)) + b"?")
                    answer = b""
                    while part := client.recv(64):
                        answer += part
                if answer.decode().strip() != "%s:%d" % claimed:
                    wrong.append((claimed, answer))
            return wrong

        with concurrent.futures.ThreadPoolExecutor(CLIENTS) as clients:
            wrong = sum(clients.map(connect_some, range(CLIENTS)), [])
        self.assertEqual(wrong, [])
        wait_until(lambda: gateway.admin.metric("gateway_peers") == 0, "the peer map to be empty")
        self.assertEqual(len(gateway.closed_sessions(CONNECTIONS)), CONNECTIONS)

    def test_an_entry_lives_as_long_as_its_connection(self):
        inner = self.listener()
        gateway = self.gateway(inner.address)
        client = self.connect(gateway)
        client.send(
            header.v2(("203.0.113.7", 51413), ("198.51.100.1", 443), [(header.UNIQUE_ID, b"the-id")]) + b"hello"
        )
        accepted = inner.accept()
        name = "127.0.0.1:%d" % accepted.peer[1]
        for form in name, "ipv4:" + name, "ipv4:" + name.replace(":", "%3A"):
            with self.subTest(form):
                peer = gateway.admin.peer(form)
                self.assertEqual((peer["claimed"], peer["edge_session"]), ("203.0.113.7:51413", "the-id"))
                self.assertEqual(peer["measured"], "%s:%d" % client.local)
                self.assertIs(peer["claim_trusted"], True)
        self.assertEqual(accepted.read(5), b"hello")
        accepted.close()
        self.assertTrue(client.at_end())
        client.close()
        wait_until(lambda: gateway.admin.peer(name) is None, "the entry to go")

    def test_what_is_no_inner_connection_is_not_found(self):
        gateway = self.gateway(self.listener().address)
        self.assertIsNone(gateway.admin.peer("ipv4:127.0.0.1:9"))
        status, _ = gateway.admin.get("/peer?inner=nonsense")
        self.assertIn(status, (400, 404))

    def test_an_inner_unix_socket_is_looked_up_by_its_abstract_name(self):
        path = self.folder + "/inner.sock"
        inner = self.listener(path=path)
        gateway = self.gateway("unix:" + path)
        client = self.connect(gateway)
        client.send(header.v2(("203.0.113.7", 51413), ("198.51.100.1", 443)) + b"hello")
        accepted = inner.accept()
        self.assertEqual(accepted.read(5), b"hello")
        name = accepted.sock.getpeername()
        self.assertRegex(name, rb"^\0[0-9a-f]{5}$")  # unix(7), autobind
        peer = gateway.admin.peer("unix:@" + name[1:].decode())
        self.assertEqual(peer["claimed"], "203.0.113.7:51413")

    def test_an_inner_server_that_reads_headers_itself_gets_the_claim_or_the_measured_address(self):
        for version in "v1", "v2":
            inner, port = self.listener(), free_port()
            gateway = self.configured("gateway", gateway_settings(port, inner.address, inner_header=version), [port])
            for claimed in True, False:
                with self.subTest(version=version, claimed=claimed):
                    client = self.connect(gateway)
                    client.send(
                        (header.v2(("203.0.113.7", 51413), ("198.51.100.1", 443)) if claimed else b"") + b"hello"
                    )
                    accepted = inner.accept()
                    expected = ("203.0.113.7", 51413) if claimed else client.local
                    if version == "v2":
                        self.assertEqual(accepted.read_header().source, expected)
                    else:
                        line = b""
                        while not line.endswith(b"\r\n"):
                            line += accepted.read(1)
                        words = line.decode().split()
                        self.assertEqual((words[0], words[2], int(words[4])), ("PROXY", *expected))
                    self.assertEqual(accepted.read(5), b"hello")
