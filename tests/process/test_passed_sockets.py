"""Listening sockets that a service manager has opened, by its protocol: $LISTEN_PID, $LISTEN_FDS, descriptors from 3 on."""

import os
import signal
import socket

from ravelin import wire
from ravelin.build import program
from ravelin.case import ProcessTest
from ravelin.coded import CodedClients, EchoOrigin
from ravelin.daemon import run_to_end
from ravelin.waiting import wait_until


def passing(sock):
    """What starts a program with this socket, as the process that it is meant for."""
    script = f'LISTEN_PID=$$ LISTEN_FDS=1 exec "$@" 3<&{sock.fileno()}'
    return {"prefix": ["sh", "-c", script, "sh"], "pass_fds": [sock.fileno()]}


class PassedSockets(ProcessTest):
    def opened(self, host="127.0.0.1"):
        return self.own(socket.create_server((host, 0), backlog=128))

    def start(self, sock, *arguments):
        self.origin = self.own(EchoOrigin())
        address, port = "127.0.0.1:%d" % sock.getsockname()[1], sock.getsockname()[1]
        flags = ["--listen", address, "--origin", self.origin.address, *arguments]
        return self.daemon("redirector", *flags, ports=[port], **passing(sock))

    def test_a_passed_socket_is_used_and_outlives_kills_and_upgrades_with_what_waits_in_it(self):
        sock = self.opened()
        early = self.own(wire.Wire(socket.create_connection(sock.getsockname())))
        edge = self.start(sock)
        clients = self.own(CodedClients(edge.port, 8))
        wait_until(lambda: clients.received > 100_000, "bytes to move")
        os.kill(edge.process.pid, signal.SIGUSR2)
        edge.wait_event("upgraded")
        os.kill(edge.worker, signal.SIGKILL)
        edge.wait_event("taken_over", count=2)
        early.send(b"hello")
        self.assertEqual(early.read(5), b"hello")
        early.close()
        wait_until(clients.finish, "all sessions to end")
        self.assertEqual(clients.faults(), [])

    def test_a_program_without_a_keeper_takes_it_too(self):
        edge = self.start(self.opened(), "--keeper=false")
        client = self.connect(edge)
        client.send(b"hello")
        self.assertEqual(client.read(5), b"hello")

    def test_a_passed_socket_that_no_listener_wants_is_an_error_that_says_what_to_do(self):
        sock, other = self.opened(), self.opened()
        address = "127.0.0.1:%d"
        flags = ["--listen", address % other.getsockname()[1], "--origin", "127.0.0.1:9"]
        other.close()
        for keeper in [], ["--keeper=false"]:
            started = passing(sock)
            done = run_to_end([*started["prefix"], program("redirector"), *flags, *keeper], pass_fds=started["pass_fds"])
            self.assertEqual(done.code, 1, done.stderr)
            self.assertIn(address % sock.getsockname()[1] + " was passed in, but no listener", done.stderr)

    def test_a_passed_socket_that_cannot_be_a_listener_is_an_error_before_anything_starts(self):
        sock = self.own(socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True))
        started = passing(sock)
        flags = ["--listen", ":%d" % sock.getsockname()[1], "--origin", "127.0.0.1:9"]
        done = run_to_end([*started["prefix"], program("redirector"), *flags], pass_fds=started["pass_fds"])
        self.assertEqual(done.code, 78, done.stderr)
        self.assertIn("BindIPv6Only=ipv6-only", done.stderr)
