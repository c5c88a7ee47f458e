"""ravelinctl: reload, upgrade, drain and kill, while bytes move."""

import json
import os
import pathlib
import signal

from ravelin.build import SLOWNESS, program
from ravelin.case import ProcessTest
from ravelin.coded import CodedClients, EchoOrigin
from ravelin.daemon import end_tree, is_listening, run_to_end
from ravelin.ports import free_port
from ravelin.settings import edge_settings
from ravelin.waiting import patience, wait_until

MOVING, IDLE = (12, 12) if SLOWNESS == 1 else (4, 4)


class Control(ProcessTest):
    def start(self, **more):
        self.origin = self.own(EchoOrigin())
        self.port = free_port()
        self.settings = edge_settings(self.port, [self.origin.address], loops=2, **more)
        self.path = self.write("edge.yaml", json.dumps(self.settings))
        self.edge_ = self.daemon("redirector", "--config", self.path, ports=[self.port])
        self.clients = self.own(CodedClients(self.port, MOVING, IDLE))
        self.clients.wait_established()

    def ctl(self, *words):
        return run_to_end([program("ravelinctl"), "--admin", f"unix:{self.edge_.admin.path}", *words], 60)

    def change(self, **more):
        self.settings.update(more)
        pathlib.Path(self.path).write_text(json.dumps(self.settings))

    def wait_for_bytes(self, count=200_000):
        self.clients.wait_for_bytes(count)

    def check_whole(self):
        wait_until(self.clients.finish, "all sessions to end")
        self.assertEqual(self.clients.faults(), [])

    def test_an_upgrade_returns_when_the_new_worker_serves(self):
        self.start()
        worker = self.edge_.worker
        done = self.ctl("upgrade")
        self.assertEqual((done.code, done.stderr), (0, ""))
        self.assertIn("serves", done.stdout)
        self.assertNotEqual(self.edge_.worker, worker)
        self.wait_for_bytes()
        self.check_whole()

    def test_a_reload_that_exchanges_the_listener_touches_no_session_and_keeps_its_name(self):
        self.start()
        other = free_port()
        self.settings["listeners"][0]["name"] = "old"
        self.change()
        self.assertEqual(self.ctl("reload").code, 0)
        self.change(listeners=[{"address": f"127.0.0.1:{other}", "name": "new"}])
        plan = self.ctl("reload", "--dry-run")
        self.assertIn("by hand-over", plan.stdout)
        self.assertIn(f"listener old: {MOVING + IDLE} sessions go on", plan.stdout)
        done = self.ctl("reload")
        self.assertEqual((done.code, done.stderr), (0, ""))
        self.assertTrue(is_listening(other))
        wait_until(lambda: not is_listening(self.port), "the removed listener to be closed")
        self.wait_for_bytes()
        names = {session["listener"] for session in self.edge_.admin.json("/sessions")["sessions"]}
        self.assertEqual(names, {"old"})
        os.kill(self.edge_.worker, signal.SIGKILL)
        self.edge_.wait_event("taken_over", count=3)
        self.wait_for_bytes()
        self.check_whole()
        self.assertEqual({line["listener"] for line in self.edge_.closed_sessions(MOVING + IDLE)}, {"old"})

    def test_sessions_of_a_removed_origin_go_on_or_end_as_their_pool_says(self):
        self.start()
        other = self.own(EchoOrigin())
        everyone = MOVING + IDLE
        self.settings["pools"][0]["origins"] = [{"address": other.address}]
        self.change()
        plan = self.ctl("reload", "--dry-run")
        self.assertIn(f"origin {self.origin.address} of pool main: {everyone} sessions go on until they end", plan.stdout)
        self.assertEqual(self.ctl("reload").code, 0)
        self.wait_for_bytes()
        self.settings["pools"][0]["close_removed_after"] = "1s"
        self.change()
        self.assertEqual(self.ctl("reload").code, 0)
        self.edge_.wait_event("session_closed", count=everyone, reason="origin_removed")

    def test_a_removed_origin_is_known_to_a_worker_that_takes_over(self):
        self.start()
        other, everyone = self.own(EchoOrigin()), MOVING + IDLE
        self.settings["pools"][0].update(origins=[{"address": other.address}], close_removed_after="0s")
        self.settings["listeners"][0]["name"] = "renamed"  # takes a hand-over
        self.change()
        plan = self.ctl("reload", "--dry-run")
        self.assertIn(f"origin {self.origin.address} of pool main: {everyone} sessions are closed at once", plan.stdout)
        self.assertEqual(self.ctl("reload").code, 0)
        self.edge_.wait_event("session_closed", count=everyone, reason="origin_removed")

    def test_a_reload_that_cannot_open_a_listener_is_refused_and_changes_nothing(self):
        self.start()
        taken, worker = self.listener(), self.edge_.worker
        self.change(listeners=[*self.settings["listeners"], {"address": taken.address}])
        done = self.ctl("reload")
        self.assertEqual(done.code, 1)
        self.assertIn("Address already in use", done.stderr)
        self.assertEqual(self.edge_.worker, worker)
        pathlib.Path(self.path).write_text("listeners: 7\n")
        done = self.ctl("reload")
        self.assertEqual(done.code, 1)
        self.assertRegex(done.stderr, r"edge.yaml:1:\d+")
        self.wait_for_bytes()
        self.check_whole()

    def test_a_worker_that_dies_over_a_broken_file_is_followed_by_one_with_the_settings_in_force(self):
        self.start()
        good = pathlib.Path(self.path).read_text()
        pathlib.Path(self.path).write_text("listeners: 7\n")
        os.kill(self.edge_.worker, signal.SIGKILL)
        self.edge_.wait_event("settings_kept")
        self.wait_for_bytes()
        self.assertIn("edge.yaml:1:", self.ctl("reload").stderr)
        pathlib.Path(self.path).write_text(good)
        done = self.ctl("reload")
        self.assertEqual((done.code, done.stdout), (0, "nothing changes\n"))
        os.kill(self.edge_.worker, signal.SIGKILL)
        self.edge_.wait_event("taken_over", count=2)
        self.wait_for_bytes()
        self.assertEqual(len(self.edge_.events("settings_kept")), 1)
        self.check_whole()
        self.edge_.noise.clear()  # what the worker said that could not read the file

    def test_a_drain_closes_what_is_left_evenly_also_when_the_worker_dies(self):
        self.start()
        done = self.ctl("drain", "--for", f"{patience(8):.0f}s", "--spread", f"{patience(2):.0f}s")
        self.assertEqual((done.code, done.stderr), (0, ""))
        wait_until(lambda: not is_listening(self.port), "the port to be free")
        self.assertEqual(self.edge_.admin.get("/readyz")[0], 503)
        os.kill(self.edge_.worker, signal.SIGKILL)
        self.assertEqual(self.edge_.process.wait(patience()), 0)
        ended = self.edge_.wait_event("session_closed", count=MOVING + IDLE, reason="drained")
        self.assertGreater(max(each["duration_ms"] for each in ended) - min(each["duration_ms"] for each in ended), 500)

    def test_a_term_after_a_drain_ends_nothing_early_and_a_second_one_does(self):
        self.start()
        self.assertEqual(self.ctl("drain", "--for", "10m").code, 0)
        self.edge_.process.send_signal(signal.SIGTERM)
        self.wait_for_bytes()
        self.assertEqual(self.edge_.events("session_closed"), [])
        self.edge_.process.send_signal(signal.SIGTERM)
        self.assertEqual(self.edge_.process.wait(patience()), 0)
        self.edge_.wait_event("session_closed", count=MOVING + IDLE, reason="shutdown")

    def test_a_drain_goes_on_when_the_keeper_is_killed(self):
        self.start()
        worker = self.edge_.worker
        self.assertEqual(self.ctl("drain", "--for", "5s", "--spread", "1s").code, 0)
        self.edge_.process.send_signal(signal.SIGKILL)
        self.addCleanup(end_tree, worker)
        self.edge_.wait_event("session_closed", count=MOVING + IDLE, reason="drained")
        wait_until(lambda: not os.path.exists(f"/proc/{worker}"), "the new keeper to end with the drain")
        self._daemons.remove(self.edge_)
        self.edge_.kill()

    def test_waiting_for_the_end_of_a_drain_returns_with_it(self):
        self.start()
        done = self.ctl("drain", "--for", "2s", "--spread", "1s", "--wait")
        self.assertEqual(done.code, 0)
        self.assertRegex(done.stdout, f"(?s){MOVING + IDLE} sessions left.*over")
        self.assertEqual(self.edge_.process.wait(patience()), 0)

    def test_one_session_is_killed_by_its_id(self):
        self.start()
        session = self.edge_.admin.json("/sessions")["sessions"][0]["id"]
        self.assertEqual(self.ctl("kill", session).code, 0)
        self.assertEqual(self.edge_.wait_event("session_closed")["reason"], "killed")
        self.assertEqual(self.ctl("kill", session).code, 1)

    def test_who_asks_no_daemon_is_told_so(self):
        done = run_to_end([program("ravelinctl"), "--admin", f"unix:{self.folder}/nobody", "sessions"])
        self.assertEqual(done.code, 69)
        self.assertEqual(run_to_end([program("ravelinctl"), "dance"]).code, 2)
