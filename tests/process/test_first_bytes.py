"""The gateway and the first bytes of a connection: however cut and paced, nothing is lost, doubled or misread."""

import os

from ravelin import header
from ravelin.case import ProcessTest
from ravelin.hello import client_hello
from ravelin.waiting import pace

CLAIMED, CLAIMED6 = ("203.0.113.7", 51413), ("2001:db8::7", 51413)
DESTINATION, DESTINATION6 = ("198.51.100.1", 443), ("2001:db8::1", 443)

HEADERS = {
    "version 1": (header.v1(CLAIMED, DESTINATION), "203.0.113.7:51413"),
    "version 1, IPv6": (header.v1(CLAIMED6, DESTINATION6), "[2001:db8::7]:51413"),
    "version 2": (header.v2(CLAIMED, DESTINATION), "203.0.113.7:51413"),
    "version 2, IPv6": (header.v2(CLAIMED6, DESTINATION6), "[2001:db8::7]:51413"),
    "version 2 with an id and a checksum": (
        header.v2(CLAIMED, DESTINATION, [(header.UNIQUE_ID, b"an-id"), (header.NOOP, bytes(5))], crc=True),
        "203.0.113.7:51413",
    ),
}


class Gateway(ProcessTest):
    def setUp(self):
        super().setUp()
        self.origin = self.listener(backlog=512)

    def start(self, **options):
        return self.gateway(self.origin.address, "--loops", "1", **options)

    def settle(self, gateway):
        """Returns when the gateway's only loop has looked at everything that was delivered before the call."""
        probe = self.connect(gateway)
        probe.send(b"probe")
        inner = self.origin.accept()
        self.assertEqual(inner.read(5), b"probe")
        inner.close()
        self.assertTrue(probe.at_end())
        probe.close()

    def check_session(self, client, payload):
        """The origin gets exactly the payload, and the client the answer."""
        client.finish()
        inner = self.origin.accept()
        self.assertEqual(inner.read_to_end(), payload)
        inner.send(payload[::-1])
        inner.close()
        self.assertEqual(client.read_to_end(), payload[::-1])
        client.close()


