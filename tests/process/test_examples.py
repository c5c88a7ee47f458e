"""The examples serve real peers: curl and haproxy in front of an event loop and of a TLS server."""

import subprocess

from ravelin import header, neighbours
from ravelin.build import only_unsanitized, program
from ravelin.case import ProcessTest
from ravelin.certificates import certificates
from ravelin.waiting import patience

CLIENT = ("203.0.113.7", 51512)
V2 = header.v2(CLIENT, ("198.51.100.25", 443), [(5, b"x" * 100)], True)


class Example:
    """A running example; the first line it prints is its port."""

    def __init__(self, name, *arguments):
        self.process = subprocess.Popen(
            [program(name), *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
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
        return self.own(Example(name, *arguments))

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
