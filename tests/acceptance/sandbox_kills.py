"""Kills under sandboxes: of the server, of the program inside them, of the Docker engine. Nothing is left behind, files of local
sessions come back, and what was lost is never a score."""

import glob
import os
import signal
import subprocess
import threading
import time

from harness import FOLDER, Server, expect, main, not_tried

ENVIRONMENT = "terminal/files"
PATIENCE_S = 60
GROUPS = "/sys/fs/cgroup"


def processes():
    """Every process by id, with its parent and when it began: an id alone may be used again."""
    found = {}
    for path in glob.glob("/proc/[0-9]*/stat"):
        try:
            with open(path) as file:
                fields = file.read().rpartition(")")[2].split()
        except OSError:
            continue
        found[int(path.split("/")[2])] = (int(fields[1]), fields[19])
    return found


def descendants(pid):
    """The processes below one, as (id, begin)."""
    table = processes()
    below, found = {pid}, set()
    while True:
        more = {child for child, (parent, _) in table.items() if parent in below} - below
        if not more:
            return found
        below |= more
        found |= {(child, table[child][1]) for child in more}


def alive(known):
    table = processes()
    return {pid for pid, began in known if pid in table and table[pid][1] == began}


def until(what, holds):
    """Waits for something that another process brings about."""
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        expect(time.monotonic() < deadline, f"never: {what}")
        time.sleep(0.05)


def mounts(data):
    with open("/proc/mounts") as file:
        return [line for line in file if data in line]


def groups(server):
    """Control groups of a server's sandboxes, of whichever version and controller. They are named by its process."""
    return glob.glob(f"{GROUPS}/**/palestra/*-{server}-*", recursive=True)


def loops(data):
    done = subprocess.run(["losetup", "--list", "--noheadings", "--output", "BACK-FILE"], capture_output=True, text=True)
    return [line for line in done.stdout.splitlines() if data in line]


def containers(host):
    done = subprocess.run(
        ["docker", "--host", host, "ps", "--all", "--quiet", "--filter", "label=palestra.sandbox"],
        capture_output=True, text=True, check=True,
    )
    # After a kill, an engine may go on listing containers that it does not know any more.
    known = ["docker", "--host", host, "inspect", "--format", "{{.Id}}"]
    return [name for name in done.stdout.split() if subprocess.run([*known, name], capture_output=True).returncode == 0]


def open_sessions(api, count, backend):
    sessions = []
    for index in range(count):
        session = api.post(
            "/v1/sessions",
            {"environment": ENVIRONMENT, "task": {"split": "train", "index": 0}, "config": {"backend": backend}},
        )
        line = f"echo {index} > ~/mark; (sleep 3600 &); echo done"
        step = {"seq": 1, "action": {"tool": "exec", "arguments": {"command": line}}}
        answer = api.post(f"/v1/sessions/{session['id']}/step", step)
        expect("done" in answer["observation"]["text"], f"a first command printed {answer['observation']['text']!r}")
        sessions.append(session)
    return sessions


def step(api, session, seq, line):
    """A command. Without a number it is the next step, whichever was under way when the server died."""
    body = {"action": {"tool": "exec", "arguments": {"command": line}}} | ({"seq": seq} if seq else {})
    return api.post(f"/v1/sessions/{session['id']}/step", body)


def hammer(server, sessions, stop):
    """Keeps stepping until the server is gone."""
    api = server.api()
    seq = 2
    while not stop.is_set():
        for session in sessions:
            try:
                step(api, session, seq, "date +%s.%N >> ~/log")
            except Exception:
                return
        seq += 1


def lost(api, session):
    """A session whose sandbox is gone says so, and its episode is no sample."""
    answer = step(api, session, None, "cat ~/mark")
    expect(answer["stop_reason"] == "infra_error", f"a lost sandbox answers {answer['stop_reason']}")
    verdict = api.post(f"/v1/sessions/{session['id']}/verify", {})
    expect(verdict["status"] == "infra_error" and verdict["score"] is None, f"a lost episode is {verdict['status']}")


def kill_server(count):
    """The server dies in the middle of work: its sandboxes die with it, and their files are there again."""
    with Server("--sandbox", "local") as server:
        first = server.process.pid
        sessions = open_sessions(server.api(), count, "local")
        expect(groups(first), "no control group is in use")
        below = descendants(server.process.pid)
        expect(len(below) > count, f"{len(below)} processes for {count} sessions")
        stop = threading.Event()
        workers = [threading.Thread(target=hammer, args=(server, sessions[part::4], stop)) for part in range(4)]
        for worker in workers:
            worker.start()
        until("the work is under way", lambda: server.api().get(f"/v1/sessions/{sessions[-1]['id']}")["seq"] > 2)
        server.kill()
        stop.set()
        for worker in workers:
            worker.join()
        until("sandboxes die with their server", lambda: not alive(below))
        expect(not mounts(server.data), f"mounts are left: {mounts(server.data)}")
        server.start()
        api = server.api()
        until("control groups are swept", lambda: not groups(first))
        expect(not loops(server.data), f"loop devices are left: {loops(server.data)}")
        for index, session in enumerate(sessions):
            answer = step(api, session, None, "cat ~/mark")
            text = answer["observation"]["text"]
            expect(str(index) in text.split(), f"session {index} found {text!r} after the restart")
        for session in sessions:
            api.delete(f"/v1/sessions/{session['id']}")
        disks = os.path.join(server.data, "sandbox", "disks")
        until("closed sessions leave no disk", lambda: not os.listdir(disks))
        second, below = server.process.pid, descendants(server.process.pid)
        server.terminate()
        until("a server that stopped leaves no process", lambda: not alive(below))
        until("a server that stopped leaves no control group", lambda: not groups(second))


