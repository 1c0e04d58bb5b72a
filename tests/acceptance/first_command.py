"""README's first command brings `ready`, and the curl lines that it prints end in a `scored` verdict when pasted."""

import os
import re
import shlex
import subprocess
import tempfile
import threading

from harness import Failed, binary, expect, free_port, main

READY_TIMEOUT_S = 900
FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


def first_command():
    with open(os.path.join(FOLDER, "README.md")) as readme:
        text = readme.read()
    found = re.search(r"```sh[^\n]*\n(cargo run[^\n]*serve[^\n]*)\n", text)
    expect(found, "README.md shows no first command that begins with `cargo run` and serves")
    return shlex.split(found.group(1))


def run(short):
    """The short form runs the program that is built already; the long form runs README's command as it stands."""
    with tempfile.TemporaryDirectory(prefix="palestra-acceptance-") as data:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PALESTRA_")}
        environment |= {"PALESTRA_DATA": data, "PALESTRA_LISTEN": f"127.0.0.1:{free_port()}"}
        command = [binary(), "serve"] if short else first_command()
        process = subprocess.Popen(command, cwd=FOLDER, env=environment, stdout=subprocess.PIPE, text=True)
        watchdog = threading.Timer(READY_TIMEOUT_S, process.kill)
        watchdog.start()
        try:
            printed = []
            for line in process.stdout:
                printed.append(line)
                if line.startswith("ready"):
                    break
            else:
                raise Failed("the first command ended without `ready`")
            lines = pasteable("".join(printed))
            pasted = subprocess.run(["bash", "-euo", "pipefail"], input=lines, capture_output=True, text=True, timeout=60)
            expect(pasted.returncode == 0, f"the pasted lines failed: {pasted.stderr}")
            expect(re.search(r'"status":\s*"scored"', pasted.stdout), f"no scored verdict in: {pasted.stdout[-1000:]}")
            score = re.search(r'"score":\s*([0-9.]+)', pasted.stdout)
            return f"ready, {lines.count('curl')} curl lines, score {score.group(1)}"
        finally:
            watchdog.cancel()
            process.terminate()
            process.wait()


def pasteable(text):
    """The printed curl lines, with those that continue them."""
    kept, inside = [], False
    for line in text.splitlines():
        stripped = line.strip()
        if inside or stripped.startswith("curl ") or re.match(r"[A-Z_]+=", stripped):
            kept.append(stripped)
            inside = stripped.endswith("\\")
    expect(any(line.startswith("curl ") for line in kept), f"no curl lines were printed:\n{text}")
    return "\n".join(kept) + "\n"


if __name__ == "__main__":
    main(run)
