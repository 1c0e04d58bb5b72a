"""schemathesis over the served OpenAPI document finds no 5xx and no undocumented answer."""

import os
import re
import subprocess
import sys

from harness import ADMIN_KEY, Server, expect, main

CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"
EXAMPLES_LONG, EXAMPLES_SHORT = 100, 10
TIMEOUT_S = 3_600


def run(short):
    """A bounded number of examples per operation, with a fixed seed in the short form."""
    program = os.path.join(os.path.dirname(sys.executable), "schemathesis")
    with Server() as server:
        command = [
            program, "run", f"{server.url}/openapi.json",
            "--checks", CHECKS,
            "--header", f"Authorization: Bearer {ADMIN_KEY}",
            "--max-examples", str(EXAMPLES_SHORT if short else EXAMPLES_LONG),
            "--phases", "examples,coverage,fuzzing" + ("" if short else ",stateful"),
            "--continue-on-failure",
            "--suppress-health-check", "all",
            "--request-timeout", "30",
            "--workers", "2",
            "--no-color",
            # The socket is no HTTP exchange, and an event stream of a live session never ends.
            "--exclude-path", "/v1/stream",
            "--exclude-path-regex", "/events$",
        ]
        if short:
            command += ["--seed", "1"]
        found = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, cwd=server.data)
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
