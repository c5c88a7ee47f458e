"""Every state of docs/stream-truth.md, driven over real sockets. The tests are made from the table in that document."""

import itertools
import re
import socket

from ravelin.build import ROOT
from ravelin.case import ProcessTest
from ravelin.ports import free_port
from ravelin.settings import edge_settings
from ravelin.waiting import pace, patience, wait_until

DOCUMENT = ROOT / "docs/stream-truth.md"
YES_NO = {"yes": (True,), "no": (False,), "yes or no": (True, False), "any": (True, False)}
ERRORS = {"–": (None,), "source": ("source",), "destination": ("destination",)}

# The edge's buffers. A transfer of 24 KiB makes a flow splice, and one of the small buffers is never that large.
WAYS = {way: {"receive_buffer": size, "send_buffer": size} for way, size in (("copy", "8KiB"), ("splice", "256KiB"))}


def table():
    """{(eof, pending, fin_sent, error): [what is seen from outside, once for each row]}"""
    rows = re.findall(r"^\|(.*)\|$", DOCUMENT.read_text(), re.M)[2:]
    states = {}
    for row in rows:
        eof, pending, fin_sent, error, _, seen = (cell.strip() for cell in row.split(" | "))
        for state in itertools.product(YES_NO[eof], YES_NO[pending], YES_NO[fin_sent], ERRORS[error]):
            if is_possible(*state):
                states.setdefault(state, []).append(seen)
    return states


def is_possible(eof, pending, fin_sent, _):
    return not fin_sent or (eof and not pending)


