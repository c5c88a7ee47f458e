"""The proxies that are compared: how each is configured and started. One class a product, one instance a variant.

What one is given, all are given: one thread, the PROXY header toward the origin (nginx knows version 1 only), no log
line for a session, long timeouts, the same CPU and, by the room's routes, the same congestion control. No option is set
to a competitor's disadvantage; `tuned` haproxy has the best bulk settings that were found for it.
"""

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

MANY_SESSIONS = 4000  # beyond this, the descriptor limit leaves a proxy little room for pipes


@dataclass
class Start:
    """How to start a candidate once: the command, and how many processes it consists of at least."""

    command: list[str]
    processes: int


def _output(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True)
    return done.stdout + done.stderr


class Direct:
    """No proxy at all: the client speaks to the origin. Shows what the generator itself can do."""

    label = "direct"
    settings = "no proxy"

    def version(self) -> str:
        return "-"

    def start(self, port: int, origin: str, sessions: int, folder: Path) -> Start | None:
        return None


class Redirector:
    def __init__(self, path: str, label: str = "redirector"):
        self.label = label
        self.settings = "defaults, `--loops 1`, warnings only in the log"
        self._path = path

    def version(self) -> str:
        lines = _output(self._path, "--version").splitlines()
        return lines[0] if lines else "unknown"

    def start(self, port: int, origin: str, sessions: int, folder: Path) -> Start:
        command = [
            self._path,
            "--listen",
            f"127.0.0.1:{port}",
            "--origin",
            origin,
            "--loops",
            "1",
            "--log-level",
            "warning",
            "--admin",
            f"unix:{folder}/admin.sock",
        ]
        return Start(command, 3)  # keeper, worker, heir


class Haproxy:
    def __init__(self, path: str, label: str, tuned: bool):
        self.label = label + ("-tuned" if tuned else "")
        self.settings = (
            "`splice-request`, `splice-response`, `tune.pipesize 1048576`"
            if tuned
            else "`splice-auto`, otherwise default"
        ) + ", `nbthread 1`"
        self._path = path
        self._tuned = tuned

    def version(self) -> str:
        found = re.search(r"version (\S+)", _output(self._path, "-v"))
        return found.group(1) if found else "unknown"

    def start(self, port: int, origin: str, sessions: int, folder: Path) -> Start:
        # Two descriptors a session and two a pipe have to fit into the limit, or haproxy refuses to start.
        room = ["maxconn 9750", "maxpipes 64"] if sessions > MANY_SESSIONS else ["maxconn 4500"]
        pipes = ["tune.pipesize 1048576"] if self._tuned else []
        options = ["option splice-request", "option splice-response"] if self._tuned else ["option splice-auto"]
        config = folder / "haproxy.cfg"
        config.write_text(
            "\n".join(
                [
                    "global",
                    *indented(room + pipes + ["nbthread 1"]),
                    "defaults",
                    *indented(["mode tcp", "timeout connect 5s", "timeout client 1h", "timeout server 1h", *options]),
                    "listen edge",
                    *indented([f"bind 127.0.0.1:{port}", f"server origin {origin} send-proxy-v2"]),
                ]
            )
            + "\n"
        )
        return Start([self._path, "-db", "-q", "-f", str(config)], 1)


class Nginx:
    def __init__(self, path: str, label: str):
        self.label = label
        self.settings = "`worker_processes 1`, `proxy_half_close on`, `proxy_buffer_size 64k`, PROXY version 1"
        self._path = path
        self._build = _output(path, "-V")

    def version(self) -> str:
        found = re.search(r"nginx/(\S+)", self._build)
        return found.group(1) if found else "unknown"

    def start(self, port: int, origin: str, sessions: int, folder: Path) -> Start:
        config = folder / "nginx.conf"
        config.write_text(
            "\n".join(
                [
                    *self._module(),
                    "user root;",
                    "daemon off;",
                    "worker_processes 1;",
                    "worker_rlimit_nofile 20000;",
                    f"pid {folder}/nginx.pid;",
                    "error_log stderr crit;",
                    "events { worker_connections 19990; }",
                    "stream { server {",
                    *indented(
                        [
                            f"listen 127.0.0.1:{port} backlog=4096;",
                            f"proxy_pass {origin};",
                            "proxy_protocol on;",
                            "proxy_half_close on;",
                            "proxy_buffer_size 64k;",
                            "proxy_timeout 1h;",
                        ]
                    ),
                    "} }",
                ]
            )
            + "\n"
        )
        return Start([self._path, "-p", str(folder), "-c", str(config), "-e", "stderr"], 2)  # master and worker

    def _module(self) -> list[str]:
        if "--with-stream=dynamic" not in self._build:
            return []
        where = re.search(r"--modules-path=(\S+)", self._build)
        return [f"load_module {where.group(1)}/ngx_stream_module.so;"] if where else []


def indented(lines: list[str]) -> list[str]:
    return ["    " + line for line in lines]


def named_path(text: str) -> tuple[str | None, str]:
    """`LABEL=PATH` or `PATH`."""
    label, equals, path = text.partition("=")
    return (label, path) if equals else (None, text)


def find(redirector: str, haproxies: list[str], nginxes: list[str]) -> tuple[list, list[str]]:
    """All candidates that are there, and a sentence for each that is not."""
    found: list = []
    missing: list[str] = []
    if Path(redirector).exists():
        found.append(Redirector(redirector))
    else:
        missing.append("redirector is not built")
    for given in haproxies:
        label, path = named_path(given)
        label = label or "haproxy-" + Haproxy(path, "", False).version().split("-")[0]
        found += [Haproxy(path, label, False), Haproxy(path, label, True)]
    system = shutil.which("haproxy")
    if system:
        found += [Haproxy(system, "haproxy", False), Haproxy(system, "haproxy", True)]
    else:
        missing.append("haproxy is not installed (apt-get install haproxy)")
    for given in nginxes:
        label, path = named_path(given)
        found.append(Nginx(path, label or "nginx-" + Nginx(path, "").version()))
    system = shutil.which("nginx")
    if system:
        found.append(Nginx(system, "nginx"))
    else:
        missing.append("nginx is not installed (apt-get install nginx libnginx-mod-stream)")
    return found + [Direct()], missing
