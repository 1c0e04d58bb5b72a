"""The Python package: its own tests and types, thousands of sessions over a connection that breaks, and CPU beside OpenEnv's client and server."""

import asyncio
import os
import resource
import subprocess
import sys
import time

from harness import ADMIN_KEY, FOLDER, Server, binary, expect, main

PACKAGE = os.path.join(FOLDER, "clients", "python")
PEERS = os.path.join(FOLDER, "load-tests", "peers")
TIMEOUT_S = 600
# Times less CPU than OpenEnv's client and server take for a step.
TARGET_RATIO = 5.0
SESSIONS_SHORT, SESSIONS_LONG = 300, 5_000
TURNS_SHORT, TURNS_LONG = 6, 20
PEER_SESSIONS_SHORT, PEER_SESSIONS_LONG = 50, 500
# Connections that the proxy cuts, and bytes in one direction after which at the latest.
CUTS_SHORT, CUTS_LONG = 10, 60
CUT_BYTES_SHORT, CUT_BYTES_LONG = 200_000, 2_000_000

sys.path[:0] = [os.path.join(PACKAGE, "src"), os.path.join(PACKAGE, "tests")]


def own_tests():
    """Tests and types of the package; answers the line that pytest closes with."""
    environment = {
        **os.environ,
        "PALESTRA_BINARY": os.path.abspath(binary()),
        "PALESTRA_WORKERS": "none",
        "PYTHONPATH": "src",
        "MYPYPATH": "tests",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    closing = ""
    for program in (["mypy", "--cache-dir", os.devnull], ["pytest", "-q", "-p", "no:cacheprovider"]):
        done = subprocess.run(
            [sys.executable, "-m", *program], cwd=PACKAGE, env=environment, capture_output=True, text=True, timeout=TIMEOUT_S
        )
        expect(done.returncode == 0, f"{program[0]} of clients/python failed: {(done.stdout + done.stderr)[-3000:]}")
        closing = done.stdout.strip().splitlines()[-1].strip("= ")
    expect("passed" in closing and "skipped" not in closing, f"tests of clients/python were left out: {closing}")
    return closing


async def over_a_lossy_proxy(server, sessions, turns, cuts, bytes_max):
    """Sessions that step together while their connection is cut; answers how often it was, and the steps."""
    import palestra
    from conftest import cutting

    async with cutting(server.url, cuts_max=cuts, bytes_max=bytes_max, seed=7) as proxy, palestra.AsyncClient(proxy.url, ADMIN_KEY) as client:
        async with await client.vector("bench/counter", sessions, limits={"steps": turns + 1}) as vector:
            expect(len(set(vector.ids)) == sessions, f"{len(set(vector.ids))} sessions, not {sessions}")
            for turn in range(1, turns + 1):
                outcomes = await vector.step(["1"] * sessions)
                # The count is the number of steps that acted: one that was lost or repeated shows in it for ever.
                wrong = [outcome for outcome in outcomes if not isinstance(outcome, palestra.Step) or outcome.observation.data["count"] != turn]
                expect(not wrong, f"{len(wrong)} of {sessions} sessions are wrong after step {turn}, such as {wrong[:1]}")
            rows = [row async for row in client.pages("/sessions", run=vector.run, limit=1000)]
            expect(len(rows) == sessions, f"the server has {len(rows)} sessions of the run, not {sessions}")
            expect(client.reconnects > 0, "the proxy cut nothing")
            return client.reconnects, sessions * turns


def cpu_s(process=None):
    """Seconds of CPU of a process, or of this one."""
    if process is None:
        used = resource.getrusage(resource.RUSAGE_SELF)
        return used.ru_utime + used.ru_stime
    with open(f"/proc/{process.pid}/stat") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def ours(server, sessions, turns):
    """CPU of client and server for a step, in microseconds."""
    import palestra

    async with palestra.AsyncClient(server.url, ADMIN_KEY) as client:
        async with await client.vector("bench/counter", sessions, limits={"steps": turns + 1}) as vector:
            before = cpu_s() + cpu_s(server.process)
            for _ in range(turns):
                await vector.step([{"tool": "add", "arguments": {"amount": 1}}] * sessions)
            used = cpu_s() + cpu_s(server.process) - before
            return used / (sessions * turns) * 1e6


class Peer:
    """OpenEnv's server with a counter."""

    def __enter__(self):
        self.process = subprocess.Popen([sys.executable, "openenv_counter.py"], cwd=PEERS, stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        expect(line.startswith("ready "), f"OpenEnv's server did not become ready: it printed {line!r}")
        self.url = line.split()[-1]
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


async def theirs(peer, sessions, turns):
    """The same for OpenEnv's client and server."""
    from openenv import GenericEnvClient

    clients = [GenericEnvClient(base_url=peer.url.replace("http", "ws", 1)) for _ in range(sessions)]
    for client in clients:
        await client.connect()
        await client.reset()
    before = cpu_s() + cpu_s(peer.process)
    for turn in range(1, turns + 1):
        steps = await asyncio.gather(*(client.step({"amount": 1}) for client in clients))
        expect(all(step.observation["count"] == turn for step in steps), "OpenEnv's counters count something else")
    used = cpu_s() + cpu_s(peer.process) - before
    await asyncio.gather(*(client.close() for client in clients))
    return used / (sessions * turns) * 1e6


def run(short):
    """The ratio of CPU is measured in turn in one run; it holds in the form that is shipped, so the short form only shows it."""
    tested = own_tests()
    sessions, turns = (SESSIONS_SHORT, TURNS_SHORT) if short else (SESSIONS_LONG, TURNS_LONG)
    cuts = (CUTS_SHORT, CUT_BYTES_SHORT) if short else (CUTS_LONG, CUT_BYTES_LONG)
    with Server("--sessions-max", "20000") as server:
        began = time.monotonic()
        reconnects, steps = asyncio.run(over_a_lossy_proxy(server, sessions, turns, *cuts))
        lossy = f"{sessions} sessions took {steps} steps over {reconnects} reconnects in {time.monotonic() - began:.0f} s, none lost, none repeated"
        at_once = PEER_SESSIONS_SHORT if short else PEER_SESSIONS_LONG
        with Peer() as peer:
            rounds = [(asyncio.run(ours(server, at_once, turns)), asyncio.run(theirs(peer, at_once, turns))) for _ in range(3)]
    mine, other = (sorted(side)[1] for side in zip(*rounds))
    expect(short or other >= TARGET_RATIO * mine, f"a step takes {mine:.0f} µs of CPU here and {other:.0f} µs with OpenEnv: less than {TARGET_RATIO:.0f} times")
    return f"{tested}; {lossy}; {mine:.0f} µs of CPU a step beside OpenEnv's {other:.0f} ({other / mine:.1f} times), {at_once} sessions"


if __name__ == "__main__":
    main(run)
