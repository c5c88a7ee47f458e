"""A session through the edge, the gateway or both ends on one side exactly as it ended on the other."""

import functools
import hashlib
import os
import select
import socket
import threading

from ravelin import wire
from ravelin.build import SLOWNESS
from ravelin.case import ProcessTest
from ravelin.ports import free_port
from ravelin.settings import edge_settings
from ravelin.waiting import wait_until

MEGABYTE = 1 << 20
TOPOLOGIES = "edge", "gateway", "edge and gateway"


class Path:
    """An edge, a gateway or both between the test's client and the test's origin."""

    def __init__(self, test, topology):
        self._test = test
        self.origin = test.listener(backlog=512)
        gateway = test.gateway(self.origin.address) if "gateway" in topology else None
        edge = test.edge((gateway or self.origin).address) if "edge" in topology else None
        self.header_arrives = gateway is None
        self.daemons = [daemon for daemon in (edge, gateway) if daemon]

    def open_session(self):
        """(client, inner): the two ends of a session whose first five bytes have passed."""
        client = self._test.connect(self.daemons[0], seconds=120)
        client.send(b"hello")
        inner = self.origin.accept()
        if self.header_arrives:
            inner.read_header()
        self._test.assertEqual(inner.read(5), b"hello")
        return client, inner

    def check_end(self, **fields):
        """Each daemon's line about the session says this."""
        for daemon in self.daemons:
            closed = daemon.wait_event("session_closed")
            self._test.assertEqual({name: closed[name] for name in fields}, fields, closed)


def on_each_path(test):
    """Runs test(self, path) on every topology."""

    @functools.wraps(test)
    def run(self):
        for topology in TOPOLOGIES:
            with self.subTest(topology):
                test(self, Path(self, topology))

    return run


