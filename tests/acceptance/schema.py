"""schemathesis over the served OpenAPI document finds no 5xx and no undocumented answer."""

import os
import re
import subprocess
import sys

from harness import ADMIN_KEY, Server, expect, main

CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"
EXAMPLES_LONG, EXAMPLES_SHORT = 100, 10
TIMEOUT_S = 3_600
HOOKS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "schemathesis_hooks.py")
# Things of these kinds exist before the first call, so that calls on them get past `404`.
SETTINGS = """
[[operations]]
include-path-regex = "^/v1/sessions/"
parameters = {{ "path.id" = "{session}" }}

[[operations]]
include-path-regex = "^/v1/episodes/"
parameters = {{ "path.id" = "{episode}", "path.seq" = 1 }}

[[operations]]
include-path-regex = "^/v1/environments/"
parameters = {{ "path.family" = "puzzle", "path.name" = "mastermind" }}

[[operations]]
include-path-regex = "^/openenv/"
parameters = {{ "path.family" = "puzzle", "path.name" = "mastermind", "path.env" = "mastermind" }}
"""


def write_settings(server):
    """A session with a step, whose episode goes on; calls of the run may end or close it."""
    api = server.api()
    opened = api.post("/v1/sessions", {"environment": "puzzle/mastermind", "task": {"split": "train", "index": 0}})
    api.post(f"/v1/sessions/{opened['id']}/step", {"seq": 1, "action": {"text": "1122"}})
    with open(os.path.join(server.data, "schemathesis.toml"), "w") as file:
        file.write(SETTINGS.format(session=opened["id"], episode=opened["episode"]))


def run(short):
    """A bounded number of examples per operation, with a fixed seed in the short form."""
    program = os.path.join(os.path.dirname(sys.executable), "schemathesis")
    with Server() as server:
        write_settings(server)
        command = [
            program, "run", f"{server.url}/openapi.json",
            "--checks", CHECKS,
            "--header", f"Authorization: Bearer {ADMIN_KEY}",
            "--max-examples", str(EXAMPLES_SHORT if short else EXAMPLES_LONG),
            "--phases", "examples,coverage,fuzzing" + ("" if short else ",stateful"),
            "--continue-on-failure",
            "--suppress-health-check", "all",
            "--request-timeout", "30",
            # Python 3.11 parses source in one thread at a time only, and several workers do so at once.
            "--workers", "1",
            "--no-color",
            # Sockets are no HTTP exchange, and an event stream of a live session never ends.
            "--exclude-path", "/v1/stream",
            # Waits for a job as long as it is told to, up to the time that a request may take here; its own tests are in tests/api/worker.rs.
            "--exclude-path", "/v1/worker/lease",
            "--exclude-path-regex", "/(events|ws)$",
        ]
        if short:
            command += ["--seed", "1"]
        found = subprocess.run(
            command, capture_output=True, text=True, timeout=TIMEOUT_S, cwd=server.data,
            env={**os.environ, "SCHEMATHESIS_HOOKS": HOOKS},
        )
        print(found.stdout[-20_000:])
        print(found.stderr[-2_000:], file=sys.stderr)
        expect(found.returncode == 0, "schemathesis found faults, or could not run: see above")
        server.api().get("/healthz")
    cases = re.search(r"(\d+) generated", found.stdout)
    operations = re.search(r"Tested:\s*(\d+)|Operations:\s*(\d+)", found.stdout)
    count = next((group for group in operations.groups() if group), "?") if operations else "?"
    return f"{count} operations, {cases.group(1) if cases else '?'} cases, no 5xx and nothing undocumented"


if __name__ == "__main__":
    main(run)