def kill_agent(backend, arguments, count):
    """The program inside dies: its session is lost, its neighbours are not."""
    with Server(*arguments) as server:
        api = server.api()
        sessions = open_sessions(api, count, backend)
        victims = [pid for pid in agents() if inside_began_by(pid, server)]
        expect(len(victims) >= count, f"{len(victims)} agents for {count} sessions")
        for pid in victims[: len(victims) // 2]:
            os.kill(pid, signal.SIGKILL)
        gone, left = 0, 0
        for session in sessions:
            answer = step(api, session, None, "cat ~/mark")
            if answer["stop_reason"] == "infra_error":
                verdict = api.post(f"/v1/sessions/{session['id']}/verify", {})
                expect(verdict["score"] is None, "a lost episode has a score")
                gone += 1
            else:
                left += 1
        expect(gone and left, f"{gone} sessions lost their agent, {left} did not")
        for session in sessions:
            api.delete(f"/v1/sessions/{session['id']}")
    return gone


def agents():
    """Programs that are the first of a process namespace of their own and are called as ours."""
    found = []
    for path in glob.glob("/proc/[0-9]*"):
        try:
            with open(f"{path}/status") as file:
                ids = next(line for line in file if line.startswith("NSpid")).split()[1:]
            with open(f"{path}/cmdline", "rb") as file:
                command = file.read()
        except (OSError, StopIteration):
            continue
        if len(ids) > 1 and ids[-1] == "1" and b"serve" in command:
            found.append(int(path.split("/")[2]))
    return found


def inside_began_by(pid, server):
    """Whether a process lies below the server; those of containers lie below their engine."""
    below = {child for child, _ in descendants(server.process.pid)}
    return pid in below or "docker" in server.arguments


def command_of(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read().decode(errors="replace").split("\0")
    except OSError:
        return [""]


def forgotten(data):
    """Our programs in containers of the engine that keeps its files there, whether it knows the containers or not. One that it had
    not started yet is the engine's own process, `runc init`, and holds nothing of ours."""
    shims = [pid for pid in processes() if "containerd-shim" in command_of(pid)[0]]
    of_engine = [pid for pid in shims if any(part.startswith(f"{data}/exec/") for part in command_of(pid))]
    below = {pid for shim in of_engine for pid in alive(descendants(shim))}
    return {pid for pid in below if command_of(pid)[0] == "/palestra/agent"}


def kill_engine(count):
    """The Docker engine dies: sessions are lost at once, and after its return nothing of them is left."""
    data = subprocess.run(["mktemp", "-d"], capture_output=True, text=True, check=True).stdout.strip()
    script = os.path.join(FOLDER, "scripts", "docker")

    def engine(verb):
        done = subprocess.run([script, verb, data], capture_output=True, text=True)
        expect(done.returncode == 0, f"scripts/docker {verb}: {done.stderr[-500:]}")
        return done.stdout.strip().splitlines()[-1] if done.stdout.strip() else ""

    host = engine("start")
    try:
        with Server("--sandbox", "docker", "--docker-host", host) as server:
            api = server.api()
            sessions = open_sessions(api, count, "docker")
            engine("kill")
            for session in sessions:
                lost(api, session)
            expect(engine("start") == host, "the engine is elsewhere after its return")
            server.restart()
            until("containers are swept", lambda: not containers(host))
            # An engine that dies while it starts a container may forget it: then the program inside ends by itself.
            until("no program of a sandbox is left", lambda: not forgotten(data))
    finally:
        engine("stop")


def run(short):
    count = 6 if short else 50
    kill_server(count)
    figures = [f"{count} local sessions came back with their files"]
    figures.append(f"{kill_agent('local', ['--sandbox', 'local'], max(4, count))} sessions lost their agent")
    if os.environ.get("PALESTRA_TEST_DOCKER"):
        kill_engine(max(3, count // 5) if short else count)
        figures.append("the Docker engine died and came back")
    else:
        not_tried("kills of the Docker engine", "Docker (PALESTRA_TEST_DOCKER)")
    return ", ".join(figures) + "; nothing was left behind"


if __name__ == "__main__":
    main(run)
