"""A TLS ClientHello as OpenSSL writes it, without a connection."""

import ssl


def client_hello(name="origin.test"):
    sent = ssl.MemoryBIO()
    client = ssl.create_default_context().wrap_bio(ssl.MemoryBIO(), sent, server_hostname=name)
    try:
        client.do_handshake()
    except ssl.SSLWantReadError:
        return sent.read()
    raise AssertionError("a handshake without a server")
