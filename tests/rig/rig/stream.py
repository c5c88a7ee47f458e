"""Bytes that say where they stand: byte i of a stream is a function of the stream and of i alone.

A lost, doubled, changed or strange byte is found where it happens, not at the end, and by what comes after it the
checker can say how many bytes are missing or have come twice.
"""

import random

PERIOD = 1_000_003  # longer than anything that is in flight at once, so that a position is seldom ambiguous
MOST = 1 << 16  # bytes that are made or checked at once
_ONCE = random.Random("position-coded").randbytes(PERIOD)
_BYTES = memoryview(_ONCE + _ONCE[:MOST])


class WrongByte(Exception):
    """What the receiver has got cannot be what the sender has sent."""


class Stream:
    """One direction of one session. A prefix of its own stands in front of the coded bytes."""

    def __init__(self, number, prefix=b""):
        self._shift = number * 104_729 % PERIOD
        self._prefix = prefix

    def at(self, offset, count):
        """`count` bytes from `offset` on; perhaps fewer, never none."""
        if offset < len(self._prefix):
            return memoryview(self._prefix)[offset : offset + count]
        start = (offset - len(self._prefix) + self._shift) % PERIOD
        return _BYTES[start : start + min(count, MOST)]

    def check(self, offset, data):
        """Raises WrongByte unless `data` stands at `offset` of this stream."""
        data = memoryview(data)
        while data:
            wanted = self.at(offset, len(data))
            if data[: len(wanted)] != wanted:
                wrong = next(i for i, byte in enumerate(wanted) if data[i] != byte)
                raise WrongByte(self._describe(offset + wrong, bytes(data[wrong:])))
            offset += len(wanted)
            data = data[len(wanted) :]

    def _describe(self, offset, data):
        text = f"wrong byte at offset {offset}: {data[:16].hex()} came, {bytes(self.at(offset, 16)).hex()} was sent"
        found = _ONCE.find(data[:24]) if len(data) >= 8 else -1
        if found < 0:
            return text
        ahead = (found - self._shift - (offset - len(self._prefix))) % PERIOD
        if ahead > PERIOD // 2:
            return f"{text}; {PERIOD - ahead} bytes have come twice, or belong to another stream"
        return f"{text}; {ahead} bytes are lost, or these belong to another stream"
