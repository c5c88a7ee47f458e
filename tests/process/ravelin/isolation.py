"""What takes a namespace of one's own. Where the machine forbids one, the test is skipped with the reason."""

import functools
import os
import subprocess
import unittest


@functools.cache
def _refusal(command):
    tried = subprocess.run([*command, "true"], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    return None if tried.returncode == 0 else tried.stderr.strip() or "refused"


def own_mounts():
    """The command prefix that gives a program a mount namespace of its own."""
    command = ("unshare", "--mount") if os.geteuid() == 0 else ("unshare", "--user", "--map-root-user", "--mount")
    if reason := _refusal(command):
        raise unittest.SkipTest(f"no mount namespace on this machine: {reason}")
    return list(command)


def with_files(replaced, command):
    """The command, run where each path of `replaced` ({path: file to show there}) shows the other file."""
    mounts = " && ".join(f"mount --bind '{shown}' '{path}'" for path, shown in replaced.items())
    return [*own_mounts(), "sh", "-c", f'{mounts} && exec "$@"', "sh", *command]


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
