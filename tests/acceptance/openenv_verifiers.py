"""The OpenEnv task set of verifiers against a running server: its own code plays, with a policy in the place of the model.

Runs in a Python with `verifiers[openenv]`: openenv_verifiers.py URL TRAINER_KEY ADMIN_KEY. The last line of its output is JSON.
"""

import asyncio
import contextlib
import itertools
import json
import re
import sys
import urllib.request
from types import SimpleNamespace

from verifiers.v1.tasksets.openenv import OpenEnvConfig, OpenEnvEnv, OpenEnvTaskset


class Seat:
    """Where verifiers talks to a model: turns come in as text, and answers go out."""

    def __init__(self, policy):
        self.policy = policy
        self.rewards = {}
        self.seen = []
        self.trace = SimpleNamespace(stop=lambda reason: None, record_reward=self.rewards.__setitem__)

    @contextlib.asynccontextmanager
    async def interaction(self, _task):
        yield self

    async def turn(self, payload):
        self.seen.append(payload)
        return SimpleNamespace(terminated=False, last_reply=self.policy(json.loads(payload)))


def get(url, path, key):
    request = urllib.request.Request(url + path, headers={"Authorization": f"Bearer {key}"})
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


def tasks(url, environment, key, resets):
    config = OpenEnvConfig(base_url=f"{url}/openenv/{environment}/t/{key}", resets=resets)
    return list(OpenEnvTaskset(config).load())


async def play(task, policy):
    seat = Seat(policy)
    env = OpenEnvEnv.__new__(OpenEnvEnv)
    await env.run(task, SimpleNamespace(player=seat))
    for payload in seat.seen:
        # What the model reads tells neither rewards nor names.
        assert not re.search(r"(ses|epi)_[0-9a-f]{32}|\"reward\"|\"score\"", json.dumps(json.loads(payload)["observation"])), payload
    return seat.rewards["openenv_reward"]


def verdict(url, key, label):
    cursor = ""
    while cursor is not None:
        page = get(url, f"/v1/sessions?limit=1000{cursor and '&cursor=' + cursor}", key)
        for session in page["data"]:
            if (session["metadata"] or {}).get("openenv", {}).get("episode_id") == label:
                return get(url, f"/v1/episodes/{session['episode']}", key)["verdict"]
        cursor = page["next_cursor"]
    raise AssertionError(f"there is no session of {label}")


def counting(off):
    """Answers in plain text, in JSON text and by a tool call, whichever the number says."""

    def policy(payload):
        wanted = int(re.search(r"exactly (\d+)", payload["observation"]["text"]).group(1)) + off
        forms = [str(wanted), json.dumps({"text": str(wanted)}), json.dumps({"tool": "add", "arguments": {"amount": wanted}})]
        return forms[wanted % 3]

    return policy


def breaking():
    """Guesses the first code that agrees with everything revealed."""
    revealed = []

    def told(guess, code):
        exact = sum(one == other for one, other in zip(guess, code))
        return exact, sum(min(guess.count(digit), code.count(digit)) for digit in set(guess)) - exact

    def policy(payload):
        text = payload["observation"]["text"]
        found = re.findall(r"(\d+): (\d+) exact, (\d+) misplaced", text)
        revealed.extend((guess, (int(exact), int(misplaced))) for guess, exact, misplaced in found)
        codes = map("".join, itertools.product("12345678", repeat=len(revealed[0][0])))
        return next(code for code in codes if all(told(guess, code) == what for guess, what in revealed))

    return policy


async def run(url, key, admin):
    played = 0
    for off in (0, 1):
        resets = [{"seed": seed, "episode_id": f"verifiers-{off}-{seed}", "limits": {"steps": 1}} for seed in range(12)]
        for task, reset in zip(tasks(url, "bench/counter", key, resets), resets):
            reward = await play(task, counting(off))
            found = verdict(url, admin, reset["episode_id"])
            assert found["status"] == "scored" and found["score"] == reward == 1.0 - off, (reward, found)
            played += 1
    # Several turns: the sum of the rewards is the score.
    [task] = tasks(url, "puzzle/mastermind", key, [{"seed": 7, "difficulty": 0.0, "episode_id": "verifiers-mastermind"}])
    reward = await play(task, breaking())
    found = verdict(url, admin, "verifiers-mastermind")
    assert found["score"] == reward > 0, (reward, found)
    # An episode without a score raises, and records no reward.
    [task] = tasks(url, "bench/counter", key, [{"seed": 1, "episode_id": "verifiers-failed", "config": {"panic_at": 1}}])
    try:
        await play(task, lambda payload: "1")
    except RuntimeError as error:
        assert "EXECUTION_ERROR" in str(error), error
    else:
        raise AssertionError("a failed episode has a reward")
    assert verdict(url, admin, "verifiers-failed")["status"] == "infra_error"
    return played + 2


if __name__ == "__main__":
    print(json.dumps({"played": asyncio.run(run(*sys.argv[1:4]))}))
