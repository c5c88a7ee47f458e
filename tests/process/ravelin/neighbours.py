"""Other people's PROXY protocol: Debian's haproxy and nginx, run in the foreground from a test's folder."""

import os
import pathlib
import shutil
import subprocess

from .daemon import is_listening
from .ports import free_port
from .waiting import patience, wait_until


class Neighbour:
    """A foreign server; owned by the test, ended with SIGTERM or, where it drains, with SIGKILL."""

    def __init__(self, arguments, port, log):
        self.port = port
        self.address = f"127.0.0.1:{port}"
        self._log = log
        with open(log, "wb") as output:
            self.process = subprocess.Popen(arguments, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
        wait_until(self._is_up, lambda: f"{arguments[0]} to listen:\n{self.log_text()}")

    def _is_up(self):
        assert self.process.poll() is None, f"{self.process.args} ended:\n{self.log_text()}"
        return is_listening(self.port)

    def log_text(self):
        return pathlib.Path(self._log).read_text(errors="replace")

    def access_text(self):
        """nginx's log of finished connections: the client's address and port as nginx knows them."""
        return pathlib.Path(self._log).with_name("access.log").read_text()

    def close(self):
        self.process.terminate()
        try:
            self.process.wait(patience(5))
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def haproxy(folder, frontend, server):
    """haproxy from one port to one server: `frontend` follows the bind address, `server` is `HOST:PORT OPTIONS`.

    Its log lines (one a connection: client address and port as haproxy knows them) go to standard output.
    """
    port = free_port()
    config = pathlib.Path(folder) / f"haproxy-{port}.cfg"
    config.write_text(
        f"""global
    maxconn 256
    log stdout format raw local0
defaults
    mode tcp
    log global
    log-format "from %ci:%cp"
    timeout connect 5s
    timeout client 30s
    timeout server 30s
listen test
    bind 127.0.0.1:{port} {frontend}
    server origin {server}
"""
    )
    return Neighbour([shutil.which("haproxy") or "/usr/sbin/haproxy", "-db", "-f", str(config)], port, f"{config}.log")


def nginx(folder, listen, server, proxy_protocol):
    """nginx's stream module from one port to one server; `listen` follows the port, proxy_protocol sends v1."""
    port = free_port()
    base = pathlib.Path(folder) / f"nginx-{port}"
    base.mkdir()
    module = "/usr/lib/nginx/modules/ngx_stream_module.so"
    (base / "nginx.conf").write_text(
        f"""{f"load_module {module};" if os.path.exists(module) else ""}
daemon off;
master_process off;
pid {base}/pid;
error_log stderr notice;
events {{ worker_connections 256; }}
stream {{
    log_format peer 'from $proxy_protocol_addr:$proxy_protocol_port';
    access_log {base}/access.log peer;
    server {{
        listen 127.0.0.1:{port} {listen};
        proxy_pass {server};
        proxy_protocol {"on" if proxy_protocol else "off"};
    }}
}}
"""
    )
    program = shutil.which("nginx") or "/usr/sbin/nginx"
    return Neighbour([program, "-p", str(base), "-e", "stderr", "-c", "nginx.conf"], port, str(base / "log"))
