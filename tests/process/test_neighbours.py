"""haproxy and nginx agree with us: they read what the redirector sends and write what the gateway reads."""

from ravelin import neighbours, wire
from ravelin.case import ProcessTest
from ravelin.waiting import wait_until


class Neighbours(ProcessTest):
    def session(self, entry, source):
        """One echoed session from a source address; returns the client's "address:port"."""
        client = self.connect(entry, source=(source, 0))
        client.send(b"over to you")
        self.assertEqual(client.read(11), b"over to you")
        name = "%s:%d" % client.local
        client.finish()
        self.assertTrue(client.at_end())
        client.close()
        return name

    def test_haproxy_reads_the_redirectors_header(self):
        origin = self.server(wire.echo)
        haproxy = self.own(neighbours.haproxy(self.folder, "accept-proxy", origin.address))
        edge = self.edge(haproxy.address)
        client = self.session(edge, "127.0.0.5")
        wait_until(
            lambda: f"from {client}" in haproxy.log_text(), lambda: f"{client} in haproxy's log: {haproxy.log_text()}"
        )

    def test_nginx_reads_the_redirectors_header(self):
        origin = self.server(wire.echo)
        nginx = self.own(neighbours.nginx(self.folder, "proxy_protocol", origin.address, False))
        edge = self.edge(nginx.address)
        client = self.session(edge, "127.0.0.6")
        wait_until(
            lambda: f"from {client}" in nginx.access_text(), lambda: f"{client} in nginx's log: {nginx.access_text()}"
        )

    def test_the_gateway_reads_what_haproxy_sends(self):
        origin = self.server(wire.echo)
        gateway = self.gateway(origin.address)
        headers = {
            "version 1": "send-proxy",
            "version 2": "send-proxy-v2",
            "version 2 with a checksum": "send-proxy-v2 proxy-v2-options crc32c",
            "version 2 with all that haproxy knows": "send-proxy-v2 "
            "proxy-v2-options unique-id,crc32c,ssl,cert-cn,cert-sig,cert-key,ssl-cipher,authority",
        }
        for number, (name, options) in enumerate(headers.items(), 1):
            with self.subTest(name):
                haproxy = self.own(neighbours.haproxy(self.folder, "", f"{gateway.address} {options}"))
                client = self.session(haproxy, f"127.0.0.{10 + number}")
                closed = gateway.wait_event("session_closed", claimed=client)
                self.assertTrue(closed["measured"].startswith("127.0.0.1:"), closed)
                self.assertIs(closed["claim_trusted"], True)

    def test_the_gateway_shows_the_unique_id_that_haproxy_sent(self):
        origin = self.server(wire.echo)
        gateway = self.gateway(origin.address)
        haproxy = self.own(
            neighbours.haproxy(
                self.folder,
                "\n    unique-id-format haproxy-says-%cp",
                f"{gateway.address} send-proxy-v2 proxy-v2-options unique-id",
            )
        )
        client = self.session(haproxy, "127.0.0.20")
        closed = gateway.wait_event("session_closed", claimed=client)
        self.assertEqual(closed["edge_session"], "haproxy-says-" + client.rpartition(":")[2])

    def test_the_gateway_reads_what_nginx_sends(self):
        origin = self.server(wire.echo)
        gateway = self.gateway(origin.address)
        nginx = self.own(neighbours.nginx(self.folder, "", gateway.address, True))
        client = self.session(nginx, "127.0.0.30")
        self.assertIs(gateway.wait_event("session_closed", claimed=client)["claim_trusted"], True)

    def test_haproxys_health_check_passes_and_writes_no_line(self):
        origin = self.server(wire.echo)
        gateway = self.gateway(origin.address)
        haproxy = self.own(
            neighbours.haproxy(self.folder, "", f"{gateway.address} send-proxy-v2 check inter 20ms rise 1 fall 1")
        )
        accepted = "gateway_sessions_accepted_total"
        wait_until(lambda: gateway.admin.metric(accepted) >= 10, "ten health checks")
        self.session(haproxy, "127.0.0.31")
        self.assertEqual(len(gateway.closed_sessions(1)), 1)
        self.assertNotIn("DOWN", haproxy.log_text())
