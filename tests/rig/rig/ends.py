"""One end of a session: a script of steps over a non-blocking socket, and the judgement of what comes in.

The steps, each a tuple:

    connect            waits until the connection stands
    send COUNT CHUNK   the next COUNT bytes of this end's stream, at most CHUNK a call
    urgent             one more of them, as urgent data
    fill MOST          sends until nobody has taken anything for a while, or MOST bytes
    receive COUNT      waits until so many bytes have come since the session began
    read MOST          from here on takes at most MOST bytes a call; 0 is none at all
    meet NAME          waits until the other end is at the step of this name too, or gone
    finish             FIN
    reset              RST; the end is gone
    end                waits for the other side's FIN
    gone               waits for the other side's reset
"""

import contextlib
import select
import socket
import struct
import time

from .stream import WrongByte

READ, WRITE, BROKEN = select.POLLIN | select.POLLHUP, select.POLLOUT, select.POLLERR
KEEPALIVE = {
    socket.TCP_KEEPIDLE: 3,
    socket.TCP_KEEPINTVL: 1,
    socket.TCP_KEEPCNT: 60,
    socket.TCP_USER_TIMEOUT: 600_000,
}
_STALLED = 0.3  # seconds without a byte taken that fill takes for "full"; longer or shorter changes no verdict


class End:
    def __init__(self, session, name, sock, script, outgoing, incoming, received=0):
        self.session, self.name, self.script = session, name, script
        self.outgoing, self.incoming = outgoing, incoming
        self.sent, self.received = 0, received
        self.finished = self.saw_fin = self.saw_reset = self.has_reset = self.gone = False
        self._sock = sock
        self._most = 1 << 16
        self._step = self._in_step = 0
        self._last_taken = time.monotonic()
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        # A reset that the wire has lost is not sent again; only a probe asks for another one.
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for option, value in KEEPALIVE.items():
            sock.setsockopt(socket.IPPROTO_TCP, option, value)

    def fileno(self):
        return self._sock.fileno()

    @property
    def interest(self):
        """What poll(2) shall look for; BROKEN comes unasked."""
        sending = self._current()[0] in ("connect", "send", "urgent", "fill")
        reading = self._most > 0 and not self.saw_fin
        return (select.POLLIN if reading else 0) | (select.POLLOUT if sending else 0)

    def at_meeting(self, name):
        return self.gone or self._current() == ("meet", name)

    def run(self, events):
        """True if anything has moved."""
        before = (self.sent, self.received, self._step, self.saw_fin, self.gone)
        if events & (READ | BROKEN):
            self._take_in(events)
        while not self.gone and self._advance():
            self._step, self._in_step = self._step + 1, 0
            self._last_taken = time.monotonic()
        if not self.gone and self._step == len(self.script) and self.finished and self.saw_fin:
            self.close()
        return before != (self.sent, self.received, self._step, self.saw_fin, self.gone)

    def close(self):
        self.gone = True
        self._sock.close()

    def __str__(self):
        ends = [word for word in ("finished", "saw_fin", "saw_reset", "has_reset", "gone") if getattr(self, word)]
        step = f"step {self._step} {' '.join(map(str, self._current()))}"
        return f"{self.name}: sent {self.sent}, received {self.received}, {step}, {' '.join(ends) or 'open'}"

    # What comes in

    def _take_in(self, events):
        try:
            while self._most > 0 and not self.saw_fin:
                data = self._sock.recv(self._most)
                if not data:
                    self.saw_fin = True
                    self.session.judge_fin(self)
                    break
                self.incoming.check(self.received, data)
                self.received += len(data)
                if len(data) < self._most or self._most < 1 << 16:
                    break  # others want their turn too
            # A reset that comes after a FIN, or while nothing is read, shows here alone.
            if events & BROKEN and (self.saw_fin or self._most == 0):
                error = self._sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
                if error:
                    raise OSError(error, "SO_ERROR")
        except BlockingIOError:
            return
        except WrongByte as wrong:
            self.session.fault(f"{self.name}: {wrong}")
            self.close()
        except OSError as error:
            self._lost(error)

    def _lost(self, error):
        self.saw_reset = True
        self.session.judge_reset(self, error)
        self.close()

    # What the script says

    def _current(self):
        return self.script[self._step] if self._step < len(self.script) else ("over",)

    def _advance(self):
        """True: the step is done."""
        name, *arguments = self._current()
        try:
            return getattr(self, f"_do_{name}")(*arguments)
        except BlockingIOError:
            return False
        except OSError as error:
            self._lost(error)
            return False

    def _give(self, most, flags=0):
        taken = self._sock.send(self.outgoing.at(self.sent, most), flags)
        self.sent += taken
        self._in_step += taken
        self._last_taken = time.monotonic()

    def _do_connect(self):
        error = self._sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if error:
            raise OSError(error, "connect")
        with contextlib.suppress(OSError):  # ENOTCONN: not yet
            self._sock.getpeername()
            return True
        return False

    def _do_send(self, count, chunk):
        start = self._in_step
        while self._in_step < count and self._in_step - start < 1 << 18:
            self._give(min(chunk, count - self._in_step))
        return self._in_step == count

    def _do_urgent(self):
        self._give(1, socket.MSG_OOB)
        return True

    def _do_fill(self, most):
        with contextlib.suppress(BlockingIOError):
            start = self._in_step
            while self._in_step < most and self._in_step - start < 1 << 18:
                self._give(most - self._in_step)
        return self._in_step >= most or time.monotonic() - self._last_taken > _STALLED

    def _do_receive(self, count):
        return self.received >= count

    def _do_read(self, most):
        self._most = most
        return True

    def _do_meet(self, name):
        return self.session.meet(name)

    def _do_finish(self):
        self._sock.shutdown(socket.SHUT_WR)
        self.finished = True
        return True

    def _do_reset(self):
        self.has_reset = True
        self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close()
        return False

    def _do_end(self):
        return self.saw_fin

    def _do_gone(self):
        return False

    def _do_over(self):
        return False
