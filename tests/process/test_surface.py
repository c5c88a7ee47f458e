"""The edge's surface: what it links, what it opens. No TLS library, no key, no secret, nothing that is not needed."""

import pathlib
import re
import threading
import threading

from ravelin import build, wire
from ravelin.build import only_unsanitized
from ravelin.case import ProcessTest
from ravelin.daemon import run_to_end
from ravelin.ports import free_port
from ravelin.settings import edge_settings

LINKED = {"libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}
TLS_LIBRARIES = rb"libssl|libcrypto|OpenSSL|GnuTLS|mbed ?TLS|wolfSSL|BoringSSL|s2n_|libnss3"

# The loader and libc, what the resolver reads, what the kernel says about this machine.
OPENED = re.compile(
    r"""^(
      /etc/ld\.so\.(cache|preload) | (/usr)?/lib/.*\.so(\.\d+)* | /dev/null |
      /etc/(hosts|resolv\.conf|nsswitch\.conf|host\.conf|gai\.conf|services|localtime) | /usr/share/zoneinfo/.* |
      /proc/(self|thread-self|sys|\d+)(/.*)? | /proc/(cpuinfo|meminfo|stat|filesystems) |
      /sys/devices/system/cpu(/.*)? | /sys/fs/cgroup(/.*)?
    )$""",
    re.X,
)


class Surface(ProcessTest):
    @only_unsanitized
    def test_both_daemons_link_libc_and_nothing_else(self):
        for name in "redirector", "gateway":
            with self.subTest(name):
                dynamic = run_to_end(["readelf", "-d", build.program(name)]).stdout
                self.assertLessEqual(set(re.findall(r"NEEDED.*\[(.*)\]", dynamic)), LINKED)
                loaded = run_to_end(["ldd", build.program(name)]).stdout
                names = {line.split()[0].rpartition("/")[2] for line in loaded.splitlines()}
                self.assertLessEqual(names, LINKED | {"linux-vdso.so.1"})

    @only_unsanitized
    def test_the_redirector_has_no_tls_library_inside_it_either(self):
        self.assertEqual(set(re.findall(TLS_LIBRARIES, pathlib.Path(build.program("redirector")).read_bytes())), set())

    @only_unsanitized
    def test_a_running_redirector_opens_its_config_and_no_other_file(self):
        origin, port, trace = self.server(wire.echo), free_port(), self.folder + "/trace"
        settings = edge_settings(port, [origin.address.replace("127.0.0.1", "localhost")])
        strace = ["strace", "-f", "-qq", "-e", "trace=open,openat,openat2,creat", "-e", "signal=none", "-o", trace]
        edge = self.configured("redirector", settings, [port], prefix=strace)
        client = self.connect(edge)
        client.send(b"hello")
        self.assertNotEqual(client.read(5), b"")
        client.close()
        edge.wait_event("session_closed")
        self.stop(edge)
        opened = set(re.findall(r'"([^"]*)"', pathlib.Path(trace).read_text()))
        config = edge.arguments[edge.arguments.index("--config") + 1]
        self.assertIn(config, opened)
        itself = build.program("redirector")  # which the keeper starts its workers from
        self.assertEqual({path for path in opened - {config, itself} if not OPENED.match(path)}, set())

    @only_unsanitized
    def test_bulk_moves_by_splice(self):
        size = 16 << 20
        _, calls = self.traced_transfer(size)
        moved = {"splice": 0, "copied": 0}
        for call, _, result in calls:
            moved["splice" if call == "splice" else "copied"] += result
        # Each byte is counted when it is taken and when it is given. What is copied is the beginning.
        self.assertGreaterEqual(moved["splice"], 2 * 2 * size * 0.9)
        self.assertLess(moved["copied"], 2 * 2 * size * 0.1)

    @only_unsanitized
    def test_payload_lies_in_the_session_table_and_never_in_private_memory(self):
        table, calls = self.traced_transfer(1 << 20)
        copied = [(call, place) for call, place, _ in calls if call in ("recvfrom", "sendto")]
        self.assertNotEqual(copied, [])
        self.assertEqual([(call, hex(place)) for call, place in copied if place not in table], [])

    @only_unsanitized
    def test_a_small_message_costs_one_wait_one_receive_and_one_send(self):
        origin, port, trace = self.server(wire.echo), free_port(), self.folder + "/trace"
        calls = "epoll_wait,epoll_pwait,splice,recvfrom,recvmsg,sendto,sendmsg"
        strace = ["strace", "-f", "-qq", "-e", "trace=" + calls, "-e", "signal=none", "-o", trace]
        edge = self.configured("redirector", edge_settings(port, [origin.address]), [port], prefix=strace)
        client = self.connect(edge)
        made = []
        for count in 10, 1000:
            for _ in range(count):
                client.send(bytes(64))
                client.read(64)
            made.append(pathlib.Path(trace).read_text().count("\n"))
        client.close()
        edge.wait_event("session_closed")
        self.stop(edge)
        # An echo is two messages. Strace may split one call in two lines, and timers wake the loops now and then.
        self.assertLess((made[1] - made[0]) / 2000, 3.2)

    def traced_transfer(self, size):
        """The addresses of the session table in a redirector, and (call, buffer, bytes) of an echoed transfer."""
        origin, port, trace = self.server(wire.echo), free_port(), self.folder + "/trace"
        calls = "splice,recvfrom,recvmsg,sendto,sendmsg,readv,writev"
        strace = ["strace", "-f", "-qq", "-e", "trace=" + calls, "-e", "raw=" + calls, "-e", "signal=none", "-o", trace]
        edge = self.configured("redirector", edge_settings(port, [origin.address]), [port], prefix=strace)
        maps = pathlib.Path(f"/proc/{edge.worker}/maps").read_text()
        low, high = re.search(r"^(\w+)-(\w+) .*memfd:ravelin-sessions", maps, re.M).groups()
        client = self.connect(edge)
        client.send(b"hello")
        client.read(5)
        sender = threading.Thread(target=client.send, args=(bytes(size),))
        sender.start()
        left = size
        while left:
            left -= len(client.read(min(left, 1 << 20)))
        sender.join()
        client.close()
        edge.wait_event("session_closed")
        self.stop(edge)
        found = re.findall(r"^\d+ +(\w+)\(0x\w+, (0x\w+|0).*= 0x(\w+)$", pathlib.Path(trace).read_text(), re.M)
        return range(int(low, 16), int(high, 16)), [(call, int(at, 16), int(n, 16)) for call, at, n in found]
