"""An HTTPS origin with mutual TLS: GET / names the client's certificate, GET /bytes/N sends N bytes, PUT takes bytes.

Answers are JSON: the certificate's subject and SHA-256 as the origin saw them, its peer, and for a PUT the body's
SHA-256.
"""

import hashlib
import http.server
import json
import threading

from .certificates import server_context

BLOCK = hashlib.sha512(b"ravelin").digest() * 1024  # 64 KiB


class _Answer(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 120

    def _session(self):
        der = self.connection.getpeercert(binary_form=True)
        subject = dict(pair[0] for pair in self.connection.getpeercert()["subject"])
        return {
            "client": subject["commonName"],
            "fingerprint": hashlib.sha256(der).hexdigest(),
            "inner": "%s:%d" % self.client_address[:2],
        }

    def _send_json(self, answer):
        body = json.dumps(answer).encode() + b"\n"
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        if not self.path.startswith("/bytes/"):
            self._send_json(self._session() | self.server.more(self))
            return
        left = int(self.path.rsplit("/", 1)[1])
        self.send_response(200)
        self.send_header("Content-Length", str(left))
        self.end_headers()
        while left:
            part = BLOCK[: min(left, len(BLOCK))]
            self.wfile.write(part)
            left -= len(part)

    def do_PUT(self):
        left, digest = int(self.headers["Content-Length"]), hashlib.sha256()
        while left:
            part = self.rfile.read(min(left, 1 << 18))
            if not part:
                return
            digest.update(part)
            left -= len(part)
        self._send_json(self._session() | {"sha256": digest.hexdigest()})

    def log_message(self, *_):
        pass


class TlsOrigin(http.server.ThreadingHTTPServer):
    """more(handler) may add fields to the answer of GET /."""

    daemon_threads = False
    request_queue_size = 128

    def __init__(self, more=lambda handler: {}):
        super().__init__(("127.0.0.1", 0), _Answer)
        self.more = more
        self.context = server_context()
        self.thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self.thread.start()

    @property
    def address(self):
        return "127.0.0.1:%d" % self.server_address[1]

    def finish_request(self, request, client_address):
        with self.context.wrap_socket(request, server_side=True) as secured:  # in the connection's own thread
            super().finish_request(secured, client_address)
            secured.unwrap()  # close_notify, without which a client must take the end for a truncation (RFC 8446, 6.1)

    def handle_error(self, request, client_address):
        pass  # a broken connection shows at the client, where the test looks

    def close(self):
        self.shutdown()
        self.server_close()


def sha256_of_bytes(count):
    digest, left = hashlib.sha256(), count
    while left:
        digest.update(BLOCK[: min(left, len(BLOCK))])
        left -= min(left, len(BLOCK))
    return digest.hexdigest()
