"""A Debian 12 with systemd as its pid 1, in a container of a Docker daemon of our own.

The image is made by debootstrap once and kept under build/systemd; everything else is gone when the tests end, however they
do. The container has no network but its loopback. This process moves into that network, so that a test's clients and
origins are ordinary sockets here.
"""

import atexit
import ctypes
import functools
import hashlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import unittest

from ravelin.admin import Admin
from ravelin.build import ROOT
from ravelin.waiting import patience, wait_until

CACHE = ROOT / "build/systemd"
PACKAGES = "systemd,systemd-sysv,dbus,procps,needrestart"
IMAGE = "debian-systemd:" + hashlib.sha256(PACKAGES.encode()).hexdigest()[:12]
# What systemd in a container needs. CAP_SYS_RESOURCE is what not every machine may give away.
FLAGS = [
    *("--network", "none", "--tty", "--env", "container=docker", "--cgroupns", "host"),
    *("--cap-add", "ALL", "--cap-drop", "SYS_RESOURCE"),
    *("--security-opt", "seccomp=unconfined", "--security-opt", "apparmor=unconfined"),
    *("--tmpfs", "/run", "--tmpfs", "/run/lock", "--tmpfs", "/tmp", "--volume", "/sys/fs/cgroup:/sys/fs/cgroup:rw"),
]
CLONE_NEWNET = 0x40000000


def _output(command, **options):
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options
    )
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}")
    return done.stdout


class _Docker:
    """A daemon that touches neither the host's network nor another daemon's files."""

    def __init__(self):
        CACHE.mkdir(parents=True, exist_ok=True)
        # Sockets have short names only.
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="ravelin-docker-"))
        self.host = f"unix://{self.folder}/docker.sock"
        command = ["setpriv", "--pdeathsig", "TERM", "dockerd", "--host", self.host]
        command += ["--data-root", str(CACHE / "docker"), "--exec-root", str(self.folder / "exec")]
        command += ["--pidfile", str(self.folder / "pid"), "--bridge", "none"]
        command += ["--iptables=false", "--ip6tables=false", "--ip-forward=false"]
        self.log = self.folder / "log"
        with self.log.open("w") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def run(self, *arguments, **options):
        return _output(["docker", "--host", self.host, *arguments], **options)

    def is_up(self):
        if self.process.poll() is not None:
            raise unittest.SkipTest("dockerd does not start: " + self.log.read_text().strip().splitlines()[-1][:200])
        command = ["docker", "--host", self.host, "info"]
        return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True).returncode == 0

    def has(self, image):
        return bool(self.run("images", "--quiet", image).strip())

    def close(self):
        self.process.terminate()
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def _make_image(docker):
    root = pathlib.Path(tempfile.mkdtemp(prefix="root-", dir=CACHE))
    try:
        _output(["debootstrap", "--variant=minbase", f"--include={PACKAGES}", "bookworm", str(root)])
        shutil.rmtree(root / "var/cache/apt/archives")
        _output(["sh", "-c", f'tar -C "{root}" -c . | docker --host {docker.host} import - {IMAGE}'])
    finally:
        shutil.rmtree(root)


class Machine:
    def __init__(self):
        self._docker = _Docker()
        atexit.register(self._close)
        wait_until(self._docker.is_up, "dockerd")
        if not self._docker.has(IMAGE):
            _make_image(self._docker)
        self._docker.run("run", "--detach", "--rm", "--name", "machine", *FLAGS, IMAGE, "/sbin/init")
        self._pid = int(self._docker.run("inspect", "--format", "{{.State.Pid}}", "machine"))
        self.root = pathlib.Path(f"/proc/{self._pid}/root")
        wait_until(lambda: self.attempt("systemctl", "is-system-running")[1] in ("running", "degraded"), "systemd")
        with open(f"/proc/{self._pid}/ns/net") as network:
            if ctypes.CDLL(None, use_errno=True).setns(network.fileno(), CLONE_NEWNET) != 0:
                raise OSError(ctypes.get_errno(), "setns")

    def _close(self):
        try:
            subprocess.run(
                ["docker", "--host", self._docker.host, "kill", "machine"], stdin=subprocess.DEVNULL, capture_output=True
            )
        finally:
            self._docker.close()

    def run(self, *command, seconds=120):
        """Standard output of a command that must succeed."""
        return self._docker.run("exec", "machine", *command, timeout=patience(seconds))

    def attempt(self, *command):
        """(exit code, what it said)"""
        done = subprocess.run(
            ["docker", "--host", self._docker.host, "exec", "machine", *command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=patience(120),
        )
        return done.returncode, done.stdout.strip()

    def path(self, inside):
        return self.root / inside.lstrip("/")

    def write(self, inside, text):
        self.path(inside).parent.mkdir(parents=True, exist_ok=True)
        self.path(inside).write_text(text)

    def install(self, *packages):
        """As an operator would, from files."""
        for package in packages:
            shutil.copy(package, self.path("/tmp"))
        files = [f"/tmp/{package.name}" for package in packages]
        return self.run("env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "install", "--yes", *files)

    def admin(self, program):
        return Admin(str(self.path(f"/run/ravelin/{program}.sock")))


class Unit:
    """A service as systemctl and the journal show it."""

    def __init__(self, machine, name):
        self._machine, self.name, self._cursor = machine, name, None

    def show(self, *properties):
        wanted = [part for name in properties for part in ("--property", name)]
        text = self._machine.run("systemctl", "show", *wanted, self.name)
        values = dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
        return values[properties[0]] if len(properties) == 1 else [values[name] for name in properties]

    @property
    def main_pid(self):
        return int(self.show("MainPID"))

    @property
    def worker(self):
        """The keeper's only child."""
        children = f"/proc/{self.main_pid}/task/{self.main_pid}/children"
        return int(self._machine.run("cat", children).split()[0])

    def state(self):
        return self.show("ActiveState")

    def kill(self, pid, number=signal.SIGKILL):
        self._machine.run("kill", f"-{int(number)}", str(pid))

    def mark(self):
        """From here on, for journal()."""
        text = self._machine.run("journalctl", "--quiet", "--lines", "0", "--show-cursor")
        self._cursor = text.split("-- cursor: ")[1].strip()

    def journal(self):
        """What was written since the mark: the program's lines, and systemd's about the unit."""
        after = ["--after-cursor", self._cursor] if self._cursor else []
        self._machine.run("journalctl", "--sync")
        command = ["journalctl", "--quiet", "--output", "cat", "--unit", self.name, *after]
        return self._machine.run(*command).splitlines()

    def events(self, event):
        """The program's log lines of this event."""
        parsed = [json.loads(line) for line in self.journal() if line.startswith("{")]
        return [line for line in parsed if line["event"] == event]

    def wait_event(self, event, count=1):
        wait_until(
            lambda: len(self.events(event)) >= count,
            lambda: f"{count} x {event}; the journal has:\n" + "\n".join(self.journal()),
        )


@functools.cache
def machine():
    for program in "debootstrap", "dockerd", "setpriv":
        if shutil.which(program) is None:
            raise unittest.SkipTest(f"{program} is not there")
    if os.geteuid() != 0:
        raise unittest.SkipTest("takes root")
    return Machine()
