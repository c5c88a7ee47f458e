"""Throwaway certificates, made by the openssl command once per test process: one authority, a server, a client.

The server's certificate is for `origin.test` and for 127.0.0.1 and ::1; the client's subject is `agent.test`.
"""

import collections
import functools
import hashlib
import pathlib
import shutil
import ssl
import subprocess
import tempfile
import atexit

Certificates = collections.namedtuple(
    "Certificates", "ca server_cert server_key client_cert client_key client_fingerprint"
)


def _openssl(*arguments):
    subprocess.run(["openssl", *arguments], check=True, stdin=subprocess.DEVNULL, capture_output=True)


def _issue(folder, name, extensions):
    key, request, cert = (str(folder / f"{name}.{kind}") for kind in ("key", "csr", "pem"))
    (folder / f"{name}.ext").write_text(extensions)
    _openssl(
        "req",
        "-new",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:P-256",
        "-nodes",
        "-subj",
        f"/CN={name}",
        "-keyout",
        key,
        "-out",
        request,
    )
    _openssl(
        "x509",
        "-req",
        "-in",
        request,
        "-CA",
        str(folder / "ca.pem"),
        "-CAkey",
        str(folder / "ca.key"),
        "-CAcreateserial",
        "-days",
        "2",
        "-extfile",
        str(folder / f"{name}.ext"),
        "-out",
        cert,
    )
    return cert, key


@functools.cache
def certificates():
    folder = pathlib.Path(tempfile.mkdtemp(prefix="ravelin-certificates-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    ca = str(folder / "ca.pem")
    _openssl(
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:P-256",
        "-nodes",
        "-days",
        "2",
        "-subj",
        "/CN=Ravelin test authority",
        "-keyout",
        str(folder / "ca.key"),
        "-out",
        ca,
    )
    server = _issue(folder, "origin.test", "subjectAltName=DNS:origin.test,IP:127.0.0.1,IP:::1\n")
    client = _issue(folder, "agent.test", "subjectAltName=DNS:agent.test\n")
    der = ssl.PEM_cert_to_DER_cert(pathlib.Path(client[0]).read_text())
    return Certificates(ca, *server, *client, hashlib.sha256(der).hexdigest())


def server_context():
    """TLS that demands a client certificate of our authority."""
    made = certificates()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(made.server_cert, made.server_key)
    context.load_verify_locations(made.ca)
    context.verify_mode = ssl.CERT_REQUIRED
    return context


def client_context():
    made = certificates()
    context = ssl.create_default_context(cafile=made.ca)
    context.load_cert_chain(made.client_cert, made.client_key)
    return context
