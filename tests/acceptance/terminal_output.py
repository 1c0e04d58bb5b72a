"""Nothing that others wrote commands the terminal of who uses the command line: names, descriptions, lines, errors and results of
hostile data are printed with their control characters and marks of direction written out, as text and as JSON."""

import json
import os
import re
import sqlite3
import subprocess

from harness import ADMIN_KEY, Server, binary, expect, main

# Clears the screen, sets the title, turns letters around, goes back a line; as an escape, as a control of eight bits, and in one letter.
HOSTILE = "x\x1b[2J\x1b]0;t\x07\u202ey\u2066\x9b1A\r\x08\x7f\u2028z"
COMMANDS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f]")


def palestra(server, *arguments):
    environment = {**os.environ, "PALESTRA_URL": server.url, "PALESTRA_API_KEY": ADMIN_KEY}
    done = subprocess.run([binary(), *arguments], capture_output=True, env=environment, timeout=120, cwd=server.data)
    return done.stdout.decode(), done.stderr.decode()


def fill(server):
    """What could be stored by an older version, or can be stored now: everything with the hostile text in it."""
    api = server.api()
    rows = [{"prompt": f"{HOSTILE} {number}", "answer": "4", "split": "train"} for number in range(3)]
    api.post("/v1/environments", {"environment": {"name": "dataset/odd", "verifier": "exact", "description": HOSTILE}, "rows": rows})
    api.post("/v1/keys", {"name": "plain", "scopes": ["sessions"]})
    job = api.post("/v1/jobs", {"kind": "check", "spec": {"environment": "bench/counter"}, "attempts_max": 1})["id"]
    wanted = {"worker": "plain", "kinds": ["check"], "device": "cpu", "memory_bytes": 1, "wait_ms": 0}
    fence = api.post("/v1/worker/lease", wanted)["fence"]
    events = [
        {"kind": "log", "data": {"level": "info", "message": HOSTILE}},
        {"kind": "metric", "data": {"step": 1, "values": {HOSTILE: 1}}},
        {"kind": "progress", "data": {"done": 1, "total": 2, "unit": HOSTILE[:9], "message": HOSTILE}},
    ]
    api.post(f"/v1/worker/jobs/{job}/events", {"fence": fence, "events": events})
    outcome = {"is": "failed", "retry": False, "error": {"code": "device", "detail": HOSTILE}}
    api.post(f"/v1/worker/jobs/{job}/finish", {"fence": fence, "outcome": outcome})
    server.terminate()
    with sqlite3.connect(os.path.join(server.data, "palestra.db")) as database:
        for table, column in [("keys", "name"), ("jobs", "worker")]:
            changed = database.execute(f"UPDATE {table} SET {column} = ?", [HOSTILE]).rowcount
            expect(changed > 0, f"{table} has rows")
    server.start()
    return job


def run(short):
    """Both forms are the same."""
    with Server() as server:
        job = fill(server)
        faults = os.path.join(server.data, "faults.jsonl")
        with open(faults, "w") as file:
            file.write(json.dumps({"prompt": "a", "answer": "b", HOSTILE: 1}) + "\n")
        printed = 0
        for arguments in [
            ["keys", "list"],
            ["environments"],
            ["environments", "dataset/odd"],
            ["jobs", "list"],
            ["jobs", "list", "--json"],
            ["jobs", "show", job],
            ["jobs", "show", job, "--json"],
            ["jobs", "watch", job],
            ["jobs", "watch", job, "--json"],
            ["run", "dataset/odd", "--policy", "builtin:null", "--episodes", "2"],
            ["publish", faults, "--name", "dataset/faulty"],
            ["publish", faults, "--name", f"dataset/{HOSTILE[:9]}"],
            ["run", f"dataset/{HOSTILE[:9]}", "--policy", "builtin:null", "--episodes", "1"],
            ["check", f"{HOSTILE[:9]}"],
        ]:
            for name, text in zip(("output", "errors"), palestra(server, *arguments)):
                found = COMMANDS.search(text)
                expect(not found, f"palestra {arguments[:2]}: {name} holds {found and ascii(found.group())}: {text[:600]!a}")
                printed += "\\u001b" in text
                if "--json" in arguments and name == "output":
                    for line in text.splitlines() if arguments[1] == "watch" else [text]:
                        expect(arguments[1] == "watch" or HOSTILE in leaves(json.loads(line)), "JSON stays the same JSON")
        expect(printed >= 8, f"the hostile text was to be seen in {printed} outputs")
    return f"14 commands over hostile names, descriptions, lines and errors: none commands the terminal, {printed} show what was there"


def leaves(value):
    if isinstance(value, dict):
        for name, member in value.items():
            yield name
            yield from leaves(member)
    elif isinstance(value, list):
        for member in value:
            yield from leaves(member)
    else:
        yield value


if __name__ == "__main__":
    main(run)
