"""Trainers that a program starts by itself, trainings that take a moment, and what is told of them."""

import glob
import json
import os
import resource
import signal
import subprocess
import threading
import time

from harness import ADMIN_KEY, expect
from training import trainer, wait

PATIENCE_S = 60
LINES = [
    json.dumps({"messages": [{"role": "user", "content": letter}, {"role": "assistant", "content": letter}]}) for letter in "abcd"
]


class Worker:
    """A trainer of its own, as somebody starts one on another machine."""

    def __init__(self, server, name, *arguments, memory_bytes=None):
        self.name = name
        self.log = open(os.path.join(server.data, f"{name}.log"), "ab")
        command = [trainer(), "work", "--url", server.url, "--name", name, *arguments]
        bound = (lambda: resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))) if memory_bytes else None
        environment = {**os.environ, "PALESTRA_API_KEY": ADMIN_KEY, "PALESTRA_LOG": "warn"}
        if memory_bytes:
            # Otherwise every thread sets addresses apart that nothing lies at.
            environment["MALLOC_ARENA_MAX"] = "2"
        self.process = subprocess.Popen(command, env=environment, stderr=self.log, stdin=subprocess.DEVNULL, preexec_fn=bound)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        # A frozen process hears nothing else.
        self.signal(signal.SIGCONT)
        self.process.terminate()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()

    def attempts(self):
        """Processes of the attempts that it supervises."""
        found = []
        for path in glob.glob(f"/proc/{self.process.pid}/task/*/children"):
            try:
                with open(path) as file:
                    found += map(int, file.read().split())
            except OSError:
                pass  # a thread that ended meanwhile
        return found

    def signal(self, number):
        for pid in [*self.attempts(), self.process.pid]:
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass


def until(what, look, seconds=PATIENCE_S):
    """The first answer of `look` that counts."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = look()
        if found:
            return found
        time.sleep(0.02)
    raise TimeoutError(f"not within {seconds} s: {what}")


def lesson(steps=2, lines=LINES, **more):
    """A training of a very small model on examples."""
    return {
        "policy": {"from": "builtin:tiny-transformer", "size": {"layers": 1, "width": 16, "heads": 2}},
        "algorithm": {"name": "sft"},
        "data": {"lines": "\n".join(lines)},
        "rollout": {"max_context_tokens": 64, "max_tokens": 4, "max_turns": 1, "tool_format": "text"},
        "optimizer": {"lr": 0.003, "examples_per_step": 2},
        "steps": steps,
        "seed": 3,
        **more,
    }


def queue(api, spec, **more):
    return api.post("/v1/jobs", {"kind": "train", "spec": spec, **more})["id"]


def ended(api, job, state):
    found = wait(api, job, seconds=PATIENCE_S)
    expect(found["state"] == state, f"{job} is {found['state']}, not {state}: {found['error']}")
    return found


def fails(api, spec, code, *words, attempts_max=1):
    """A job that fails so, while the one behind it is done; answers the detail."""
    bad = queue(api, spec, attempts_max=attempts_max)
    good = queue(api, lesson())
    error = ended(api, bad, "failed")["error"]
    expect(error["code"] == code, f"{code} was expected, not {error}")
    for word in words:
        expect(word in error["detail"], f"{word!r} is not told: {error['detail']}")
    ended(api, good, "succeeded")
    return error["detail"]


def events(api, job):
    """What happened to a job that is over, in order."""
    _, _, text = api.raw("GET", f"/v1/jobs/{job}/events")
    return [json.loads(line[len("data:"):]) for line in text.decode().splitlines() if line.startswith("data:")]


def curve(api, job):
    """Steps of each attempt whose numbers were told, and whether the attempts are apart; of every number the first telling counts."""
    steps, last, seen = {}, 0, {}
    for event in events(api, job):
        expect(event["attempt"] >= last, f"attempt {event['attempt']} of {job} writes after {last} began")
        last = event["attempt"]
        if event["kind"] == "metric":
            step, loss = event["data"]["step"], event["data"]["values"]["loss"]
            steps.setdefault(last, []).append(step)
            expect(seen.setdefault(step, loss) == loss, f"step {step} of {job} came out otherwise when it was done again")
    return steps


def whole(api, job, steps):
    """The last attempt told every step from where it began to the end once, and all attempts together all of them."""
    told = curve(api, job)
    for attempt, own in told.items():
        expect(own == list(range(own[0], own[-1] + 1)), f"attempt {attempt} of {job} told the steps {own}")
    expect({step for own in told.values() for step in own} == set(range(1, steps + 1)), f"steps of {job} are missing: {told}")


def queue_and_end(api):
    job = queue(api, lesson())
    ended(api, job, "succeeded")
    return job


class Watch:
    """Looks all the time whether a worker has two attempts under way."""

    def __init__(self, workers):
        self.workers, self.most, self.stop = workers, {}, threading.Event()
        self.thread = threading.Thread(target=self.look, daemon=True)

    def look(self):
        while not self.stop.wait(0.005):
            for worker in self.workers:
                self.most[worker.name] = max(self.most.get(worker.name, 0), len(worker.attempts()))

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        self.thread.join()
