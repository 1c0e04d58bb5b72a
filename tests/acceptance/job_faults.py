"""What goes wrong with jobs: bad specs, data and files, broken checkpoints, full memory, environments that fail, workers that freeze,
a server that is killed. Each ends in a clear error or is survived, no job has two trainers, and the queue goes on."""

import json
import os
import re
import signal
import subprocess
import tempfile
import time

from harness import ADMIN_KEY, Failed, Server, expect, main
from sandbox_kills import descendants
from training import metrics, trainer
from workers import LINES, PATIENCE_S, Watch, Worker, curve, ended, events, fails, lesson, queue, queue_and_end, until, whole

LEASE_MS = 3_000
SESSIONS_MAX = 12
# Address space of a worker whose jobs are to run out of memory: more than the small ones need.
MEMORY_BYTES = 600 << 20


def playing(steps, share_max):
    """A training in sessions, as many at once as the server allows."""
    return {
        "policy": {"from": "builtin:mlp", "size": {"width": 8}},
        "environments": [{"name": "control/cartpole"}],
        "algorithm": {"name": "ppo", "tasks_per_step": SESSIONS_MAX},
        "reward": {"from": "return"},
        "rollout": {"concurrent_sessions": SESSIONS_MAX, "max_turns": 30, "masked_share_max": share_max},
        "steps": steps,
        "seed": 3,
    }


