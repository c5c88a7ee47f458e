"""One end of a TCP (or Unix) connection as a test holds it: blocking, with a deadline, and exact about how it ends."""

import hashlib
import socket
import struct
import threading

from . import header
from .waiting import PATIENCE, patience


class Wire:
    def __init__(self, sock, seconds=PATIENCE):
        self.sock = sock
        self.sock.settimeout(patience(seconds))
        self.local = self.sock.getsockname()[:2]
        self.peer = self.sock.getpeername()[:2]  # here, because it is not to be had any more once the session has ended

    def send(self, data):
        self.sock.sendall(data)

    def read(self, count):
        """Exactly count bytes; an early end is an error."""
        got = bytearray()
        while len(got) < count:
            part = self.sock.recv(min(count - len(got), 1 << 20))
            if not part:
                raise AssertionError(f"end of stream after {len(got)} of {count} bytes: {bytes(got[:80])!r}")
            got += part
        return bytes(got)

    def read_to_end(self):
        """Everything up to a FIN. A reset raises ConnectionResetError."""
        got = bytearray()
        while part := self.sock.recv(1 << 20):
            got += part
        return bytes(got)

    def digest_to_end(self):
        """(bytes, SHA-256) of everything up to a FIN."""
        total, digest = 0, hashlib.sha256()
        buffer = bytearray(1 << 20)
        while size := self.sock.recv_into(buffer):
            digest.update(memoryview(buffer)[:size])
            total += size
        return total, digest.hexdigest()

    def read_header(self):
        """Takes one v2 header off the stream and not a byte more."""
        start = self.read(16)
        return header.decode_v2(start + self.read(struct.unpack("!H", start[14:16])[0]))

    def at_end(self):
        """True when the next thing on the stream is a FIN."""
        return self.sock.recv(1) == b""

    def is_reset(self):
        """True when the stream ends in a RST (whatever bytes come before it)."""
        try:
            while self.sock.recv(1 << 16):
                pass
        except ConnectionResetError:
            return True
        return False

    def finish(self):
        """Sends a FIN and goes on reading."""
        self.sock.shutdown(socket.SHUT_WR)

    def reset(self):
        """Sends a RST (socket(7): linger with a time of zero)."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.sock.close()

    def close(self):
        self.sock.close()


class Listener:
    """A listening socket whose connections the test accepts one by one."""

    def __init__(self, host="127.0.0.1", port=0, backlog=128, path=None):
        if path:
            self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            self.sock.bind(path)
        else:
            self.sock = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self.sock.bind((host, port))
        self.sock.listen(backlog)
        self.sock.settimeout(patience())
        self.accepted = []

    @property
    def port(self):
        return self.sock.getsockname()[1]

    @property
    def address(self):
        host, port = self.sock.getsockname()[:2]
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    def accept(self):
        sock, _ = self.sock.accept()
        wire = Wire(sock)
        self.accepted.append(wire)
        return wire

    def has_connection(self, seconds=0.0):
        """Whether a connection waits to be accepted (looked at without taking it)."""
        import select

        return bool(select.select([self.sock], [], [], seconds)[0])

    def close(self):
        for wire in self.accepted:
            wire.close()
        self.sock.close()


class Server(Listener):
    """A listener that gives each connection to handler(wire) in a thread of its own."""

    def __init__(self, handler, **listener):
        super().__init__(backlog=4096, **listener)
        self._handler = handler
        self._threads = []
        self.errors = []
        self._acceptor = threading.Thread(target=self._accept_all, daemon=True)
        self._acceptor.start()

    def _accept_all(self):
        while True:
            try:
                sock, _ = self.sock.accept()
            except TimeoutError:
                continue
            except OSError:
                return
            wire = Wire(sock, 60.0)
            self.accepted.append(wire)
            thread = threading.Thread(target=self._serve, args=(wire,), daemon=True)
            thread.start()
            self._threads.append(thread)

    def _serve(self, wire):
        try:
            self._handler(wire)
        except Exception as error:  # told by the test, which alone knows whether it matters
            self.errors.append(error)
        finally:
            wire.close()

    def close(self):
        self.sock.shutdown(socket.SHUT_RDWR)
        self._acceptor.join(patience())
        for wire in self.accepted:
            try:
                wire.sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue
        for thread in self._threads:
            thread.join(patience())
        self.sock.close()


def echo(wire):
    """A handler that gives back what it gets, and its FIN for a FIN."""
    buffer = bytearray(1 << 18)
    while size := wire.sock.recv_into(buffer):
        wire.sock.sendall(memoryview(buffer)[:size])
    wire.finish()


class BlackHole:
    """An address that answers no SYN: a listener whose queue is full (listen(2): the kernel drops further requests)."""

    def __init__(self):
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=0)
        self.address = "127.0.0.1:%d" % self._listener.getsockname()[1]
        self._fillers = []
        while True:
            filler = socket.socket()
            self._fillers.append(filler)
            filler.settimeout(0.2)
            try:
                filler.connect(self._listener.getsockname())
            except TimeoutError:
                return

    def close(self):
        for sock in [*self._fillers, self._listener]:
            sock.close()
