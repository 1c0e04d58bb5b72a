"""Evaluations and collections whose worker or server is killed go on with what was scored, play none of it again, and end alike."""

import collections
import http.server
import json
import os
import re
import subprocess
import threading
import time

from harness import ADMIN_KEY, Server, binary, expect, main
from kill_nine import fresh_database

PATIENCE_S = 120
LEASE_MS = 2_000
# Two in a row make an attempt wait for 5 s and 10 s.
WORKER_KILLS = 2
EPISODES_SHORT, EPISODES_LONG = 16, 200


class Policy:
    """Answers chat completions about `bench/counter` as often as it may, and is silent then; wrong for every third number."""

    def __init__(self):
        self.room = threading.Condition()
        self.allowed = self.answered = 0
        policy = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
                with policy.room:
                    policy.room.wait_for(lambda: policy.answered < policy.allowed or gone(self.connection))
                    if gone(self.connection):
                        return
                    policy.answered += 1
                target = int(re.search(r"exactly (\d+)", asked["messages"][0]["content"]).group(1))
                arguments = json.dumps({"amount": target + (target % 3 == 0)})
                call = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": arguments}}
                message = {"role": "assistant", "content": None, "tool_calls": [call]}
                usage = {"prompt_tokens": len(asked["messages"]), "completion_tokens": 2}
                answer = json.dumps({"choices": [{"message": message}], "usage": usage}).encode()
                self.send_response(200)
                self.send_header("content-length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.host = f"127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def allow(self, more):
        with self.room:
            self.allowed += more
            self.room.notify_all()

    def forget(self):
        """Lets those who wait for nobody any more end."""
        with self.room:
            self.room.notify_all()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


def gone(connection):
    """Whether the other side hung up."""
    connection.setblocking(False)
    try:
        return connection.recv(1) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True
    finally:
        connection.setblocking(True)


class Worker:
    """`palestra worker` as a process of its own."""

    def __init__(self, server, policy):
        command = [binary(), "worker", "--url", server.url, "--allow-policy-host", policy.host]
        environment = {**os.environ, "PALESTRA_API_KEY": ADMIN_KEY, "PALESTRA_LOG": "warn"}
        self.process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stderr=server.log)
        self.policy = policy

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.policy.forget()


class Watched:
    """A job whose progress never goes back."""

    def __init__(self, server, kind, spec):
        self.server, self.done = server, 0
        self.job = server.api().post("/v1/jobs", {"kind": kind, "spec": spec, "attempts_max": 10})["id"]

    def until(self, what, holds):
        """Looks until it holds of the job; a server that is down is asked again."""
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            job = self.server.api().get(f"/v1/jobs/{self.job}")
            done = (job["progress"] or {"done": 0})["done"]
            expect(done >= self.done, f"{self.done} were done, and now {done}: {job}")
            self.done = done
            if holds(job):
                return job
            expect(job["state"] in ("queued", "running"), f"{what}: {job}")
            time.sleep(0.02)
        raise TimeoutError(f"not within {PATIENCE_S} s: {what}")

    def over(self):
        job = self.until("it ends", lambda job: job["state"] not in ("queued", "running"))
        expect(job["state"] == "succeeded", f"the job is {job['state']}: {job['error']}")
        return job

    def lines(self):
        _, _, text = self.server.api().raw("GET", f"/v1/jobs/{self.job}/artifacts/episodes.jsonl")
        lines = [json.loads(line) for line in text.decode().splitlines()]
        for line in lines:
            line.pop("episode", None)
            line.get("metadata", {}).pop("episode", None)
        return sorted(json.dumps(line, sort_keys=True) for line in lines)


def scored(server):
    """The episodes that have a score."""
    found, cursor = [], ""
    while cursor is not None:
        page = server.api().get(f"/v1/episodes?status=scored&limit=1000{cursor}")
        found += page["data"]
        cursor = page["next_cursor"] and f"&cursor={page['next_cursor']}"
    return found


def cut(server, policy, kind, spec, episodes):
    """Plays a job whose worker is killed again and again, and whose server is killed once."""
    before, first = len(scored(server)), policy.answered
    share = episodes // (WORKER_KILLS + 2)
    watched, worker, played = Watched(server, kind, spec), Worker(server, policy), 0

    def play():
        nonlocal played
        policy.allow(share)
        played += share
        watched.until(f"{played} are scored", lambda _: len(scored(server)) - before == played)

    try:
        for _ in range(WORKER_KILLS):
            play()
            worker.kill()
            worker = Worker(server, policy)
        play()
        server.kill()
        server.start()
        policy.allow(episodes - played)
        job = watched.over()
    finally:
        worker.kill()
    expect(policy.answered - first == episodes, f"{policy.answered - first} of {episodes} episodes were played")
    expect(len(scored(server)) - before == episodes, f"{len(scored(server)) - before} of {episodes} were scored")
    return watched, job


def whole(server, policy, kind, spec, episodes):
    """Plays a job that nobody disturbs."""
    worker = Worker(server, policy)
    try:
        policy.allow(episodes)
        watched = Watched(server, kind, spec)
        return watched, watched.over()
    finally:
        worker.kill()


def on_store(name, database_url, episodes):
    """Kills workers and the server in the middle of jobs, and compares with jobs that were left alone."""
    told = []
    with Server("--job-lease-ms", str(LEASE_MS), database_url=database_url) as server:
        policy = Policy()
        played = {
            "policy": {"from": f"url:http://{policy.host}/v1"}, "seed": 5, "limits": {"max_turns": 1, "concurrent_sessions": 3},
            "environments": [{"name": "bench/counter", "split": "test"}],
        }
        specs = {
            "evaluate": {**played, "episodes": episodes // 2, "samples_per_task": 2},
            "collect": {**played, "episodes": episodes},
        }
        try:
            for kind, spec in specs.items():
                undisturbed, expected = whole(server, policy, kind, spec, episodes)
                disturbed, found = cut(server, policy, kind, spec, episodes)
                for job in (expected, found):
                    for field in ("run", "runs", "artifact"):
                        job["result"].pop(field, None)
                expect(found["result"] == expected["result"], f"{kind}: {found['result']} and not {expected['result']}")
                expect(disturbed.lines() == undisturbed.lines(), f"{kind}: other episodes")
                told.append(f"{kind}: {found['attempts']} attempts")
        finally:
            policy.stop()
        counts = collections.Counter((one["group"], one["task"], one["seed"]) for one in scored(server))
        expect(max(counts.values()) == 1, f"played again: {counts.most_common(3)}")
    return f"{name}: {episodes} episodes each, none twice and the same results ({', '.join(told)})"


def run(short):
    """The short form tries SQLite alone."""
    if short:
        return on_store("SQLite", None, EPISODES_SHORT)
    url = os.environ.get("PALESTRA_TEST_POSTGRES_URL")
    expect(url, "PALESTRA_TEST_POSTGRES_URL is not set: run this through scripts/acceptance")
    return "; ".join([on_store("SQLite", None, EPISODES_LONG), on_store("PostgreSQL", fresh_database(url), EPISODES_LONG)])


if __name__ == "__main__":
    main(run)