class StreamTruth(ProcessTest):
    @on_each_path
    def test_a_client_that_has_finished_still_gets_all_of_the_answer(self, path):
        client, inner = path.open_session()
        client.finish()
        self.assertTrue(inner.at_end())
        answer = os.urandom(3 * MEGABYTE)
        sender = threading.Thread(target=lambda: (inner.send(answer), inner.finish()))
        sender.start()
        self.assertEqual(client.read_to_end(), answer)
        sender.join()
        path.check_end(end_kind="fin", bytes_up=5, bytes_down=len(answer))

    @on_each_path
    def test_an_origin_that_has_finished_still_gets_all_that_the_client_sends(self, path):
        client, inner = path.open_session()
        inner.finish()
        self.assertTrue(client.at_end())
        more = os.urandom(3 * MEGABYTE)
        sender = threading.Thread(target=lambda: (client.send(more), client.finish()))
        sender.start()
        self.assertEqual(inner.read_to_end(), more)
        sender.join()
        path.check_end(end_kind="fin", bytes_up=5 + len(more), bytes_down=0)

    @on_each_path
    def test_a_reset_by_the_client_is_a_reset_at_the_origin(self, path):
        client, inner = path.open_session()
        client.reset()
        self.assertTrue(inner.is_reset())
        path.check_end(end_side="client", end_kind="reset")

    @on_each_path
    def test_a_reset_by_the_origin_is_a_reset_at_the_client(self, path):
        client, inner = path.open_session()
        inner.reset()
        self.assertTrue(client.is_reset())
        path.check_end(end_side="origin", end_kind="reset")

    @on_each_path
    def test_a_reset_after_the_clients_half_close_is_still_a_reset(self, path):
        client, inner = path.open_session()
        client.finish()
        self.assertTrue(inner.at_end())
        inner.reset()
        self.assertTrue(client.is_reset())

    @on_each_path
    def test_every_byte_before_a_fin_arrives_before_it(self, path):
        for size in 1, 1000, 65536, 65537, MEGABYTE + 1:
            client, inner = path.open_session()
            data = os.urandom(size)
            client.send(data[:1000])
            client.finish()
            self.assertEqual(inner.read_to_end(), data[:1000])
            sender = threading.Thread(target=lambda: (inner.send(data), inner.close()))
            sender.start()
            self.assertEqual(client.read_to_end(), data)
            sender.join()

    @on_each_path
    def test_urgent_data_stays_in_the_stream_wherever_it_stands(self, path):
        for before in 5, 3 * MEGABYTE:  # in the first bytes, and behind more than one turn of the engine
            client = self.connect(path.daemons[0], seconds=30)
            data = os.urandom(before)

            def send_all(client=client, data=data):
                client.send(data)
                client.sock.send(b"!", socket.MSG_OOB)
                client.send(b"after")
                client.finish()

            sender = threading.Thread(target=send_all)
            sender.start()
            inner = path.origin.accept()
            if path.header_arrives:
                inner.read_header()
            self.assertEqual(inner.read_to_end(), data + b"!after")
            sender.join()
            inner.close()

    @on_each_path
    def test_both_directions_at_once_keep_every_byte(self, path):
        size = 40 * MEGABYTE // (1 if SLOWNESS == 1 else 4)
        client, inner = path.open_session()
        digests = {}

        def send_all(end, name):
            digest = hashlib.sha256()
            for _ in range(size // MEGABYTE):
                block = os.urandom(MEGABYTE)
                digest.update(block)
                end.send(block)
            end.finish()
            digests[name] = (size, digest.hexdigest())

        def read_all(end, name):
            digests[name] = end.digest_to_end()

        threads = [
            threading.Thread(target=work, args=(end, name))
            for work, end, name in (
                (send_all, client, "up sent"),
                (read_all, inner, "up read"),
                (send_all, inner, "down sent"),
                (read_all, client, "down read"),
            )
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(digests["up read"], digests["up sent"])
        self.assertEqual(digests["down read"], digests["down sent"])

    @on_each_path
    def test_an_origin_that_does_not_read_stops_the_client_and_costs_no_memory(self, path):
        sessions = [path.open_session() for _ in range(5)]
        before = [daemon.resident_bytes() for daemon in path.daemons]
        for client, _ in sessions:
            client.sock.setblocking(False)
        block, taken = bytes(256 * 1024), [0] * len(sessions)

        def fill():
            """Sends what is taken; True once nobody takes anything any more."""
            moved = False
            for number, (client, _) in enumerate(sessions):
                try:
                    taken[number] += client.sock.send(block)
                    moved = True
                except BlockingIOError:
                    continue
            return not moved

        full = 0
        while full < 20:  # twenty looks in a row, with pauses, in which nothing was taken
            wait_until(fill, "the clients to be stopped")
            full = full + 1 if all(not self._writable(client) for client, _ in sessions) else 0
        self.assertLess(max(taken), 64 * MEGABYTE)
        for daemon, memory in zip(path.daemons, before):
            self.assertLess(daemon.resident_bytes() - memory, 8 * MEGABYTE * SLOWNESS)
        client, inner = sessions[0]
        client.finish()
        self.assertEqual(inner.digest_to_end()[0], taken[0])

    @staticmethod
    def _writable(client):
        return bool(select.select([], [client.sock], [], 0.01)[1])


class WhoSpeaksFirst(ProcessTest):
    def test_the_origin_is_not_touched_before_the_clients_first_byte(self):
        origin = self.listener()
        edge = self.edge(origin.address)
        client = self.connect(edge)
        self.assertFalse(origin.has_connection(seconds=0.3))
        client.send(b"now")
        inner = origin.accept()
        inner.read_header()
        self.assertEqual(inner.read(3), b"now")

    def test_a_server_that_speaks_first_is_heard_where_the_edge_does_not_wait(self):
        origin, port = self.listener(), free_port()
        edge = self.configured(
            "redirector", edge_settings(port, [origin.address], listener={"wait_for_client": False}), [port]
        )
        client = self.connect(edge)
        inner = origin.accept()
        self.assertEqual(inner.read_header().source, client.local)
        inner.send(b"220 ready\r\n")
        self.assertEqual(client.read(11), b"220 ready\r\n")
        client.send(b"QUIT\r\n")
        self.assertEqual(inner.read(6), b"QUIT\r\n")

    def test_200_sessions_at_once_are_kept_apart(self):
        origin = self.server(wire.echo)
        gateway = self.gateway(origin.address)
        edge = self.edge(gateway.address)
        clients = [self.connect(edge, seconds=120) for _ in range(200)]
        for turn in range(3):
            for number, client in enumerate(clients):
                client.send(b"%06d/%d" % (number, turn))
            for number, client in enumerate(clients):
                self.assertEqual(client.read(8), b"%06d/%d" % (number, turn))
