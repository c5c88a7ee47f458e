"""Wireshark's dissector and the vectors agree, or the place in proxy-protocol.txt that decides stands below.

The vectors are what the decoder is tested against (tests/unit/ppv2), so this is a second opinion on both. Each vector becomes
one TCP segment of a capture, on its own connection, since a dissector remembers what a connection was.

Where the two differ by rule (tshark 4.0):
 - It shows what a receiver must refuse or wait for, as a dissector should; only headers and streams without one are compared.
   Section 2: "the receiver ... must be configured to only receive the protocol ... and must not try to guess".
 - It stops reading fields at the declared length counted from the first byte of the signature, so what stands in a header's
   last 16 bytes is missing. Section 2.2: "the 15th and 16th bytes is the address length in bytes ... so that the receiver
   knows how many address bytes to skip", behind the 16 fixed bytes.
 - It shows the block of a LOCAL header as addresses. Section 2.2: "must use the real connection endpoints and discard the
   protocol block including the family which is ignored".
Usage: ppv2_tshark.py VECTORS_DIR. Ends with 77 where there is no tshark.
"""
import json
import pathlib
import shutil
import socket
import struct
import subprocess
import sys
import tempfile

FIELDS = ["frame.number", "_ws.col.Protocol", "proxy.src.ipv4", "proxy.src.ipv6", "proxy.srcport", "proxy.dstport",
          "proxy.v1.magic", "proxy.v2.length", "proxy.v2.tlv.type"]

BLOCKS = {"INET": 12, "INET6": 36, "UNIX": 216}

# Vectors whose difference no rule above explains: name and reason.
KNOWN = {}


def segment(number, data):
    ports = struct.pack("!HH", 10000 + number, 9)
    tcp = ports + struct.pack("!IIBBHHH", 1, 1, 5 << 4, 0x18, 8192, 0, 0)
    ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 40 + len(data), 0, 0, 64, 6, 0, bytes([10, 1, 1, 1]), bytes([10, 2, 2, 2]))
    return ip + tcp + data


def capture(path, vectors):
    with open(path, "wb") as out:
        out.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, 101))
        for number, vector in enumerate(vectors):
            packet = segment(number, bytes.fromhex(vector["hex"]))
            out.write(struct.pack("<IIII", number, 0, len(packet), len(packet)) + packet)


def dissect(path):
    command = ["tshark", "-r", path, "-T", "fields", "-E", "separator=|", "-E", "occurrence=a", "-E", "aggregator=,"]
    for field in FIELDS:
        command += ["-e", field]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [dict(zip(FIELDS, line.split("|"))) for line in done.stdout.splitlines()]


def first(values):
    return values.split(",")[0] if values else ""


def fields_before(header, begin, end, limit):
    """The types of the fields of [begin, end), and of those inside SSL, that begin before `limit`."""
    types = []
    while begin < end and begin < limit:
        kind, length = header[begin], int.from_bytes(header[begin + 1:begin + 3], "big")
        types.append(kind)
        if kind == 0x20:
            types += fields_before(header, begin + 8, begin + 3 + length, limit)
        begin += 3 + length
    return types


def compare(vector, seen):
    """What differs, in words; nothing if the two agree."""
    expected = vector["expected"]
    header = bytes.fromhex(vector["hex"])
    is_v1 = bool(seen["proxy.v1.magic"])
    is_v2 = bool(seen["proxy.v2.length"])
    outcome = expected["outcome"]
    if outcome in ("need-more", "reject"):
        return ""
    if (is_v1, is_v2) != (outcome == "proxy-v1", outcome == "proxy-v2"):
        return f"{outcome}, but dissected as {seen['_ws.col.Protocol']}"
    source, destination = expected.get("src"), expected.get("dst")
    if source and "port" in source:
        ports = first(seen["proxy.srcport"]), first(seen["proxy.dstport"])
        if ports != (str(source["port"]), str(destination["port"])):
            return f"ports {ports}"
        if expected["family"] == "INET" and first(seen["proxy.src.ipv4"]) != source["ip"]:
            return f"source {seen['proxy.src.ipv4']}"
        if expected["family"] == "INET6":
            address = socket.inet_pton(socket.AF_INET6, first(seen["proxy.src.ipv6"]))
            if address != socket.inet_pton(socket.AF_INET6, source["ip"]):
                return f"source {seen['proxy.src.ipv6']}"
    if outcome == "proxy-v2":
        length = int(seen["proxy.v2.length"])
        if length != expected["header_length"] - 16:
            return f"length {length}"
        if expected["command"] == "PROXY" and expected["family"] in BLOCKS and expected["transport"] != "UNSPEC":
            begin = 16 + BLOCKS[expected["family"]]
            wanted = fields_before(header, begin, expected["header_length"], length)
            got = [int(t, 0) for t in seen["proxy.v2.tlv.type"].split(",") if t]
            if got != wanted:
                return f"fields {got}, not {wanted}"
    return ""


def main():
    if shutil.which("tshark") is None:
        print("no tshark")
        return 77
    vectors = []
    for index in sorted(pathlib.Path(sys.argv[1]).glob("*.json")):
        vectors += json.loads(index.read_text())["vectors"]
    with tempfile.TemporaryDirectory() as folder:
        path = folder + "/vectors.pcap"
        capture(path, vectors)
        dissected = dissect(path)
    assert len(dissected) == len(vectors), f"{len(dissected)} segments dissected of {len(vectors)}"
    failures = 0
    agreed = 0
    for vector, seen in zip(vectors, dissected):
        difference = compare(vector, seen)
        if not difference:
            agreed += 1
            if vector["name"] in KNOWN:
                print(f"{vector['name']}: listed as different, but it agrees here")
                # Another version of tshark may have learnt it; that is no failure.
        elif vector["name"] not in KNOWN:
            failures += 1
            print(f"{vector['name']}: {difference}")
    print(f"{agreed} of {len(vectors)} agree, {len(KNOWN)} known to differ, {failures} unexplained")
    return 1 if failures else 0


sys.exit(main())
