"""The wheel in a fresh virtual environment: `pip install`, `palestra serve`, and the lines of its README play and score."""

import os
import re
import subprocess
import sys
import tempfile
import threading

from harness import FOLDER, Failed, expect, free_port, main

MATURIN = "maturin==1.16.0"
BUILD_TIMEOUT_S = 3600
TIMEOUT_S = 300
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.M | re.S)


def done(command, timeout=TIMEOUT_S, **more):
    result = subprocess.run(command, capture_output=True, text=True, timeout=timeout, **more)
    expect(result.returncode == 0, f"{command[:4]} failed: {(result.stdout + result.stderr)[-3000:]}")
    return result.stdout


def fresh(folder, *packages):
    """A virtual environment with these packages; answers its folder of programs."""
    done([sys.executable, "-m", "venv", folder])
    programs = os.path.join(folder, "bin")
    done([os.path.join(programs, "python"), "-m", "pip", "install", "-q", "--disable-pip-version-check", *packages], timeout=BUILD_TIMEOUT_S)
    return programs


def serve(programs, folder, port):
    """Starts the installed server as a user does; answers it and what its first start exports."""
    command = [os.path.join(programs, "palestra"), "serve", "--listen", f"127.0.0.1:{port}", "--data", os.path.join(folder, "data")]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PALESTRA_", "PYTHON"))}
    process = subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    found = {}
    for line in process.stdout:
        if variable := re.match(r"\s*export (\w+)=(\S+)$", line):
            found[variable.group(1)] = variable.group(2)
        if line.startswith("ready"):
            threading.Thread(target=process.stdout.read, daemon=True).start()
            return process, {**environment, **found}
    raise Failed(f"the installed server did not become ready (exit {process.wait()})")


def run(_short):
    with tempfile.TemporaryDirectory(prefix="palestra-wheel-") as folder:
        tools = fresh(os.path.join(folder, "tools"), MATURIN)
        environment = {**os.environ, "PATH": os.pathsep.join([tools, os.environ["PATH"]])}
        wheel = done([os.path.join(FOLDER, "scripts", "wheel"), folder], timeout=BUILD_TIMEOUT_S, env=environment).strip()
        name = os.path.basename(wheel)
        expect(re.fullmatch(r"palestra-[\d.]+-py3-none-manylinux_\d+_\d+_\w+\.whl", name), f"the wheel is called {name!r}")
        programs = fresh(os.path.join(folder, "user"), wheel)
        process, environment = serve(programs, folder, free_port())
        try:
            with open(os.path.join(FOLDER, "clients", "python", "README.md")) as readme:
                (block,) = BLOCK.findall(readme.read())
            printed = done([os.path.join(programs, "python"), "-c", block], env=environment, cwd=folder).strip()
        finally:
            process.terminate()
            process.wait()
        played = re.fullmatch(r"(\d+) samples of \1", printed)
        expect(played and int(played.group(1)) > 0, f"the lines of the README print {printed!r}")
        return f"{name}, {os.path.getsize(wheel) / 1e6:.1f} MB; {printed}"


if __name__ == "__main__":
    main(run)
