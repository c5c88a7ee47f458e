"""The cases of the rig as a table, and a round drawn from one of them by a seed."""

import dataclasses
import errno
import random

from . import disturbances
from .kinds import KINDS, draw_session

_ALL = tuple(KINDS)
_QUICK = tuple(kind for kind in _ALL if kind != "tiny_window")
_FULL = ("end_with_everything_full", "both_sides_full", "reset_behind_a_full_pipe", "reset_by_who_never_read")
_RESETS = tuple(kind for kind in _ALL if "reset" in kind)

SHORT, PAUSE, LOST_BYTE, KILL = 0, -1, -2, -3  # see faults.c

# What the kernel does on any day and no session may notice: (call, errno, times in a million).
_INTERRUPTIONS = (
    ("recv", errno.EINTR, 30_000),
    ("send", errno.EINTR, 30_000),
    ("splice", errno.EINTR, 30_000),
    ("send", SHORT, 100_000),
    ("sendmsg", SHORT, 300_000),
    ("splice", SHORT, 300_000),
    ("accept4", errno.EINTR, 200_000),
    ("accept4", errno.EAGAIN, 200_000),
    ("accept4", errno.EMFILE, 100_000),
    ("accept4", errno.ENOBUFS, 100_000),
    ("pipe2", errno.EMFILE, 300_000),
    ("fcntl", errno.EPERM, 300_000),
)
_PAUSES = tuple((call, PAUSE, 30_000) for call in ("recv", "send", "sendmsg", "splice", "connect", "accept4"))
# The worker is gone in front of any call that it makes: every step of a session's beginning and end, of a take-over too.
_KILLS = (
    *((call, KILL, 3_000) for call in ("connect", "accept4", "epoll_ctl", "pipe2", "socket", "sendmsg")),
    *((call, KILL, 2_000) for call in ("recvmsg", "close", "setsockopt")),
    *((call, KILL, 300) for call in ("recv", "send", "splice")),
)
# What costs the session that it meets, and nothing else.
_ERRORS = (
    ("recv", errno.ENOMEM, 2_000),
    ("send", errno.ENOBUFS, 3_000),
    ("sendmsg", errno.ENOBUFS, 50_000),
    ("splice", errno.ENOMEM, 3_000),
    ("connect", errno.ENETUNREACH, 50_000),
    ("connect", errno.EADDRNOTAVAIL, 50_000),
    ("epoll_ctl", errno.ENOMEM, 30_000),
    ("epoll_ctl", errno.ENOSPC, 30_000),
    ("socket", errno.EMFILE, 50_000),
    ("socket", errno.ENOBUFS, 50_000),
)


@dataclasses.dataclass
class Case:
    kinds: tuple = _QUICK
    disturbed_by: tuple = ()  # names in disturbances.TABLE
    faults: tuple = ()
    may_be_reset: bool = False  # by an error that no relay can hide
    scale: float = 1.0
    environment: str = ""  # see stage.py
    must_fail: bool = False  # a check of the rig itself


CASES = {
    "mixed": Case(),
    "half_close": Case(kinds=("half_close", "bulk", "slow_reader")),
    "resets": Case(kinds=(*_RESETS, "silent")),
    "urgent": Case(kinds=("urgent",)),
    "small_writes": Case(kinds=("one_byte_writes", "chat")),
    "tiny_windows": Case(kinds=("tiny_window", "half_close"), scale=0.02, environment="tiny_window_at_the_origin"),
    "full": Case(kinds=_FULL),
    "black_hole": Case(disturbed_by=("black_hole",)),
    "stopped": Case(disturbed_by=("stop",)),
    "killed": Case(disturbed_by=("kill",)),
    "killed_at_any_call": Case(faults=_KILLS, scale=0.2),
    "upgraded": Case(disturbed_by=("upgrade",)),
    "killed_without_pipes": Case(disturbed_by=("kill", "upgrade"), environment="pipes_at_the_soft_limit"),
    "killed_with_little_memory": Case(disturbed_by=("kill",), environment="memory_limit"),
    "clock_jumps": Case(disturbed_by=("clock_jump",)),
    "interruptions": Case(faults=_INTERRUPTIONS),
    "pauses": Case(faults=_PAUSES, scale=0.2),
    "errors": Case(faults=_ERRORS, may_be_reset=True),
    "no_pipes": Case(environment="pipes_at_the_soft_limit"),
    "little_memory": Case(environment="memory_limit"),
    "rig_finds_a_lost_byte": Case(kinds=("bulk",), faults=(("send", LOST_BYTE, 500_000),), must_fail=True),
}


_WORDS = {SHORT: "a short count", PAUSE: "a pause", LOST_BYTE: "a lost byte", KILL: "the worker's end"}


@dataclasses.dataclass
class Round:
    number: int
    case_name: str
    case: Case
    seed: str
    with_gateway: bool
    offload: bool
    at_once: int
    plans: list
    disturbances: list

    def __str__(self):
        way = "edge, gateway" if self.with_gateway else "edge"
        wire = "large segments" if self.offload else "MTU 1500 without offloads"
        lines = [f"case {self.case_name}: {way}; {wire}; {self.at_once} sessions at once"]
        for call, error, rate in self.case.faults:
            lines.append(f"  fault: {call}: {_WORDS.get(error) or errno.errorcode[error]}, {rate} in a million")
        lines += [f"  disturbance: {each}" for each in self.disturbances]
        lines += [f"  session {number}: {plan}" for number, plan in enumerate(self.plans)]
        return "\n".join(lines)


def draw_round(seed, number, case_name):
    """The same three always give the same round."""
    case = CASES[case_name]
    rng = random.Random(f"{seed}/{number}/{case_name}")
    plans = [draw_session(rng.choice(case.kinds), rng, case.scale) for _ in range(rng.randrange(4, 25))]
    return Round(
        number=number,
        case_name=case_name,
        case=case,
        seed=f"{seed}/{number}",
        with_gateway=rng.random() < 0.5,
        offload=rng.random() < 0.5,
        at_once=rng.randrange(1, 13),
        plans=plans,
        disturbances=sorted(
            (disturbances.draw(name, rng) for name in case.disturbed_by for _ in range(rng.randrange(1, 4))),
            key=lambda each: each.after,
        ),
    )


def cases_in_order(seed, only):
    """For ever: every case once, in an order of the seed's, then again."""
    rng = random.Random(f"order of {seed}")
    while True:
        names = [only] if only else list(CASES)
        rng.shuffle(names)
        yield from names