class FirstBytes(Gateway):
    def test_header_and_client_hello_in_one_segment(self):
        gateway = self.start()
        for name, (bytes_of_header, claimed) in HEADERS.items():
            with self.subTest(name):
                payload = client_hello() + os.urandom(100_000)
                client = self.connect(gateway)
                client.send(bytes_of_header + payload)
                measured = "%s:%d" % client.local
                self.check_session(client, payload)
                closed = gateway.wait_event("session_closed", measured=measured)
                self.assertEqual(closed["claimed"], claimed)
                self.assertIs(closed["claim_trusted"], True)
                self.assertEqual((closed["bytes_up"], closed["bytes_down"]), (len(payload), len(payload)))

    def test_a_header_cut_at_every_byte(self):
        gateway = self.start()
        payload = client_hello()
        for name in "version 1", "version 2 with an id and a checksum":
            bytes_of_header, claimed = HEADERS[name]
            whole = bytes_of_header + payload
            for cut in range(1, len(bytes_of_header) + 6):
                with self.subTest(f"{name}, cut after {cut}"):
                    client = self.connect(gateway)
                    client.send(whole[:cut])
                    if cut <= len(
                        bytes_of_header
                    ):  # else it is a session already, and its origin's connection comes first
                        self.settle(gateway)
                    client.send(whole[cut:])
                    measured = "%s:%d" % client.local
                    self.check_session(client, payload)
                    closed = gateway.wait_event("session_closed", measured=measured)
                    self.assertEqual((closed["claimed"], closed["bytes_up"]), (claimed, len(payload)))

    def test_a_header_that_comes_byte_by_byte(self):
        gateway = self.start()
        payload = client_hello() + os.urandom(1000)
        for name, (bytes_of_header, claimed) in HEADERS.items():
            with self.subTest(name):
                client = self.connect(gateway)
                for byte in bytes_of_header + payload[:20]:
                    client.send(bytes([byte]))
                    pace(0.01)
                client.send(payload[20:])
                measured = "%s:%d" % client.local
                self.check_session(client, payload)
                self.assertEqual(gateway.wait_event("session_closed", measured=measured)["claimed"], claimed)

    def test_no_header_at_all(self):
        gateway = self.start()
        payload = client_hello() + os.urandom(100_000)
        client = self.connect(gateway)
        client.send(payload)
        measured = "%s:%d" % client.local
        self.check_session(client, payload)
        closed = gateway.wait_event("session_closed", measured=measured)
        self.assertFalse(closed.get("claimed"))

    def test_a_client_hello_that_comes_byte_by_byte_without_a_header(self):
        gateway = self.start()
        payload = client_hello()
        client = self.connect(gateway)
        for byte in payload[:40]:
            client.send(bytes([byte]))
            pace(0.01)
        client.send(payload[40:])
        self.check_session(client, payload)

    def test_bytes_that_only_begin_like_a_header_go_on_untouched(self):
        gateway = self.start()
        for payload in (b"PROXIMA CENTAURI\r\n", b"\r\n\r\n\0\r\nQUIX\n" + bytes(20), b"P", b"\r\n", b"PROX"):
            with self.subTest(payload):
                client = self.connect(gateway)
                client.send(payload)
                self.check_session(client, payload)

    def test_a_local_header_claims_nothing_and_what_follows_it_goes_on_untouched(self):
        gateway = self.start()
        client = self.connect(gateway)
        client.send(header.v2_local() + b"payload")
        inner = self.origin.accept()
        self.assertEqual(inner.read(7), b"payload")
        peer = gateway.admin.peer("%s:%d" % inner.peer)
        self.assertEqual((peer["measured"], peer["claimed"]), ("%s:%d" % client.local, None))

    def test_a_second_header_is_payload(self):
        gateway = self.start()
        bytes_of_header = HEADERS["version 2"][0]
        client = self.connect(gateway)
        client.send(bytes_of_header + bytes_of_header + b"payload")
        self.check_session(client, bytes_of_header + b"payload")

    def test_a_malformed_header_is_answered_with_a_reset_and_never_reaches_the_origin(self):
        gateway = self.start()
        good = HEADERS["version 2"][0]
        malformed = {
            "version 3 in the version byte": good[:12] + b"\x31" + good[13:],
            "an unknown command": good[:12] + b"\x2f" + good[13:],
            "an address block that is too short": header.SIGNATURE + b"\x21\x11\x00\x04\x7f\x00\x00\x01",
            "a wrong checksum": header.v2(CLAIMED, DESTINATION, crc=True)[:-1] + b"\xff",
            "an octet with a leading zero": b"PROXY TCP4 0203.0.113.7 198.51.100.1 51413 443\r\n",
            "a port that wraps around": b"PROXY TCP4 203.0.113.7 198.51.100.1 4294967739 443\r\n",
            "a line that does not end": b"PROXY TCP4 " + b"1" * 200,
        }
        for name, bytes_of_header in malformed.items():
            with self.subTest(name):
                client = self.connect(gateway)
                client.send(bytes_of_header + b"payload")
                measured = "%s:%d" % client.local
                self.assertTrue(client.is_reset())
                self.assertEqual(gateway.wait_event("session_closed", measured=measured)["reason"], "header_invalid")
        self.assertFalse(self.origin.has_connection())


class Policies(Gateway):
    def test_required_a_connection_without_a_header_is_reset(self):
        gateway = self.start(policy="require")
        client = self.connect(gateway)
        client.send(client_hello())
        self.assertTrue(client.is_reset())
        self.assertEqual(gateway.wait_event("session_closed")["reason"], "header_missing")
        self.assertFalse(self.origin.has_connection())

    def test_required_a_header_from_a_trusted_edge_is_taken(self):
        gateway = self.start(policy="require")
        client = self.connect(gateway)
        client.send(HEADERS["version 2"][0] + b"payload")
        self.check_session(client, b"payload")
        self.assertEqual(gateway.wait_event("session_closed")["claimed"], "203.0.113.7:51413")

    def test_rejected_a_header_is_answered_with_a_reset_and_payload_goes_through(self):
        gateway = self.start(policy="reject")
        client = self.connect(gateway)
        client.send(HEADERS["version 2"][0] + b"payload")
        self.assertTrue(client.is_reset())
        self.assertEqual(gateway.wait_event("session_closed")["reason"], "header_refused")
        client = self.connect(gateway)
        client.send(b"payload")
        self.check_session(client, b"payload")

    def test_a_header_from_elsewhere_is_kept_as_a_claim_marked_untrusted(self):
        gateway = self.start(trusted=("192.0.2.0/24",))
        client = self.connect(gateway)
        client.send(HEADERS["version 2"][0] + b"payload")
        measured = "%s:%d" % client.local
        self.check_session(client, b"payload")
        closed = gateway.wait_event("session_closed")
        self.assertEqual((closed["claimed"], closed["measured"]), ("203.0.113.7:51413", measured))
        self.assertIs(closed["claim_trusted"], False)
