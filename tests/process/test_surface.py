"""The edge's surface: what it links, what it opens. No TLS library, no key, no secret, nothing that is not needed."""

import pathlib
import re

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
        self.assertEqual({path for path in opened - {config} if not OPENED.match(path)}, set())

    @only_unsanitized
    def test_payload_moves_by_splice_and_not_through_the_process(self):
        size = 8 << 20
        origin, port, trace = self.server(wire.echo), free_port(), self.folder + "/trace"
        calls = "trace=splice,read,readv,recvfrom,recvmsg,write,writev,sendto,sendmsg"
        strace = ["strace", "-f", "-qq", "-e", calls, "-e", "signal=none", "-s", "0", "-o", trace]
        edge = self.configured("redirector", edge_settings(port, [origin.address]), [port], prefix=strace)
        client = self.connect(edge)
        client.send(b"hello")
        # The echoing server repeats the header too; how long it is does not matter here.
        left = size
        while left:
            part = min(left, 1 << 16)
            client.send(bytes(part))
            client.read(part)
            left -= part
        client.close()
        edge.wait_event("session_closed")
        self.stop(edge)
        moved = {"splice": 0, "copied": 0}
        for call, result in re.findall(r"^\d+ +(\w+)\(.*= (\d+)$", pathlib.Path(trace).read_text(), re.M):
            moved["splice" if call == "splice" else "copied"] += int(result)
        self.assertGreaterEqual(moved["splice"], 2 * size)
        # The first bytes are looked at, sent and consumed, 64 KiB at most each time; the rest is configuration and log.
        self.assertLess(moved["copied"], 4 << 16)
