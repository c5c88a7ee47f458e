"""The room in which a benchmark runs: network and process namespaces of its own.

Nothing of the machine's firewall, connection tracking or routes is in it, no port can be taken, and whatever still runs
when the benchmark ends, ends with it. Its loopback routes name the congestion control (ip-route(8), congctl), so that
accepted and connected sockets of every proxy and of the generator use the same one, whether a proxy has an option for
it or not.
"""

import ctypes
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

INSIDE = "RAVELIN_BENCH_ROOM"
FOLDER = "RAVELIN_BENCH_FOLDER"
PR_SET_PDEATHSIG = 1  # <linux/prctl.h>
ROUTES = ("127.0.0.0/8", "127.0.0.1")


def entered() -> bool:
    return INSIDE in os.environ


def enter() -> None:
    """Starts this program again inside the room and ends with its exit code, or goes on when it is there already."""
    if entered():
        _ip("link", "set", "lo", "up")
        return
    for tool in ("unshare", "ip"):
        if not shutil.which(tool):
            sys.exit(f"{tool} is missing: apt-get install util-linux iproute2")
    command = ["unshare", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"]
    if os.geteuid() != 0:
        command += ["--user", "--map-root-user"]
    with tempfile.TemporaryDirectory(prefix="ravelin-bench-") as folder:
        os.chmod(folder, 0o755)  # a proxy's worker may run as another user
        inside = {INSIDE: "root" if os.geteuid() == 0 else "user", FOLDER: folder}
        sys.exit(_supervise([*command, sys.executable, *sys.argv], {**os.environ, **inside}))


def folder() -> Path:
    """Where configurations and logs of a run live; gone with the room."""
    return Path(os.environ[FOLDER])


def _supervise(command: list[str], environment: dict[str, str]) -> int:
    """unshare(1) ignores SIGTERM and the room's first process has no default action for it, so it ends here."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    child = subprocess.Popen(command, env=environment, preexec_fn=_die_with_parent)
    try:
        return child.wait()
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    finally:
        child.kill()
        child.wait()


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def is_privileged() -> bool:
    """Whether the machine's root entered: only then do limits on pipes per user not apply (pipe(7))."""
    return os.environ.get(INSIDE) == "root"


def _ip(*words: str) -> None:
    done = subprocess.run(["ip", *words], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"ip {' '.join(words)}: {done.stderr.strip()}")


def available_congestion_controls() -> list[str]:
    with open("/proc/sys/net/ipv4/tcp_available_congestion_control") as file:
        return file.read().split()


def system_congestion_control() -> str:
    with open("/proc/sys/net/ipv4/tcp_congestion_control") as file:
        return file.read().strip()


def use_congestion_control(name: str) -> None:
    for route in ROUTES:
        _ip(
            "route",
            "replace",
            "local",
            route,
            "dev",
            "lo",
            "table",
            "local",
            "proto",
            "kernel",
            "scope",
            "host",
            "src",
            "127.0.0.1",
            "congctl",
            name,
        )


def congestion_controls_in_use() -> set[str]:
    """What the established sockets in the room really use, as ss(8) shows it."""
    if not shutil.which("ss"):
        return set()
    shown = subprocess.run(["ss", "-tinH", "state", "established"], capture_output=True, text=True).stdout
    known = "|".join(map(re.escape, available_congestion_controls()))
    return set(re.findall(rf"(?m)^\s+.*?\b({known})\b", shown))
