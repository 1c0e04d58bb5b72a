"""Trains a language model on the CPU in minutes: first on examples, then by reward, and measures both on words it never saw.

Needs no package, and a server whose machine has the program `palestra-trainer` beside `palestra`. Reads PALESTRA_URL and PALESTRA_API_KEY.
The task: of which letter does most of a word consist?
"""

import itertools
import json
import os
import random
import time
import urllib.request

NAME = "dataset/letters"
PLAY = {"max_context_tokens": 64, "max_tokens": 4, "max_turns": 1}
SAMPLED = {"temperature": 1.0}


def call(method, path, body, content_type="application/json"):
    data = body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
    headers = {"Authorization": "Bearer " + os.environ["PALESTRA_API_KEY"], "Content-Type": content_type}
    request = urllib.request.Request(os.environ["PALESTRA_URL"] + "/v1" + path, data, headers, method=method)
    with urllib.request.urlopen(request) as answer:
        return json.loads(answer.read())


def most(word):
    return max(sorted(set(word)), key=word.count)


def words():
    """No word is in two splits."""
    found = ["".join(word) for word in itertools.product("abcdefgh", repeat=5)]
    found = [word for word in found if word.count(most(word)) > len(word) // 2]
    random.Random(5).shuffle(found)
    return {"train": found[:3000], "validation": found[3000:3600]}


def publish(splits):
    rows = [{"prompt": word, "answer": most(word), "split": split} for split, part in splits.items() for word in part]
    lines = "".join(json.dumps(row) + "\n" for row in rows).encode()
    return call("POST", f"/environments?name={NAME}&verifier=exact", lines, "application/jsonl")


def train(spec):
    """Queues a training and waits for its end."""
    job = call("POST", "/jobs", {"kind": "train", "spec": spec})
    while job["state"] in ("queued", "running"):
        time.sleep(1)
        job = call("GET", f"/jobs/{job['id']}", None)
        print(job["state"], job.get("waiting") or "", (job["progress"] or {}).get("done", 0), "steps", end="\r", flush=True)
    print()
    if job["state"] != "succeeded":
        raise SystemExit(job["error"]["detail"])
    return job["result"]


def conversation(word):
    messages = [{"role": "user", "content": word}, {"role": "assistant", "content": most(word)}]
    return json.dumps({"messages": messages})


def main():
    splits = words()
    publish(splits)
    environments = [{"name": NAME, "split": "train"}]
    measured = {"split": "validation", "episodes": 200, "sampling": SAMPLED}
    # Stops early: an answer is mostly a letter, and now and then the right one. The policy keeps its tool format.
    taught = train({
        "policy": {"from": "builtin:tiny-transformer", "size": {"layers": 2, "width": 64, "heads": 4}},
        "algorithm": {"name": "sft"},
        "data": {"lines": "\n".join(map(conversation, splits["train"]))},
        "environments": environments,
        "rollout": {**PLAY, "tool_format": "text"},
        "optimizer": {"lr": 0.003, "examples_per_step": 64},
        "evaluate": {**measured, "every": 24, "at_start": False},
        "steps": 24, "seed": 3,
    })
    learnt = train({
        "policy": {"from": taught["policy"]},
        "algorithm": {"name": "grpo", "group_size": 8, "tasks_per_step": 32},
        "environments": environments,
        "rollout": {**PLAY, "concurrent_sessions": 256},
        "optimizer": {"lr": 0.002},
        "evaluate": {**measured, "every": 80, "at_start": False},
        "steps": 80, "seed": 4,
    })
    before, after = (result["metrics"]["evaluate/solve_rate"] for result in (taught, learnt))
    print(f"solved before {before:.2f} and after {after:.2f}: palestra policies show {learnt['policy']}")


if __name__ == "__main__":
    main()
