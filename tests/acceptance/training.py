"""Hosted training: a queue, a trainer in a process of its own, and policies that learn; kills of either lose nothing."""

import itertools
import json
import os
import random
import signal
import subprocess
import tempfile
import threading
import time

from harness import ADMIN_KEY, Server, binary, expect, main, new_id

LETTERS = "abcdefgh"
LENGTH = 5
NAME = "dataset/majority"
WAIT_S = 600
# Less than this per token, in nats, loses only a model that knows something: ln 264 is 5.58.
UNTRAINED_LOSS = 5.5
# Larger than the tasks need, small enough for two cores.
SIZE = {"layers": 2, "width": 64, "heads": 4}


def trainer():
    """The trainer's program: beside the server's, or named."""
    path = os.environ.get("PALESTRA_TRAINER") or os.path.join(os.path.dirname(binary()), "palestra-trainer")
    expect(os.path.exists(path), f"there is no trainer at {path}: build it, or name it by PALESTRA_TRAINER")
    return path


def serve(data=None):
    return Server("--workers", "local", "--trainer", trainer(), data=data)


def most(word):
    return max(LETTERS, key=word.count)


def publish(server):
    """A puzzle that a small model can learn from rewards: the letter that most of a word is made of. No word is in two splits."""
    words = ["".join(word) for word in itertools.product(LETTERS, repeat=LENGTH)]
    words = [word for word in words if word.count(most(word)) > LENGTH // 2]
    random.Random(5).shuffle(words)
    splits = {"train": words[:3000], "validation": words[3000:3600], "test": words[3600:4200]}
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "rows.jsonl")
        with open(path, "w") as file:
            for split, part in splits.items():
                for word in part:
                    file.write(json.dumps({"prompt": word, "answer": most(word), "split": split}) + "\n")
        command = [binary(), "publish", path, "--name", NAME, "--verifier", "exact", "--url", server.url]
        done = subprocess.run(
            command, env={**os.environ, "PALESTRA_API_KEY": ADMIN_KEY}, capture_output=True, text=True, timeout=300
        )
        expect(done.returncode == 0, f"publish failed: {done.stderr[-2000:]}")
    return splits


def wait(api, job, until=("succeeded", "failed", "cancelled"), seconds=WAIT_S):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = api.get(f"/v1/jobs/{job}")
        if found["state"] in until:
            return found
        time.sleep(0.2)
    raise TimeoutError(f"{job} is {found['state']} after {seconds} s: {found.get('waiting')} {found.get('progress')}")


def succeed(api, spec, **more):
    job = api.post("/v1/jobs", {"kind": "train", "spec": spec, **more})
    done = wait(api, job["id"])
    expect(done["state"] == "succeeded", f"a training {done['state']}: {done['error']}")
    return done


def metrics(api, job):
    """Values by name and step; of a step that was done twice, the later ones."""
    found, cursor = {}, None
    while True:
        page = api.get(f"/v1/jobs/{job}/metrics?limit=500" + (f"&cursor={cursor}" if cursor else ""))
        for event in page["data"]:
            for name, value in event["data"]["values"].items():
                found.setdefault(name, {})[event["data"]["step"]] = value
        cursor = page.get("next_cursor")
        if not cursor:
            return found


def control():
    """Proximal policy optimisation on a pole on a cart."""
    return {
        "policy": {"from": "builtin:mlp"},
        "environments": [{"name": "control/cartpole", "difficulty": [0.0, 0.0]}],
        "algorithm": {"name": "ppo", "tasks_per_step": 16, "epochs": 6, "minibatches": 4},
        "reward": {"from": "return"},
        "rollout": {"concurrent_sessions": 16, "max_turns": 500},
        "optimizer": {"lr": 0.003, "grad_norm_max": 0.5},
        "steps": 40,
        "seed": 1,
        "evaluate": {"every": 40, "split": "validation", "episodes": 20},
    }


def supervised(splits, steps=24):
    """Stops early: an answer is mostly a letter, and now and then the right one."""
    def lines(words):
        said = [[{"role": "user", "content": word}, {"role": "assistant", "content": most(word)}] for word in words]
        return {"lines": "\n".join(json.dumps({"messages": messages}) for messages in said)}

    return {
        "policy": {"from": "builtin:tiny-transformer", "size": SIZE},
        "algorithm": {"name": "sft"},
        "data": lines(splits["train"]),
        "validation": {"data": lines(splits["validation"]), "every": steps},
        "rollout": {"max_context_tokens": 64, "max_tokens": 4, "max_turns": 1, "tool_format": "text", "concurrent_sessions": 128},
        "optimizer": {"lr": 0.003, "examples_per_step": 64},
        "steps": steps,
        "seed": 3,
        "environments": [{"name": NAME}],
        "evaluate": {"every": steps, "split": "validation", "episodes": 200, "at_start": False, "sampling": {"temperature": 1.0}},
    }


