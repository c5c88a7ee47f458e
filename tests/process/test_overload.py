"""Too much of something: it costs no time, everything refused is accounted for, and it passes by itself."""

import os
import resource
import socket
import time

from ravelin import wire
from ravelin.case import ProcessTest
from ravelin.ports import free_port
from ravelin.settings import edge_settings
from ravelin.waiting import wait_until

KNOCKS = 250  # the burst is 100 lines
CROWD = 30
READERS = 20


def processor_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
        fields = stat.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class OverloadTest(ProcessTest):
    def edge_with(self, **listener):
        port = free_port()
        listener["proxy_header"] = False
        settings = edge_settings(port, [self.server(wire.echo).address], listener=listener, loops=1)
        return self.configured("redirector", settings, [port])

    def check_echo(self, client):
        client.send(b"hello")
        self.assertEqual(client.read(5), b"hello")

    def test_every_refused_connection_is_in_the_log_as_a_line_or_in_a_count(self):
        edge = self.edge_with(limits={"sessions": {"most": 1}})
        first = self.connect(edge)
        self.check_echo(first)
        for _ in range(KNOCKS):
            self.assertTrue(self.is_refused(edge))
        self.assertEqual(edge.admin.metric("redirector_limit_reached_total", limit="listener_sessions"), KNOCKS)

        def said():
            held_back = edge.events("lines_held_back", event_class="limit_reached")
            return sum(line["count"] for line in held_back) + len(edge.events("limit_reached"))

        wait_until(lambda: said() == KNOCKS, lambda: f"{KNOCKS} refusals in the log, which has {said()}")
        self.assertTrue(edge.events("lines_held_back"))

    def test_readers_that_read_nothing_cost_the_buffers_that_are_configured_and_no_more(self):
        port, origin = free_port(), self.listener()
        caps = {"receive_buffer": "64KiB", "send_buffer": "64KiB"}
        listener = {"proxy_header": False, "client_socket": caps, "origin_socket": caps}
        settings = edge_settings(port, [origin.address], listener, loops=1, pipes={"size": "256KiB"})
        edge = self.configured("redirector", settings, [port])
        pairs = []
        for _ in range(READERS):
            client = self.connect(edge)
            client.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 << 10)
            client.send(b"hello")
            writer = origin.accept()
            writer.read(5)
            pairs.append((client, writer))
        resident = edge.resident_bytes()
        taken = [self.push_until_full(writer) for _, writer in pairs]
        # The kernel grants twice what is asked for, of both ends of both connections, and the pipe lies between them.
        self.assertLess(max(taken), 4 * (128 << 10) + (256 << 10) + (256 << 10))
        self.assertLess(edge.resident_bytes() - resident, READERS * (16 << 10) + (2 << 20))
        reader, writer = pairs[0]
        writer.close()
        self.assertEqual(reader.digest_to_end()[0], taken[0])

    @staticmethod
    def push_until_full(writer):
        """Sends until nothing has been taken for a while; how much that was."""
        writer.sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 64 << 10)
        writer.sock.setblocking(False)
        taken, last = 0, time.monotonic()
        while time.monotonic() - last < 0.3:
            try:
                taken += writer.sock.send(bytes(1 << 16))
                last = time.monotonic()
            except BlockingIOError:
                time.sleep(0.01)
        return taken

    def test_want_of_descriptors_costs_no_time_and_passes_by_itself(self):
        edge = self.edge_with()
        kept = self.connect(edge)
        self.check_echo(kept)
        worker = edge.worker
        highest = max(int(name) for name in os.listdir(f"/proc/{worker}/fd"))
        hard = resource.prlimit(worker, resource.RLIMIT_NOFILE)[1]
        resource.prlimit(worker, resource.RLIMIT_NOFILE, (highest + 4, hard))
        crowd = [self.connect(edge) for _ in range(CROWD)]  # silent: each keeps its descriptor

        def pauses():
            return edge.admin.metric("redirector_accept_pauses_total")

        wait_until(lambda: pauses() >= 2, "accepting to pause")
        before, spent = pauses(), processor_seconds(worker)
        wait_until(lambda: pauses() >= before + 10, "ten more attempts")
        self.assertLess(processor_seconds(worker) - spent, 0.3)
        self.check_echo(kept)

        for client in crowd:
            client.close()
        wait_until(
            lambda: edge.admin.metric("redirector_sessions_accepted_total") == CROWD + 1
            and edge.admin.metric("redirector_sessions") == 1,
            "the crowd to be gone",
        )
        self.check_echo(self.connect(edge))
        edge.wait_event("accept_paused")
