"""What the configuration says of sockets is what the kernel says of them."""

import json
import re
import subprocess

from ravelin import build, wire
from ravelin.case import ProcessTest
from ravelin.daemon import run_to_end
from ravelin.ports import free_port
from ravelin.settings import edge_settings
from ravelin.waiting import wait_until


def kernel_says(side, port):
    """What ss(8) knows of the connections with this local ("sport") or remote ("dport") port."""
    command = ["ss", "-tnHoemi", "state", "established", f"( {side} = :{port} )"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


class SocketOptionsTest(ProcessTest):
    def session(self, **sockets):
        origin, port = self.server(wire.echo), free_port()
        edge = self.configured("redirector", edge_settings(port, [origin.address], listener=sockets), [port])
        client = self.connect(edge)
        client.send(b"hello")
        self.assertNotEqual(client.read(5), b"")
        return (lambda: kernel_says("sport", port)), (lambda: kernel_says("dport", origin.address.rsplit(":")[-1]))

    def test_each_leg_has_the_options_that_it_was_given(self):
        client, origin = self.session(
            client_socket={"congestion_control": "reno", "mark": 42, "max_segment": 1000, "send_buffer": "64KiB"},
            origin_socket={"congestion_control": "cubic", "mark": 43, "max_segment": 900, "receive_buffer": "96KiB"},
        )
        # The kernel doubles a buffer's size, for its own accounts.
        for wanted in (" reno ", "fwmark:0x2a", "tb131072", r"mss:(9\d\d|1000)\b"):
            self.assertRegex(client(), wanted)
        for wanted in (" cubic ", "fwmark:0x2b", "rb196608", r"mss:([89]\d\d)\b"):
            self.assertRegex(origin(), wanted)

    def test_both_legs_are_guarded_against_peers_that_vanish(self):
        client, origin = self.session()
        self.assertRegex(client(), r"timer:\(keepalive,(59|1min)")
        wait_until(lambda: re.search(r"timer:\(keepalive,(59|1min)", origin()), "keep-alive toward the origin")

    def test_a_leg_without_keep_alive_has_none(self):
        client, origin = self.session(client_socket={"keepalive_idle": 0}, origin_socket={"keepalive_idle": 0})
        self.assertNotIn("keepalive", client())
        self.assertNotIn("keepalive", origin())

    def test_an_algorithm_that_the_kernel_has_not_got_is_said_at_the_start(self):
        for leg in ("client_socket", "origin_socket"):
            settings = edge_settings(free_port(), ["127.0.0.1:1"], listener={leg: {"congestion_control": "hybla2"}})
            path = self.write(f"{leg}.yaml", json.dumps(settings))
            ended = run_to_end([build.program("redirector"), "--config", path])
            self.assertEqual(ended.code, 69)
            self.assertIn("cannot use congestion_control hybla2", ended.stderr)
