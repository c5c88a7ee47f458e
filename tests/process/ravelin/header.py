"""PROXY protocol headers, written and read independently of libppv2: a second opinion on every byte.

Follows haproxy's proxy-protocol.txt, sections 2.1 and 2.2.
"""

import collections
import ipaddress
import struct

SIGNATURE = b"\r\n\r\n\0\r\nQUIT\n"
LOCAL, PROXY = 0x20, 0x21
TCP4, TCP6 = 0x11, 0x21
CRC32C, NOOP, UNIQUE_ID = 0x03, 0x04, 0x05

Header = collections.namedtuple("Header", "command family source destination tlvs raw")


def _crc_table():
    table = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
        table.append(value)
    return table


_CRC = _crc_table()


def crc32c(data):
    value = 0xFFFFFFFF
    for byte in data:
        value = _CRC[(value ^ byte) & 0xFF] ^ value >> 8
    return value ^ 0xFFFFFFFF


def v2(source, destination, tlvs=(), crc=False, command=PROXY):
    """source and destination are (address, port). With crc the checksum TLV goes last."""
    a, b = ipaddress.ip_address(source[0]), ipaddress.ip_address(destination[0])
    family = TCP4 if a.version == 4 else TCP6
    block = a.packed + b.packed + struct.pack("!HH", source[1], destination[1])
    for kind, value in tlvs:
        block += struct.pack("!BH", kind, len(value)) + value
    if crc:
        block += struct.pack("!BHI", CRC32C, 4, 0)
    whole = SIGNATURE + struct.pack("!BBH", command, family, len(block)) + block
    return whole[:-4] + struct.pack("!I", crc32c(whole)) if crc else whole


def v2_local():
    return SIGNATURE + struct.pack("!BBH", LOCAL, 0, 0)


def v1(source, destination):
    family = "TCP4" if ipaddress.ip_address(source[0]).version == 4 else "TCP6"
    return f"PROXY {family} {source[0]} {destination[0]} {source[1]} {destination[1]}\r\n".encode()


def decode_v2(raw):
    """Decodes exactly one whole v2 header; anything that is not one raises."""
    assert raw[:12] == SIGNATURE, f"no signature: {raw[:16]!r}"
    command, family, length = struct.unpack("!BBH", raw[12:16])
    assert len(raw) == 16 + length, f"{len(raw)} bytes for a header of {16 + length}"
    source = destination = None
    at = 16
    if command == PROXY:
        size = {TCP4: 4, TCP6: 16}[family]
        addresses = [ipaddress.ip_address(raw[at + i * size : at + (i + 1) * size]) for i in range(2)]
        ports = struct.unpack("!HH", raw[at + 2 * size : at + 2 * size + 4])
        source, destination = [(str(address), port) for address, port in zip(addresses, ports)]
        at += 2 * size + 4
    tlvs = []
    while at < len(raw):
        kind, size = struct.unpack("!BH", raw[at : at + 3])
        assert at + 3 + size <= len(raw), "a TLV runs over the header's end"
        value = raw[at + 3 : at + 3 + size]
        if kind == CRC32C:
            zeroed = raw[: at + 3] + bytes(4) + raw[at + 7 :]
            assert struct.unpack("!I", value)[0] == crc32c(zeroed), "the checksum does not match"
        tlvs.append((kind, value))
        at += 3 + size
    return Header(command, family, source, destination, tlvs, raw)
