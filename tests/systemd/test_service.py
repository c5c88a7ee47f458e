"""ravelin-redirector.service under a real systemd: what operators, the kernel and accidents do to it."""

import os
import re
import signal
import socket

from ravelin.packages import built_packages
from ravelin.waiting import pace, patience, wait_until
from sessions import PORT, SessionTest

CONFIG = "/etc/ravelin/redirector.yaml"
PROGRAM = "/usr/bin/redirector"


def echoed(sock, text=b"hello"):
    sock.settimeout(patience())
    sock.sendall(text)
    return sock.recv(len(text))


class Service(SessionTest):
    def setUp(self):
        super().setUp()
        self.install()
        self.configure()

    def clean_up(self):
        super().clean_up()
        # In this order nobody who connects meanwhile starts it again.
        self.machine.run("systemctl", "stop", "ravelin-redirector.socket")
        self.machine.attempt("systemctl", "kill", "--signal=INT", "--kill-whom=main", self.unit.name)
        self.machine.run("systemctl", "stop", self.unit.name)
        self.machine.attempt("systemctl", "reset-failed", self.unit.name)

    def start(self):
        self.machine.run("systemctl", "start", self.unit.name)

    def start_with_sessions(self):
        self.start()
        self.begin_sessions()
        self.pid = self.unit.main_pid

    def check_undisturbed(self):
        """Sessions have got every byte, and for systemd nothing has happened."""
        self.check_moving()
        self.end_sessions()
        self.assertEqual(self.unit.show("MainPID", "ActiveState", "NRestarts"), [str(self.pid), "active", "0"])

    def test_systemctl_start_returns_when_clients_are_served(self):
        self.start()
        self.assertEqual(self.readiness(), 200)
        with socket.create_connection(("127.0.0.1", PORT)) as client:
            self.assertEqual(echoed(client), b"hello")

    def test_a_low_port_takes_no_capability_and_the_sandbox_is_tight(self):
        self.start()
        for pid in self.unit.main_pid, self.unit.worker:
            status = self.machine.path(f"/proc/{pid}/status").read_text()
            self.assertRegex(status, r"CapEff:\s0+\n")
            self.assertRegex(status, r"CapBnd:\s0+\n")
            self.assertRegex(status, r"NoNewPrivs:\s1\n")
            self.assertRegex(status, r"Seccomp:\s2\n")
            self.assertNotRegex(status, r"Uid:\s0\s")
        said = self.machine.run("systemd-analyze", "security", "--no-pager", self.unit.name)
        exposure = float(re.search(r"Overall exposure level for \S+: ([\d.]+)", said).group(1))
        self.assertLessEqual(exposure, 1.5)

    def test_a_first_client_starts_a_service_that_is_not_running(self):
        self.machine.run("systemctl", "start", "ravelin-redirector.socket")
        self.assertEqual(self.unit.state(), "inactive")
        with socket.create_connection(("127.0.0.1", PORT)) as client:
            self.assertEqual(echoed(client), b"hello")
        self.assertEqual(self.unit.state(), "active")

    def test_sessions_outlive_a_worker_that_is_killed(self):
        self.start_with_sessions()
        self.unit.kill(self.unit.worker)
        self.unit.wait_event("taken_over")
        self.check_undisturbed()

    def test_sessions_outlive_a_worker_that_is_killed_for_memory(self):
        # In a small group the worker's hundred points are little memory; these make it the one to go.
        self.drop_in("ravelin-redirector.service", "[Service]\nOOMScoreAdjust=900\n")
        self.start_with_sessions()
        worker, group = self.unit.worker, self.unit.show("ControlGroup")
        self.assertEqual(self.score(worker), self.score(self.pid) + 100)
        heir = self.machine.path(f"/proc/{worker}/task/{worker}/children").read_text().split()[0]
        self.assertEqual(self.score(heir), self.score(self.pid))
        limit = int(self.unit.show("MemoryCurrent")) + (16 << 20)
        self.machine.run("systemctl", "set-property", "--runtime", self.unit.name, f"MemoryMax={limit}")
        self.addCleanup(self.machine.run, "systemctl", "revert", self.unit.name)
        # Somebody in the same group fills a file that is memory until the worker is gone, a little at a time, so that
        # what that one leaves is enough for the next.
        join, file = f"echo $$ >/sys/fs/cgroup/memory{group}/cgroup.procs", "/dev/shm/taken"
        fill = f"while [ -e /proc/{worker} ]; do head -c 100000 /dev/zero >>{file}; done; rm {file}"
        self.machine.run("sh", "-c", f"{join} && {fill}")
        self.unit.wait_event("taken_over")
        self.assertEqual(self.unit.events("worker_died")[0]["what"], "was ended by signal 9")
        self.check_undisturbed()

    def score(self, pid):
        return int(self.machine.path(f"/proc/{pid}/oom_score_adj").read_text())

    def test_sessions_outlive_a_reload_and_systemctl_says_that_it_is_done(self):
        self.start_with_sessions()
        self.machine.run("systemctl", "reload", self.unit.name)
        self.unit.wait_event("reloaded")
        self.check_undisturbed()

    def test_a_reload_of_a_file_with_an_error_fails_and_changes_nothing(self):
        self.start_with_sessions()
        self.machine.write(CONFIG, "listeners: 7\n")
        code, _ = self.machine.attempt("systemctl", "reload", self.unit.name)
        self.assertNotEqual(code, 0)
        self.assertIn(f"{CONFIG}:1:12: listeners is a single value", "\n".join(self.unit.journal()))
        self.check_undisturbed()

    def test_sessions_outlive_an_upgrade_to_a_file_that_was_put_in_place_of_the_old_one(self):
        self.start_with_sessions()
        old = os.stat(self.machine.path(PROGRAM)).st_ino
        self.machine.run("sh", "-c", f"cp {PROGRAM} {PROGRAM}.new && mv {PROGRAM}.new {PROGRAM}")
        self.machine.run("systemctl", "kill", "--signal=USR2", "--kill-whom=main", self.unit.name)
        self.unit.wait_event("upgraded")
        for pid in self.unit.main_pid, self.unit.worker:
            wait_until(
                lambda pid=pid: os.stat(self.machine.path(f"/proc/{pid}/exe")).st_ino not in (old,),
                "keeper and worker to run the new file",
            )
        self.check_undisturbed()

    def test_a_keeper_that_is_killed_ends_the_unit_and_the_next_one_serves_whoever_came_meanwhile(self):
        self.start_with_sessions()
        self.unit.kill(self.pid)
        wait_until(lambda: len(self.clients.faults()) == len(self.clients.clients), "the sessions to end")
        with socket.create_connection(("127.0.0.1", PORT)) as client:
            self.assertEqual(echoed(client), b"hello")
        self.assertEqual(self.unit.show("ActiveState", "NRestarts"), ["active", "1"])
        self.assertNotEqual(self.unit.main_pid, self.pid)
        # What each of them had is in the log.
        self.unit.wait_event("session_closed", len(self.clients.clients))

    def test_a_stop_lets_sessions_go_on_until_they_end(self):
        self.start_with_sessions()
        self.machine.run("systemctl", "stop", "ravelin-redirector.socket")
        self.machine.run("systemctl", "stop", "--no-block", self.unit.name)
        self.unit.wait_event("draining")
        self.assertEqual(self.unit.state(), "deactivating")
        wait_until(self.is_refused, "new clients to be refused")
        self.check_moving()
        self.end_sessions()
        wait_until(lambda: self.unit.state() == "inactive", "the unit to be stopped")
        self.assertEqual(self.unit.show("Result"), "success")

    def is_refused(self):
        try:
            with socket.create_connection(("127.0.0.1", PORT)):
                return False
        except ConnectionRefusedError:
            return True

    def test_a_drain_ends_by_itself_before_systemd_loses_patience(self):
        self.configure(drain_timeout="1s")
        self.start_with_sessions()
        self.machine.run("systemctl", "stop", self.unit.name)
        self.assertEqual(self.unit.show("ActiveState", "Result"), ["inactive", "success"])
        self.assertEqual({line["reason"] for line in self.unit.events("session_closed")}, {"drained"})

    def test_a_keeper_that_hangs_is_ended_by_the_watchdog_and_the_unit_starts_anew(self):
        self.drop_in("ravelin-redirector.service", "[Service]\nWatchdogSec=2\n")
        self.start()
        pid = self.unit.main_pid
        pace(3)
        self.assertEqual(self.unit.main_pid, pid)  # one that turns is left alone
        self.unit.kill(pid, signal.SIGSTOP)
        wait_until(lambda: self.unit.main_pid not in (0, pid) and self.unit.state() == "active", "another keeper")
        self.assertIn("Watchdog timeout", "\n".join(self.unit.journal()))
        with socket.create_connection(("127.0.0.1", PORT)) as client:
            self.assertEqual(echoed(client), b"hello")

    def test_a_file_with_an_error_ends_the_start_once_and_for_all(self):
        self.machine.write(CONFIG, "listeners: 7\n")
        code, _ = self.machine.attempt("systemctl", "start", self.unit.name)
        self.assertNotEqual(code, 0)
        self.assertEqual(self.unit.show("ActiveState", "ExecMainStatus", "NRestarts"), ["failed", "78", "0"])

    def test_a_port_of_the_socket_unit_that_the_settings_do_not_name_is_an_error_that_says_so(self):
        self.drop_in("ravelin-redirector.socket", "[Socket]\nListenStream=127.0.0.1:444\n")
        code, _ = self.machine.attempt("systemctl", "start", self.unit.name)
        self.assertNotEqual(code, 0)
        self.assertIn("127.0.0.1:444 was passed in, but no listener", self.unit.events("cannot_start")[0]["error"])

    def test_every_line_is_in_the_journal_however_many_there_are(self):
        self.machine.write("/run/systemd/journald.conf.d/test.conf", "[Journal]\nRateLimitBurst=20\n")
        self.addCleanup(self.machine.run, "systemctl", "restart", "systemd-journald")
        self.addCleanup(self.machine.run, "rm", "/run/systemd/journald.conf.d/test.conf")
        self.machine.run("systemctl", "restart", "systemd-journald")
        self.start()
        for _ in range(300):
            with socket.create_connection(("127.0.0.1", PORT)) as client:
                self.assertEqual(echoed(client), b"hello")
        self.unit.wait_event("session_closed", 300)

    def test_needrestart_does_not_restart_it_though_its_file_is_a_new_one(self):
        self.start_with_sessions()
        self.machine.run("sh", "-c", f"cp {PROGRAM} {PROGRAM}.new && mv {PROGRAM}.new {PROGRAM}")
        self.machine.write("/etc/needrestart/conf.d/test.conf", "$nrconf{restart} = 'a';\n")
        self.addCleanup(self.machine.run, "rm", "/etc/needrestart/conf.d/test.conf")
        said = self.machine.attempt("needrestart", "-r", "a", "-m", "e")[1]
        self.assertNotIn(f"systemctl restart {self.unit.name}", said)
        self.check_undisturbed()

    def test_the_gateway_s_unit_is_as_tight(self):
        self.machine.install(built_packages()["ravelin-gateway"])
        said = self.machine.run("systemd-analyze", "security", "--no-pager", "ravelin-gateway")
        self.assertLessEqual(float(re.search(r"Overall exposure level for \S+: ([\d.]+)", said).group(1)), 1.5)
        self.machine.run("systemctl", "start", "ravelin-gateway")
        self.addCleanup(self.machine.run, "systemctl", "stop", "ravelin-gateway.socket", "ravelin-gateway")
        self.assertEqual(self.machine.admin("gateway").get("/healthz")[0], 200)
