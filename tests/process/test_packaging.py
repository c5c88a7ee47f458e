"""libppv2 for others: what an installation holds, and projects outside the tree that use it in each promised way."""

import os
import pathlib
import re
import shlex
import shutil
import subprocess
import tempfile
import unittest

from ravelin.build import ROOT, TREE, only_unsanitized
from ravelin.packages import debian_packages

CONSUMER = ROOT / "tests/consumer"
SAID = "192.0.2.1:4000\n"
LIBRARY = "libppv2.so.1"


def run(*command, cwd=None, **environment):
    """Standard output of a command that must succeed."""
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode == 0, f"{shlex.join(map(str, command))}:\n{done.stdout}"
    return done.stdout


def needed(program):
    return re.findall(r"NEEDED.*\[(.*)\]", run("readelf", "-d", program))


class Folder(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="ravelin-test-"))
        self.addCleanup(shutil.rmtree, self.folder)


@only_unsanitized
class Installation(Folder):
    def setUp(self):
        super().setUp()
        # Installed under one prefix and then moved: nothing in it may know where it was.
        first, self.prefix = self.folder / "first", self.folder / "prefix"
        for component in "ppv2_runtime", "ppv2_dev":
            run("cmake", "--install", TREE, "--prefix", first, "--component", component)
        first.rename(self.prefix)
        self.libraries = next(self.prefix.rglob(LIBRARY)).parent

    def check(self, program, shared):
        self.assertEqual(LIBRARY in needed(program), shared)
        self.assertEqual(run(program, LD_LIBRARY_PATH=str(self.libraries) if shared else ""), SAID)

    def build_consumer(self, *options):
        tree = self.folder / "consumer"
        run("cmake", "-S", CONSUMER, "-B", tree, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={self.prefix}", *options)
        run("cmake", "--build", tree)
        return tree

    def test_find_package_serves_projects_in_cxx(self):
        tree = self.build_consumer("-DCONSUMER_CXX=ON")
        for language in "c", "cxx":
            for kind in "static", "shared":
                with self.subTest(f"{language} {kind}"):
                    self.check(tree / f"consumer_{language}_{kind}", kind == "shared")

    def test_find_package_serves_projects_that_know_only_c(self):
        tree = self.build_consumer()
        self.check(tree / "consumer_c_static", False)
        self.check(tree / "consumer_c_shared", True)
        self.assertNotIn("libstdc++.so.6", needed(tree / "consumer_c_static"))

    def test_pkg_config_serves_c_and_cxx(self):
        path = {"PKG_CONFIG_PATH": str(self.libraries / "pkgconfig")}
        flags = run("pkg-config", "--cflags", "--libs", "ppv2", **path).split()
        self.assertRegex(run("pkg-config", "--modversion", "ppv2", **path), r"^\d+\.\d+\.\d+\n$")
        compilers = {"consumer.c": ["cc", "-std=c11", "-Wall", "-Werror"], "consumer.cc": ["c++", "-std=c++20"]}
        for source, compiler in compilers.items():
            for shared in True, False:
                with self.subTest(source, shared=shared):
                    program = self.folder / source.replace(".", "_")
                    libraries = flags if shared else [flag.replace("-lppv2", "-l:libppv2.a") for flag in flags]
                    run(*compiler, CONSUMER / source, *libraries, "-o", program)
                    self.check(program, shared)

    def test_each_header_can_be_included_alone(self):
        for header in sorted((self.prefix / "include/ppv2").iterdir()):
            with self.subTest(header.name):
                strict = ["-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Werror", "-fsyntax-only"]
                run("c++", "-std=c++20", *strict, f"-I{self.prefix}/include", "-include", header, "-xc++", "/dev/null")

    def test_nothing_installed_names_the_tree_it_was_built_in(self):
        for path in filter(pathlib.Path.is_file, self.prefix.rglob("*")):
            if path.suffix in (".cmake", ".pc", ".h"):
                self.assertNotIn(str(ROOT), path.read_text(), path)


@only_unsanitized
class DebianPackages(Folder):
    def setUp(self):
        super().setUp()
        self.packages = debian_packages()

    def paths(self, package):
        listed = run("dpkg-deb", "-c", self.packages[package]).splitlines()
        return [line.split()[5][1:] for line in listed if not line.startswith("d")]

    def field(self, package, name):
        return run("dpkg-deb", "-f", self.packages[package], name).strip()

    def test_the_library_s_package_has_the_versioned_library_and_no_more(self):
        beside = [path for path in self.paths("libppv2-1") if not path.startswith("/usr/share/")]
        multiarch = run("cc", "-print-multiarch").strip()
        self.assertEqual(
            sorted(beside), [f"/usr/lib/{multiarch}/{LIBRARY}", f"/usr/lib/{multiarch}/{LIBRARY}.0.0"]
        )
        control = self.folder / "control"
        run("dpkg-deb", "-e", self.packages["libppv2-1"], control)
        self.assertRegex((control / "shlibs").read_text(), r"^libppv2 1 libppv2-1 \(>= [\d.]+\)\n$")
        self.assertIn("ldconfig", (control / "triggers").read_text())
        self.assertRegex(self.field("libppv2-1", "Depends"), r"^libc6 \(>= [\d.]+\)$")

    def test_the_library_s_package_lists_its_symbols_and_cpack_refuses_others(self):
        control = self.folder / "control"
        run("dpkg-deb", "-e", self.packages["libppv2-1"], control)
        symbols = (control / "symbols").read_text()
        self.assertTrue(symbols.startswith("libppv2.so.1 libppv2-1 #MINVER#\n"))
        listed = {line.split("@")[0].strip() for line in symbols.splitlines()[1:]} - {"PPV2_1"}
        contract = (ROOT / "tests/abi/ppv2.abi").read_text()
        self.assertEqual(listed, set(re.findall(r"^T (\w+)@@PPV2_1$", contract, re.M)))
        scripts = self.folder / "scripts"
        shutil.copytree(ROOT / "deploy/debian/libppv2-1", scripts)
        (scripts / "symbols").write_text(symbols.replace(" ppv2_decode@PPV2_1 0.1.0\n", ""))
        run("dpkg-deb", "-x", self.packages["libppv2-1"], self.folder / "staged")
        check = ["cmake", f"-DCPACK_TEMPORARY_DIRECTORY={self.folder}/staged", "-DCPACK_PACKAGE_VERSION=0.1.0", "-P"]
        run(*check, ROOT / "deploy/debian/libppv2-1/check_symbols.cmake")
        with self.assertRaisesRegex(AssertionError, "ppv2_decode@PPV2_1"):
            run(*check, scripts / "check_symbols.cmake")

    def test_the_command_s_package_has_it_and_its_page_in_the_manual(self):
        self.assertLessEqual({"/usr/bin/ppv2", "/usr/share/man/man1/ppv2.1.gz"}, set(self.paths("ppv2")))
        run("dpkg-deb", "-x", self.packages["ppv2"], self.folder)
        self.assertRegex(self.field("ppv2", "Depends"), r"^libc6 \(>= [\d.]+\)$")
        command, page = self.folder / "usr/bin/ppv2", self.folder / "usr/share/man/man1/ppv2.1.gz"
        said = run(command, "encode", "--local", "--hex")
        self.assertEqual(said, "0d0a0d0a000d0a515549540a20000000\n")
        shown = run("man", "--warnings", "-l", page, MANWIDTH="100", LC_ALL="C", MAN_KEEP_FORMATTING="")
        self.assertNotIn("warning", shown)
        for name in "decode", "sniff", "encode":
            options = set(re.findall(r"(--[a-z][\w-]*)", run(command, name, "--help")))
            self.assertLessEqual(options, set(re.findall(r"(--[a-z][\w-]*)", shown)))

    def test_the_development_package_has_the_rest(self):
        names = {pathlib.Path(path).name for path in self.paths("libppv2-dev")}
        headers = {path.name for path in (ROOT / "ppv2/include/ppv2").iterdir()}
        self.assertLessEqual(headers, names)
        self.assertLessEqual({"libppv2.a", "libppv2.so", "ppv2.pc", "ppv2Config.cmake"}, names)
        self.assertNotIn(LIBRARY, names)
        version = self.field("libppv2-1", "Version")
        self.assertEqual(self.field("libppv2-dev", "Depends"), f"libppv2-1 (= {version})")

    def test_a_consumer_builds_against_the_packages(self):
        for package in self.packages.values():
            run("dpkg-deb", "-x", package, self.folder)
        pc = next(self.folder.rglob("ppv2.pc")).parent
        flags = run("pkg-config", "--cflags", "--libs", "ppv2", PKG_CONFIG_PATH=str(pc)).split()
        run("cc", CONSUMER / "consumer.c", *flags, "-o", self.folder / "consumer")
        self.assertEqual(run(self.folder / "consumer", LD_LIBRARY_PATH=str(pc.parent)), SAID)

    def test_a_daemon_s_package_needs_libc_alone_and_has_all_that_its_service_needs(self):
        for name in "redirector", "gateway":
            package = f"ravelin-{name}"
            self.assertRegex(self.field(package, "Depends"), r"^libc6 \(>= [\d.]+\)$")
            self.assertLessEqual(
                {
                    f"/usr/bin/{name}",
                    f"/etc/ravelin/{name}.yaml",
                    f"/etc/needrestart/conf.d/{package}.conf",
                    f"/lib/systemd/system/{package}.service",
                    f"/lib/systemd/system/{package}.socket",
                    f"/usr/lib/sysusers.d/{package}.conf",
                    f"/usr/lib/tmpfiles.d/{package}.conf",
                    f"/usr/share/man/man8/{name}.8.gz",
                    f"/usr/share/man/man5/{name}.yaml.5.gz",
                },
                set(self.paths(package)),
            )
            control = self.folder / package
            run("dpkg-deb", "-e", self.packages[package], control)
            conffiles = {path for path in self.paths(package) if path.startswith("/etc/")}
            self.assertEqual(set((control / "conffiles").read_text().split()), conffiles)
            self.assertNotIn("restart", re.sub("#.*", "", (control / "postinst").read_text()))

    def test_a_daemon_s_settings_are_right_as_they_come_and_its_manual_has_every_option(self):
        for name in "redirector", "gateway":
            run("dpkg-deb", "-x", self.packages[f"ravelin-{name}"], self.folder)
            program = self.folder / "usr/bin" / name
            run(program, "--config", self.folder / f"etc/ravelin/{name}.yaml", "--check")
            shown = ""
            for page in f"man8/{name}.8.gz", f"man5/{name}.yaml.5.gz":
                file = self.folder / "usr/share/man" / page
                shown += run("man", "--warnings", "-l", file, MANWIDTH="100", LC_ALL="C", MAN_KEEP_FORMATTING="")
            self.assertNotRegex(shown, r"(?m)^\S*:\d+: warning")  # as the formatter reports one
            options = set(re.findall(r"(--[a-z][\w-]*)", run(program, "--help")))
            self.assertLessEqual(options - {"--help"}, set(re.findall(r"(--[a-z][\w-]*)", shown)))

    def test_the_control_program_s_package_needs_libc_alone_and_its_manual_has_every_option(self):
        self.assertRegex(self.field("ravelinctl", "Depends"), r"^libc6 \(>= [\d.]+\)$")
        run("dpkg-deb", "-x", self.packages["ravelinctl"], self.folder)
        program, page = self.folder / "usr/bin/ravelinctl", self.folder / "usr/share/man/man8/ravelinctl.8.gz"
        shown = run("man", "--warnings", "-l", page, MANWIDTH="100", LC_ALL="C", MAN_KEEP_FORMATTING="")
        self.assertNotIn("warning", shown)
        overview = run(program, "--help")
        commands = re.findall(r"(?m)^  ([a-z]+) +[A-Z]", overview.split("Subcommands:")[1])
        self.assertIn("reload", commands)
        for command in commands:
            self.assertRegex(shown, rf"(?m)^ +{command}\b")
            options = set(re.findall(r"(--[a-z][\w-]*)", run(program, command, "--help")))
            self.assertLessEqual(options, set(re.findall(r"(--[a-z][\w-]*)", shown)))

    def test_lintian_finds_nothing_wrong(self):
        for package in self.packages.values():
            said = run("lintian", "--allow-root", "--fail-on", "error,warning", package)
            self.assertEqual(said, "")
