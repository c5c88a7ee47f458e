"""The examples serve real peers: curl, openssl, a gRPC client, and haproxy or an edge between them and the example."""

import subprocess

from ravelin import header, neighbours
from ravelin.build import only_unsanitized, peer, program
from ravelin.case import ProcessTest
from ravelin.certificates import certificates
from ravelin.waiting import patience, wait_until

CLIENT = ("203.0.113.7", 51512)
V2 = header.v2(CLIENT, ("198.51.100.25", 443), [(5, b"x" * 100)], True)


class Example:
    """A running example; the first line it prints is its port."""

    def __init__(self, path, *arguments):
        self.process = subprocess.Popen(
            [path, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self.port = int(self.process.stdout.readline())
        self.address = f"127.0.0.1:{self.port}"

    def close(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


def curl(*arguments):
    """What curl got, with the connection's own address behind it."""
    limit = str(int(patience()))
    command = ["curl", "-sS", "--max-time", limit, "-w", "%{local_ip}:%{local_port}", *arguments]
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)


@only_unsanitized
class Examples(ProcessTest):
    def example(self, name, *arguments):
        return self.own(Example(program(name), *arguments))

    def grpc_example(self):
        made = certificates()
        return self.own(Example(peer("grpc_origin"), "127.0.0.0/8", made.server_cert, made.server_key, made.ca))

    def test_the_event_loop_takes_a_header_in_any_pieces(self):
        loop = self.example("ppv2_epoll", "127.0.0.1")
        for pieces in [V2 + b"hi"], [V2[:1], V2[1:40], V2[40:], b"hi"], [bytes([byte]) for byte in V2 + b"h"]:
            client = self.connect(loop)
            for piece in pieces:
                client.send(piece)
            greeting = b"hello 203.0.113.7:51512, you said "
            self.assertEqual(client.read(len(greeting)), greeting)

    def test_the_event_loop_refuses_what_is_no_header_and_whom_it_does_not_trust(self):
        loop = self.example("ppv2_epoll", "127.0.0.1")
        for source, said in ("127.0.0.1", b"hello there"), ("127.0.0.9", V2), ("127.0.0.1", V2[:-1] + b"?"):
            client = self.connect(loop, source=(source, 0))
            client.send(said)
            client.finish()
            try:
                self.assertEqual(client.read_to_end(), b"")
            except ConnectionResetError:
                continue  # bytes were left unread when it closed

    def test_the_event_loop_greets_the_client_of_haproxy(self):
        loop = self.example("ppv2_epoll", "127.0.0.1")
        haproxy = self.own(neighbours.haproxy(self.folder, "", f"{loop.address} send-proxy-v2"))
        client = self.connect(haproxy, source=("127.0.0.5", 0))
        greeting = "hello %s:%d, you said " % client.local
        client.send(b"hi")
        self.assertEqual(client.read(len(greeting)).decode(), greeting)

    def test_the_blocking_loop_takes_a_header_in_any_pieces_while_another_client_is_silent(self):
        loop = self.example("ppv2_blocking", "127.0.0.0/30")
        self.connect(loop)
        for pieces in [V2 + b"hi"], [V2[:1], V2[1:40], V2[40:] + b"hi"], [bytes([byte]) for byte in V2] + [b"hi"]:
            client = self.connect(loop)
            for piece in pieces:
                client.send(piece)
            greeting = b"hello 203.0.113.7:51512, you said "
            self.assertEqual(client.read(len(greeting)), greeting)

    def test_the_blocking_loop_greets_the_clients_of_haproxy_and_of_an_edge(self):
        loop = self.example("ppv2_blocking", "192.0.2.0/24", "127.0.0.1")
        for proxy in self.own(neighbours.haproxy(self.folder, "", f"{loop.address} send-proxy-v2")), self.edge(loop.address):
            client = self.connect(proxy, source=("127.0.0.5", 0))
            greeting = "hello %s:%d, you said " % client.local
            client.send(b"hi")
            self.assertEqual(client.read(len(greeting)).decode(), greeting)

    def test_the_blocking_loop_serves_those_without_a_header_and_refuses_a_claim_of_a_stranger(self):
        loop = self.example("ppv2_blocking", "127.0.0.1")
        client = self.connect(loop, source=("127.0.0.9", 0))
        client.send(b"hello there")
        greeting = "hello %s:%d, you said hello there" % client.local
        self.assertEqual(client.read_to_end().decode(), greeting)
        for source, said in ("127.0.0.9", V2), ("127.0.0.1", V2[:-1] + b"?"):
            client = self.connect(loop, source=(source, 0))
            client.send(said)
            client.finish()
            self.assertEqual(client.read_to_end(), b"")

    def test_the_asio_server_takes_a_header_in_any_pieces(self):
        server = self.example("ppv2_asio", "127.0.0.1")
        said = V2 + b"GET / HTTP/1.0\r\n\r\n"
        for pieces in [said], [said[:1], said[1:40], said[40:]], [bytes([byte]) for byte in said]:
            client = self.connect(server)
            for piece in pieces:
                client.send(piece)
            self.assertRegex(client.read_to_end(), rb"^HTTP/1.0 200 OK\r\n(.*\r\n)+hello 203.0.113.7:51512\n$")

    def test_the_asio_server_greets_the_clients_of_curl_and_haproxy(self):
        server = self.example("ppv2_asio", "127.0.0.1")
        haproxy = self.own(neighbours.haproxy(self.folder, "", f"{server.address} send-proxy-v2"))
        for arguments in ["--haproxy-protocol", f"http://{server.address}/"], [f"http://{haproxy.address}/"]:
            answer = curl(*arguments)
            self.assertEqual(answer.returncode, 0, answer.stderr)
            greeting, own = answer.stdout.split("\n")
            self.assertEqual(greeting, f"hello {own}")

    def test_the_asio_server_refuses_what_is_no_header_and_whom_it_does_not_trust(self):
        server = self.example("ppv2_asio", "127.0.0.1")
        self.assertNotEqual(curl(f"http://{server.address}/").returncode, 0)
        self.assertNotEqual(
            curl("--haproxy-protocol", "--interface", "127.0.0.9", f"http://{server.address}/").returncode, 0
        )

    def test_the_asio_server_ends_a_header_that_stays_partial(self):
        client = self.connect(self.example("ppv2_asio", "127.0.0.1"))
        client.send(V2[:-1])
        self.assertEqual(client.read_to_end(), b"")

    def test_the_tls_server_reads_the_header_before_its_handshake(self):
        files = certificates()
        server = self.example("ppv2_tls_origin", "127.0.0.1", files.server_cert, files.server_key)
        url = f"https://127.0.0.1:{server.port}/"
        answer = curl("-k", "--haproxy-protocol", url)
        self.assertEqual(answer.returncode, 0, answer.stderr)
        greeting, own = answer.stdout.split("\n")
        self.assertEqual(greeting, f"hello {own}")
        self.assertNotEqual(curl("-k", url).returncode, 0)  # no header, no service
        checked = f"{server.address} send-proxy-v2 proxy-v2-options crc32c"
        haproxy = self.own(neighbours.haproxy(self.folder, "", checked))
        greeting, own = curl("-k", f"https://127.0.0.1:{haproxy.port}/").stdout.split("\n")
        self.assertEqual(greeting, f"hello {own}")

    def test_the_tls_server_greets_the_client_of_openssl_behind_an_edge(self):
        files = certificates()
        edge = self.edge(self.example("ppv2_tls_origin", "127.0.0.1", files.server_cert, files.server_key).address)
        command = ["openssl", "s_client", "-quiet", "-verify_return_error", "-verify_hostname", "origin.test"]
        answer = subprocess.run(
            [*command, "-CAfile", files.ca, "-bind", "127.0.0.5", "-connect", edge.address],
            input=b"GET / HTTP/1.0\r\n\r\n",
            capture_output=True,
            timeout=patience(),
        )
        self.assertEqual(answer.returncode, 0, answer.stderr)
        client = edge.wait_event("session_closed")["client"]
        self.assertTrue(client.startswith("127.0.0.5:"), client)
        self.assertEqual(answer.stdout.decode().split("\r\n\r\n")[1], f"hello {client}\n")

    def call_over_grpc(self, port, calls=1):
        """A client's run; its last answer comes as three lines: inner, client, peer."""
        made = certificates()
        identity = made.client_cert, made.client_key, made.ca
        return subprocess.run(
            [peer("peer_grpc_client"), str(port), *identity, str(calls), "100"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=patience(),
        )

    def test_the_grpc_server_finds_the_client_of_an_edge_through_its_own_gateway(self):
        edge = self.edge(self.grpc_example().address)
        answer = self.call_over_grpc(edge.port, calls=20)
        self.assertEqual(answer.returncode, 0, answer.stderr)
        inner, client, found = answer.stdout.splitlines()
        self.assertRegex(inner, r"^ipv4:127\.0\.0\.1:\d+$")
        self.assertEqual(client, "agent.test")
        self.assertEqual(found, edge.wait_event("session_closed")["client"])
        self.assertNotEqual(found, inner.removeprefix("ipv4:"))

    def test_the_grpc_server_finds_the_client_of_haproxy_and_serves_nobody_without_a_header(self):
        server = self.grpc_example()
        haproxy = self.own(neighbours.haproxy(self.folder, "", f"{server.address} send-proxy-v2"))
        answer = self.call_over_grpc(haproxy.port)
        self.assertEqual(answer.returncode, 0, answer.stderr)
        found = answer.stdout.splitlines()[2]
        wait_until(lambda: f"from {found}\n" in haproxy.log_text(), lambda: f"{found} in {haproxy.log_text()}")
        self.assertNotEqual(self.call_over_grpc(server.port).returncode, 0)