def reinforced(start, steps=80, **more):
    """Names no tool format: the policy keeps the one with which it was trained before."""
    return {
        "policy": {"from": start},
        "environments": [{"name": NAME}],
        "algorithm": {"name": "grpo", "group_size": 8, "tasks_per_step": 32},
        "rollout": {"max_context_tokens": 64, "max_tokens": 4, "max_turns": 1, "concurrent_sessions": 256},
        "optimizer": {"lr": 0.002},
        "steps": steps,
        "seed": 4,
        "evaluate": {"every": steps, "split": "validation", "episodes": 200, "sampling": {"temperature": 1.0}},
        "checkpoint": {"every": 5, "keep": 2},
        **more,
    }


def learn(api, splits):
    """Supervised, then by reward, each on words that were never trained on."""
    first = succeed(api, supervised(splits))
    before = first["result"]["metrics"]["evaluate/solve_rate"]
    held_out = first["result"]["metrics"]["validation_loss"]
    expect(held_out < UNTRAINED_LOSS, f"the loss on held-out examples is {held_out}")
    then = succeed(api, reinforced(first["result"]["policy"]))
    after = then["result"]["metrics"]["evaluate/solve_rate"]
    expect(before < 0.2, f"supervised training alone solves {before}")
    expect(after > 0.8, f"from {before} to {after} only")
    return first["result"]["policy"], before, after, then


def valued(api, start):
    """Proximal policy optimisation of a language model: a value function beside it while it learns, and none in what it leaves."""
    algorithm = {"name": "ppo", "tasks_per_step": 128, "epochs": 2, "minibatches": 2}
    spec = reinforced(start, steps=6, algorithm=algorithm)
    del spec["evaluate"]
    done = succeed(api, spec)
    losses = metrics(api, done["id"]).get("value_loss", {})
    expect(sorted(losses) == list(range(1, 7)), f"the losses of the value function are {losses}")
    spec = reinforced(done["result"]["policy"], steps=1)
    del spec["evaluate"]
    succeed(api, spec)
    return len(losses)


def processes_of(server, word):
    """Process ids below the server whose command line holds `word`."""
    found, parents = [], {server.process.pid}
    tree = subprocess.run(["ps", "-eo", "pid,ppid,args"], capture_output=True, text=True, check=True).stdout
    rows = [line.split(None, 2) for line in tree.splitlines()[1:]]
    grown = True
    while grown:
        grown = False
        for pid, ppid, _ in rows:
            if int(ppid) in parents and int(pid) not in parents:
                parents.add(int(pid))
                grown = True
    for pid, _, arguments in rows:
        if int(pid) in parents and word in arguments:
            found.append(int(pid))
    return found


def kills(server, start):
    """The same training twice: left alone, and with its attempt and then the server killed. Both leave the same curve."""
    api = server.api()
    spec = reinforced(start, steps=12, evaluate=None)
    del spec["evaluate"]
    alone = succeed(api, spec)
    job = api.post("/v1/jobs", {"kind": "train", "spec": spec})["id"]

    def reach(step):
        end = time.monotonic() + WAIT_S
        while time.monotonic() < end:
            found = api.get(f"/v1/jobs/{job}")
            if (found["progress"] or {}).get("done", 0) >= step or found["state"] in ("succeeded", "failed"):
                return found
            time.sleep(0.05)
        raise TimeoutError(f"{job} did not reach step {step}")

    reach(6)
    killed = processes_of(server, " attempt ")
    for pid in killed:
        os.kill(pid, signal.SIGKILL)
    expect(killed, "no attempt was running")
    reach(9)
    server.kill()
    server.start()
    api = server.api()
    done = wait(api, job)
    expect(done["state"] == "succeeded", f"after the kills it {done['state']}: {done['error']}")
    expect(done["attempts"] >= 2, f"{done['attempts']} attempts: the kill did not count")
    one, other = metrics(api, alone["id"]), metrics(api, job)
    for name in ("loss", "reward_mean", "entropy", "grad_norm"):
        expect(one[name] == other[name], f"the curves of {name} differ: {one[name]} {other[name]}")
    return len(one["loss"])


def checkpoints(api, splits, start):
    """A checkpoint from the middle of a training becomes a policy that is measured and trained on, also with low-rank parts."""
    lora = {"rank": 4, "alpha": 8, "targets": ["q_proj", "v_proj"]}
    for policy in ({"from": start}, {"from": start, "lora": lora}):
        spec = {**supervised(splits, steps=12), "policy": policy, "checkpoint": {"every": 4, "keep": 3}}
        del spec["evaluate"], spec["environments"], spec["rollout"]["concurrent_sessions"]
        job = succeed(api, spec)
        middle = api.post("/v1/policies", {"job": job["id"], "step": 8})
        expect(api.post("/v1/policies", {"job": job["id"], "step": 8}) == middle, "it is registered twice")
        expect((middle["step"], middle["parent"]) == (8, start), f"its lineage is {middle}")
        newest = api.post("/v1/policies", {"job": job["id"]})
        digests = [
            {file["name"]: file["digest"] for file in found["files"]}
            for found in (middle, newest, api.get(f"/v1/policies/{job['result']['policy']}"))
        ]
        expect(digests[1] == digests[2], f"the last checkpoint is not what the training leaves: {digests[1:]}")
        expect(digests[0] != digests[1] and digests[0].keys() == digests[1].keys(), f"the middle is the end: {digests}")
        status, _, text = api.raw("POST", "/v1/policies", {"job": job["id"], "step": 7})
        expect(status == 422 and b"4, 8, 12" in text, f"a step without a checkpoint: {status} {text[:300]}")
        evaluation = {"policy": {"from": middle["id"]}, "environments": [{"name": NAME, "split": "test"}], "episodes": 20}
        measured = wait(api, api.post("/v1/jobs", {"kind": "evaluate", "spec": evaluation})["id"])
        expect(measured["state"] == "succeeded", f"the evaluation {measured['state']}: {measured['error']}")
        again = reinforced(middle["id"], steps=1)
        del again["evaluate"]
        succeed(api, again)
    return middle["id"]


