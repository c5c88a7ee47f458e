"""The main job: ordinary TLS clients with certificates, through an edge and a gateway, to an ordinary TLS server."""

import hashlib
import json
import os
import subprocess

from ravelin import build
from ravelin.case import ProcessTest
from ravelin.certificates import certificates
from ravelin.ports import free_port
from ravelin.daemon import is_listening
from ravelin.tls_origin import TlsOrigin, sha256_of_bytes
from ravelin.waiting import patience, wait_until

TWO_HUNDRED_MEGABYTES = 200 * 1000 * 1000


class Sessions(ProcessTest):
    def chain(self, origin):
        """(edge, gateway) in front of an origin address"""
        gateway = self.gateway(origin)
        return self.edge(gateway.address, "--edge-name", "edge-under-test"), gateway

    def run_client(self, *arguments, stdin=subprocess.DEVNULL, seconds=300, **options):
        done = subprocess.run(arguments, stdin=stdin, capture_output=True, timeout=patience(seconds), **options)
        self.assertEqual(done.returncode, 0, f"{arguments}: {done.stderr.decode(errors='replace')}")
        return done.stdout


class TlsSessions(Sessions):
    def curl(self, edge, target, *arguments):
        made = certificates()
        tls = ["--cacert", made.ca, "--cert", made.client_cert, "--key", made.client_key]
        return self.run_client("curl", "-sS", *tls, *arguments, f"https://127.0.0.1:{edge.port}{target}")

    def test_curl_with_a_client_certificate_reaches_the_origin_which_sees_that_certificate(self):
        origin = self.own(TlsOrigin())
        edge, gateway = self.chain(origin.address)
        out = self.curl(edge, "/", "--interface", "127.0.0.2", "-w", "%{local_ip}:%{local_port}")
        answer, client = out.decode().strip().split("\n")
        answer = json.loads(answer)
        self.assertEqual(answer["client"], "agent.test")
        self.assertEqual(answer["fingerprint"], certificates().client_fingerprint)

        at_edge = edge.wait_event("session_closed")
        at_gateway = gateway.wait_event("session_closed")
        self.assertEqual(at_edge["client"], client)
        self.assertEqual(at_gateway["claimed"], client)
        self.assertTrue(at_gateway["measured"].startswith("127.0.0.1:"), at_gateway)
        self.assertIs(at_gateway["claim_trusted"], True)
        self.assertEqual(at_gateway["edge"], "edge-under-test")
        self.assertEqual(at_gateway["edge_session"], at_edge["id"])
        self.assertEqual(at_gateway["inner"], answer["inner"])

    def test_openssl_s_client_with_a_client_certificate_gets_its_answer(self):
        origin = self.own(TlsOrigin())
        edge, _ = self.chain(origin.address)
        made = certificates()
        request = self.write("request", "GET / HTTP/1.0\r\n\r\n")
        with open(request, "rb") as stdin:
            out = self.run_client(
                "openssl",
                "s_client",
                "-quiet",
                "-verify_return_error",
                "-servername",
                "origin.test",
                "-CAfile",
                made.ca,
                "-cert",
                made.client_cert,
                "-key",
                made.client_key,
                "-connect",
                f"127.0.0.1:{edge.port}",
                stdin=stdin,
            )
        self.assertEqual(json.loads(out.decode().split("\r\n\r\n", 1)[1])["fingerprint"], made.client_fingerprint)

    def test_a_client_without_a_certificate_is_refused_by_the_origin_not_by_the_edge(self):
        origin = self.own(TlsOrigin())
        edge, gateway = self.chain(origin.address)
        done = subprocess.run(
            ["curl", "-sS", "--cacert", certificates().ca, f"https://127.0.0.1:{edge.port}/"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=patience(),
        )
        self.assertNotEqual(done.returncode, 0)
        for daemon in edge, gateway:
            self.assertGreater(daemon.wait_event("session_closed")["bytes_up"], 0)

    def test_200_megabytes_down_arrive_whole(self):
        origin = self.own(TlsOrigin())
        edge, gateway = self.chain(origin.address)
        got = self.curl(edge, f"/bytes/{TWO_HUNDRED_MEGABYTES}")
        self.assertEqual(len(got), TWO_HUNDRED_MEGABYTES)
        self.assertEqual(hashlib.sha256(got).hexdigest(), sha256_of_bytes(TWO_HUNDRED_MEGABYTES))
        for daemon in edge, gateway:
            self.assertGreater(daemon.wait_event("session_closed")["bytes_down"], TWO_HUNDRED_MEGABYTES)

    def test_200_megabytes_up_arrive_whole(self):
        origin = self.own(TlsOrigin())
        edge, gateway = self.chain(origin.address)
        path, digest = os.path.join(self.folder, "upload"), hashlib.sha256()
        with open(path, "wb") as upload:
            for _ in range(TWO_HUNDRED_MEGABYTES // 1_000_000):
                block = os.urandom(1_000_000)
                digest.update(block)
                upload.write(block)
        answer = json.loads(self.curl(edge, "/", "-T", path))
        self.assertEqual(answer["sha256"], digest.hexdigest())
        for daemon in edge, gateway:
            self.assertGreater(daemon.wait_event("session_closed")["bytes_up"], TWO_HUNDRED_MEGABYTES)


class GrpcSessions(Sessions):
    def grpc(self, calls, size):
        """(edge, gateway, [inner, client, peer]) after a client has made its calls"""
        made, port, gateway_port = certificates(), free_port(), free_port()
        gateway = self.daemon(
            "gateway",
            "--listen",
            f"127.0.0.1:{gateway_port}",
            "--inner",
            f"127.0.0.1:{port}",
            "--policy",
            "sniff",
            "--trusted-edge",
            "127.0.0.0/8",
            ports=[gateway_port],
        )
        server = subprocess.Popen(
            [build.peer("peer_grpc_server"), str(port), made.server_cert, made.server_key, made.ca, gateway.admin.path],
            stdin=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.own(_Ended(server))
        wait_until(lambda: is_listening(port), "the gRPC server to listen")
        edge = self.edge(gateway.address)
        out = self.run_client(
            build.peer("peer_grpc_client"),
            str(edge.port),
            made.client_cert,
            made.client_key,
            made.ca,
            str(calls),
            str(size),
        )
        return edge, gateway, out.decode().split("\n")[:3]

    def test_a_grpc_server_finds_its_real_peer_through_the_gateway(self):
        edge, gateway, (inner, client, peer) = self.grpc(calls=1, size=100)
        self.assertRegex(inner, r"^ipv4:127\.0\.0\.1:\d+$")
        self.assertEqual(client, "agent.test")
        at_edge, at_gateway = edge.wait_event("session_closed"), gateway.wait_event("session_closed")
        peer = json.loads(peer)
        self.assertEqual(peer["claimed"], at_edge["client"])
        self.assertEqual(peer["measured"], at_gateway["measured"])
        self.assertIs(peer["claim_trusted"], True)
        self.assertEqual(peer["edge_session"], at_edge["id"])

    def test_200_calls_of_a_megabyte_each_way_over_grpc_come_back_unchanged(self):
        edge, gateway, _ = self.grpc(calls=200, size=1_000_000)
        for daemon in edge, gateway:
            closed = daemon.wait_event("session_closed")
            self.assertGreater(closed["bytes_up"], TWO_HUNDRED_MEGABYTES)
            self.assertGreater(closed["bytes_down"], TWO_HUNDRED_MEGABYTES)


class _Ended:
    """A child that is told to end when the test does."""

    def __init__(self, process):
        self._process = process

    def close(self):
        self._process.terminate()
        self._process.wait(patience())
