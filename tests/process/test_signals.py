"""Signals: whatever comes, and at whatever moment, a daemon ends by its own decision and says so by its exit code."""

import os
import pathlib
import signal
import subprocess

from ravelin import wire
from ravelin.build import program
from ravelin.case import ProcessTest
from ravelin.ports import free_port
from ravelin.waiting import patience, wait_until

ROUNDS = 50


def shower(process, *numbers):
    """Sends these signals without a pause until the process has ended; its exit code."""
    while process.poll() is None:
        for number in numbers:
            os.kill(process.pid, number)
    return process.returncode


def blocks(pid, number):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    mask = next(line for line in status.splitlines() if line.startswith("SigBlk:"))
    return int(mask.split()[1], 16) >> (number - 1) & 1


class Ending:
    """Sees to it that a process has ended, however the test has."""

    def __init__(self, process):
        self._process = process

    def close(self):
        self._process.kill()
        self._process.wait()
        self._process.stderr.close()


class Signals(ProcessTest):
    def setUp(self):
        super().setUp()
        self.origin = self.server(wire.echo)

    def start(self, name):
        port = free_port()
        target = ["--origin" if name == "redirector" else "--inner", self.origin.address]
        return self.daemon(name, "--listen", f"127.0.0.1:{port}", *target, "--loops", "1", ports=[port])

    def test_a_daemon_that_is_told_to_end_again_and_again_until_it_is_gone_ends_with_0(self):
        for name in "redirector", "gateway":
            codes = []
            for _ in range(ROUNDS // 2):
                daemon = self.start(name)
                codes.append(shower(daemon.process, signal.SIGTERM))
                self.stop(daemon)
            self.assertEqual(codes, [0] * len(codes), name)

    def test_every_signal_at_once_ends_no_daemon_otherwise_either(self):
        for _ in range(5):
            daemon = self.start("redirector")
            os.kill(daemon.pid, signal.SIGTERM)
            self.assertEqual(shower(daemon.process, signal.SIGHUP, signal.SIGUSR2, signal.SIGINT, signal.SIGTERM), 0)
            self.stop(daemon)

    def test_a_name_that_still_resolves_does_not_change_that(self):
        """The resolver's thread outlives the loops; it must not take a signal that nobody handles any more."""
        port = free_port()
        for _ in range(5):
            edge = self.daemon(
                "redirector", "--listen", f"127.0.0.1:{port}", "--origin", "origin.invalid:443", ports=[port]
            )
            self.assertEqual(shower(edge.process, signal.SIGTERM), 0)
            self.stop(edge)

    def test_a_hangup_before_it_is_ready_is_kept_for_later(self):
        port = free_port()
        arguments = [program("redirector"), "--listen", f"127.0.0.1:{port}", "--origin", self.origin.address]
        for _ in range(5):
            edge = subprocess.Popen([*arguments, "--admin", f"unix:{self.folder}/s"], stderr=subprocess.PIPE, text=True)
            self.own(Ending(edge))
            wait_until(lambda: edge.poll() is not None or blocks(edge.pid, signal.SIGHUP), "its first line")
            os.kill(edge.pid, signal.SIGHUP)
            said = ""
            for line in edge.stderr:
                said += line
                if '"reloaded"' in line:
                    os.kill(edge.pid, signal.SIGTERM)
            self.assertEqual(edge.wait(patience()), 0, said)
            self.assertIn('"reloaded"', said)

    def test_the_signal_for_an_upgrade_ends_no_session(self):
        for name in "redirector", "gateway":
            daemon = self.start(name)
            client = self.connect(daemon)
            client.send(b"hello")
            self.assertNotEqual(client.read(5), b"")
            os.kill(daemon.pid, signal.SIGUSR2)
            client.send(b"again")
            self.assertNotEqual(client.read(5), b"")
            client.close()
            daemon.wait_event("session_closed")
