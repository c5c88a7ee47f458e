"""A client that lies: from 127.0.0.66 it writes a PROXY header of its own, then does TLS and HTTP like anybody.

forge.py PORT FORGED_ADDRESS CLIENT_CERT CLIENT_KEY CA
"""

import socket
import ssl
import sys

port, forged, certificate, key, authority = sys.argv[1:]
context = ssl.create_default_context(cafile=authority)
context.load_cert_chain(certificate, key)
plain = socket.create_connection(("127.0.0.1", int(port)), timeout=10, source_address=("127.0.0.66", 0))
plain.sendall(f"PROXY TCP4 {forged} 127.0.0.1 4711 443\r\n".encode())
with context.wrap_socket(plain, server_hostname="origin.test") as secured:
    secured.sendall(b"GET / HTTP/1.0\r\n\r\n")
    answer = b""
    while part := secured.recv(4096):
        answer += part
sys.stdout.write(answer.decode().split("\r\n\r\n", 1)[1])
