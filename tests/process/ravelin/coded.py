"""Sessions whose every byte is known by its place: byte i of session s is a function of s and i, so a byte that is lost,
doubled, moved or another session's is found where it is. The origin gives back what it gets.

Clients and origin run in threads of their own. What a client sees of a pause is what it reports: the longest time that
it waited for bytes that it was owed.
"""

import random
import selectors
import socket
import struct
import threading
import time


from .waiting import wait_until

_PERIOD = 65521  # a prime, so that no buffer's size hides a shift
_PATTERN = random.Random(1).randbytes(_PERIOD) * 3
_MOST = 2 * _PERIOD


def coded(session, start, count):
    """A memoryview of bytes start, start + 1, ... of a session's stream; at most _MOST."""
    at = (session * 7919 + start) % _PERIOD
    return memoryview(_PATTERN)[at : at + count]


class _Loop:
    """A selector on a thread."""

    _patience = 0.05  # seconds between two ticks

    def __init__(self):
        self._selector = selectors.DefaultSelector()
        self._stop = False
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self):
        while not self._stop:
            for key, events in self._selector.select(self._patience):
                key.data(events)
            self._tick()
        self._selector.close()

    def _tick(self):
        pass

    def _join(self):
        self._stop = True
        self._thread.join()


class _Echo:
    def __init__(self, owner, sock):
        self.owner, self.sock, self.header, self.waiting, self.ended = owner, sock, b"", b"", False
        sock.setblocking(False)

    def events(self):
        return selectors.EVENT_WRITE if self.waiting else selectors.EVENT_READ

    def serve(self, _):
        try:
            if self.waiting:
                self.waiting = self.waiting[self.sock.send(self.waiting) :]
            elif data := self.sock.recv(1 << 16):
                self.waiting = self._without_header(data)
                if self.waiting:
                    self.waiting = self.waiting[self.sock.send(self.waiting) :]
            else:
                return self.owner.close_echo(self)
        except BlockingIOError:
            pass
        except OSError:
            return self.owner.close_echo(self)
        self.owner.watch(self)

    def _without_header(self, data):
        if self.header is None:
            return data
        self.header += data
        if len(self.header) < 16:
            return b""
        whole = 16 + struct.unpack("!H", self.header[14:16])[0]
        if len(self.header) < whole:
            return b""
        rest, self.header = self.header[whole:], None
        return rest


class EchoOrigin(_Loop):
    """Takes a PROXY v2 header off each session (none where header=False) and gives back what follows."""

    def __init__(self, header=True):
        super().__init__()
        self._has_header = header
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=4096)
        self._listener.setblocking(False)
        self.address = "127.0.0.1:%d" % self._listener.getsockname()[1]
        self.sessions = 0  # that there ever were
        self._echoes = set()
        self._selector.register(self._listener, selectors.EVENT_READ, self._accept)
        self._thread.start()

    def _accept(self, _):
        try:
            while True:
                echo = _Echo(self, self._listener.accept()[0])
                if not self._has_header:
                    echo.header = None
                self._echoes.add(echo)
                self.sessions += 1
                self._selector.register(echo.sock, selectors.EVENT_READ, echo.serve)
        except OSError:
            return

    def watch(self, echo):
        if self._selector.get_key(echo.sock).events != echo.events():
            self._selector.modify(echo.sock, echo.events(), echo.serve)

    def close_echo(self, echo):
        self._selector.unregister(echo.sock)
        echo.sock.close()
        self._echoes.discard(echo)

    def close(self):
        self._join()
        self._listener.close()
        for echo in self._echoes:
            echo.sock.close()


class _Client:
    def __init__(self, owner, number, address, moving):
        self.owner, self.number, self.moving = owner, number, moving
        self.sent = self.received = 0
        self.fault = None
        self.finishing = self.finished = False
        self.owed_since = None
        self.pauses = []  # seconds
        self.sock = socket.create_connection(address, timeout=30)
        self.sock.sendall(coded(number, 0, 64))
        self.sent = 64
        self.sock.setblocking(False)

    def events(self):
        may_send = self.moving and not self.finishing and self.sent - self.received < self.owner.window
        return selectors.EVENT_READ | (selectors.EVENT_WRITE if may_send else 0)

    def serve(self, events):
        try:
            if events & selectors.EVENT_READ:
                self._receive()
            if not self.finished and not self.fault and events & selectors.EVENT_WRITE & self.events():
                self.say(random.choice((100, 1400, 20000)))
        except BlockingIOError:
            pass
        except OSError as error:
            self.fault = f"session {self.number} after {self.received} of {self.sent} bytes: {error}"
        self.owner.watch(self)

    def say(self, count):
        """The next bytes, as many as go at once."""
        try:
            self.sent += self.sock.send(coded(self.number, self.sent, count))
            self.owed_since = self.owed_since or time.monotonic()
        except BlockingIOError:
            pass
        except OSError as error:
            self.fault = f"session {self.number} after {self.received} of {self.sent} bytes: {error}"

    def _receive(self):
        data = self.sock.recv(1 << 16)
        now = time.monotonic()
        if self.owed_since and data:
            self.pauses.append(now - self.owed_since)
        if data != coded(self.number, self.received, len(data)):
            self.fault = f"session {self.number}: wrong bytes at {self.received}"
        self.received += len(data)
        self.owed_since = now if self.sent > self.received else None
        if not data:
            self.finished = True
            if not self.finishing or self.received != self.sent:
                self.fault = f"session {self.number} ended after {self.received} of {self.sent} bytes"

    def finish(self):
        if not self.finishing and not self.fault:
            self.finishing = True
            try:
                self.sock.shutdown(socket.SHUT_WR)
            except OSError as error:
                self.fault = f"session {self.number}: {error}"


class CodedClients(_Loop):
    """`moving` clients that never stop sending, and `idle` ones that say 64 bytes and wait."""

    window = 1 << 16  # bytes that a client lets be under way before it waits

    def __init__(self, port, moving, idle=0):
        super().__init__()
        address = ("127.0.0.1", port)
        self.clients = [_Client(self, number, address, number < moving) for number in range(moving + idle)]
        for client in self.clients:
            self._selector.register(client.sock, client.events(), client.serve)
        self._finish = False
        self._thread.start()

    def watch(self, client):
        if client.fault or client.finished:
            self._selector.unregister(client.sock)
            client.sock.close()
        elif self._selector.get_key(client.sock).events != client.events():
            self._selector.modify(client.sock, client.events(), client.serve)

    def _tick(self):
        if self._finish:
            for client in self.clients:
                client.finish()

    @property
    def received(self):
        return sum(client.received for client in self.clients)

    def faults(self):
        return [client.fault for client in self.clients if client.fault]

    def wait_established(self):
        wait_until(lambda: all(client.received for client in self.clients), "every session's first bytes")

    def wait_for_bytes(self, count):
        """Until so much more has arrived; raises if something is wrong before."""
        goal = self.received + count
        wait_until(lambda: self.received >= goal or self.faults(), f"{count} bytes to move")
        if self.faults():
            raise AssertionError(self.faults())

    def finish(self):
        """Everything that is on its way still arrives, then both streams end. True when all sessions have got there."""
        self._finish = True
        return all(client.finished or client.fault for client in self.clients)

    def pauses(self):
        return [pause for client in self.clients for pause in list(client.pauses)]

    def close(self):
        self._join()
        for client in self.clients:
            client.sock.close()
