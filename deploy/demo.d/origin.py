"""The demo's origin: an HTTPS server that asks every client for a certificate and says whom it sees.

origin.py PORT SERVER_CERT SERVER_KEY CA: it knows nothing of edges, headers or gateways.
"""

import http.server
import ssl
import sys

port, certificate, key, authority = sys.argv[1:]


class Hello(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        subject = dict(pair[0] for pair in self.connection.getpeercert()["subject"])
        body = f"hello {subject['commonName']}, your connection comes from {self.client_address[0]}\n".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Origin(http.server.ThreadingHTTPServer):
    def finish_request(self, request, client_address):
        with context.wrap_socket(request, server_side=True) as secured:
            super().finish_request(secured, client_address)
            secured.unwrap()  # close_notify: the end is no truncation

    def handle_error(self, request, client_address):
        print(f"origin refused {client_address[0]}: {sys.exc_info()[1]}", file=sys.stderr)


context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(certificate, key)
context.load_verify_locations(authority)
context.verify_mode = ssl.CERT_REQUIRED
Origin(("127.0.0.1", int(port)), Hello).serve_forever()
