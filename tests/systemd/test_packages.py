"""The packages in apt's hands: installed, exchanged under sessions, removed and purged."""

import hashlib
import pathlib
import shutil
import subprocess
import tempfile

from ravelin.packages import built_packages
from ravelin.waiting import wait_until
from sessions import SessionTest


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


class Packages(SessionTest):
    def tearDown(self):
        packages = [name for name in built_packages() if name.startswith("ravelin-")]
        self.machine.attempt("systemctl", "kill", "--signal=INT", "--kill-whom=main", self.unit.name)
        self.machine.run("dpkg", "--purge", *packages)  # one that is not there is no error

    def another_build(self, version, change):
        """The redirector's package with another version, and with what `change` makes of the program's file."""
        folder = pathlib.Path(tempfile.mkdtemp(prefix="ravelin-package-"))
        self.addCleanup(shutil.rmtree, folder)
        content, package = folder / "content", folder / f"ravelin-redirector_{version}.deb"
        subprocess.run(["dpkg-deb", "-R", self.packages["ravelin-redirector"], content], check=True)
        control = content / "DEBIAN/control"
        control.write_text(control.read_text().replace("\nVersion: ", f"\nVersion: {version}+"))
        (content / "DEBIAN/md5sums").unlink(missing_ok=True)
        change(content / "usr/bin/redirector")
        build = ["dpkg-deb", "--root-owner-group", "-Znone", "-b", content, package]
        subprocess.run(build, check=True, stdout=subprocess.DEVNULL)
        return package, digest(content / "usr/bin/redirector")

    def start_with_sessions(self):
        self.install()
        self.configure()
        self.machine.run("systemctl", "start", self.unit.name)
        self.begin_sessions()
        self.pid = self.unit.main_pid

    def running(self):
        """What keeper and worker run."""
        return {digest(self.machine.path(f"/proc/{pid}/exe")) for pid in (self.unit.main_pid, self.unit.worker)}

    def check_undisturbed(self):
        self.check_moving()
        self.end_sessions()
        self.assertEqual(self.unit.show("MainPID", "ActiveState", "NRestarts"), [str(self.pid), "active", "0"])

    def test_an_installed_package_starts_nothing_and_has_a_user_of_its_own(self):
        self.install()
        self.assertEqual(self.unit.show("ActiveState", "UnitFileState"), ["inactive", "disabled"])
        self.assertEqual(self.socket.show("ActiveState", "UnitFileState"), ["inactive", "disabled"])
        self.assertNotEqual(self.machine.run("id", "-u", "ravelin-redirector").strip(), "0")
        self.assertIn("3775 root ravelin", self.machine.run("stat", "-c", "%a %U %G", "/run/ravelin"))

    def test_apt_exchanges_the_program_while_sessions_move_bytes_and_none_notices(self):
        self.start_with_sessions()

        def grow(program):
            with program.open("ab") as file:
                file.write(b"another build")

        package, new = self.another_build("9", grow)
        self.machine.install(package)
        self.unit.wait_event("upgraded")
        wait_until(lambda: self.running() == {new}, "keeper and worker to run the new file")
        self.check_undisturbed()

    def test_a_package_whose_program_cannot_serve_changes_nothing_for_those_who_are_served(self):
        self.start_with_sessions()
        before = self.running()
        package, _ = self.another_build("9", lambda program: program.write_text("#!/bin/sh\nexit 1\n"))
        self.machine.install(package)
        self.unit.wait_event("upgrade_failed")
        self.assertEqual(self.running(), before)
        self.check_undisturbed()

    def test_what_an_operator_has_written_stays_when_the_package_is_exchanged(self):
        self.start_with_sessions()
        before = self.machine.path("/etc/ravelin/redirector.yaml").read_text()
        package, _ = self.another_build("9", lambda program: None)
        self.machine.install(package)
        self.assertEqual(self.machine.path("/etc/ravelin/redirector.yaml").read_text(), before)
        self.end_sessions()

    def test_a_purge_leaves_nothing_behind(self):
        self.install()
        self.machine.install(self.packages["ravelin-gateway"])
        self.configure()
        units = ["ravelin-redirector.socket", "ravelin-redirector.service"]
        self.machine.run("systemctl", "enable", "--now", *units)
        self.machine.run("env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "remove", "--yes", "ravelin-redirector")
        self.assertEqual(self.unit.state(), "inactive")
        self.assertTrue(self.machine.path("/etc/ravelin/redirector.yaml").exists())
        purge = ["apt-get", "purge", "--yes", "ravelin-redirector", "ravelin-gateway"]
        self.machine.run("env", "DEBIAN_FRONTEND=noninteractive", *purge)
        found = self.machine.run(
            *("find", "/", "-xdev", "-path", "/proc", "-prune", "-o", "-path", "/sys", "-prune", "-o"),
            *("-iname", "*ravelin*", "-print"),
        ).split()
        self.assertEqual(found, [])
        self.assertFalse(self.machine.path("/run/ravelin").exists())
        for table in "passwd", "group":
            self.assertNotIn("ravelin", self.machine.path(f"/etc/{table}").read_text())