def bad_input(server, api, models):
    """Specs, data and files that do not fit."""
    status, _, text = api.raw("POST", "/v1/jobs", {"kind": "train", "spec": {**lesson(steps=0), "colour": "red"}})
    expect(status == 422, f"a wrong spec is answered {status}: {text[:300]}")
    mistyped = {**playing(1, share_max=0.5), "environments": [{"name": "control/cartpol"}]}
    status, _, text = api.raw("POST", "/v1/jobs", {"kind": "train", "spec": mistyped})
    expect(status == 422 and b"control/cartpole" in text, f"an environment that does not exist is answered {status}: {text[:300]}")
    with Worker(server, "reader", "--models", models):
        broken = ["{", '{"messages": []}', json.dumps({"messages": [{"role": "user", "content": "a"}]}), LINES[0] + "x"]
        detail = fails(api, lesson(lines=[*LINES, *broken]), "bad_data", "4 broken lines")
        named = re.findall(r"[:;] (line \d+): ", detail)
        expect(named == ["line 5", "line 6", "line 7", "line 8"], f"the broken lines are told as {named}")
        fails(api, lesson(policy={"from": "file:nowhere"}), "bad_spec", "file:nowhere", "--models")

        policy = api.get(f"/v1/jobs/{queue_and_end(api)}")["result"]["policy"]
        folder = os.path.join(models, "model")
        os.mkdir(folder)
        for file in api.get(f"/v1/policies/{policy}")["files"]:
            status, _, content = api.raw("GET", f"/v1/policies/{policy}/download?file={file['name']}")
            expect(status == 200, f"{file['name']} of a policy is answered {status}")
            with open(os.path.join(folder, file["name"]), "wb") as into:
                into.write(content)
        ended(api, queue(api, lesson(policy={"from": "file:model"})), "succeeded")
        config = os.path.join(folder, "config.json")
        with open(config) as file:
            known = file.read()
        with open(config, "w") as file:
            json.dump({**json.loads(known), "intermediate_size": 24}, file)
        fails(api, lesson(policy={"from": "file:model"}), "bad_checkpoint", "model.layers.0.mlp.gate_proj.weight", "24", "16")
        with open(config, "w") as file:
            file.write(known)
        weights = os.path.join(folder, "model.safetensors")
        os.truncate(weights, os.path.getsize(weights) // 2)
        fails(api, lesson(policy={"from": "file:model"}), "bad_checkpoint", "model.safetensors")
        os.remove(weights)
        fails(api, lesson(policy={"from": "file:model"}), "bad_checkpoint", "model")


def devices(server, api):
    """A job for a GPU waits with a reason where there is none; devices that do not exist are refused."""
    job = queue(api, lesson(), resources={"device": "gpu"})
    large = queue(api, lesson(), resources={"memory_bytes": 1 << 50})
    with Worker(server, "without"):
        queue_and_end(api)
        for waiting, word in ((job, "gpu"), (large, f"{1 << 50} bytes")):
            found = api.get(f"/v1/jobs/{waiting}")
            expect(found["state"] == "queued" and word in found["waiting"], f"a job that nobody can do: {found}")
            api.post(f"/v1/jobs/{waiting}/cancel", {})
            ended(api, waiting, "cancelled")
    for device, word in (("tpu", "invalid value 'tpu'"), ("gpu", "--device cpu")):
        command = [trainer(), "work", "--url", server.url, "--device", device]
        done = subprocess.run(
            command, env={**os.environ, "PALESTRA_API_KEY": ADMIN_KEY}, capture_output=True, text=True, timeout=PATIENCE_S
        )
        told = done.stdout + done.stderr
        expect(done.returncode != 0 and word in told, f"--device {device} ends with {done.returncode}: {told[-500:]}")
    local = ["--workers", "local", "--trainer", trainer(), "--trainer-device", "tpu"]
    with Server(*local, environment={"PALESTRA_LOG": "info"}) as other:
        until("a word about the device", lambda: "invalid value 'tpu'" in other.log_tail())
        found = other.api().get(f"/v1/jobs/{queue(other.api(), lesson())}")
        told = "no worker for jobs of kind train" in found["waiting"]
        expect(found["state"] == "queued" and told, f"a job without a trainer: {found}")


def memory(server, api):
    """A job that takes too much memory fails alone."""
    large = lesson()
    large["policy"]["size"] = {"layers": 8, "width": 768, "heads": 8}
    with Worker(server, "small", memory_bytes=MEMORY_BYTES) as worker:
        fails(api, large, "out_of_memory", "memory")
        expect(worker.process.poll() is None, "the worker ended with its attempt")


def content(server, artifact):
    digest = artifact["digest"].removeprefix("sha256:")
    return os.path.join(server.data, "artifacts", digest[:2], digest)


def alter(path):
    """Changes the last byte of a file and not its size."""
    with open(path, "r+b") as file:
        file.seek(-1, os.SEEK_END)
        byte = file.read(1)[0]
        file.seek(-1, os.SEEK_END)
        file.write(bytes([byte ^ 0xFF]))


def checkpoints(server, api, how):
    """An attempt is killed and its newest checkpoint damaged: the job goes on from the one before, and says so."""
    steps = 200
    with Worker(server, "keeper") as worker:
        job = queue(api, lesson(steps=steps, checkpoint={"every": 20, "keep": 2}))
        until("two checkpoints", lambda: len(api.get(f"/v1/jobs/{job}/checkpoints")["data"]) >= 2)
        worker.signal(signal.SIGSTOP)
        *_, older, newest = api.get(f"/v1/jobs/{job}/checkpoints")["data"]
        damaged = next(file for file in newest["artifacts"] if file["name"].endswith("/model.safetensors"))
        path = content(server, damaged)
        if how == "truncated":
            os.truncate(path, damaged["size_bytes"] // 2)
        elif how == "altered":
            alter(path)
        else:
            os.remove(path)
        # Bytes that are others but as many show only when they are read.
        last = newest if how == "altered" else older
        expect(api.get(f"/v1/jobs/{job}/checkpoints")["data"][-1] == last, f"the last checkpoint is not the expected one: {how}")
        attempts = worker.attempts()
        expect(len(attempts) == 1, f"{len(attempts)} attempts at one job")
        os.kill(attempts[0], signal.SIGKILL)
        worker.signal(signal.SIGCONT)
        done = ended(api, job, "succeeded")
        expect(done["attempts"] == 2, f"{done['attempts']} attempts")
        told = curve(api, job)
        expect(told[2][0] == older["step"] + 1, f"it goes on at step {told[2][0]}, not behind {older['step']}")
        whole(api, job, steps)
        warned = [event for event in events(api, job) if event["kind"] == "log" and event["data"]["level"] == "warn"]
        expect(any(damaged["name"] in event["data"]["message"] for event in warned), f"nobody was told: {warned}")


def hold(api, count):
    """Opens sessions as soon as there is room for them, as another client of the same server does."""

    def opened():
        status, _, text = api.raw("POST", "/v1/sessions", {"environment": "bench/counter"})
        return json.loads(text)["id"] if status == 201 else None

    return [until("room for a session", opened) for _ in range(count)]


def release(api, sessions):
    for session in sessions:
        api.delete(f"/v1/sessions/{session}")


def masked(api, job):
    """Episodes that were no samples, by step."""
    return metrics(api, job).get("masked_episodes", {})


def environment(server, api):
    """Half of the sessions are refused midway: their episodes are masked and counted, and the job goes on where it allows so many."""
    half = SESSIONS_MAX // 2
    with Worker(server, "player"):
        job = queue(api, playing(10_000, share_max=0.6))
        until("updates with every episode", lambda: 0.0 in masked(api, job).values())
        held = hold(api, half)
        until("masked episodes", lambda: half in masked(api, job).values())
        release(api, held)
        until("updates with every episode again", lambda: list(masked(api, job).values())[-1] == 0.0)
        expect(set(masked(api, job).values()) <= set(map(float, range(half + 1))), f"masked episodes: {masked(api, job)}")
        api.post(f"/v1/jobs/{job}/cancel", {})
        ended(api, job, "cancelled")

        held = hold(api, half)
        try:
            detail = fails(api, playing(10, share_max=0.25), "environment", f" of {SESSIONS_MAX} episodes", "masked_share_max")
            # An episode that ends early leaves its place to one that would have been refused.
            lost = int(detail.split(" of ")[0].split()[-1])
            expect(SESSIONS_MAX * 0.25 < lost <= half, f"{lost} episodes are told as lost: {detail}")
        finally:
            release(api, held)


def querying(steps, share_max):
    """A training in sessions that databases of worker processes stand behind."""
    more = {
        "environments": [{"name": "sql/question"}],
        "algorithm": {"name": "grpo", "group_size": 2, "tasks_per_step": 2},
        "rollout": {
            "max_context_tokens": 8192,
            "max_tokens": 4,
            "max_turns": 3,
            "tool_format": "text",
            "concurrent_sessions": 4,
            "masked_share_max": share_max,
        },
        "optimizer": {"lr": 0.001},
    }
    return {name: part for name, part in lesson(steps, **more).items() if name != "data"}


def kill_engine(server):
    """Kills the processes of the server's databases, as a lack of memory would."""
    for pid, _ in descendants(server.process.pid):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass  # ended by itself


def kill_until(server, api, job, what, holds):
    """Kills the databases after each update for which they played every episode."""
    told = 0

    def look():
        nonlocal told
        played = list(masked(api, job).values()).count(0.0)
        if holds():
            return True
        if played > told:
            told = played
            kill_engine(server)
        return False

    until(what, look)


def engine(server, api):
    """Databases die under the sessions of a training: it goes on without those episodes, or says what happened to them."""
    with Worker(server, "player"):
        job = queue(api, querying(10_000, share_max=1.0))
        kill_until(server, api, job, "an episode that lost its database", lambda: max(masked(api, job).values(), default=0.0) > 0)
        until("updates with every episode again", lambda: list(masked(api, job).values())[-1] == 0.0)
        api.post(f"/v1/jobs/{job}/cancel", {})
        ended(api, job, "cancelled")

        job, good = queue(api, querying(10_000, share_max=0.0), attempts_max=1), queue(api, lesson())
        kill_until(
            server, api, job, "the end of a job that allows none", lambda: api.get(f"/v1/jobs/{job}")["state"] == "failed"
        )
        error = ended(api, job, "failed")["error"]
        told = error["code"] == "environment" and "masked_share_max" in error["detail"]
        expect(told, f"a job whose databases die: {error}")
        ended(api, good, "succeeded")


def stolen(server, api):
    """A worker freezes until another has its job: what it still writes is refused, and the job is done once."""
    steps = 400
    with Worker(server, "slow") as slow:
        job = queue(api, lesson(steps=steps, checkpoint={"every": 50, "keep": 2}))
        until("some steps", lambda: metrics(api, job).get("loss", {}).get(10))
        slow.signal(signal.SIGSTOP)
        frozen = slow.attempts()
        expect(len(frozen) == 1, f"{len(frozen)} attempts at one job")
        with Worker(server, "quick"):
            until("another worker", lambda: api.get(f"/v1/jobs/{job}")["worker"] == "quick")
            line = {"kind": "log", "data": {"level": "info", "message": "late"}}
            late = [
                ("POST", "heartbeat", {"fence": 1}),
                ("POST", "events", {"fence": 1, "number": 10_000, "events": [line]}),
                ("POST", "finish", {"fence": 1, "outcome": {"is": "succeeded", "result": {"late": True}}}),
                ("PUT", "artifacts/late.txt?fence=1", b"late"),
            ]
            for method, call, body in late:
                status, _, text = api.raw(method, f"/v1/worker/jobs/{job}/{call}", body)
                expect(status == 409 and json.loads(text)["code"] == "lease_lost", f"a late {call} is answered {status}: {text[:300]}")
            slow.signal(signal.SIGCONT)
            until("the end of the first attempt", lambda: not set(frozen) & set(slow.attempts()))
            done = ended(api, job, "succeeded")
    expect(done["attempts"] == 2 and done["worker"] == "quick", f"it was done by {done['worker']} in {done['attempts']} attempts")
    expect(api.metric("palestra_job_leases_lost_total") >= 1, "no lease was lost")
    whole(api, job, steps)


def together(server, api, count, steps):
    """Two workers, several jobs, and a server that is killed in between: each job is done once, by one of them."""
    with Worker(server, "left") as left, Worker(server, "right") as right, Watch((left, right)) as watch:
        jobs = [queue(api, lesson(steps=steps, seed=seed)) for seed in range(count)]

        def both_are_amid():
            running = api.get("/v1/jobs?state=running")["data"]
            return len(running) == 2 and all(1 <= (job["progress"] or {"done": 0})["done"] <= steps // 3 for job in running)

        until("two jobs at once", both_are_amid)
        server.kill()
        server.start()
        api = server.api()
        done = [ended(api, job, "succeeded") for job in jobs]
        expect(set(watch.most.values()) == {1}, f"attempts at once by worker: {watch.most}")
    expect({job["worker"] for job in done} == {"left", "right"}, "one worker did everything")
    for job in done:
        expect(job["attempts"] == 1, f"{job['id']} took {job['attempts']} attempts: {job['error']}")
        told = curve(api, job["id"])
        expect(told == {1: list(range(1, steps + 1))}, f"the steps of {job['id']} are told as {told}")
        began = [event["data"]["worker"] for event in events(api, job["id"]) if event["data"].get("state") == "running"]
        expect(began == [job["worker"]], f"{job['id']} was begun by {began}")


def run(short):
    """Provokes each fault, with a good job behind it."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as models, Server(
        "--workers", "none", "--job-lease-ms", str(LEASE_MS), "--sessions-max", str(SESSIONS_MAX)
    ) as server:
        api = server.api()
        faults = [
            ("specs, data and files that do not fit", lambda: bad_input(server, api, models)),
            ("devices that do not exist", lambda: devices(server, api)),
            ("memory that runs out", lambda: memory(server, api)),
            ("truncated checkpoints", lambda: checkpoints(server, api, "truncated")),
            ("missing checkpoints", lambda: checkpoints(server, api, "missing")),
            ("altered checkpoints", lambda: checkpoints(server, api, "altered")),
            ("refused sessions", lambda: environment(server, api)),
            ("databases that die", lambda: engine(server, api)),
            ("a frozen worker", lambda: stolen(server, api)),
        ]
        for what, provoke in faults:
            try:
                provoke()
            except TimeoutError as failure:
                raise Failed(f"{what}: {failure}: {server.log_tail()}") from failure
        count = 6 if short else 40
        together(server, api, count, steps=150 if short else 400)
        figures = [what for what, _ in faults] + [f"{count} jobs of two workers over a killed server"]
    return "; ".join(figures) + f"; {time.monotonic() - began:.0f} s"


if __name__ == "__main__":
    main(run)
