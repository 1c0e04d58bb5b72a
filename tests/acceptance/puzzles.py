"""Every puzzle: the oracle scores 1, null and random stay under the floor, and independent checkers agree with every verdict."""

import importlib
import json
import math
import os
import pkgutil
import random
import subprocess
import time

import puzzle_checks
from harness import ADMIN_KEY, Server, binary, expect, main

DIFFICULTIES = (0, 0.25, 0.5, 0.75, 1)
INSTANCES_LONG, INSTANCES_SHORT = 1_000, 10
# Of the policies that have to stay under the floor, whose means are noisy.
BLIND_LONG, BLIND_SHORT = 1_000, 100
# In the short form a mean above its floor is a fault where chance has it so high more rarely than this.
CHANCE_MAX = 1e-6
CHECKERS_MIN = 8
SESSIONS_AT_ONCE = 256
# Partial credit is a ratio of small numbers; both sides may round it their way.
SCORE_TOLERANCE = 1e-6


def chance(mean, floor, instances):
    """How often scores from 0 to 1 whose expectation is `floor` have at least this mean, at most: Hoeffding's bound in its sharp
    form, <https://doi.org/10.1080/01621459.1963.10500830>, theorem 1."""
    if mean <= floor:
        return 1.0
    if floor <= 0:
        return 0.0
    above = mean * math.log(mean / floor)
    below = (1 - mean) * math.log((1 - mean) / (1 - floor)) if mean < 1 else 0.0
    return math.exp(-instances * (above + below))


def puzzles(api):
    """The specs of all puzzles."""
    found, cursor = [], ""
    while cursor is not None:
        page = api.get(f"/v1/environments?family=puzzle&limit=100{cursor}")
        found += page["data"]
        cursor = f"&cursor={page['next_cursor']}" if page.get("next_cursor") else None
    expect(len(found) >= 24, f"only {len(found)} puzzles")
    return found


def play_builtin(server, name, policy, instances):
    """The mean score of a built-in policy over all difficulties in turn, by the command that users have."""
    command = [
        binary(), "run", name, "--policy", f"builtin:{policy}", "--episodes", str(instances), "--json",
        "--difficulty", ",".join(map(str, DIFFICULTIES)), "--url", server.url,
    ]
    done = subprocess.run(
        command, env={**os.environ, "PALESTRA_API_KEY": ADMIN_KEY}, capture_output=True, text=True, timeout=3600
    )
    expect(done.returncode == 0, f"{' '.join(command[1:])} failed: {done.stderr[-2000:]}")
    line = json.loads(done.stdout.strip().splitlines()[-1])
    expect(line["scored"] == instances, f"{name} by {policy}: {line}")
    return line["mean"]


def open_tasks(api, name, instances):
    """(choice, metadata) of tasks over all difficulties."""
    choices = [
        {"split": "validation", "seed": seed, "difficulty": DIFFICULTIES[seed % len(DIFFICULTIES)]}
        for seed in range(instances)
    ]
    tasks = []
    for start in range(0, instances, SESSIONS_AT_ONCE):
        part = choices[start : start + SESSIONS_AT_ONCE]
        opened = api.batch("create", [{"environment": name, "task": choice} for choice in part])
        tasks += [(choice, session["task"]["metadata"]) for choice, session in zip(part, opened)]
        for session in opened:
            api.delete(f"/v1/sessions/{session['id']}")
    return tasks


def scores(api, name, attempts):
    """The verdict on each (choice, answer); a line of the answer is a turn where the puzzle has many."""
    found = []
    for start in range(0, len(attempts), SESSIONS_AT_ONCE):
        part = attempts[start : start + SESSIONS_AT_ONCE]
        opened = api.batch("create", [{"environment": name, "task": choice} for choice, _ in part])
        waiting = {session["id"]: (index, turns(name, answer)) for index, (session, (_, answer)) in enumerate(zip(opened, part))}
        verdicts, seq = {}, 0
        while waiting:
            seq += 1
            steps = [
                {"session": session, "seq": seq, "action": {"text": lines[seq - 1]}}
                for session, (_, lines) in waiting.items()
                if seq <= len(lines)
            ]
            stopped = [session for session, (_, lines) in waiting.items() if seq > len(lines)]
            for step, stepped in zip(steps, api.batch("step", steps)):
                if stepped["terminated"] or stepped["truncated"]:
                    verdicts[step["session"]] = stepped["verdict"]
            # What did not end by itself is judged as it stands.
            for session in stopped:
                verdicts[session] = api.post(f"/v1/sessions/{session}/finish", {"reason": "gave_up"})["verdict"]
            waiting = {session: left for session, left in waiting.items() if session not in verdicts}
        for session in opened:
            verdict = verdicts[session["id"]]
            expect(verdict["status"] == "scored", f"{name}: {verdict}")
            found.append(verdict["score"])
            api.delete(f"/v1/sessions/{session['id']}")
    return found


