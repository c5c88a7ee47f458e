"""The budget of log lines: what is held back is said, also when no further line of its class ever comes."""

from ravelin import header
from ravelin.case import ProcessTest
from ravelin.ports import free_port
from ravelin.waiting import wait_until

KNOCKS = 250  # the burst is 100 lines


class LogBudget(ProcessTest):
    def check_all_said(self, daemon, first_bytes):
        for _ in range(KNOCKS):
            client = self.connect(daemon)
            client.send(first_bytes)
            self.assertTrue(client.is_reset())
            client.close()

        def said():
            return sum(line["count"] for line in daemon.events("lines_held_back")) + len(
                daemon.events("session_closed")
            )

        wait_until(lambda: said() == KNOCKS, lambda: f"{KNOCKS} sessions in the log, which has {said()}")
        self.assertTrue(daemon.events("lines_held_back"))

    def test_an_edge_without_an_origin_accounts_for_every_session(self):
        self.check_all_said(self.edge(f"127.0.0.1:{free_port()}", "--loops", "1"), b"hello")

    def test_a_gateway_that_is_scanned_accounts_for_every_session(self):
        origin = self.listener()
        self.check_all_said(self.gateway(origin.address, "--loops", "1"), header.SIGNATURE + b"\x31\x11\0\0")
