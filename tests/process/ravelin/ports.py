"""Free TCP ports that nobody else takes before the daemon under test binds them.

They lie below the kernel's ephemeral range, so that no outgoing connection can land on one, and each is reserved among
all test processes of the machine by an abstract Unix socket of its name until this process ends.
"""

import random
import socket

_reserved = []


def _is_free(port):
    for family, host in ((socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::")):
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            if family == socket.AF_INET6:
                probe.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((host, port))
            except OSError:
                return False
    return True


def free_port():
    while True:
        port = random.randrange(10000, 32000)
        reservation = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            reservation.bind(f"\0ravelin-test-port-{port}")
        except OSError:
            reservation.close()
            continue
        if _is_free(port):
            _reserved.append(reservation)
            return port
        reservation.close()


def reservations():
    return len(_reserved)
