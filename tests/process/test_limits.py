"""Limits: what is one too many is refused as configured, counted under the limit's name, and logged."""

import json
import os
import signal

from ravelin import build, wire
from ravelin.case import ProcessTest
from ravelin.daemon import run_to_end
from ravelin.ports import free_port
from ravelin.settings import edge_settings, gateway_settings
from ravelin.waiting import wait_until


class LimitsTest(ProcessTest):
    def edge_with(self, limits=None, origins=None, pool=None, **more):
        origins = origins or [self.server(wire.echo).address]
        port = free_port()
        listener = {"limits": limits or {}, "proxy_header": False}
        settings = edge_settings(port, origins, listener=listener, pool=pool, **more)
        return self.configured("redirector", settings, [port])

    def served(self, to, **options):
        client = self.connect(to, **options)
        client.send(b"hello")
        self.assertEqual(client.read(5), b"hello")
        return client

    def check_paused(self, edge, limit):
        metric = "redirector_limit_reached_total"
        wait_until(lambda: edge.admin.metric(metric, limit=limit) >= 1, f"accepting to pause at {limit}")

    def check_refused(self, daemon, limit, action, count=1):
        name = f"{daemon.program.rsplit('/')[-1]}_limit_reached_total"
        wait_until(lambda: daemon.admin.metric(name, limit=limit) == count, f"{count} refused at {limit}")
        self.assertEqual(daemon.wait_event("limit_reached", limit=limit)["action"], action)

    def test_a_full_listener_resets_and_serves_again_when_a_session_has_ended(self):
        edge = self.edge_with({"sessions": {"most": 2}})
        first = self.served(edge)
        self.served(edge)
        self.assertTrue(self.is_refused(edge))
        self.check_refused(edge, "listener_sessions", "reset")
        first.close()
        edge.closed_sessions(1)
        self.served(edge)

    def test_a_full_listener_closes_where_it_is_told_to(self):
        edge = self.edge_with({"sessions": {"most": 1, "action": "close"}})
        self.served(edge)
        self.assertTrue(self.connect(edge).at_end())
        self.check_refused(edge, "listener_sessions", "close")

    def test_a_full_listener_leaves_connections_in_the_backlog_until_a_session_ends(self):
        edge = self.edge_with({"sessions": {"most": 1, "action": "leave_in_backlog"}})
        first = self.served(edge)
        waiting = self.connect(edge)
        waiting.send(b"hello")
        self.check_paused(edge, "listener_sessions")
        self.assertEqual(edge.admin.metric("redirector_sessions"), 1)
        first.close()
        self.assertEqual(waiting.read(5), b"hello")

    def test_a_rate_that_leaves_connections_in_the_backlog_lets_in_all_of_them(self):
        limits = {"rate": {"per_second": 20, "burst": 1, "action": "leave_in_backlog"}}
        edge = self.edge_with(limits)
        clients = [self.connect(edge) for _ in range(6)]
        for client in clients:
            client.send(b"hello")
        for client in clients:
            self.assertEqual(client.read(5), b"hello")
        self.check_paused(edge, "listener_rate")

    def test_a_source_at_its_rate_is_reset(self):
        edge = self.edge_with({"source": {"rate": {"per_second": 1, "burst": 2}}})
        self.served(edge)
        self.served(edge)
        wait_until(lambda: self.is_refused(edge), "a refusal")  # a second may have gone by
        self.check_refused(edge, "source_rate", "reset")
        self.served(edge, source=("127.0.0.9", 0))

    def test_one_source_at_its_limit_does_not_keep_another_one_out(self):
        edge = self.edge_with({"source": {"sessions": {"most": 1}}})
        self.served(edge)
        self.assertTrue(self.is_refused(edge))
        self.served(edge, source=("127.0.0.9", 0))
        self.check_refused(edge, "source_sessions", "reset")

    def test_sessions_of_a_source_count_on_when_their_worker_has_been_killed(self):
        edge = self.edge_with({"source": {"sessions": {"most": 1}}})
        kept = self.served(edge)
        before = edge.worker
        os.kill(before, signal.SIGKILL)
        wait_until(lambda: edge.events("taken_over"), "the next worker")
        kept.send(b"still")
        self.assertEqual(kept.read(5), b"still")
        self.assertTrue(self.is_refused(edge))
        kept.close()
        edge.closed_sessions(1)
        self.served(edge)

    def test_max_sessions_of_the_process_resets_where_it_is_told_to(self):
        edge = self.edge_with(max_sessions=1, at_max_sessions="reset")
        self.served(edge)
        self.assertTrue(self.is_refused(edge))
        self.check_refused(edge, "max_sessions", "reset")

    def test_a_full_origin_sends_sessions_to_the_next_one_and_then_away(self):
        first, second = self.server(wire.echo), self.server(wire.echo)
        origins = [{"address": each.address, "max_sessions": 1} for each in (first, second)]
        edge = self.edge_with(origins=["unused"], pool={"origins": origins, "balancing": "first_available"})
        self.served(edge)
        self.served(edge)
        self.assertEqual((len(first.accepted), len(second.accepted)), (1, 1))
        third = self.connect(edge)
        third.send(b"hello")
        self.assertTrue(third.is_reset())
        self.assertEqual(edge.admin.metric("redirector_limit_reached_total", limit="origin_sessions"), 1)
        edge.wait_event("session_closed", reason="origin_sessions")

    def test_a_session_that_finds_the_rest_full_after_a_failed_attempt_counts_as_refused(self):
        dead, live = f"127.0.0.1:{free_port()}", self.server(wire.echo).address
        origins = [{"address": dead}, {"address": live, "max_sessions": 1}]
        edge = self.edge_with(origins=["unused"], pool={"origins": origins, "balancing": "first_available"})
        self.served(edge)
        second = self.connect(edge)
        second.send(b"hello")
        self.assertTrue(second.is_reset())
        edge.wait_event("session_closed", reason="origin_sessions")
        self.assertEqual(edge.admin.metric("redirector_limit_reached_total", limit="origin_sessions"), 1)

    def test_a_full_listener_goes_on_refusing_when_its_rate_has_held_it(self):
        rate = {"per_second": 20, "burst": 1, "action": "leave_in_backlog"}
        edge = self.edge_with({"sessions": {"most": 1}, "rate": rate})
        self.served(edge)
        self.assertTrue(self.is_refused(edge))
        self.check_refused(edge, "listener_sessions", "reset")

    def test_a_gateway_limits_by_the_measured_peer(self):
        origin = self.server(wire.echo)
        port = free_port()
        limits = {"limits": {"source": {"sessions": {"most": 1}}}}
        gateway = self.configured("gateway", gateway_settings(port, origin.address, listener=limits), [port])
        self.served(gateway)
        self.assertTrue(self.is_refused(gateway))
        self.check_refused(gateway, "source_sessions", "reset")

    def test_one_source_cannot_be_left_in_the_backlog(self):
        listener = {"limits": {"source": {"sessions": {"most": 1, "action": "leave_in_backlog"}}}}
        self.check_not_allowed(edge_settings(free_port(), ["127.0.0.1:1"], listener=listener), "one source")

    def test_a_session_for_a_full_origin_cannot_be_left_in_the_backlog(self):
        pool = {"at_max_sessions": "leave_in_backlog"}
        self.check_not_allowed(edge_settings(free_port(), ["127.0.0.1:1"], pool=pool), "too late")

    def check_not_allowed(self, settings, why):
        path = self.write("edge.yaml", json.dumps(settings))
        ended = run_to_end([build.program("redirector"), "--config", path, "--check"])
        self.assertEqual(ended.code, 78)
        self.assertRegex(ended.stderr, why)
