"""Model calls: agents of others play unchanged behind a session's own base URL; what was recorded and exported is, token for token, what the engine
read and produced, and the key of the upstream is nowhere."""

import json
import os
import struct
import subprocess
import sys
import tempfile
import time

from harness import ADMIN_KEY, FOLDER, Server, expect, main
from scripted_model import Log, serve

PROGRAMS = os.path.join(FOLDER, "tests", "acceptance")
UPSTREAM_KEY = "sk-marker-51c07e9a4d"
SCRIPT = """
policy_version: step-7
rules:
- turn: 0
  tool: add
  any: 'exactly (\\d+)'
  calls: [{tool: add, arguments: '{"amount": {1}}'}]
- tool: final_answer
  calls: [{tool: final_answer, arguments: {answer: done}}]
- text: Done.
"""
# Agents whose packages the other programs need as well; the long form has them all.
AGENTS_SHORT = ["openai_chat", "openai_chat_streamed", "openai_responses", "anthropic_messages", "google_genai"]
AGENTS_LONG = [*AGENTS_SHORT, "openai_agents", "smolagents", "langgraph", "pydantic_ai"]
# Shapes of graphs, and the branches of each.
SHAPES = {"openai_chat": 1, "compaction": 2, "sub_agents": 3}
# Agents that send their history back as words of their own: each call is a branch.
REWORD = {"smolagents"}
EPISODES_SHORT, EPISODES_LONG = 2, 10
TIMEOUT_S = 600


def python_of_agents(folder):
    """A Python with the agents, in an environment of its own."""
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    program = os.path.join(folder, "bin", "python")
    pinned = os.path.join(PROGRAMS, "agents-requirements.txt")
    subprocess.run([program, "-m", "pip", "install", "-q", "-r", pinned], check=True, timeout=TIMEOUT_S)
    return program


def play(python, server, count, names):
    command = [python, os.path.join(PROGRAMS, "playing_agents.py"), server.url, ADMIN_KEY, str(count), *names]
    # An agent that looks for a proxy or a key of its own must find none.
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("OPENAI", "ANTHROPIC", "GOOGLE", "GEMINI"))}
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, env=environment)
    expect(done.returncode == 0, f"an agent failed: {done.stderr[-3000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def tokens_of(call):
    # Log-probabilities are kept in 32 bits, and written in as few digits as name one of these.
    logprobs = [struct.unpack("f", struct.pack("f", logprob)) for logprob in call["logprobs"]]
    return json.dumps([call["prompt_token_ids"], call["completion_token_ids"], logprobs])


def check(api, log, played, branches):
    """Every recorded call is one of the engine's, and the other way round; answers how many there were."""
    recorded = []
    for name, episodes in played.items():
        for one in episodes:
            expect(one["score"] == 1.0, f"{name} scored {one['score']}")
            calls = api.get(f"/v1/episodes/{one['episode']}/calls")["data"]
            expect(all(call["outcome"] == "completed" for call in calls), f"{name}: {[call['error'] for call in calls]}")
            expect({call["policy_version"] for call in calls} == {"step-7"}, f"{name}: the version of the weights")
            recorded += calls
            graph = api.get(f"/v1/episodes/{one['episode']}/graph")
            counts = graph["counts"]
            wanted = branches.get(name, 1) if name not in REWORD else counts["nodes"]
            expect(counts["branches"] == wanted and not graph["omitted"], f"{name}: {counts}")
            sampled = sum(len(call["completion_token_ids"]) for call in calls)
            expect(counts["tokens_trained"] == sampled and counts["tokens_masked"] == 0, f"{name}: {counts}, {sampled} sampled")
    saw = log.take()
    expect(len(saw) == len(recorded), f"the engine answered {len(saw)} calls, {len(recorded)} are recorded")
    expect(sorted(map(tokens_of, saw)) == sorted(map(tokens_of, recorded)), "tokens differ from those of the engine")
    exported = [json.loads(line) for line in read(api, "/v1/episodes:export?format=openenv").splitlines()]
    known = {json.dumps([call["prompt_token_ids"], call["completion_token_ids"]]) for call in saw}
    turns = {json.dumps([turn["prompt_token_ids"], turn["completion_token_ids"]]) for turn in exported}
    expect(turns == known, "tokens of the export differ from those of the engine")
    expect(all(sum(turn["loss_mask"]) == len(turn["completion_token_ids"]) for turn in exported), "a loss mask")
    return len(recorded)


def read(api, path):
    status, _, text = api.raw("GET", path)
    expect(status == 200, f"{path} answered {status}: {text[:500]}")
    return text


def search_for_the_key(server, formats):
    """Reads everything that the server wrote or exports, as bytes; answers how many."""
    paths = [f"/v1/episodes:export?format={form}" for form in formats]
    texts = [read(server.api(), path) for path in (*paths, "/v1/upstreams", "/metrics", "/v1/episodes", "/v1/sessions")]
    for folder, _, files in os.walk(server.data):
        for file in files:
            with open(os.path.join(folder, file), "rb") as opened:
                texts.append(opened.read())
    for text in texts:
        expect(UPSTREAM_KEY.encode() not in text, "the key of an upstream is in a record, a log or an export")
    return sum(map(len, texts))


def run(short):
    began = time.monotonic()
    count = EPISODES_SHORT if short else EPISODES_LONG
    with tempfile.TemporaryDirectory(prefix="palestra-acceptance-") as folder, Server() as server:
        with serve(SCRIPT, "--key", UPSTREAM_KEY) as url:
            tokens = {"return_token_ids": True}
            for dialect, below, extra in [
                ("openai", "/v1", {**tokens, "logprobs": True}),
                ("anthropic", "", tokens),
                ("gemini", "", tokens),
            ]:
                body = {"dialect": dialect, "url": url + below, "key": UPSTREAM_KEY, "models": {"policy": "scripted"}, "extra": extra}
                server.api().call("PUT", f"/v1/upstreams/{dialect}", body)
            python, agents = (sys.executable, AGENTS_SHORT) if short else (python_of_agents(folder), AGENTS_LONG)
            played = play(python, server, count, [*agents, *(shape for shape in SHAPES if shape not in agents)])
            calls = check(server.api(), Log(url, UPSTREAM_KEY), played, SHAPES)
        searched = search_for_the_key(server, ["openenv", "verl", "skyrl", "trl", "verifiers", "tinker", "atif", "inspect", "parquet", "jsonl"])
    episodes = sum(map(len, played.values()))
    return (
        f"{len(agents)} agents and {len(SHAPES)} shapes scored {episodes} episodes with {calls} calls in {time.monotonic() - began:.0f} s; "
        f"tokens of records and exports are the engine's, all; the upstream's key is in none of {searched:,} bytes"
    )


if __name__ == "__main__":
    main(run)
