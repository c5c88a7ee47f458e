"""Writes one file per PROXY protocol vector: seeds.py VECTORS_DIR OUT_DIR."""
import json
import pathlib
import sys

vectors, out = map(pathlib.Path, sys.argv[1:3])
out.mkdir(parents=True, exist_ok=True)
for index in sorted(vectors.glob("*.json")):
    for vector in json.loads(index.read_text())["vectors"]:
        data = bytes.fromhex(vector["hex"])
        # The v1 target puts "PROXY " in front by itself, the C target takes four bytes of settings.
        (out / vector["name"]).write_bytes(data)
        if data.startswith(b"PROXY "):
            (out / (vector["name"] + "-line")).write_bytes(data[6:])
        (out / (vector["name"] + "-set")).write_bytes(b"\xff\x3f\x02\x01" + data)
