"""Clients that public generators make of the API document compile and play an episode: `openapi-python-client` and `openapi-typescript`."""

import compileall
import json
import os
import shutil
import subprocess
import sys
import tempfile
import urllib.request

from harness import Server, expect, main

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "generated")
TOOLS = os.path.dirname(sys.executable)
TIMEOUT_S = 600


def tool(folder, *command):
    """Runs a program beside this Python, or one that npm installed in the folder; answers its output."""
    path = os.pathsep.join([os.path.join(folder, "node_modules", ".bin"), TOOLS, os.environ["PATH"]])
    done = subprocess.run(command, cwd=folder, env={**os.environ, "PATH": path}, capture_output=True, text=True, timeout=TIMEOUT_S)
    expect(done.returncode == 0, f"{' '.join(command)} failed: {(done.stdout + done.stderr)[-3000:]}")
    return done.stdout


def check(language, printed):
    verdict = json.loads(printed.strip().splitlines()[-1])
    expect(verdict["status"] == "scored" and verdict["score"] == 1.0, f"{language}: the verdict is {verdict}")
    expect(isinstance(verdict["checks"], list), f"{language}: the checks are {verdict['checks']}")


def in_python(folder, server, key):
    """Nothing of the document is left out: a warning of the generator is a failure."""
    generate = ["generate", "--path", "openapi.json", "--output-path", "palestra_client", "--meta", "none", "--config", "config.yml"]
    tool(folder, "openapi-python-client", *generate, "--fail-on-warning")
    client = os.path.join(folder, "palestra_client")
    expect(compileall.compile_dir(client, quiet=1), "the Python client does not compile")
    check("Python", tool(folder, sys.executable, "play.py", folder, server.url, key))
    return sum(name.endswith(".py") for _, _, names in os.walk(client) for name in names)


def in_typescript(folder, server, key):
    tool(folder, "npm", "install", "--no-audit", "--no-fund", "--no-package-lock", "--loglevel", "error")
    tool(folder, "openapi-typescript", "openapi.json", "-o", "schema.d.ts")
    tool(folder, "tsc", "--project", "tsconfig.json")
    check("TypeScript", tool(folder, "node", "play.js", server.url, key))
    with open(os.path.join(folder, "schema.d.ts")) as file:
        return sum(1 for _ in file)


def run(_short):
    with tempfile.TemporaryDirectory(prefix="palestra-generated-") as parent, Server() as server:
        folder = shutil.copytree(FOLDER, os.path.join(parent, "clients"))
        with urllib.request.urlopen(f"{server.url}/openapi.json", timeout=30) as answer, open(os.path.join(folder, "openapi.json"), "wb") as file:
            shutil.copyfileobj(answer, file)
        key = server.api().key
        modules = in_python(folder, server, key)
        lines = in_typescript(folder, server, key)
    return f"one episode each: a Python client of {modules} modules without a warning, TypeScript types of {lines} lines"


if __name__ == "__main__":
    main(run)
