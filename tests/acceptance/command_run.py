"""`palestra run` ends by itself with the right numbers, and leaves nothing behind on a server even when it is interrupted or killed."""

import json
import os
import re
import signal
import subprocess
import time

from harness import ADMIN_KEY, Server, binary, expect, main

COMMAND_TIMEOUT_S = 300
APPEAR_TIMEOUT_S = 60
# The lease is 60 s, and the server looks at leases every few seconds.
LEASE_TIMEOUT_S = 90
GAUGE = "palestra_sessions_live"


def arguments(environment, policy, *more):
    return [binary(), "run", environment, "--policy", f"builtin:{policy}", *more]


def variables(server):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PALESTRA_")}
    return kept | ({"PALESTRA_URL": server.url, "PALESTRA_API_KEY": ADMIN_KEY} if server else {})


def play(server, *command):
    """The line of JSON that a run ends with, on a server or in process."""
    done = subprocess.run(
        [*arguments(*command), "--json"], env=variables(server), capture_output=True, text=True, timeout=COMMAND_TIMEOUT_S
    )
    expect(done.returncode == 0, f"{command} failed: {done.stderr[-2000:]}")
    expect(not done.stderr, f"{command} with --json writes more than its line: {done.stderr[-500:]}")
    return json.loads(done.stdout)


def stop_midway(server, with_signal, patience_s):
    """Ends a run that plays with a signal; answers how long its sessions outlived it, in seconds."""
    api = server.api()
    command = arguments("bench/counter", "null", "--episodes", "1000000")
    process = subprocess.Popen(command, env=variables(server), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    wait_for(lambda: api.metric(GAUGE) > 0, APPEAR_TIMEOUT_S, "the run opens no session")
    process.send_signal(with_signal)
    _, errors = process.communicate(timeout=COMMAND_TIMEOUT_S)
    expect(process.returncode != 0, "an interrupted run says that all is well")
    expect(errors.startswith("0 of 1000000 episodes"), f"no progress from the start: {errors[:200]}")
    began = time.monotonic()
    wait_for(lambda: api.metric(GAUGE) == 0, patience_s, f"{api.metric(GAUGE):.0f} sessions outlived the run")
    return time.monotonic() - began


def say(server, *command):
    """What a command writes."""
    done = subprocess.run([binary(), *command], env=variables(server), capture_output=True, text=True, timeout=COMMAND_TIMEOUT_S)
    expect(done.returncode == 0, f"{command} failed: {done.stderr[-2000:]}")
    return done.stdout


def demo():
    """It forks, rewinds and measures, and the scores are those that it should see."""
    told = say(None, "demo")
    scores = re.findall(r"^   score (\S+)$", told, re.M)
    expect(len(scores) == 3 and scores[1] == "1.0000" and float(scores[0]) < 1 and float(scores[2]) < 1, f"scores {scores}: {told}")
    expect("sent twice: the same answer" in told, f"a step that was sent twice had two answers: {told}")
    expect("builtin:oracle   mean score 1.0000 of 300" in told, f"the oracle is not measured: {told}")


def look(server, run):
    """What was played is found again, by the run, by score, and step by step."""
    runs = json.loads(say(server, "runs", "list", "--json"))
    found = [(row["episodes"], row["scored"], row["mean_score"]) for row in runs if row["id"] == run]
    expect(found == [(20, 20, 1.0)], f"the run is listed as {found}")
    listed = ["episodes", "list", "--run", run, "--json", "--limit", "100"]
    solved = json.loads(say(server, *listed, "--score-min", "1", "--status", "scored"))
    expect(len(solved) == 20 and not json.loads(say(server, *listed, "--score-max", "0.5")), f"{len(solved)} are solved")
    replayed = say(server, "replay", solved[0]["id"])
    shown = say(server, "episodes", "show", solved[0]["id"])
    expect("── step 1\n" in replayed and replayed.endswith(shown) and "score        1.0000\n" in shown, f"replayed: {replayed}")
    session = say(server, "sessions", "show", solved[0]["session"])
    expect("state        closed\n" in session, f"a session of a run that has ended: {session}")


def wait_for(condition, patience_s, otherwise):
    deadline = time.monotonic() + patience_s
    while not condition():
        expect(time.monotonic() < deadline, otherwise)
        time.sleep(0.1)


def run(short):
    """The long form also kills a run, and waits until its lease expires."""
    with Server() as server:
        for where in (None, server):
            line = play(where, "puzzle/countdown", "oracle", "--episodes", "20")
            expect(line["mean"] == 1.0 and line["scored"] == 20, f"the oracle does not solve every task: {line}")
        look(server, line["run"])
        demo()
        for policy in ("null", "random"):
            line = play(server, "bench/counter", policy, "--episodes", "3")
            expect(line["scored"] == 3, f"{policy} does not end by itself: {line}")
        episodes = server.api().get("/v1/episodes?environment=bench/counter&limit=100")["data"]
        expect(all(episode["seq"] <= 1000 for episode in episodes), "an episode had more than 1,000 turns")
        line = play(server, "bench/counter", "null", "--episodes", "1", "--max-steps", "7")
        last = server.api().get("/v1/episodes?environment=bench/counter&limit=100")["data"]
        expect(7 in [episode["seq"] for episode in last], f"--max-steps 7 gave {[episode['seq'] for episode in last]}")
        stop_midway(server, signal.SIGINT, patience_s=10)
        figures = "mean 1.0 in process and on a server; null and random end; interrupted: 0 sessions left"
        if not short:
            figures += f"; killed: 0 sessions left after {stop_midway(server, signal.SIGKILL, LEASE_TIMEOUT_S):.0f} s"
        return figures


if __name__ == "__main__":
    main(run)
