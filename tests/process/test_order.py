"""Deploying the gateway and switching headers on at the edges are two steps, in either order, while sessions run."""

import socket
import threading

from ravelin import wire
from ravelin.case import ProcessTest
from ravelin.ports import free_port
from ravelin.settings import edge_settings
from ravelin.waiting import patience, wait_until


class Traffic:
    """Clients that open a session, are echoed and close, over and over, and count what failed."""

    def __init__(self, port, clients=4):
        self._port = port
        self._stop = threading.Event()
        self.done = self.failed = 0
        self._threads = [threading.Thread(target=self._run, daemon=True) for _ in range(clients)]
        for thread in self._threads:
            thread.start()

    def _run(self):
        while not self._stop.is_set():
            try:
                with socket.create_connection(("127.0.0.1", self._port), timeout=patience()) as client:
                    client.sendall(b"hello")
                    end = wire.Wire(client)
                    end.read(5)
                    end.finish()
                    assert end.at_end()
                self.done += 1
            except (OSError, AssertionError):
                self.failed += 1

    def wait_for_more(self, count=20):
        aim = self.done + count
        wait_until(lambda: self.done >= aim, lambda: f"{count} more sessions; {self.failed} failed")

    def close(self):
        self._stop.set()
        for thread in self._threads:
            thread.join(patience())


class Order(ProcessTest):
    def edge_at(self, port, origin, header):
        """A redirector on this port that sends a header, or none."""
        return self.configured("redirector", edge_settings(port, [origin], listener={"proxy_header": header}), [port])

    def held_session(self, port):
        client = self.connect(port, seconds=30)
        self.speak(client)
        return client

    def speak(self, client):
        client.send(b"still here?")
        self.assertEqual(client.read(11), b"still here?")

    def test_gateway_first_then_headers(self):
        origin = self.server(wire.echo)
        gateway, port = self.gateway(origin.address), free_port()
        old = self.edge_at(port, gateway.address, False)
        held = self.held_session(port)
        traffic = self.own(Traffic(port))
        traffic.wait_for_more()
        self.assertFalse(any(line.get("claimed") for line in gateway.events("session_closed")))

        old.drain()  # lets go of the port, keeps its sessions
        self.edge_at(port, gateway.address, True)
        wait_until(lambda: any(line.get("claimed") for line in gateway.events("session_closed")), "the first claim")
        traffic.wait_for_more()
        self.speak(held)
        held.close()

    def test_headers_first_then_gateway(self):
        origin, port, gateway_port = self.server(wire.echo), free_port(), free_port()
        edge = self.edge_at(port, f"127.0.0.1:{gateway_port}", True)
        refused = self.connect(edge)
        refused.send(b"hello")
        self.assertTrue(refused.is_reset())
        traffic = self.own(Traffic(port))

        gateway = self.daemon(
            "gateway",
            "--listen",
            f"127.0.0.1:{gateway_port}",
            "--inner",
            origin.address,
            "--trusted-edge",
            "127.0.0.0/8",
            ports=[gateway_port],
        )
        traffic.wait_for_more()
        self.assertTrue(all(line["claim_trusted"] for line in gateway.closed_sessions(20)))

    def test_edges_with_and_without_headers_share_a_gateway(self):
        origin = self.server(wire.echo)
        gateway, ports = self.gateway(origin.address), [free_port(), free_port()]
        for port, header in zip(ports, (False, True)):
            self.edge_at(port, gateway.address, header)
        for traffic in [self.own(Traffic(port, clients=2)) for port in ports]:
            traffic.wait_for_more()
            self.assertEqual(traffic.failed, 0)

    def test_a_gateway_is_replaced_while_sessions_run_through_it(self):
        origin, gateway_port = self.server(wire.echo), free_port()
        gateway_flags = [
            "--listen",
            f"127.0.0.1:{gateway_port}",
            "--inner",
            origin.address,
            "--trusted-edge",
            "127.0.0.0/8",
        ]
        old = self.daemon("gateway", *gateway_flags, ports=[gateway_port])
        edge = self.edge(f"127.0.0.1:{gateway_port}")
        held = self.held_session(edge.port)
        old.drain()
        self.daemon("gateway", *gateway_flags, ports=[gateway_port])
        fresh = self.held_session(edge.port)
        self.speak(held)
        held.close()
        wait_until(lambda: old.process.poll() is not None, "the old gateway to end after its last session")
        self.speak(fresh)

    def test_an_edge_is_replaced_while_sessions_run_through_it(self):
        origin, port = self.server(wire.echo), free_port()
        gateway = self.gateway(origin.address)
        old = self.edge_at(port, gateway.address, True)
        held = self.held_session(port)
        old.drain()
        self.edge_at(port, gateway.address, True)
        fresh = self.held_session(port)
        self.speak(held)
        held.close()
        wait_until(lambda: old.process.poll() is not None, "the old edge to end after its last session")
        self.speak(fresh)
