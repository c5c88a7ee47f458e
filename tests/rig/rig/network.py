"""Three network namespaces in a row: client, proxy, origin. Nothing of the host's own network is touched.

The namespaces have no name: this process holds them by descriptors, and they go when it and its children are gone,
however it ends. Use from the main thread only: a thread enters a namespace alone.
"""

import array
import contextlib
import ctypes
import errno
import fcntl
import os
import socket
import struct
import subprocess

_LIBC = ctypes.CDLL(None, use_errno=True)
_CLONE_NEWNET = 0x40000000
_SIOCETHTOOL = 0x8946
_SET_OFFLOADS = {"tx checksum": 0x17, "scatter": 0x19, "tso": 0x1F, "gso": 0x24, "gro": 0x2C}

# What each end of the two links is called and has for an address.
_LINKS = {
    ("client", "proxy"): (("rigc", "10.77.1.2", "02:77:01:00:00:02"), ("rigpc", "10.77.1.1", "02:77:01:00:00:01")),
    ("proxy", "origin"): (("rigpo", "10.77.2.1", "02:77:02:00:00:01"), ("rigo", "10.77.2.2", "02:77:02:00:00:02")),
}
_NOBODY = "02:77:ff:ff:ff:ff"
CLIENT, PROXY, PROXY_TO_ORIGIN, ORIGIN = "10.77.1.2", "10.77.1.1", "10.77.2.1", "10.77.2.2"

# What has been lost, or dropped for want of memory, comes again within this time instead of up to two minutes later: a
# round would wait for nothing else, and look as if the relay had forgotten a session. Twice as much without a word from
# a peer with a closed window, and the kernel gives the connection up.
_SOON = ("/proc/sys/net/ipv4/tcp_rto_max_ms", "30000")  # from Linux 6.15 on

# Where packets can be lost, one way each.
WAYS = ("client to proxy", "proxy to client", "proxy to origin", "origin to proxy")


class Refused(Exception):
    """This machine does not allow it, for the reason that is said."""


def _checked(result, what):
    if result != 0:
        code = ctypes.get_errno()
        raise Refused(f"{what}: {errno.errorcode.get(code, code)}")


def _ip(*words):
    done = subprocess.run(["ip", *words], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode != 0:
        raise Refused(f"ip {' '.join(words)}: {done.stderr.strip()}")


class Network:
    """Owns the namespaces. Outside of inside() the caller is in the proxy's."""

    def __init__(self):
        self._held = {}
        for name in ("client", "origin", "proxy"):
            _checked(_LIBC.unshare(_CLONE_NEWNET), "a network namespace of its own")
            self._held[name] = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
            _ip("link", "set", "lo", "up")
            with contextlib.suppress(OSError):  # an older kernel's, or a container's that may not be written to
                path, value = _SOON
                with open(path, "w") as file:
                    file.write(value)
        for (left, right), ends in _LINKS.items():
            self._join(left, right, *ends)

    def _join(self, left, right, near, far):
        with self.inside(left):
            there = f"/proc/{os.getpid()}/fd/{self._held[right]}"
            _ip("link", "add", near[0], "address", near[2], "type", "veth", "peer", "name", far[0], "address", far[2])
            _ip("link", "set", far[0], "netns", there)
        for place, mine, other in (left, near, far), (right, far, near):
            with self.inside(place):
                _ip("address", "add", f"{mine[1]}/24", "dev", mine[0])
                _ip("link", "set", mine[0], "up", "mtu", "1500")
                self._reach(mine, other, other[2])

    @staticmethod
    def _reach(mine, other, station):
        _ip("neighbour", "replace", other[1], "lladdr", station, "dev", mine[0], "nud", "permanent")

    @contextlib.contextmanager
    def inside(self, name):
        """The caller's thread is in this namespace, and what it opens belongs there for good."""
        _checked(_LIBC.setns(self._held[name], _CLONE_NEWNET), f"entering {name}'s namespace")
        try:
            yield
        finally:
            _checked(_LIBC.setns(self._held["proxy"], _CLONE_NEWNET), "coming back")

    def lose(self, way, lost=True):
        """Every packet of one way gets lost until lose(way, False): it goes to a station that does not exist."""
        source, _, target = way.split()
        for (left, right), (near, far) in _LINKS.items():
            for place, mine, peer, other in (left, near, right, far), (right, far, left, near):
                if (place, peer) == (source, target):
                    with self.inside(place):
                        self._reach(mine, other, _NOBODY if lost else other[2])

    def offload(self, on):
        """Segments of up to 64 KiB between the namespaces, or none larger than the MTU of 1500 bytes."""
        for (left, right), (near, far) in _LINKS.items():
            for place, (device, _, _) in (left, near), (right, far):
                with self.inside(place), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
                    for command in _SET_OFFLOADS.values():
                        value = array.array("B", struct.pack("II", command, 1 if on else 0))
                        request = struct.pack("16sP", device.encode(), value.buffer_info()[0])
                        with contextlib.suppress(OSError):  # one that depends on another that is off already
                            fcntl.ioctl(any_socket, _SIOCETHTOOL, request)

    def close(self):
        for descriptor in self._held.values():
            os.close(descriptor)
        self._held = {}
