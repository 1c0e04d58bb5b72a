"""The shipped apps: ten at least, with 120 task templates and a fifth of them infeasible; each passes `palestra check`, and is played over
HTTP by its oracle, by doing nothing, and on screens."""

import json
import os
import subprocess

from harness import ADMIN_KEY, Server, binary, expect, main

APPS_MIN, TEMPLATES_MIN, INFEASIBLE_SHARE_MIN = 10, 120, 0.2
SEEDS_LONG, SEEDS_SHORT = 50, 4
CALLS_LONG, CALLS_SHORT = 10_000, 300
# The tests of every change audit eight draws already.
DRAWS_LONG, DRAWS_SHORT = 1_000, 2
EPISODES_LONG, EPISODES_SHORT = 200, 12


def check(short):
    """The reports of `palestra check app/*`, by app."""
    seeds, calls, draws = (SEEDS_SHORT, CALLS_SHORT, DRAWS_SHORT) if short else (SEEDS_LONG, CALLS_LONG, DRAWS_LONG)
    command = [binary(), "check", "app/*", "--json", "--seeds", str(seeds), "--calls", str(calls), "--draws", str(draws)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=3600)
    expect(done.returncode == 0, f"{' '.join(command[1:])} failed:\n{done.stderr[-4000:]}")
    reports = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return {report["app"]: report["report"] for report in reports}


def infeasible(folder):
    """How many templates of the shipped definitions end in a refusal."""
    count = 0
    for place, _, files in os.walk(folder):
        for name in files:
            if name.endswith(".yaml"):
                with open(os.path.join(place, name)) as file:
                    count += file.read().count("infeasible: true")
    return count


def play(server, name, policy, episodes):
    command = [
        binary(), "run", name, "--policy", f"builtin:{policy}", "--episodes", str(episodes), "--json", "--url", server.url,
    ]
    environment = {**os.environ, "PALESTRA_API_KEY": ADMIN_KEY}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=3600)
    expect(done.returncode == 0, f"{' '.join(command[1:])} failed: {done.stderr[-2000:]}")
    line = json.loads(done.stdout.strip().splitlines()[-1])
    expect(line["scored"] == episodes, f"{name} by {policy}: {line}")
    return line["mean"], line["strict"]


def run(short):
    reports = check(short)
    templates = sum(len(report["templates"]) for report in reports.values())
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "environments", "app")
    refusals = infeasible(folder)
    expect(len(reports) >= APPS_MIN, f"only {len(reports)} apps")
    expect(templates >= TEMPLATES_MIN, f"only {templates} templates")
    expect(refusals >= INFEASIBLE_SHARE_MIN * templates, f"only {refusals} of {templates} templates are infeasible")
    episodes = EPISODES_SHORT if short else EPISODES_LONG
    with Server() as server:
        for name in sorted(reports):
            mean, strict = play(server, name, "oracle", episodes)
            expect(mean == 1 and strict == 1, f"{name}: the oracle scores {mean}, strictly {strict}")
            mean, strict = play(server, name, "null", episodes)
            expect(mean <= 0.05 and strict == 0, f"{name}: doing nothing scores {mean}, strictly {strict}")
    figures = [figures for report in reports.values() for figures in report["templates"].values()]
    total = {key: sum(one[key] for one in figures) for key in ("tasks", "mutants", "survivors")}
    replays = [sum(one["replays"][place] for one in figures) for place in (0, 1)]
    return (
        f"{len(reports)} apps, {templates} templates ({refusals} infeasible); {total['tasks']} tasks, {total['survivors']} of "
        f"{total['mutants']} mutants pass, {replays[1]} of {replays[0]} replays solve; oracle 1, null under the floor"
    )


if __name__ == "__main__":
    main(run)
