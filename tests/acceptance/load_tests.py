"""Every row of the performance tables is measured and sane; in the long form against a release build, with all counts."""

import json
import os
import subprocess
import tempfile

from harness import binary, expect, main

FOLDER = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
TIMEOUT_S = 3600
# The tables have about forty rows; those of peers that are not installed are left out.
ROWS_MIN = 28


def run(short):
    """The figures themselves decide nothing here: they belong to the machine and to what else it does."""
    with tempfile.TemporaryDirectory(prefix="palestra-load-") as folder:
        result = os.path.join(folder, "result.json")
        program = os.path.join(os.path.dirname(binary()), "palestra-load-tests")
        expect(os.path.exists(program), f"there is no {program}: cargo build --workspace --bins")
        command = [program, "measure", *(["--short"] if short else []), "--palestra", binary(), "--json", result]
        done = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True, timeout=TIMEOUT_S)
        expect(done.returncode == 0, f"the load tests failed with {done.returncode}: {done.stderr[-2000:]}")
        with open(result) as file:
            measured = json.load(file)
    rows = measured["compared"] + measured["once"]
    expect(len(rows) >= ROWS_MIN, f"only {len(rows)} rows were measured: {[row['id'] for row in rows]}")
    for row in rows:
        values = row.get("cpu_us", row.get("values"))
        expect(values, f"{row['id']} has no figures")
        print(row["id"], values, flush=True)
    for line in measured["missing"]:
        print("not measured:", line, flush=True)
    held = [row["holds"] for row in rows if row["holds"]]
    return f"{len(rows)} rows measured; {held.count('yes')} of {len(held)} targets hold here; missing: {len(measured['missing'])}"


if __name__ == "__main__":
    main(run)
