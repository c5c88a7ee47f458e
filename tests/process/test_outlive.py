"""A session outlives its process: kills, crashes and upgrades of the worker and of the keeper, under traffic."""

import http.client
import json
import os
import pathlib
import resource
import shutil
import signal
import socket
import stat
import subprocess

from ravelin import header, wire
from ravelin.build import SLOWNESS, long, program
from ravelin.case import ProcessTest
from ravelin.coded import CodedClients, EchoOrigin
from ravelin.daemon import end_tree, is_listening, process_tree
from ravelin.isolation import as_first_process, as_nobody, entering, for_everybody
from ravelin.ports import free_port
from ravelin.settings import edge_settings
from ravelin.waiting import pace, patience, wait_until

MOVING, IDLE = (24, 40) if SLOWNESS == 1 else (8, 8)


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


class Outlive(ProcessTest):
    def start(self, **options):
        self.origin = self.own(EchoOrigin())
        self.edge_ = self.edge(self.origin.address, "--loops", "2", **options)
        self.clients = self.own(CodedClients(self.edge_.port, MOVING, IDLE))
        self.wait_established()
        self.wait_for_bytes()

    def wait_established(self):
        self.clients.wait_established()

    def wait_for_bytes(self, count=1 << 20):
        self.clients.wait_for_bytes(count)

    def wait_taken_over(self, count):
        return self.edge_.wait_event("taken_over", count=count)

    def check_whole(self):
        """Every session gets all of its bytes and its end, and the keeper holds nothing any more."""
        wait_until(self.clients.finish, "all sessions to end")
        self.assertEqual(self.clients.faults(), [])
        self.assertEqual(self.edge_.events("taken_over", lost=0), self.edge_.events("taken_over"))
        wait_until(self.none_left, "the sessions to be over for the edge as well")

    def none_left(self):
        try:
            return self.edge_.admin.metric("redirector_sessions") == 0
        except (OSError, http.client.HTTPException):  # while a worker takes over
            return False

    def kill_worker(self, number=signal.SIGKILL):
        os.kill(self.edge_.worker, number)

    def test_no_session_notices_that_the_worker_is_killed(self):
        self.start()
        self.kill_worker()
        self.wait_taken_over(1)
        self.wait_for_bytes()
        self.check_whole()
        self.assertEqual(self.edge_.admin.metric("redirector_worker_deaths_total"), 1)

    def test_twenty_kills_in_a_row_lose_no_session_and_leave_no_descriptor_behind(self):
        self.start()
        keeper = self.edge_.process.pid
        for kill in range(20):
            if kill == 1:
                before = descriptors(keeper)
            self.kill_worker()
            wait_until(lambda: len(self.edge_.events("taken_over")) > kill, f"take-over {kill + 1}")
            self.wait_for_bytes(200_000)
        # Pipes come and go with the bytes that happen to be under way.
        self.assertLessEqual(descriptors(keeper), before + 20)
        self.check_whole()

    def test_a_worker_that_crashes_is_replaced_like_one_that_is_killed(self):
        self.start()
        for number in signal.SIGSEGV, signal.SIGABRT:
            self.kill_worker(number)
            wait_until(lambda: self.edge_.events("taken_over"), "a take-over")
            self.wait_for_bytes()
        self.check_whole()
        self.edge_.noise.clear()  # a sanitizer's report of the very signal

    def test_ten_upgrades_in_a_row_lose_no_session_and_the_pid_stays(self):
        self.start()
        pid = self.edge_.process.pid
        for _ in range(10):
            upgraded, worker = len(self.edge_.events("upgraded")), self.edge_.worker
            os.kill(pid, signal.SIGUSR2)
            wait_until(lambda: len(self.edge_.events("upgraded")) > upgraded, "the upgrade", patience())
            self.assertNotEqual(self.edge_.worker, worker)
            self.wait_for_bytes(200_000)
        self.check_whole()
        self.assertEqual(self.edge_.admin.metric("redirector_upgrades_total"), 10)

    def test_upgrades_that_are_asked_for_all_at_once_come_one_after_the_other(self):
        self.start()
        for _ in range(5):
            os.kill(self.edge_.process.pid, signal.SIGUSR2)
            pace(0.01)
        self.wait_for_bytes()
        self.edge_.wait_event("upgraded")
        self.wait_for_bytes()
        self.check_whole()

    def start_from_a_copy(self):
        """A redirector whose file the test may exchange."""
        self.path = pathlib.Path(self.folder) / "redirector"
        shutil.copy(program("redirector"), self.path)
        self.origin = self.own(EchoOrigin())
        port = free_port()
        self.config = self.write("edge.yaml", json.dumps(edge_settings(port, [self.origin.address])))
        self.edge_ = self.daemon_at(self.path, "--config", self.config, ports=[port])
        self.clients = self.own(CodedClients(port, MOVING))
        self.wait_established()
        self.wait_for_bytes()

    def exchange(self, text):
        """Another file takes the program's place, as a package manager does it."""
        new = self.path.with_suffix(".new")
        new.write_text(text)
        new.chmod(new.stat().st_mode | stat.S_IXUSR)
        new.rename(self.path)

    def test_an_upgrade_to_what_cannot_serve_changes_nothing_and_says_why(self):
        self.start_from_a_copy()
        worker = self.edge_.worker

        def fails(why, break_it):
            with self.subTest(why):
                count = len(self.edge_.events("upgrade_failed"))
                break_it()
                os.kill(self.edge_.process.pid, signal.SIGUSR2)
                wait_until(lambda: len(self.edge_.events("upgrade_failed")) > count, "the refusal", 2 * patience())
                self.assertIn(why, self.edge_.events("upgrade_failed")[-1]["error"])
                self.assertEqual(self.edge_.worker, worker)
                self.wait_for_bytes(100_000)

        good = pathlib.Path(self.config).read_text()
        fails("exit code 78", lambda: pathlib.Path(self.config).write_text("listeners: 7\n"))
        pathlib.Path(self.config).write_text(good)
        fails("exit code 1", lambda: self.exchange("#!/bin/sh\nexit 1\n"))
        fails("signal 11", lambda: self.exchange("#!/bin/sh\nkill -SEGV $$\n"))
        fails("did not answer", lambda: self.exchange("#!/bin/sh\nexec sleep 1000\n"))
        fails("No such file", self.path.unlink)
        self.check_whole()
        self.edge_.noise.clear()  # what a program says that cannot start

    def test_a_worker_killed_while_the_file_at_its_path_is_broken_is_replaced_by_the_last_good_one(self):
        self.start_from_a_copy()
        self.exchange("#!/bin/sh\nexit 1\n")
        self.kill_worker()
        self.wait_taken_over(1)
        self.wait_for_bytes()
        self.check_whole()

    def test_no_session_notices_that_the_keeper_is_killed(self):
        self.start()
        worker = self.edge_.worker
        self.edge_.process.send_signal(signal.SIGKILL)
        self.addCleanup(end_tree, worker)
        self.wait_taken_over(1)
        self.wait_for_bytes()
        # The worker has become the keeper: it ends, and what it serves goes on, as with the first one.
        os.kill(process_tree(worker)[1], signal.SIGKILL)
        wait_until(lambda: len(self.edge_.events("taken_over")) == 2, "the second take-over")
        self.wait_for_bytes()
        wait_until(self.clients.finish, "all sessions to end")
        self.assertEqual(self.clients.faults(), [])
        os.kill(worker, signal.SIGTERM)
        wait_until(lambda: not os.path.exists(f"/proc/{worker}"), "the new keeper to end")
        self._daemons.remove(self.edge_)
        self.edge_.kill()

    def test_a_drain_survives_the_worker(self):
        self.start()
        os.kill(self.edge_.process.pid, signal.SIGTERM)
        self.edge_.wait_event("draining")
        wait_until(lambda: not is_listening(self.edge_.port), "the port to be free")
        self.kill_worker()
        self.wait_taken_over(1)
        self.wait_for_bytes()
        self.edge_.wait_event("draining", count=2)
        self.assertFalse(is_listening(self.edge_.port))
        wait_until(self.clients.finish, "all sessions to end")
        self.assertEqual(self.clients.faults(), [])
        self.assertEqual(self.edge_.process.wait(patience()), 0)

    def test_a_term_to_the_whole_group_is_one_term(self):
        self.start()
        for member in process_tree(self.edge_.process.pid):
            os.kill(member, signal.SIGTERM)
        self.edge_.wait_event("draining")
        self.wait_for_bytes()
        wait_until(self.clients.finish, "all sessions to end")
        self.assertEqual(self.clients.faults(), [])
        self.assertEqual(self.edge_.process.wait(patience()), 0)

    def test_a_reload_reaches_the_worker_that_serves_now(self):
        self.start_from_a_copy()
        self.kill_worker()
        self.wait_taken_over(1)
        os.kill(self.edge_.process.pid, signal.SIGHUP)
        self.edge_.wait_event("reloaded")
        self.wait_for_bytes()
        self.check_whole()

    def test_a_client_whose_session_is_in_set_up_at_a_kill_or_an_upgrade_is_served_by_the_next_worker(self):
        origin = self.listener()
        self.edge_ = self.edge(origin.address)
        for end in self.kill_worker, lambda: os.kill(self.edge_.process.pid, signal.SIGUSR2):
            before = len(self.edge_.events("taken_over"))
            client = self.connect(self.edge_)
            wait_until(lambda: self.edge_.admin.metric("redirector_sessions") == 1, "the session")
            end()
            wait_until(lambda: len(self.edge_.events("taken_over")) > before, "the take-over")
            client.send(b"hello")
            accepted = origin.accept()
            self.assertEqual(accepted.read_header().source, client.local)
            self.assertEqual(accepted.read(5), b"hello")
            client.close()
            accepted.close()
            wait_until(lambda: self.edge_.admin.metric("redirector_sessions") == 0, "the session's end")

    def test_a_client_whose_origin_does_not_answer_at_a_kill_goes_on_waiting_for_it(self):
        hole = self.own(wire.BlackHole())
        self.edge_ = self.edge(hole.address)
        client = self.connect(self.edge_)
        client.send(b"hello")
        wait_until(lambda: self.edge_.admin.metric("redirector_connect_attempts_total") == 1, "the attempt")
        self.kill_worker()
        self.edge_.wait_event("ready", count=2)
        wait_until(lambda: self.edge_.admin.metric("redirector_connect_attempts_total") == 2, "another attempt")
        self.assertEqual(self.edge_.events("taken_over")[0]["lost"], 0)

    def test_an_heir_that_is_killed_is_replaced(self):
        self.start()
        for _ in range(3):
            heir = process_tree(self.edge_.process.pid)[2]
            os.kill(heir, signal.SIGKILL)
            wait_until(lambda: (process_tree(self.edge_.process.pid) + [heir])[2] != heir, "another heir")
        self.kill_worker()
        self.wait_taken_over(1)
        self.wait_for_bytes()
        self.check_whole()

    def test_as_the_first_process_of_a_container_it_reaps_orphans_and_ends_when_told(self):
        self.start(prefix=as_first_process())
        keeper = self.edge_.pid
        self.assertNotEqual(keeper, self.edge_.process.pid)
        family = len(process_tree(keeper))
        subprocess.run([*entering(keeper, "--pid"), "sh", "-c", "sleep 3 &"], check=True)
        self.assertEqual(len(process_tree(keeper)), family + 1)
        self.kill_worker()
        self.wait_taken_over(1)
        self.wait_for_bytes()
        wait_until(lambda: len(process_tree(keeper)) == family, "the orphan to be reaped")
        self.check_whole()
        os.kill(keeper, signal.SIGTERM)
        self.assertEqual(self.edge_.process.wait(patience()), 0)

    def test_the_gateway_knows_its_peers_right_after_a_kill(self):
        inner = self.listener()
        gateway = self.gateway(inner.address)
        sessions = []
        for number in range(20):
            client = self.connect(gateway)
            client.send(header.v2((f"203.0.113.{number}", 5000 + number), ("198.51.100.1", 443)) + b"hello")
            accepted = inner.accept()
            self.assertEqual(accepted.read(5), b"hello")
            sessions.append((number, client, accepted))
        os.kill(gateway.worker, signal.SIGKILL)
        for number, client, accepted in sessions:
            client.send(b"again")
            self.assertEqual(accepted.read(5), b"again")
            peer = gateway.admin.peer("ipv4:127.0.0.1:%d" % accepted.peer[1])
            self.assertEqual(peer["claimed"], f"203.0.113.{number}:{5000 + number}")
            self.assertEqual(peer["measured"], "%s:%d" % client.local)
        for _, client, accepted in sessions:
            client.close()
            accepted.close()
        wait_until(lambda: gateway.admin.metric("gateway_peers") == 0, "the peer map to be empty")

    def test_an_ordinary_user_with_few_descriptors_loses_nothing_either(self):
        def few():
            resource.setrlimit(resource.RLIMIT_NOFILE, (1200, 1200))

        copy = for_everybody(program("redirector"), self.folder)
        os.chmod(self.folder, 0o777)
        self.origin, port = self.own(EchoOrigin()), free_port()
        flags = ["--listen", f"127.0.0.1:{port}", "--origin", self.origin.address, "--loops", "2"]
        self.edge_ = self.daemon_at(copy, *flags, ports=[port], prefix=as_nobody([]), preexec_fn=few)
        self.clients = self.own(CodedClients(self.edge_.port, MOVING, IDLE))
        self.wait_established()
        for kill in range(5):
            self.kill_worker()
            wait_until(lambda: len(self.edge_.events("taken_over")) > kill, f"take-over {kill + 1}")
            self.wait_for_bytes(200_000)
        os.kill(self.edge_.process.pid, signal.SIGUSR2)
        self.edge_.wait_event("upgraded")
        self.wait_for_bytes()
        self.check_whole()

    def test_connections_that_come_during_kills_are_all_accepted(self):
        self.start()
        for kill in range(5):
            self.kill_worker()
            # The kernel's queue takes them while nobody accepts.
            late = [socket.create_connection(("127.0.0.1", self.edge_.port), timeout=patience()) for _ in range(20)]
            wait_until(lambda: len(self.edge_.events("taken_over")) > kill, f"take-over {kill + 1}")
            for client in late:
                client.sendall(b"hello")
            for client in late:
                self.assertEqual(client.recv(5), b"hello")
                client.close()
        self.check_whole()

    def test_clients_that_are_accepted_in_the_instant_of_a_kill_are_served(self):
        self.start()
        for kill in range(10):
            burst = [socket.socket() for _ in range(300)]
            for client in burst:
                client.setblocking(False)
                client.connect_ex(("127.0.0.1", self.edge_.port))
            self.kill_worker()
            wait_until(lambda: len(self.edge_.events("taken_over")) > kill, f"take-over {kill + 1}")
            for client in burst:
                client.settimeout(patience())
                client.sendall(b"hello")
            for client in burst:
                self.assertEqual(client.recv(5), b"hello")
                client.close()
        self.check_whole()

    @long
    def test_a_worker_that_hangs_is_replaced(self):
        self.start()
        os.kill(self.edge_.worker, signal.SIGSTOP)
        self.edge_.wait_event("worker_hung", seconds=40)
        self.wait_taken_over(1)
        self.wait_for_bytes()
        self.check_whole()
