"""Shows what the two sides logged about the newest session, field by field, and checks what must be true of it.

show.py GATEWAY_LOG NUMBER EDGE_LOG|- NUMBER CLAIMED|- TRUSTED|-
waits for the gateway's NUMBERth finished session (and the edge's), then compares `claimed` with CLAIMED, an address
with or without a port, and `claim_trusted` with TRUSTED.
"""

import json
import sys
import time

gateway_log, gateway_count, edge_log, edge_count, claimed, trusted = sys.argv[1:]
failed = False


def finished(path, count):
    end = time.monotonic() + 10
    while time.monotonic() < end:
        with open(path, encoding="utf-8") as log:
            lines = [json.loads(line) for line in log if line.startswith("{") and line.endswith("}\n")]
        sessions = [line for line in lines if line.get("event") == "session_closed"]
        if len(sessions) >= count:
            return sessions[count - 1]
        time.sleep(0.02)
    sys.exit(f"     no session number {count} in {path}")


def show(side, session, names):
    print(f"     {side:8}" + "  ".join(f"{name}={session.get(name)}" for name in names))


def check(truth, sentence):
    global failed
    failed = failed or not truth
    print(f"     {'ok' if truth else 'WRONG'}: {sentence}")


gateway = finished(gateway_log, int(gateway_count))
if edge_log != "-":
    edge = finished(edge_log, int(edge_count))
    show("edge", edge, ["client", "id", "bytes_up", "bytes_down", "reason"])
show("gateway", gateway, ["claimed", "measured", "claim_trusted", "edge", "edge_session"])
if claimed == "-":
    check(not gateway.get("claimed"), "nothing is claimed; the measured address is the client's")
else:
    said = str(gateway.get("claimed"))
    check(said == claimed or said.rpartition(":")[0] == claimed, f"the claim is {claimed}")
    check(
        gateway.get("claim_trusted") is (trusted == "true"),
        "the claim is " + ("trusted" if trusted == "true" else "marked untrusted"),
    )
if edge_log != "-":
    check(edge["id"] == gateway.get("edge_session"), "the edge's id is in the gateway's line: one grep finds both")
sys.exit(failed)
