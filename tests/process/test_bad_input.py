"""What a daemon says and how it exits when it cannot start: the code names the kind of failure, the text the place."""

import functools
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import unittest

from ravelin import build
from ravelin.case import ProcessTest
from ravelin.daemon import is_listening, run_to_end
from ravelin.isolation import as_nobody
from ravelin.ports import free_port
from ravelin.settings import edge_settings, gateway_settings
from ravelin.waiting import patience, wait_until

USAGE, UNAVAILABLE, NO_PERMISSION, BAD_CONFIG = 2, 69, 77, 78
DAEMONS = {
    "redirector": (["--origin", "127.0.0.1:9"], lambda port: edge_settings(port, ["127.0.0.1:9"])),
    "gateway": (["--inner", "127.0.0.1:9"], lambda port: gateway_settings(port, "127.0.0.1:9")),
}


def for_each_daemon(test):
    """Runs test(self, program, flags, settings) for both: flags but --listen, settings(port) for a config file."""

    @functools.wraps(test)
    def run(self):
        for name, (flags, settings) in DAEMONS.items():
            with self.subTest(name):
                test(self, build.program(name), flags, settings)

    return run


class BadInput(ProcessTest):
    def check(self, arguments, code, *patterns):
        done = run_to_end(arguments)
        self.assertEqual(done.code, code, done.stderr)
        for pattern in patterns:
            self.assertRegex(done.stderr, pattern)
        self.assertNotIn("terminate called", done.stderr)

    @for_each_daemon
    def test_without_standard_streams_it_runs_and_ends_as_ever(self, program, flags, settings):
        port = free_port()
        shell = ["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh"]
        daemon = subprocess.Popen([*shell, program, "--listen", f"127.0.0.1:{port}", *flags, "--admin", self.admin()])
        try:
            wait_until(lambda: is_listening(port), "the daemon to listen")
            streams = [os.readlink(f"/proc/{daemon.pid}/fd/{number}") for number in range(3)]
            self.assertEqual(streams, ["/dev/null"] * 3)
            daemon.terminate()
            self.assertEqual(daemon.wait(patience()), 0)
        finally:
            daemon.kill()
            daemon.wait()

    def admin(self):
        return f"unix:{self.folder}/admin.sock"

    @for_each_daemon
    def test_nothing_to_do_is_a_usage_error(self, program, flags, settings):
        self.check([program], USAGE, "--config", "--listen")

    @for_each_daemon
    def test_an_unknown_flag_is_named(self, program, flags, settings):
        self.check([program, "--listen", "127.0.0.1:0", *flags, "--no-such-flag"], USAGE, "--no-such-flag")

    @for_each_daemon
    def test_an_address_that_is_none_is_shown_with_what_was_expected(self, program, flags, settings):
        self.check([program, "--listen", "not an address", *flags], USAGE, "--listen", "not an address")

    @for_each_daemon
    def test_a_config_that_is_not_there(self, program, flags, settings):
        self.check([program, "--config", self.folder + "/none.yaml"], BAD_CONFIG, "none.yaml", "No such file")

    @for_each_daemon
    def test_broken_yaml_is_shown_with_its_place(self, program, flags, settings):
        path = self.write("broken.yaml", "listeners:\n  - address: [1, 2\n")
        self.check([program, "--config", path], BAD_CONFIG, r"broken\.yaml:\d+:\d+: ")

    @for_each_daemon
    def test_an_unknown_key_is_shown_with_its_place(self, program, flags, settings):
        path = self.write("unknown.yaml", "listeners:\n  - adress: 127.0.0.1:0\n")
        self.check([program, "--config", path], BAD_CONFIG, r"unknown\.yaml:2:5: .*adress", "address")

    @for_each_daemon
    def test_a_value_out_of_place_is_shown_with_what_was_expected(self, program, flags, settings):
        path = self.write("value.yaml", "listeners:\n  - address: {}\n")
        self.check([program, "--config", path], BAD_CONFIG, r"value\.yaml:2:14: .*expected")

    @for_each_daemon
    def test_all_errors_of_a_file_come_in_one_go(self, program, flags, settings):
        path = self.write(
            "many.yaml", "nonsense: 1\nlisteners:\n  - adress: 127.0.0.1:0\n  - address: 127.0.0.1:99999\n"
        )
        self.check([program, "--config", path], BAD_CONFIG, r":1:1: ", r":3:5: ", r":4:14: ")

    @for_each_daemon
    def test_check_accepts_a_good_file_and_refuses_a_bad_one_without_listening(self, program, flags, settings):
        port = free_port()
        good = self.write("good.yaml", json.dumps(settings(port)))
        with socket.create_server(("127.0.0.1", port)):  # would be an error if it listened
            self.check([program, "--config", good, "--check"], 0)
        bad = self.write("bad.yaml", "nonsense: 1\n")
        self.check([program, "--config", bad, "--check"], BAD_CONFIG, r"bad\.yaml:1:1: .*nonsense")

    @for_each_daemon
    def test_a_daemon_that_would_connect_to_itself_is_refused(self, program, flags, settings):
        target = flags[0]
        self.check([program, "--listen", ":9", *flags], USAGE, f"{target}: '127.0.0.1:9' leads back", "':9'")
        path = self.write("self.yaml", json.dumps(settings(9)))
        for arguments in [], ["--check"]:
            self.check([program, "--config", path, *arguments], BAD_CONFIG, r"self\.yaml:1:\d+: ", "leads back")

    @for_each_daemon
    def test_an_admin_address_that_others_could_reach_is_refused(self, program, flags, settings):
        for address in "0.0.0.0:9100", ":9100", "[::]:9100", "192.0.2.1:9100", "example.net:9100":
            path = self.write("admin.yaml", json.dumps({**settings(free_port()), "admin": ["127.0.0.1:1", address]}))
            self.check([program, "--config", path, "--check"], BAD_CONFIG, r"admin\.yaml:1:\d+: admin\[1\]: ", "loopback")

    @for_each_daemon
    def test_a_listener_whose_name_does_not_resolve_is_unavailable(self, program, flags, settings):
        self.check([program, "--listen", "listener.invalid:0", *flags], UNAVAILABLE, r"listener\.invalid", "resolve")

    @for_each_daemon
    def test_the_help_shows_no_default_for_what_has_to_be_given(self, program, flags, settings):
        self.assertNotIn("default :0", run_to_end([program, "--help"]).stdout)

    @for_each_daemon
    def test_print_config_prints_what_is_read_back_as_the_same(self, program, flags, settings):
        first = run_to_end([program, "--listen", "127.0.0.1:4711", *flags, "--print-config"])
        self.assertEqual(first.code, 0, first.stderr)
        self.assertIn("127.0.0.1:4711", first.stdout)
        again = run_to_end([program, "--config", self.write("printed.yaml", first.stdout), "--print-config"])
        self.assertEqual(again.code, 0, again.stderr)
        self.assertEqual(
            *[re.sub(r"\s*#.*", "", printed.stdout) for printed in (first, again)]
        )  # comments name sources

    @for_each_daemon
    def test_a_port_in_use_is_unavailable(self, program, flags, settings):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            address = "127.0.0.1:%d" % taken.getsockname()[1]
            self.check([program, "--listen", address, *flags], UNAVAILABLE, re.escape(address), "in use", "ss -ltnp")

    @for_each_daemon
    def test_an_admin_socket_that_cannot_be_made_is_named(self, program, flags, settings):
        place = self.folder + "/no/such/folder.sock"
        self.check(
            [program, "--listen", "127.0.0.1:0", *flags, "--admin", "unix:" + place], UNAVAILABLE, re.escape(place), "RuntimeDirectory="
        )

    def without_privilege(self, program, *arguments):
        """The command of a program that user nobody can reach."""
        os.chmod(self.folder, 0o755)
        reachable = shutil.copy(program, self.folder)
        return as_nobody([reachable, *arguments])

    @for_each_daemon
    def test_a_port_without_permission(self, program, flags, settings):
        lowest = int(pathlib.Path("/proc/sys/net/ipv4/ip_unprivileged_port_start").read_text())
        if lowest <= 1:
            raise unittest.SkipTest("every port is free for everybody on this machine (ip_unprivileged_port_start)")
        command = self.without_privilege(program, "--listen", "127.0.0.1:1", *flags)
        self.check(command, NO_PERMISSION, r"127\.0\.0\.1:1\b", "ermission denied", "CAP_NET_BIND_SERVICE")

    @for_each_daemon
    def test_a_config_without_permission(self, program, flags, settings):
        path = self.write("secret.yaml", "listeners: []\n")
        os.chmod(path, 0)
        self.check(self.without_privilege(program, "--config", path), BAD_CONFIG, r"secret\.yaml", "ermission denied")

    @for_each_daemon
    def test_version_and_help_are_no_errors(self, program, flags, settings):
        for flag, pattern in ("--version", r"\d+\.\d+"), ("--help", "--listen"):
            done = run_to_end([program, flag])
            self.assertEqual(done.code, 0)
            self.assertRegex(done.stdout, pattern)
