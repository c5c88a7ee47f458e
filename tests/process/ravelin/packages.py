"""The Debian packages of this tree, built once for whoever asks."""

import functools
import shlex
import shutil
import subprocess

from .build import ROOT

TREE = ROOT / "build/package"
_TARGETS = [
    *("ppv2", "ppv2_shared", "ppv2_command", "ppv2_manual_page"),
    *("redirector", "redirector_manual_pages", "gateway", "gateway_manual_pages", "ravelinctl"),
]


def _run(*command, cwd=ROOT):
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode != 0:
        raise AssertionError(f"{shlex.join(map(str, command))}:\n{done.stdout}")


@functools.cache
def debian_packages():
    """{name: path}"""
    _run("cmake", "--preset", "package", "-DRAVELIN_WERROR=ON")  # the flags of the other trees, which ccache knows
    _run("cmake", "--build", "--preset", "package", "--target", *_TARGETS)
    out = TREE / "out"
    shutil.rmtree(out, ignore_errors=True)
    _run("cpack", "-B", out, cwd=TREE)
    return built_packages()


def built_packages():
    return {path.name.split("_")[0]: path for path in (TREE / "out").glob("*.deb")}
