"""Real MCP clients of both generations list the tools of a session and finish its task."""

import json
import os
import re
import subprocess
import sys
import tempfile
import venv

from harness import Server, binary, expect, main

FOLDER = os.path.dirname(os.path.abspath(__file__))
PLAYER = os.path.join(FOLDER, "mcp_player.py")
GUIDE = os.path.join(FOLDER, "..", "..", "docs", "mcp.md")
# The newest client cannot be installed beside what the other programs use, which brings the older one.
NEWEST_REQUIREMENTS = ["mcp==2.3.0"]
PLAYER_TIMEOUT_S = 600
# One that reads a lot, and one that writes.
APPS = ["app/shop", "app/calendar"]
NO_SUCH_TOOL = ["no_such_tool", {}]


def counted_to(target, task):
    """A counter that ends where its task says."""
    return {
        "create": {"environment": "bench/counter", "task": task, "config": {"target": target}},
        "calls": [["add", {"amount": target - 1}], ["add", {"amount": 1}]],
    }


def solved(api, environment):
    """A task of an app, with the calls by which the built-in oracle solved it."""
    command = [binary(), "run", environment, "--policy", "builtin:oracle", "--episodes", "1", "--json", "--url", f"http://127.0.0.1:{api.port}"]
    subprocess.run(command, env={**os.environ, "PALESTRA_API_KEY": api.key}, capture_output=True, check=True, timeout=600)
    episode = api.get(f"/v1/episodes?environment={environment}&limit=1")["data"][0]
    trajectory = api.get(f"/v1/episodes/{episode['id']}/trajectory?format=json")
    actions = [step["action"] for step in trajectory["steps"]]
    return {
        "create": {"environment": environment, "task": {"id": trajectory["task"]["id"]}},
        "calls": [[action["tool"], action["arguments"]] for action in actions],
    }


def plays(api):
    """What is played: how a session is opened, and the calls that solve its task."""
    task = {"id": "train-0"}
    told = api.post("/v1/sessions", {"environment": "bench/counter", "task": task})["messages"][-1]["content"]
    return [
        counted_to(int(re.search(r"exactly (\d+)", told).group(1)), task),
        {
            "create": {"environment": "puzzle/mastermind", "task": {"split": "train", "seed": 7, "difficulty": 0}},
            "calls": [["guess", {"code": code}] for code in ("1122", "5838", "5388")],
        },
        *(solved(api, environment) for environment in APPS),
    ]


def run_player(python, mode, sessions):
    asked = json.dumps({"mode": mode, "sessions": sessions})
    done = subprocess.run([python, PLAYER], input=asked, capture_output=True, text=True, timeout=PLAYER_TIMEOUT_S)
    expect(done.returncode == 0, f"a client of {python} failed: {done.stderr[-3000:]}")
    return json.loads(done.stdout.strip().splitlines()[-1])


def check_results(name, results, count):
    """A call of a tool that is not there, `count` calls that solve the task, and one after the end."""
    first, *calls, late = results
    expect(len(calls) == count, f"{name}: {len(calls)} results of {count} calls")
    expect(first["isError"], f"{name}: a tool that is not there answered {first}")
    for number, result in enumerate(calls, 1):
        over = number == count
        expect(not result["isError"] and result["content"][0]["text"], f"{name}: call {number} answered {result}")
        expect(isinstance(result["structuredContent"], dict), f"{name}: call {number} has no data: {result}")
        expect(result["_meta"]["seq"] == number + 1, f"{name}: call {number} is step {result['_meta']}")
        expect(result["_meta"]["terminated"] is over, f"{name}: call {number} of {count} says {result['_meta']}")
    expect("The episode is over" in calls[-1]["content"][-1]["text"], f"{name}: the end is not told: {calls[-1]}")
    code = late["structuredContent"]["error"]["code"]
    expect(late["isError"] and code == "episode_over", f"{name}: a call after the end answered {late}")