class Flow:
    """One direction of a session at an edge, as its source and its destination see it."""

    def __init__(self, test, edge, port, origin, up):
        client = test.connect(port)
        self.client = client.local
        client.send(b"hello")
        inner = origin.accept()
        inner.read_header()
        test.assertEqual(inner.read(5), b"hello")
        self.source, self.destination = (client, inner) if up else (inner, client)
        self.edge = edge
        self.sent, self.read = 0, 0
        for wire in client, inner:
            for option in socket.SO_RCVBUF, socket.SO_SNDBUF:
                wire.sock.setsockopt(socket.SOL_SOCKET, option, 128 << 10)

    def say(self, count):
        """Sends this much and sees it arrive."""
        for start in range(0, count, 64 << 10):
            part = min(64 << 10, count - start)
            self.source.send(self._bytes(self.sent, part))
            self.sent += part
            self.hear(part)

    def hear(self, count):
        if self.destination.read(count) != self._bytes(self.read, count):
            raise AssertionError(f"wrong bytes behind offset {self.read}")
        self.read += count

    def fill(self):
        """Sends until nothing is taken any more, while nobody reads."""
        self.source.sock.setblocking(False)
        stopped = 0
        while stopped < 20:  # looks in a row, with pauses
            try:
                self.sent += self.source.sock.send(self._bytes(self.sent, 64 << 10))
                stopped = 0
            except BlockingIOError:
                stopped += 1
                pace(0.01)
        self.source.sock.settimeout(patience())

    def prefix_then_reset(self):
        """Reads to the end, which must be a reset; whether all before it is as it was sent."""
        try:
            while part := self.destination.sock.recv(1 << 16):
                if part != self._bytes(self.read, len(part)):
                    return False
                self.read += len(part)
        except ConnectionResetError:
            return True
        # All had been read, and the FIN too, before the reset came.
        return self.read == self.sent and is_reset_later(self.destination)

    @staticmethod
    def _bytes(offset, count):
        """Four bytes at a time say where they stand."""
        first = offset // 4
        text = b"".join(number.to_bytes(4, "big") for number in range(first, first + count // 4 + 2))
        return text[offset - first * 4 :][:count]


def is_reset_later(wire):
    """True once the connection has failed, also where the end of the stream has been read."""
    return wait_until(lambda: wire.sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR), "a reset behind the FIN") > 0


# What "seen from outside" says, each as a look at the sockets.


def bytes_arrive(_, flow):
    flow.say(1000)


def stopped(_, flow):
    flow.hear(flow.sent - flow.read)
    flow.say(1000)


def all_then_fin(test, flow):
    flow.hear(flow.sent - flow.read)
    test.assertTrue(flow.destination.at_end())


def fin(test, flow):
    test.assertTrue(flow.destination.at_end())
    flow.destination.send(b"the other flow")
    test.assertEqual(flow.source.read(14), b"the other flow")


def ends_with_the_other(test, flow):
    flow.destination.finish()
    test.assertTrue(flow.source.at_end())
    flow.edge.wait_event("session_closed", client="%s:%d" % flow.client, end_kind="fin", reason="finished")


def prefix_then_reset(test, flow):
    test.assertTrue(flow.prefix_then_reset())


def reset_at_the_destination(test, flow):
    test.assertTrue(is_reset_later(flow.destination))


def reset_at_the_source(test, flow):
    test.assertTrue(is_reset_later(flow.source))


SEEN = {
    "bytes arrive": bytes_arrive,
    "the source is stopped, and all bytes arrive": stopped,
    "all bytes arrive, then the FIN": all_then_fin,
    "the FIN arrives, and the other flow goes on": fin,
    "the session ends when the other flow does": ends_with_the_other,
    "the destination gets a prefix, then a reset": prefix_then_reset,
    "the destination gets a reset": reset_at_the_destination,
    "the source gets a reset": reset_at_the_source,
}


class EveryState(ProcessTest):
    def test_every_state_that_can_be_has_one_row_in_the_document(self):
        possible = [
            s for s in itertools.product(*[(False, True)] * 3, (None, "source", "destination")) if is_possible(*s)
        ]
        rows = table()
        self.assertEqual({state: 1 for state in possible}, {state: len(seen) for state, seen in rows.items()})

    def drive(self, state, seen):
        origin, ports = self.listener(), {way: free_port() for way in WAYS}
        settings = edge_settings(0, [origin.address])
        settings["listeners"] = [
            {"address": f"127.0.0.1:{ports[way]}", "client_socket": buffers, "origin_socket": buffers}
            for way, buffers in WAYS.items()
        ]
        edge = self.configured("redirector", settings, list(ports.values()))
        for way, up in itertools.product(WAYS, (True, False)):
            with self.subTest(way=way, direction="up" if up else "down"):
                flow = Flow(self, edge, ports[way], origin, up)
                flow.say(100 if way == "copy" else 1 << 20)
                self.bring_to(flow, *state)
                SEEN[seen](self, flow)

    def bring_to(self, flow, eof, pending, fin_sent, error):
        if pending:
            flow.fill()
        if eof:
            flow.source.finish()
        if fin_sent or (eof and not pending and error):
            self.assertTrue(flow.destination.at_end())
        if error == "source":
            flow.source.reset()
        elif error == "destination":
            flow.destination.reset()


class NothingToDo(ProcessTest):
    def test_idle_and_stalled_sessions_wake_nobody_up(self):
        origin, port = self.listener(), free_port()
        edge = self.configured("redirector", edge_settings(port, [origin.address]), [port])
        idle = [Flow(self, edge, port, origin, up) for up in (True, False) for _ in range(5)]
        stalled = [Flow(self, edge, port, origin, up) for up in (True, False)]
        for flow in stalled:
            flow.fill()
        name = "redirector_wakeups_without_progress_total"
        before = edge.admin.metric(name)
        pace(1.0)
        self.assertEqual(edge.admin.metric(name), before)
        for flow in idle:
            flow.say(10)


def _add_tests():
    for (eof, pending, fin_sent, error), seen in table().items():
        facts = [name for name, holds in (("eof", eof), ("pending", pending), ("fin_sent", fin_sent)) if holds]
        facts += [f"{error}_failed"] if error else []
        state = (eof, pending, fin_sent, error)
        name = f"test_a_flow_with_{'_and_'.join(facts) or 'nothing_behind_it'}"
        setattr(EveryState, name, lambda self, state=state, seen=seen: self.drive(state, seen[0]))


_add_tests()
