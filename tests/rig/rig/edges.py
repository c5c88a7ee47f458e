"""The proxies that tests/rig/outlive looks at: how each is started and upgraded, and which of its processes has the sessions."""

import json
import os
import pathlib
import re
import signal
import subprocess

from ravelin.build import program
from ravelin.daemon import is_listening, process_tree
from ravelin.isolation import as_nobody
from ravelin.ports import free_port
from ravelin.settings import edge_settings
from ravelin.waiting import wait_until


class Edge:
    """Owns the processes. `header`: whether it puts a PROXY v2 header in front."""

    header = True
    upgrade_signal = signal.SIGUSR2

    def __init__(self, origin, folder, user):
        self.port = free_port()
        self.folder = pathlib.Path(folder)
        self.log_path = self.folder / "log"
        command = self.command(origin)
        if user == "nobody":
            os.chmod(folder, 0o777)
            command = as_nobody(command)
        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=log)
        wait_until(lambda: is_listening(self.port), "the edge to listen")

    def command(self, origin):
        raise NotImplementedError

    @property
    def main(self):
        return self.process.pid

    @property
    def worker(self):
        """The process that takes new sessions."""
        return process_tree(self.main)[-1]

    def mark(self):
        """What is another thing once the next worker serves."""
        return self.worker

    def is_gone(self):
        return self.process.poll() is not None

    def strike(self, event):
        """An upgrade or a kill; returns when the next worker serves, or nobody will."""
        before = self.mark()
        if event == "upgrade":
            os.kill(self.main, self.upgrade_signal)
        else:
            os.kill(self.worker, signal.SIGKILL)
        wait_until(lambda: self.is_gone() or (self.mark() != before and is_listening(self.port)), f"{event} to be over")

    def census(self):
        """Of each process: descriptors and memory."""
        found = []
        for pid in process_tree(self.main):
            status = pathlib.Path(f"/proc/{pid}/status").read_text()
            resident = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS:"))
            found.append({"descriptors": len(os.listdir(f"/proc/{pid}/fd")), "resident_kib": resident})
        return found

    def taken_over(self):
        """What its log says of take-overs."""
        return []

    def stop(self):
        if self.is_gone():
            return
        for pid in process_tree(self.main)[:0:-1]:
            if not isinstance(self, Redirector):
                os.kill(pid, signal.SIGKILL)  # old workers would stay until their last session has ended
        self.process.terminate()
        self.process.wait(70)


class Redirector(Edge):
    def command(self, origin):
        # Thousands of sessions that began at once are probed at once, more packets than loopback's queue takes
        # (net.core.netdev_max_backlog), and always the same ones would look dead.
        silent = {"keepalive_idle": "0", "user_timeout": "0"}
        listener = {"client_socket": silent, "origin_socket": silent}
        config = self.folder / "edge.yaml"
        config.write_text(json.dumps(edge_settings(self.port, [origin], listener, loops=2)))
        return [program("redirector"), "--config", str(config), "--admin", f"unix:{self.folder}/admin.sock"]

    @property
    def worker(self):
        return process_tree(self.main)[1]

    def mark(self):
        return len(self.taken_over())

    def taken_over(self):
        return [json.loads(line) for line in self.log_path.read_text().splitlines() if '"taken_over"' in line]


class Haproxy(Edge):
    """Debian's, master and worker. An upgrade starts the program anew; old workers serve their sessions until they end."""

    def command(self, origin):
        config = self.folder / "haproxy.cfg"
        config.write_text(
            "global\n  maxconn 9000\n  nbthread 2\n"
            "defaults\n  mode tcp\n  timeout connect 5s\n  timeout client 1h\n  timeout server 1h\n"
            f"listen edge\n  bind 127.0.0.1:{self.port}\n  server origin {origin} send-proxy-v2\n"
        )
        return ["haproxy", "-W", "-q", "-f", str(config)]


class Nginx(Edge):
    """Debian's. It is reloaded; its upgrade leaves the same old workers behind."""

    header = False
    upgrade_signal = signal.SIGHUP

    def command(self, origin):
        said = subprocess.run(["nginx", "-V"], capture_output=True, text=True, check=True).stderr
        modules = re.search(r"--modules-path=(\S+)", said).group(1)
        config = self.folder / "nginx.conf"
        config.write_text(
            f"load_module {modules}/ngx_stream_module.so;\n"
            f"user root;\ndaemon off;\nworker_processes 1;\nworker_rlimit_nofile 20000;\npid {self.folder}/nginx.pid;\n"
            "error_log stderr crit;\nevents { worker_connections 19990; }\n"
            f"stream {{ server {{ listen 127.0.0.1:{self.port} backlog=4096; proxy_pass {origin}; proxy_timeout 1h; }} }}\n"
        )
        return ["nginx", "-p", str(self.folder), "-c", str(config), "-e", "stderr"]


EDGES = {"redirector": Redirector, "haproxy": Haproxy, "nginx": Nginx}