MULTI_TURN = set()


def turns(name, answer):
    return answer.split("\n") if name in MULTI_TURN else [answer]


def compare(api, name, checker, instances):
    """Solutions found without the server score 1, and every verdict is the checker's; answers how many were compared."""
    generator = random.Random(7)
    attempts, expected = [], []
    for choice, metadata in open_tasks(api, name, instances):
        found = checker.solve(metadata, generator)
        expect(found, f"{name}: no solution of {choice} was found from its metadata alone: {metadata}")
        for answer in found:
            expect(checker.check(metadata, answer) == 1, f"{name}: the checker rejects its own solution {answer!r} of {choice}")
        near = checker.wrong(metadata, found[0], generator)
        for answer in [*found, *near]:
            attempts.append((choice, answer))
            expected.append(checker.check(metadata, answer))
    given = scores(api, name, attempts)
    for attempt, wanted, score in zip(attempts, expected, given):
        expect(abs(wanted - score) <= SCORE_TOLERANCE, f"{name}: {attempt} scores {score}, and {wanted} by {checker.AGREES_WITH}")
    wrong = sum(score < 1 for score in given)
    expect(wrong >= instances / 2, f"{name}: only {wrong} wrong answers were compared")
    return len(given), wrong


def run(short):
    """The long form takes 1,000 instances of each puzzle."""
    instances, blind = (INSTANCES_SHORT, BLIND_SHORT) if short else (INSTANCES_LONG, BLIND_LONG)
    checkers = {module.name: importlib.import_module(f"puzzle_checks.{module.name}") for module in pkgutil.iter_modules(puzzle_checks.__path__)}
    expect(len(checkers) >= CHECKERS_MIN, f"only {len(checkers)} independent checkers")
    compared = rejected = 0
    rows = []
    with Server() as server:
        specs = puzzles(server.api())
        names = {spec["name"].split("/")[1] for spec in specs}
        expect(checkers.keys() <= names, f"checkers without a puzzle: {sorted(checkers.keys() - names)}")
        for spec in specs:
            name, short_name = spec["name"], spec["name"].split("/")[1]
            if "multi-turn" in spec["tags"]:
                MULTI_TURN.add(name)
            began = time.monotonic()
            counts = {"oracle": instances, "null": blind, "random": blind}
            means = {policy: play_builtin(server, name, policy, count) for policy, count in counts.items()}
            expect(means["oracle"] == 1, f"the oracle scores {means['oracle']} on {name}")
            for policy in ("null", "random"):
                mean, floor = means[policy], spec["floor"]
                # The long form takes the floor at its word; over fewer instances a mean may lie above it by chance.
                holds = chance(mean, floor, blind) > CHANCE_MAX if short else mean <= floor
                expect(holds, f"{policy} scores {mean} over {blind} instances of {name}, above its floor of {floor}")
            row = f"{short_name}: oracle 1.0, random {means['random']:.3f} (floor {spec['floor']})"
            if short_name in checkers:
                # The commands took their time: an idle connection may be closed by now.
                count, wrong = compare(server.api(), name, checkers[short_name], instances)
                compared, rejected = compared + count, rejected + wrong
                row += f", {count} verdicts as by {checkers[short_name].AGREES_WITH}, {wrong} of them wrong answers"
            rows.append(row)
            print(f"{row}; {time.monotonic() - began:.1f} s", flush=True)
    return (
        f"{len(specs)} puzzles, {instances} instances each over {len(DIFFICULTIES)} difficulties: oracle 1.0, null and random under the floor; "
        f"{len(checkers)} independent checkers agree on {compared} verdicts, {rejected} of them of wrong answers"
    )


if __name__ == "__main__":
    main(run)
