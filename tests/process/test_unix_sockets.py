"""Clients that come over a Unix socket, and the socket's file."""

import os
import socket

from ravelin import wire
from ravelin.case import ProcessTest
from ravelin.waiting import patience
from ravelin.wire import Wire


class UnixSockets(ProcessTest):
    def edge_at(self, path, origin):
        flags = ["--listen", f"unix:{path}", "--origin", origin, "--edge-name", "here"]
        edge = self.daemon("redirector", *flags, wait=False)
        edge.wait_event("ready")
        return edge.wait_ready()

    def connect_to(self, path):
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        sock.settimeout(patience())
        sock.connect(path)
        return self.own(Wire(sock))

    def test_the_session_of_a_client_without_an_address_is_in_the_gateways_log_too(self):
        path, origin = self.folder + "/edge.sock", self.server(wire.echo)
        gateway = self.gateway(origin.address)
        edge = self.edge_at(path, gateway.address)
        client = self.connect_to(path)
        client.send(b"hello")
        self.assertEqual(client.read(5), b"hello")
        client.close()
        at_the_edge, behind = edge.wait_event("session_closed"), gateway.wait_event("session_closed")
        self.assertEqual(behind["claimed"], "")
        self.assertTrue(behind["measured"].startswith("127.0.0.1:"), behind)
        self.assertEqual((behind["edge"], behind["edge_session"]), ("here", at_the_edge["id"]))
        self.assertEqual(gateway.admin.metric("gateway_local_total"), 0)

    def test_the_file_goes_with_the_daemon_unless_somebody_else_has_put_another_one_there(self):
        path, origin = self.folder + "/edge.sock", self.server(wire.echo)
        self.stop(self.edge_at(path, origin.address))
        self.assertFalse(os.path.exists(path))
        edge = self.edge_at(path, origin.address)
        os.rename(path, path + ".moved")
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as successor:
            successor.bind(path)
            self.stop(edge)
            self.assertTrue(os.path.exists(path))

    def test_the_file_that_a_killed_daemon_leaves_is_replaced(self):
        path, origin = self.folder + "/edge.sock", self.server(wire.echo)
        killed = self.edge_at(path, origin.address)
        self.stop(killed, kill=True)
        self.assertTrue(os.path.exists(path))
        edge = self.edge_at(path, origin.address)
        client = self.connect_to(path)
        client.send(b"hello")
        self.assertNotEqual(client.read(5), b"")
        client.close()
        edge.wait_event("session_closed")
