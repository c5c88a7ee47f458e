"""The client of a daemon's admin socket: HTTP over a Unix socket, and the metrics text as numbers."""

import http.client
import json
import re
import socket
import urllib.parse

from .waiting import patience

_SAMPLE = re.compile(r"^([a-zA-Z_:][a-zA-Z0-9_:]*)(\{[^}]*\})? (\S+)")
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=patience())
        self._path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


class Admin:
    def __init__(self, path):
        self.path = path

    def get(self, target):
        """(status, body as text)"""
        connection = _UnixConnection(self.path)
        try:
            connection.request("GET", target)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def json(self, target):
        status, body = self.get(target)
        if status != 200:
            raise AssertionError(f"GET {target}: {status} {body}")
        return json.loads(body)

    def peer(self, inner):
        """The gateway's answer for the peer of an inner connection, or None where it knows none."""
        status, body = self.get("/peer?inner=" + urllib.parse.quote(inner, safe=":[]"))
        if status == 404:
            return None
        if status != 200:
            raise AssertionError(f"lookup of {inner}: {status} {body}")
        return json.loads(body)

    def samples(self):
        """[(name, {label: value}, number)] of /metrics"""
        status, body = self.get("/metrics")
        if status != 200:
            raise AssertionError(f"GET /metrics: {status} {body}")
        found = []
        for line in body.splitlines():
            sample = _SAMPLE.match(line)
            if sample:
                labels = dict(_LABEL.findall(sample.group(2) or ""))
                found.append((sample.group(1), labels, float(sample.group(3))))
        return found

    def metric(self, name, **labels):
        """The sum of all samples of this name that carry these labels; 0 where there is none."""
        return sum(
            value
            for found, having, value in self.samples()
            if found == name and all(having.get(key) == wanted for key, wanted in labels.items())
        )