def check_play(api, name, play, opened, seen, revision):
    """What a client saw, against the session that it played."""
    expect(seen["revision"] == revision, f"{name} speaks {seen['revision']}, not {revision}")
    told = "\n\n".join(message["content"] for message in opened["messages"])
    expect(seen["instructions"] == told and seen["prompt"] == told, f"{name} was told {seen['instructions']!r}")
    tools = [tool["function"]["name"] for tool in opened["tools"]]
    expect([tool["name"] for tool in seen["tools"]] == tools, f"{name} lists {seen['tools']}")
    check_results(name, seen["results"], len(play["calls"]))
    expect("reward" not in json.dumps(seen) and "verdict" not in json.dumps(seen), f"{name} was told a reward: {seen}")
    episode = api.get(f"/v1/episodes/{opened['episode']}")
    verdict = episode["verdict"]
    expect(verdict["status"] == "scored" and verdict["score"] == 1.0, f"{name}: the verdict is {verdict}")
    expect(episode["seq"] == len(play["calls"]) + 1, f"{name}: {episode['seq']} steps for {len(play['calls']) + 1} calls")


def play_all(server, api, python, mode, revision, rounds):
    """Each play `rounds` times with one kind of client; every other one with a session's token. Answers what was seen."""
    chosen = plays(api) * rounds
    opened = [api.post("/v1/sessions", play["create"]) for play in chosen]
    sessions = [
        {
            "url": f"{server.url}/v1/sessions/{session['id']}/mcp",
            "token": session["token"] if number % 2 else api.key,
            "calls": [NO_SUCH_TOOL, *play["calls"], play["calls"][0]],
        }
        for number, (play, session) in enumerate(zip(chosen, opened))
    ]
    answered = run_player(python, mode, sessions)
    for play, session, seen in zip(chosen, opened, answered["seen"], strict=True):
        check_play(api, f"mcp {answered['package']} ({mode}) in {session['environment']}", play, session, seen, revision)
    return answered


def without_ids(answered):
    """What clients saw but for what differs from session to session."""
    text = json.dumps([[seen["tools"], seen["results"]] for seen in answered["seen"]], sort_keys=True)
    return re.sub(r'epi_[0-9a-f]{32}|, "resultType": "complete"|"resultType": "complete", ', "", text)


def run_guide(python, server, api):
    """The program that the guide shows, as it stands."""
    with open(GUIDE) as file:
        program = re.search(r"^```python no-run\n(.*?)^```$", file.read(), re.M | re.S).group(1)
    environment = {**os.environ, "PALESTRA_URL": server.url, "PALESTRA_API_KEY": api.key}
    done = subprocess.run([python, "-c", program], env=environment, capture_output=True, text=True, timeout=PLAYER_TIMEOUT_S)
    expect(done.returncode == 0, f"the program of the guide failed: {done.stderr[-3000:]}")
    expect("The episode is over: done." in done.stdout, f"the program of the guide did not finish: {done.stdout[-2000:]}")


def newest_python(folder):
    """A Python with the newest client."""
    program = os.environ.get("PALESTRA_TEST_MCP_PYTHON")
    if not program:
        venv.create(folder, with_pip=True)
        program = os.path.join(folder, "bin", "python")
        subprocess.run([program, "-m", "pip", "install", "-q", *NEWEST_REQUIREMENTS], check=True)
    return program


def run(short):
    """Each play once with each kind of client, or many of them at once."""
    rounds = 2 if short else 100
    with tempfile.TemporaryDirectory(prefix="palestra-mcp-") as folder, Server() as server:
        api, newest = server.api(), newest_python(folder)
        answers = [
            play_all(server, api, sys.executable, "handshake", "2025-11-25", rounds),
            play_all(server, api, newest, "legacy", "2025-11-25", rounds),
            play_all(server, api, newest, "auto", "2026-07-28", rounds),
        ]
        expect(len({without_ids(answered) for answered in answers}) == 1, "the clients did not see the same")
        run_guide(newest, server, api)
    packages = sorted({answered["package"] for answered in answers})
    count = sum(len(answered["seen"]) for answered in answers)
    return f"{count} tasks finished by mcp {' and '.join(packages)}, in both generations of the protocol"


if __name__ == "__main__":
    main(run)
