"""Shows what the two sides logged about one session, and checks what must be true of it.

show.py GATEWAY_LOG NUMBER EDGE_LOG|- NUMBER FIELD=VALUE...
waits for the NUMBERth finished session in each log and compares the gateway's fields; a VALUE that ends in ":" is an
address with any port.
"""

import json
import sys
import time

gateway_log, gateway_number, edge_log, edge_number, *expected = sys.argv[1:]
wrong = 0


def finished(path, number):
    end = time.monotonic() + 10
    while time.monotonic() < end:
        with open(path, encoding="utf-8") as log:
            lines = [json.loads(line) for line in log if line.startswith("{") and line.endswith("}\n")]
        sessions = [line for line in lines if line.get("event") == "session_closed"]
        if len(sessions) >= number:
            return sessions[number - 1]
        time.sleep(0.02)
    sys.exit(f"     no session number {number} in {path}")


def text(value):
    if isinstance(value, str):
        return value or "none"
    return json.dumps(value)


def show(side, session, *names):
    print(f"     {side:8}" + "  ".join(f"{name}={text(session.get(name))}" for name in names))


def check(truth, sentence):
    global wrong
    wrong += not truth
    print(f"     {'ok' if truth else 'WRONG'}: {sentence}")


gateway = finished(gateway_log, int(gateway_number))
if edge_log != "-":
    edge = finished(edge_log, int(edge_number))
    show("edge", edge, "client", "id", "bytes_up", "bytes_down", "reason")
show("gateway", gateway, "claimed", "measured", "claim_trusted", "edge", "edge_session")
for field, _, value in (pair.partition("=") for pair in expected):
    found = text(gateway.get(field))
    check(found == value or value.endswith(":") and found.startswith(value), f"{field} is {value}")
if edge_log != "-":
    check(edge["id"] == gateway["edge_session"], "the edge's id stands in both lines: one grep finds the session")
sys.exit(wrong)
