"""The sessions of a round and the judgement of each: what lies between its two ends must be a pipe with delay.

What was sent before a FIN arrives before the FIN; after a reset a prefix of it has arrived; nobody sees a FIN or a reset
that the other side has not sent. In a round whose faults are errors that no relay can hide, a reset may come from
nowhere, but nothing else may.
"""

import contextlib
import errno
import select
import socket
import struct

from ravelin import header

from .ends import End
from .kinds import NAME
from .stream import Stream


class Session:
    def __init__(self, number, plan, may_be_reset):
        self.number, self.plan, self._may_be_reset = number, plan, may_be_reset
        self.faults = []
        self._met = set()
        self.up = Stream(2 * number, prefix=struct.pack("!Q", number + 1))
        self.down = Stream(2 * number + 1)
        self.client = self.origin = None
        self.client_address = None

    def connect(self, address):
        sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        if self.plan.client_window:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, self.plan.client_window)
        sock.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            sock.connect(address)
        self.client_address = sock.getsockname()
        self.client = End(self, "client", sock, [("connect",), *self.plan.client], self.up, self.down)

    def reached_by(self, sock):
        if self.plan.origin is None:
            return self.fault("a client that said nothing has reached an origin")
        if self.origin:
            return self.fault("the session has reached an origin twice")
        self.origin = End(self, "origin", sock, self.plan.origin, self.down, self.up, received=NAME)
        return self.origin

    @property
    def ends(self):
        return [end for end in (self.client, self.origin) if end and not end.gone]

    @property
    def is_over(self):
        if self.faults or (self.client and self.client.gone and not self.origin):
            return True
        return bool(self.client and self.client.gone and self.origin.gone)

    def meet(self, name):
        """True once both ends have been at this meeting."""
        if self.client and self.origin and self.client.at_meeting(name) and self.origin.at_meeting(name):
            self._met.add(name)
        return name in self._met

    def fault(self, text):
        self.faults.append(f"session {self.number} ({self.plan.kind}): {text}")

    def _other(self, end):
        return self.origin if end is self.client else self.client

    def judge_fin(self, end):
        other = self._other(end)
        if self.plan.origin is None:  # a silent client's FIN is answered by the edge itself
            return
        if other is None:
            self.fault(f"{end.name} has got a FIN, and no origin has been reached")
        elif not other.finished:
            self.fault(f"{end.name} has got a FIN that {other.name} has not sent, after {end.received} bytes")
        elif end.received != other.sent:
            self.fault(f"{end.name} has got the FIN after {end.received} of {other.sent} bytes")

    def judge_reset(self, end, error):
        other = self._other(end)
        # ENOTCONN is what shutdown(2) says after a reset.
        if error.errno not in (errno.ECONNRESET, errno.EPIPE, errno.ENOTCONN):
            self.fault(f"{end.name}: {error}")
        elif not self._may_be_reset and not (other and other.has_reset):
            self.fault(f"{end.name} has got a reset that nobody has sent: {error}")

    def judge_whole(self):
        """When the session is over."""
        client, origin = self.client, self.origin
        if self.faults or self.plan.origin is None or client.has_reset or self._may_be_reset:
            return
        if origin is None:
            self.fault("no origin has been reached")


class Arrival:
    """A connection at the origin that has not said yet whose it is."""

    def __init__(self, sock, has_header):
        self.sock, self._has_header = sock, has_header
        self._got = b""
        self.over = False
        sock.setblocking(False)

    def identify(self, sessions):
        """The session's end here, once it is known; nothing until then. Not a byte more is taken."""
        with contextlib.suppress(BlockingIOError):
            while (missing := self._missing()) > 0:
                data = self.sock.recv(missing)
                if not data:
                    raise ValueError(f"an origin has got a FIN after {len(self._got)} bytes of a beginning")
                self._got += data
            self.over = True
            (name,) = struct.unpack("!Q", self._got[-NAME:])
            if not 1 <= name <= len(sessions):
                raise ValueError(f"an origin has got a session's name that nobody has sent: {self._got[-NAME:].hex()}")
            session = sessions[name - 1]
            if self._has_header:
                claimed = header.decode_v2(self._got[:-NAME]).source
                if claimed != tuple(session.client_address[:2]):
                    session.fault(f"the header says {claimed}, the client is {session.client_address}")
            return session.reached_by(self.sock)
        return None

    def _missing(self):
        length = 0
        if self._has_header:
            length = 16 if len(self._got) < 16 else 16 + struct.unpack("!H", self._got[14:16])[0]
            if len(self._got) < length:
                return length - len(self._got)
        return length + NAME - len(self._got)

    def close(self):
        self.over = True
        self.sock.close()


class Floor:
    """All sessions of a round, moved by one thread: pass() gives everybody one turn."""

    def __init__(self, sessions, listener, has_header, at_once, connect):
        """At most `at_once` sessions go on at a time; connect(session) begins one."""
        self.sessions = sessions
        self.faults = []
        self._listener, self._has_header = listener, has_header
        self._at_once, self._connect = at_once, connect
        self._to_begin = list(sessions)
        self._arrivals = []
        listener.setblocking(False)

    def turn(self, wait_ms):
        """True if anything has moved."""
        poll, by_fd = select.poll(), {}
        for session in self.sessions:
            for end in session.ends:
                poll.register(end.fileno(), end.interest)
                by_fd[end.fileno()] = end
        for arrival in self._arrivals:
            poll.register(arrival.sock, select.POLLIN)
        poll.register(self._listener, select.POLLIN)
        events = dict(poll.poll(wait_ms))
        moved = self._begin() | self._accept()
        for arrival in list(self._arrivals):
            moved |= self._identify(arrival)
        for fd, end in by_fd.items():
            moved |= end.run(events.get(fd, 0))
        return moved

    def _begin(self):
        going = sum(bool(session.client) and not session.is_over for session in self.sessions)
        if not self._to_begin or going >= self._at_once:
            return False
        self._connect(self._to_begin.pop(0))
        return True

    def _accept(self):
        with contextlib.suppress(BlockingIOError):
            self._arrivals.append(Arrival(self._listener.accept()[0], self._has_header))
            return True
        return False

    def _identify(self, arrival):
        try:
            arrival.identify(self.sessions)
        except OSError:  # reset before it has said its name: its client has reset too, or the header did not get out
            arrival.close()
        except ValueError as error:
            self.faults.append(str(error))
            arrival.close()
        if arrival.over:
            self._arrivals.remove(arrival)
        return arrival.over

    @property
    def is_over(self):
        return not self._arrivals and all(session.is_over for session in self.sessions)

    @property
    def moved_bytes(self):
        return sum(end.received for each in self.sessions for end in (each.client, each.origin) if end)

    def all_faults(self):
        return self.faults + [fault for session in self.sessions for fault in session.faults]

    def close(self):
        for session in self.sessions:
            for end in session.ends:
                end.close()
        for arrival in self._arrivals:
            arrival.close()
        self._listener.close()