def stops(splits, lease_ms=3_000):
    """An attempt that is stopped and never goes on is killed, and the job goes on in another."""
    with Server("--workers", "local", "--trainer", trainer(), "--job-lease-ms", str(lease_ms)) as server:
        api = server.api()
        spec = {**supervised(splits, steps=40), "checkpoint": {"every": 2, "keep": 2}}
        del spec["evaluate"], spec["environments"], spec["rollout"]["concurrent_sessions"]
        job = api.post("/v1/jobs", {"kind": "train", "spec": spec})["id"]
        end = time.monotonic() + WAIT_S
        while not (api.get(f"/v1/jobs/{job}")["progress"] or {}).get("done", 0) >= 4:
            expect(time.monotonic() < end, "the training does not begin")
            time.sleep(0.05)
        stopped = processes_of(server, " attempt ")
        expect(stopped, "no attempt was running")
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)
        began = time.monotonic()
        done = wait(api, job)
        expect(done["state"] == "succeeded", f"after the stop it {done['state']}: {done['error']}")
        expect(done["attempts"] >= 2, f"{done['attempts']} attempts: the stop did not count")
        left = [pid for pid in stopped if os.path.exists(f"/proc/{pid}")]
        expect(not left, f"stopped processes are left: {left}")
        return time.monotonic() - began


def serve_policy(api, policy):
    """A policy answers once a job serves it, and not before."""
    request = {"messages": [{"role": "user", "content": "fafbf"}], "temperature": 0, "max_tokens": 4}
    status, _, text = api.raw("POST", f"/v1/policies/{policy}/act", request)
    expect(status == 503 and json.loads(text)["code"] == "policy_cold", f"a cold policy answered {status} {text[:300]}")
    job = api.post("/v1/jobs", {"kind": "serve", "spec": {"policy": policy}})["id"]
    end = time.monotonic() + 60
    while True:
        status, _, text = api.raw("POST", f"/v1/policies/{policy}/act", request)
        if status == 200:
            break
        expect(status == 503 and time.monotonic() < end, f"the policy does not answer: {status} {text[:300]}")
        time.sleep(0.3)
    answer = json.loads(text)
    expect(answer["action"] == {"text": "f"}, f"it answers {answer}")
    expect(len(answer["token_ids"]) == len(answer["logprobs"]) > 0, f"without its tokens: {answer}")
    evaluation = {
        "policy": {"from": policy},
        "environments": [{"name": NAME, "split": "test"}],
        "episodes": 60,
    }
    measured = wait(api, api.post("/v1/jobs", {"kind": "evaluate", "spec": evaluation})["id"])
    expect(measured["state"] == "succeeded", f"the evaluation {measured['state']}: {measured['error']}")
    api.post(f"/v1/jobs/{job}/cancel", {})
    stopped = wait(api, job)
    expect(stopped["state"] == "cancelled", f"the cancelled job is {stopped['state']}")
    return measured["result"]


def run(short):
    """Trains, kills, serves and measures."""
    began = time.monotonic()
    figures = []
    with serve() as server:
        api = server.api()
        splits = publish(server)
        pole = succeed(api, control())
        values = pole["result"]["metrics"]
        expect(values["evaluate/score"] > 0.95, f"the pole falls: {values}")
        figures.append(f"PPO holds the pole ({values['evaluate/score']:.2f})")
        sft, before, after, learnt = learn(api, splits)
        share = learnt["result"]["metrics"]["environment_share"]
        figures.append(f"SFT {before:.2f}, GRPO {after:.2f} on held-out words (environment share {share:.1%})")
        serve_policy(api, learnt["result"]["policy"])
        figures.append("the policy answers and is evaluated")
        figures.append(f"PPO with a value function makes {valued(api, sft)} updates of a language model")
        checkpoints(api, splits, sft)
        figures.append("checkpoints become policies, with and without low-rank parts")
        steps = kills(server, sft)
        figures.append(f"{steps} updates with kills of attempt and server: the same curve to the last bit")
    figures.append(f"a stopped attempt is replaced ({stops(splits):.0f} s to the end)")
    return "; ".join(figures) + f"; {time.monotonic() - began:.0f} s"


if __name__ == "__main__":
    main(run)
