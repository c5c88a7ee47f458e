"""What a daemon finds itself in: a seeded library of faults, a user who has no pipes left, a cgroup with little memory.

Each is made for one round and taken down after it, whatever has happened in between.
"""

import contextlib
import ctypes
import fcntl
import itertools
import mmap
import os
import pathlib
import signal
import struct
import subprocess
import time

from .network import Refused

_HERE = pathlib.Path(__file__).resolve().parent.parent
_CALLS = 13
_CONTROL = struct.Struct(f"=IIq{_CALLS}Q")
USER = 62_077  # nobody else's, so that nobody else runs out of pipes
_PR_SET_PDEATHSIG = 1


def build_faults(folder):
    library = f"{folder}/faults.so"
    subprocess.run(
        ["cc", "-std=c11", "-O2", "-shared", "-fPIC", "-o", library, str(_HERE / "faults.c"), "-ldl"], check=True
    )
    return library


class Faults:
    """The switchboard of one daemon's library of faults."""

    def __init__(self, library, folder, name, rules, seed):
        path = f"{folder}/{name}.faults"
        pathlib.Path(path).write_bytes(bytes(_CONTROL.size))
        os.chmod(path, 0o666)
        with open(path, "r+b") as file:
            self._page = mmap.mmap(file.fileno(), _CONTROL.size)
        text = "\n".join(f"{call} {error} {rate}" for call, error, rate in rules)
        self.environment = {
            "LD_PRELOAD": library,
            "RIG_CONTROL": path,
            "RIG_FAULTS": text,
            "RIG_SEED": str(seed),
        }

    def switch(self, on):
        struct.pack_into("=I", self._page, 0, int(on))

    def move_clock(self, seconds):
        struct.pack_into("=q", self._page, 8, seconds * 1_000_000_000)

    @property
    def injected(self):
        return sum(_CONTROL.unpack(self._page[:])[3:])

    def close(self):
        self._page.close()


def die_with_parent():
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


class NoPipesLeft:
    """A child of user USER holds so many pipes that the kernel grants this user none of a useful size any more
    (pipe(7), fs.pipe-user-pages-soft)."""

    def __init__(self):
        limit = int(pathlib.Path("/proc/sys/fs/pipe-user-pages-soft").read_text())
        if os.geteuid() != 0 or not 0 < limit <= 16384:
            raise Refused("pipes at the soft limit need another user and a limit")
        said, says = os.pipe()
        self._child = os.fork()
        if self._child == 0:
            os._exit(self._hold(says))
        os.close(says)
        ready = os.read(said, 1)
        os.close(said)
        if not ready:
            self.close()
            raise Refused("the soft limit of pipes could not be reached")

    @staticmethod
    def _hold(says):
        with contextlib.suppress(OSError):
            os.setgroups([])
            os.setresgid(USER, USER, USER)
            os.setresuid(USER, USER, USER)
            die_with_parent()
            held = [os.pipe() for _ in range(64)]
            for _, end in held:
                try:
                    fcntl.fcntl(end, fcntl.F_SETPIPE_SZ, 1 << 20)
                except PermissionError:
                    break  # that is the limit; what is left of it goes by single pages
            while fcntl.fcntl(held[-1][1], fcntl.F_GETPIPE_SZ) > 2 * mmap.PAGESIZE:
                held.append(os.pipe())
            os.write(says, b"!")
            signal.pause()
        return 1

    def close(self):
        os.kill(self._child, signal.SIGKILL)
        os.waitpid(self._child, 0)


class LittleMemory:
    """A memory cgroup, of whichever version the machine has. TCP's buffers count too where they are accounted."""

    LIMIT, TCP_LIMIT = 96 << 20, 4 << 20
    _numbers = itertools.count()

    def __init__(self):
        root = pathlib.Path("/sys/fs/cgroup")
        first = root / "memory"
        self._path = (first if first.is_dir() else root) / f"ravelin-rig-{os.getpid()}-{next(self._numbers)}"
        try:
            self._path.mkdir()
            if first.is_dir():
                (self._path / "memory.limit_in_bytes").write_text(str(self.LIMIT))
                with contextlib.suppress(OSError):
                    (self._path / "memory.kmem.tcp.limit_in_bytes").write_text(str(self.TCP_LIMIT))
            else:
                (self._path / "memory.max").write_text(str(self.LIMIT))
        except OSError as error:
            self.close()
            raise Refused(f"no memory cgroup: {error}") from None

    def enter(self):
        """In the child, before exec."""
        (self._path / "cgroup.procs").write_text("0")

    def close(self):
        deadline = time.monotonic() + 2
        while self._path.is_dir() and time.monotonic() < deadline:  # it is busy until the last process has gone
            try:
                self._path.rmdir()
            except OSError:
                time.sleep(0.01)
