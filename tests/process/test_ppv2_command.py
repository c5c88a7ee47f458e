"""The ppv2 command: what it prints and how it ends, for every vector and for people at a terminal."""

import json
import os
import subprocess
import unittest

from ravelin import header
from ravelin.build import ROOT, program
from ravelin.waiting import patience

OUTCOMES = {
    "need-more": "need_more",
    "reject": "reject",
    "other": "not_proxy",
    "tls-client-hello": "not_proxy",
    "proxy-v1": "header",
    "proxy-v2": "header",
}
HEADER_KEYS = "outcome version command family transport source destination header_length tlvs kind".split()
TCP4 = header.v2(("192.0.2.1", 4000), ("198.51.100.1", 443))


def ppv2(*arguments, stdin=b""):
    return subprocess.run([program("ppv2"), *arguments], input=stdin, capture_output=True, timeout=patience())


def vectors():
    for name in "captured.json", "derived.json":
        yield from json.loads((ROOT / "tests/vectors/ppv2" / name).read_text())["vectors"]


def end_of(expected):
    """A vector's end in the command's form, without what differs only in its text."""
    if expected is None:
        return None
    return {"port": expected["port"]} if "port" in expected else {"port": None}


class Ppv2Command(unittest.TestCase):
    maxDiff = None

    def test_json_says_what_every_vector_says(self):
        for vector in vectors():
            expected = vector["expected"]
            with self.subTest(vector["name"]):
                done = ppv2("decode", "--json", "-", stdin=bytes.fromhex(vector["hex"]))
                said = json.loads(done.stdout)
                self.assertEqual(done.stdout.count(b"\n"), 1)
                self.assertEqual(said["outcome"], OUTCOMES[expected["outcome"]])
                self.assertEqual(done.returncode, 0 if said["outcome"] == "header" else 1)
                if said["outcome"] == "header":
                    self.check_header(said, expected)
                else:
                    self.assertRegex(said["reason"], "^[a-z0-9_]+$")
                    self.assertLessEqual(said["offset"], len(vector["hex"]) // 2)
                    kinds = {"kind"} if said["outcome"] == "not_proxy" else set()
                    self.assertEqual(set(said), {"outcome", "reason", "offset"} | kinds)

    def check_header(self, said, expected):
        self.assertEqual(list(said), HEADER_KEYS)
        for key in "version", "command", "header_length":
            self.assertEqual(said[key], expected[key])
        for key, end in ("source", "src"), ("destination", "dst"):
            if end in expected:
                got = said[key] and {"port": said[key]["port"]}
                self.assertEqual(got, end_of(expected[end]))
            if (expected.get(end) or {}).get("path"):
                self.assertEqual(said[key]["address"], expected[end]["path"])
        if "tlvs" in expected:
            self.assertEqual(
                [(tlv["type"], tlv["hex"]) for tlv in said["tlvs"]],
                [(tlv["type"], tlv["value_hex"]) for tlv in expected["tlvs"]],
            )
        self.assertEqual(said["kind"] == "none", expected.get("payload_outcome") is None)
        self.assertEqual(said["kind"] == "tls", expected.get("payload_outcome") == "tls-client-hello")

    def test_sniff_passes_a_stream_without_a_header(self):
        for vector in vectors():
            outcome = OUTCOMES[vector["expected"]["outcome"]]
            with self.subTest(vector["name"]):
                done = ppv2("sniff", "--json", "--hex", vector["hex"])
                self.assertEqual(json.loads(done.stdout)["outcome"], outcome)
                self.assertEqual(done.returncode, 0 if outcome in ("header", "not_proxy") else 1)

    def test_text_marks_the_byte_at_fault_in_every_refused_vector(self):
        for vector in vectors():
            if vector["expected"]["outcome"] != "reject":
                continue
            with self.subTest(vector["name"]):
                offset = json.loads(ppv2("decode", "--json", "--hex", vector["hex"]).stdout)["offset"]
                lines = ppv2("decode", "--hex", vector["hex"]).stdout.decode().split("\n")
                self.assertIn(f"byte {offset}", lines[0])
                caret = next(i for i, line in enumerate(lines) if line.strip() == "^^")
                column = lines[caret].index("^^")
                marked = lines[caret - 1][column : column + 2].strip()
                self.assertEqual(marked, vector["hex"][2 * offset : 2 * offset + 2])
                self.assertEqual(int(lines[caret - 1][:7], 16), offset // 16 * 16)

    def test_sniff_decides_without_waiting_for_the_end_of_the_stream(self):
        sniff = subprocess.Popen(
            [program("ppv2"), "sniff", "--json", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        try:
            for piece in TCP4[:5], TCP4[5:20], TCP4[20:]:
                sniff.stdin.write(piece)
                sniff.stdin.flush()
            self.assertEqual(json.loads(sniff.stdout.readline())["outcome"], "header")
            self.assertEqual(sniff.wait(patience()), 0)
        finally:
            sniff.kill()
            sniff.wait()
            sniff.stdin.close()
            sniff.stdout.close()

    def test_a_file_hex_digits_and_standard_input_are_the_same(self):
        with open(f"{os.environ.get('TMPDIR', '/tmp')}/ppv2-{os.getpid()}.bin", "wb") as file:
            file.write(TCP4)
        self.addCleanup(os.unlink, file.name)
        spaced = " 0d0a:" + TCP4[2:].hex(" ").upper() + "\n"
        answers = {
            ppv2("decode", "--json", file.name).stdout,
            ppv2("decode", "--json", "--hex", spaced).stdout,
            ppv2("decode", "--json", stdin=TCP4).stdout,
            ppv2("decode", "-", "--json", stdin=TCP4).stdout,
        }
        self.assertEqual(len(answers), 1, answers)

    def test_encode_writes_what_an_independent_reader_reads(self):
        ends = "--source", "192.0.2.1:4000", "--destination", "198.51.100.1:443"
        self.assertEqual(ppv2("encode", *ends).stdout, TCP4)
        self.assertEqual(ppv2("encode", *ends, "--hex").stdout.decode(), TCP4.hex() + "\n")
        self.assertEqual(ppv2("encode", "--local").stdout, header.v2_local())
        self.assertEqual(ppv2("encode", "--v1", *ends).stdout, header.v1(("192.0.2.1", 4000), ("198.51.100.1", 443)))
        fields = ppv2("encode", *ends, "--alpn=h2", "--authority=shop.example", "--unique-id=id-1", "--tlv=0xE0=0001")
        read = header.decode_v2(fields.stdout)
        self.assertEqual(read.tlvs, [(1, b"h2"), (2, b"shop.example"), (5, b"id-1"), (0xE0, b"\0\1")])
        crc = ppv2("encode", "--tlv", "224=", "--tlv", "0xE1=ff", *ends, "--crc32c").stdout
        self.assertEqual(crc, header.v2(("192.0.2.1", 4000), ("198.51.100.1", 443), [(224, b""), (225, b"\xff")], True))
        self.assertEqual(len(ppv2("encode", *ends, "--crc32c", "--pad", "64").stdout), 64)
        mixed = header.v2(("::ffff:192.0.2.1", 1), ("2001:db8::1", 2))
        self.assertEqual(ppv2("encode", "--source", "192.0.2.1:1", "--destination", "[2001:db8::1]:2").stdout, mixed)

    def test_encode_and_decode_agree_on_unix_paths(self):
        made = ppv2("encode", "--source", "unix:@name", "--destination", "unix:/run/app.sock").stdout
        said = json.loads(ppv2("decode", "--json", stdin=made).stdout)
        self.assertEqual(said["family"], "UNIX")
        self.assertEqual(said["source"], {"address": "@name", "port": None})
        self.assertEqual(said["destination"], {"address": "/run/app.sock", "port": None})

    def test_wrong_use_is_told_on_standard_error_with_exit_code_2(self):
        wrong = [
            [],
            ["encode"],
            ["encode", "--source", "192.0.2.1:1"],
            ["encode", "--source", "192.0.2.1", "--destination", "192.0.2.2:2"],
            ["encode", "--local", "--source", "192.0.2.1:1", "--destination", "192.0.2.2:2"],
            ["encode", "--v1", "--local"],
            ["encode", "--local", "--tlv", "256=00"],
            ["encode", "--local", "--tlv", "1"],
            ["encode", "--local", "--tlv", "1=0g"],
            ["encode", "--local", "--unique-id", "x" * 129],
            ["decode", "--hex", "0d0"],
            ["decode", "--hex", "zz"],
            ["decode", "--hex", "0d", "file"],
            ["decode", "--nonsense"],
        ]
        for arguments in wrong:
            with self.subTest(arguments):
                done = ppv2(*arguments)
                self.assertEqual((done.returncode, done.stdout), (2, b""))
                self.assertTrue(done.stderr)

    def test_the_examples_in_help_work(self):
        self.assertIn(b"ppv2 0.", ppv2("--version").stdout)
        shown = ppv2("--help").stdout.decode()
        example = next(line for line in shown.splitlines() if "decode --hex" in line)
        command = example.strip().replace("ppv2", program("ppv2"), 1)
        self.assertIn("192.0.2.1:4000", subprocess.run(["sh", "-c", command], capture_output=True, text=True).stdout)
        made = ppv2("encode", *next(l for l in shown.splitlines() if "--crc32c" in l).split("encode ")[1].split())
        self.assertEqual(made.returncode, 0, made.stderr)

    def test_what_cannot_be_read_is_a_failure_that_names_it(self):
        done = ppv2("decode", "/nowhere/header.bin")
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"/nowhere/header.bin: No such file or directory", done.stderr)
