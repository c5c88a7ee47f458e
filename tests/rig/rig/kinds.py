"""What a session does: two scripts, drawn from a seed. KINDS is the table of them.

The client's first eight bytes name the session, so every client that sends anything has sent eight bytes at least before
it waits for its origin.
"""

import dataclasses

NAME = 8  # bytes


@dataclasses.dataclass
class Plan:
    kind: str
    client: list
    origin: list  # None: the client says nothing, and no origin may hear of it
    client_window: int = 0  # SO_RCVBUF; 0 is the system's

    def __str__(self):
        def text(script):
            return "; ".join(" ".join(map(str, step)) for step in script)

        window = f" [window {self.client_window}]" if self.client_window else ""
        return f"{self.kind}{window}\n      client: {text(self.client)}\n      origin: {text(self.origin or [])}"


class Draw:
    """Sizes of every order of magnitude, times a scale."""

    def __init__(self, rng, scale):
        self.rng, self._scale = rng, scale

    def size(self, most=4 << 20):
        return 1 + int(most ** self.rng.random() * self._scale)

    def chunk(self):
        return self.rng.choice((1000, 1448, 4096, 16384, 65536, 65536))

    def sends(self, count):
        return ("send", count, self.chunk())

    def either(self, one, other):
        """The two scripts as they are or with the sides exchanged."""
        return (one, other) if self.rng.random() < 0.5 else (other, one)


def _plan(kind, client, origin, **more):
    return Plan(kind, [("send", NAME, NAME), *client], origin, **more)


def bulk(draw):
    return [draw.sends(draw.size()), ("finish",), ("end",)], [draw.sends(draw.size()), ("finish",), ("end",)]


def chat(draw):
    client, origin = [], []
    heard_by_origin, heard_by_client = NAME, 0
    for _ in range(draw.rng.randrange(3, 25)):
        question, answer = draw.size(30_000), draw.size(30_000)
        heard_by_origin += question
        heard_by_client += answer
        client += [draw.sends(question), ("receive", heard_by_client)]
        origin += [("receive", heard_by_origin), draw.sends(answer)]
    return client + [("finish",), ("end",)], origin + [("end",), ("finish",)]


def half_close(draw):
    first = [draw.sends(draw.size()), ("finish",), ("end",)]
    second = [("end",), draw.sends(draw.size()), ("finish",)]
    return draw.either(first, second)


def urgent(draw):
    def script():
        steps = []
        for _ in range(draw.rng.randrange(1, 4)):
            steps += [draw.sends(draw.size(200_000)), ("urgent",)]
        return [*steps, draw.sends(draw.size(2000)), ("finish",), ("end",)]

    return script(), draw.rng.choice((script, lambda: bulk(draw)[1]))()


def one_byte_writes(draw):
    def script():
        return [("send", draw.rng.randrange(1, 3000), 1), ("finish",), ("end",)]

    return script(), script()


def reset_with_data_in_flight(draw):
    left, right = draw.size(), draw.size()
    resets = [("meet", "start"), draw.sends(left), ("receive", draw.rng.randrange(right + 1)), ("reset",)]
    suffers = [("meet", "start"), draw.sends(right), ("gone",)]
    return draw.either(resets, suffers)


def reset_when_idle(draw):
    there, back = draw.size(), draw.size()
    client = [draw.sends(there), ("receive", back), ("meet", "idle")]
    origin = [draw.sends(back), ("receive", NAME + there), ("meet", "idle")]
    one, other = draw.either([("reset",)], [("gone",)])
    return client + one, origin + other


def reset_after_its_fin(draw):
    resets = [draw.sends(draw.size()), ("finish",), ("meet", "fin"), ("reset",)]
    return draw.either(resets, [("end",), ("meet", "fin"), ("gone",)])


def reset_after_the_others_fin(draw):
    return draw.either([draw.sends(draw.size()), ("finish",), ("gone",)], [("end",), ("reset",)])


def end_with_everything_full(draw):
    writes = [("fill", 64 << 20), ("finish",), ("meet", "full"), ("end",)]
    reads = [("read", 0), ("meet", "full"), ("read", 1 << 16), ("end",), draw.sends(draw.size()), ("finish",)]
    return draw.either(writes, reads)


def both_sides_full(draw):
    script = [("read", 0), ("fill", 64 << 20), ("meet", "full"), ("read", draw.rng.choice((1 << 14, 1 << 16)))]
    return draw.either([*script, ("finish",), ("end",)], [*script, ("end",), ("finish",)])


def reset_behind_a_full_pipe(draw):
    resets = [("fill", 64 << 20), ("meet", "full"), ("reset",)]
    return draw.either(resets, [("read", 0), ("meet", "full"), ("read", 1 << 16), ("gone",)])


def reset_by_who_never_read(draw):
    return draw.either([("fill", 64 << 20), ("meet", "full"), ("gone",)], [("read", 0), ("meet", "full"), ("reset",)])


def slow_reader(draw):
    reader = [("read", draw.rng.randrange(1, 2000)), ("end",), ("finish",)]
    return draw.either([("send", draw.size(300_000), 65536), ("finish",), ("end",)], reader)


def tiny_window(draw):
    return bulk(draw)


def early_reset(draw):
    return [("send", draw.size(), 65536), ("reset",)], [("gone",)]


def silent(draw):
    return draw.rng.choice(([("finish",), ("end",)], [("reset",)])), None


KINDS = {
    function.__name__: function
    for function in (
        bulk,
        chat,
        half_close,
        urgent,
        one_byte_writes,
        reset_with_data_in_flight,
        reset_when_idle,
        reset_after_its_fin,
        reset_after_the_others_fin,
        end_with_everything_full,
        both_sides_full,
        reset_behind_a_full_pipe,
        reset_by_who_never_read,
        slow_reader,
        tiny_window,
        early_reset,
        silent,
    )
}


def draw_session(kind, rng, scale):
    client, origin = KINDS[kind](Draw(rng, scale))
    if kind == "silent":
        return Plan(kind, client, None)
    return _plan(kind, client, origin, client_window=2304 if kind == "tiny_window" else 0)
