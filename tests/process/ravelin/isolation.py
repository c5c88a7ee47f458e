"""What takes a namespace of one's own. Where the machine forbids one, the test is skipped with the reason."""

import functools
import os
import shutil
import subprocess
import sys
import unittest


@functools.cache
def _refusal(command):
    tried = subprocess.run([*command, "true"], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    return None if tried.returncode == 0 else tried.stderr.strip() or "refused"


def _own(*kinds):
    """The command prefix that gives a program namespaces of its own."""
    command = ("unshare", *kinds) if os.geteuid() == 0 else ("unshare", "--user", "--map-root-user", *kinds)
    if reason := _refusal(command):
        raise unittest.SkipTest(f"no such namespaces on this machine: {kinds}: {reason}")
    return list(command)


def as_first_process():
    """The command prefix that makes a program the first process of a container: everybody's orphans are its own."""
    return [*_own("--pid"), "--fork", "--kill-child", "--mount-proc"]


def with_local_ports(first, last):
    """The command prefix for a network of its own, without any link, where connections come from these ports alone."""
    # In a container /proc/sys may not be written to, except through a mount of its own.
    set_up = f"ip link set lo up; mount -t proc proc /proc; echo {first} {last} >/proc/sys/net/ipv4/ip_local_port_range"
    return [*_own("--net", "--mount"), "sh", "-c", f'{set_up} && exec "$@"', "sh"]


def entering(pid, kind):
    """The command prefix that runs a program in another process's namespace."""
    user = [] if os.geteuid() == 0 else ["--user", "--preserve-credentials"]
    return ["nsenter", f"--target={pid}", kind, *user]


class ListeningIn:
    """A server in the network of a process that accepts nobody: the kernel does it for up to 64 connections."""

    def __init__(self, pid, *ports):
        script = (
            "import socket, sys, time\n"
            "kept = [socket.create_server(('127.0.0.1', int(port)), backlog=64) for port in sys.argv[1:]]\n"
            "print('listening', flush=True)\n"
            "time.sleep(3600)\n"
        )
        enter = entering(pid, "--net")
        self._process = subprocess.Popen(
            [*enter, sys.executable, "-c", script, *map(str, ports)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
        )
        if not self._process.stdout.readline():
            raise AssertionError("nobody could listen there")

    def close(self):
        self._process.kill()
        self._process.wait()
        self._process.stdout.close()


def with_files(replaced, command):
    """The command, run where each path of `replaced` ({path: file to show there}) shows the other file."""
    mounts = " && ".join(f"mount --bind '{shown}' '{path}'" for path, shown in replaced.items())
    return [*_own("--mount"), "sh", "-c", f'{mounts} && exec "$@"', "sh", *command]


def for_everybody(path, folder):
    """A copy of a program in a folder that every user may enter: the tree may lie where only its owner may."""
    copy = shutil.copy(path, folder)
    os.chmod(copy, 0o755)
    return copy


def as_nobody(command):
    """The command without any privilege: as user nobody when we are root, else as it is."""
    if os.geteuid() != 0:
        return list(command)
    return [
        "setpriv",
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups",
        "--inh-caps=-all",
        "--bounding-set=-all",
        *command,
    ]
