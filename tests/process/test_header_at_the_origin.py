"""What the redirector puts in front of a session, byte for byte, read by a decoder that shares nothing with libppv2."""

import os
import socket
import unittest

from ravelin import header
from ravelin.case import ProcessTest
from ravelin.hello import client_hello
from ravelin.ports import free_port
from ravelin.settings import edge_settings


def has_ipv6():
    try:
        with socket.create_server(("::1", 0), family=socket.AF_INET6):
            return True
    except OSError:
        return False


class HeaderAtTheOrigin(ProcessTest):
    def exchange(self, edge, origin, host="127.0.0.1", **connect):
        """One session in which the client sends a ClientHello, 100,000 bytes and a FIN: (client, header)."""
        client = self.connect(edge, host, **connect)
        sent = client_hello() + os.urandom(100_000)
        client.send(sent)
        client.finish()
        inner = origin.accept()
        got = inner.read_header()
        self.assertEqual(inner.read_to_end(), sent, "what follows the header is what the client sent")
        inner.send(b"bye")
        inner.close()
        self.assertEqual(client.read_to_end(), b"bye")
        return client, got

    def check(self, client, got, family):
        self.assertEqual(got.command, header.PROXY)
        self.assertEqual(got.family, family)
        self.assertEqual(got.source, client.local)
        self.assertEqual(got.destination, client.peer)

    def test_an_ipv4_client_is_named_with_its_address_and_port(self):
        origin = self.listener()
        edge = self.edge(origin.address)
        client, got = self.exchange(edge, origin, source=("127.0.0.9", 0))
        self.check(client, got, header.TCP4)

    def test_an_ipv6_client_is_named_with_its_address_and_port(self):
        if not has_ipv6():
            raise unittest.SkipTest("no IPv6 loopback on this machine")
        origin = self.listener()
        edge = self.edge(origin.address, listen="::1")
        client, got = self.exchange(edge, origin, "::1")
        self.check(client, got, header.TCP6)

    def test_an_ipv4_client_of_a_listener_for_both_families_is_named_as_ipv4(self):
        origin = self.listener()
        edge = self.edge(origin.address, listen="")
        client, got = self.exchange(edge, origin, "127.0.0.1")
        self.check(client, got, header.TCP4)

    def test_a_client_that_connects_to_a_mapped_address_is_named_as_ipv4(self):
        if not has_ipv6():
            raise unittest.SkipTest("no IPv6 loopback on this machine")
        origin = self.listener()
        edge = self.edge(origin.address, listen="")
        client, got = self.exchange(edge, origin, "::ffff:127.0.0.1")
        self.assertEqual(client.local[0], "::ffff:127.0.0.1")
        self.assertEqual(got.family, header.TCP4)
        self.assertEqual(got.source, ("127.0.0.1", client.local[1]))

    def test_an_ipv6_origin_gets_the_same_header(self):
        if not has_ipv6():
            raise unittest.SkipTest("no IPv6 loopback on this machine")
        origin = self.listener("::1")
        edge = self.edge(origin.address)
        client, got = self.exchange(edge, origin)
        self.check(client, got, header.TCP4)

    def test_the_header_carries_the_id_that_the_edge_logs(self):
        origin = self.listener()
        edge = self.edge(origin.address)
        _, got = self.exchange(edge, origin)
        ids = [value for kind, value in got.tlvs if kind == header.UNIQUE_ID]
        self.assertEqual([value.decode() for value in ids], [edge.wait_event("session_closed")["id"]])

    def test_the_header_carries_the_name_of_the_edge(self):
        origin = self.listener()
        edge = self.edge(origin.address, "--edge-name", "vienna-3")
        _, got = self.exchange(edge, origin)
        self.assertIn(b"vienna-3", [value for _, value in got.tlvs])
        self.assertEqual(edge.wait_event("session_closed")["edge"], "vienna-3")

    def test_with_the_checksum_switched_on_it_is_there_and_right(self):
        origin, port = self.listener(), free_port()
        settings = edge_settings(port, [origin.address], header={"crc32c": True})
        edge = self.configured("redirector", settings, [port])
        client, got = self.exchange(edge, origin)
        self.check(client, got, header.TCP4)
        self.assertIn(header.CRC32C, [kind for kind, _ in got.tlvs])  # that it matches is checked by the decoder

    def test_header_and_the_clients_first_bytes_leave_in_one_segment(self):
        origin = self.listener()
        edge = self.edge(origin.address)
        client, hello = self.connect(edge), client_hello()
        client.send(hello)
        first = origin.accept().sock.recv(65536)
        self.assertEqual(first[-len(hello) :], hello)
        self.check(client, header.decode_v2(first[: -len(hello)]), header.TCP4)

    def test_two_sessions_have_different_ids(self):
        origin = self.listener()
        edge = self.edge(origin.address)
        headers = [self.exchange(edge, origin)[1] for _ in range(2)]
        self.assertNotEqual(*[dict(got.tlvs)[header.UNIQUE_ID] for got in headers])
