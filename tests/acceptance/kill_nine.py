"""`kill -9` under load: nothing acknowledged is lost, no step runs twice, every session goes on.

200 sessions step over several streams in all three recording modes, in an environment that is replayed after a restart
(bench/counter) and in one with an outside effect that is not (bench/effect). Every few steps a session asks for its verdict and
begins another episode. The server is killed at random moments and started again.
"""

import asyncio
import collections
import os
import random
import tempfile
import uuid

from harness import Api, Refused, Server, Stream, expect, main

SESSIONS_LONG, SESSIONS_SHORT = 200, 40
KILLS_LONG, KILLS_SHORT = 20, 3
STREAMS = 10
STEPS_PER_EPISODE = 25
# The moment of a kill after the last start was seen to work, in seconds.
LOAD_S = (0.1, 1.5)
PROGRESS_TIMEOUT_S = 120
READY_MAX_S = 10


class Player:
    """One session at a time, and everything that was acknowledged of it."""

    def __init__(self, world, stream, environment, record):
        self.world, self.stream, self.environment, self.record = world, stream, environment, record
        self.session = self.episode = None
        self.seq = 0
        # Per episode: seq -> answer, and the verdicts.
        self.steps, self.verdicts = collections.defaultdict(dict), {}
        self.lost = 0
        self.progress = 0

    async def play(self):
        await self.open()
        while not self.world.over:
            try:
                await self.turn()
                self.progress += 1
            except Refused as refused:
                code = refused.problem["code"]
                # A session that nothing was stored of dies with the server, and says so.
                expect(self.record == "none" and code == "session_lost", f"{self.describe()}: {refused}")
                self.lost += 1
                await self.open()

    async def open(self):
        key = str(uuid.uuid4())
        request = {"environment": self.environment, "record": self.record, "task": {"split": "train", "index": 0}}
        opened = await self.stream.call("create", key=key, seed=5, limits={"steps": 10_000}, **request)
        self.session, self.episode, self.seq = opened["id"], opened["episode"], 0

    async def turn(self):
        if self.seq == STEPS_PER_EPISODE:
            return await self.next_episode()
        seq = self.seq + 1
        # Counter and effect both take text; the effect's log shows it, so it names the step.
        text = "1" if self.environment == "bench/counter" else f"step-{seq}"
        answer = await self.stream.call("step", self.session, seq=seq, episode=self.episode, action={"text": text})
        expect(answer["seq"] == seq and answer["episode"] == self.episode, f"{self.describe()}: {answer}")
        expect(not answer["truncated"] or answer["stop_reason"] != "infra_error", f"{self.describe()}: {answer}")
        self.steps[self.episode][seq] = answer
        self.seq = seq

    async def next_episode(self):
        verdict = await self.stream.call("verify", self.session)
        expect(verdict["episode"] == self.episode, f"{self.describe()}: a verdict on {verdict['episode']}")
        self.verdicts[self.episode] = verdict
        opened = await self.stream.call("reset", self.session, key=str(uuid.uuid4()))
        expect(opened["id"] == self.session and opened["seq"] == 0, f"{self.describe()}: reset answered {opened}")
        self.episode, self.seq = opened["episode"], 0

    def describe(self):
        return f"{self.session} ({self.environment}, {self.record}, {self.episode} at {self.seq})"


class World:
    """All players, and whether they shall stop."""

    def __init__(self, seed):
        self.over = False
        self.players = []
        self.random = random.Random(seed)

    async def everyone_moves(self, tasks):
        """Waits until every player was answered something since now."""
        before = [player.progress for player in self.players]
        async with asyncio.timeout(PROGRESS_TIMEOUT_S):
            while any(player.progress <= old for player, old in zip(self.players, before)):
                for task in tasks:
                    if task.done():
                        task.result()
                await asyncio.sleep(0.02)


async def load(server, world, sessions, kills):
    """Plays while the server is killed; answers the seconds to ready after each kill."""
    streams = [Stream(server.port) for _ in range(STREAMS)]
    ready = []
    for stream in streams:
        await stream.__aenter__()
    modes = [(name, record) for record in ("group", "sync", "none") for name in ("bench/counter", "bench/effect")]
    for index in range(sessions):
        world.players.append(Player(world, streams[index % STREAMS], *modes[index % len(modes)]))
    tasks = [asyncio.create_task(player.play()) for player in world.players]
    try:
        for _ in range(kills):
            await world.everyone_moves(tasks)
            await asyncio.sleep(world.random.uniform(*LOAD_S))
            server.kill()
            ready.append(await asyncio.to_thread(server.start))
        try:
            await world.everyone_moves(tasks)
        except TimeoutError:
            stuck = [player.describe() for player in world.players if player.progress == 0]
            expect(False, f"sessions do not go on after a kill: {stuck[:3]}")
        world.over = True
        await asyncio.wait_for(asyncio.gather(*tasks), PROGRESS_TIMEOUT_S)
    finally:
        for task in tasks:
            task.cancel()
        for stream in streams:
            await stream.__aexit__()
    return ready


def check(server, world, effects):
    """Compares what was acknowledged with what the server has; answers counts."""
    api = Api(server.port)
    counts = collections.Counter()
    for player in world.players:
        counts["lost"] += player.lost
        for episode, verdict in player.verdicts.items():
            stored = api.get(f"/v1/episodes/{episode}/verdicts")["data"]
            expect(verdict in stored, f"{episode}: the verdict {verdict} is gone, there is {stored}")
            counts["verdicts"] += 1
        for episode, steps in player.steps.items():
            if player.record != "none":
                check_steps(api, episode, steps)
                counts["steps"] += len(steps)
            if player.environment == "bench/effect":
                counts["effects"] += check_effects(effects, episode, steps)
    return counts


# What may differ between the answer and the record of one step: durability moves on, timings are cut or not.
VOLATILE = ("durable_seq", "info", "verdict")


def check_steps(api, episode, acknowledged):
    recorded = {step["seq"]: step for step in api.get(f"/v1/episodes/{episode}/trajectory?format=json")["steps"]}
    expect(sorted(recorded) == list(range(1, len(recorded) + 1)), f"{episode} has a hole: {sorted(recorded)}")
    for seq, answer in acknowledged.items():
        expect(seq in recorded, f"{episode}: step {seq} was acknowledged and is gone")
        kept = recorded[seq]["answer"]
        for field in set(answer) - set(VOLATILE):
            expect(kept.get(field) == answer[field], f"{episode} step {seq}: {field} was {answer[field]}, is {kept.get(field)}")


def check_effects(folder, episode, acknowledged):
    path = os.path.join(folder, f"{episode}.log")
    lines = []
    if os.path.exists(path):
        with open(path) as log:
            lines = [line.split(maxsplit=1)[1].strip() for line in log]
    twice = [text for text, count in collections.Counter(lines).items() if count > 1]
    expect(not twice, f"{episode}: {twice[:3]} ran twice")
    for seq, answer in acknowledged.items():
        if not answer["info"].get("interrupted"):
            expect(f"step-{seq}" in lines, f"{episode}: step {seq} was acknowledged and never ran")
    return len(lines)


def on_store(name, database_url, sessions, kills):
    with tempfile.TemporaryDirectory(prefix="palestra-effects-") as effects:
        server = Server("--bench-effects", effects, database_url=database_url)
        with server:
            world = World(seed=kills)
            ready = asyncio.run(load(server, world, sessions, kills))
            # Once more without load, so that nothing is read from memory.
            server.kill()
            ready.append(server.start())
            counts = check(server, world, effects)
    expect(max(ready) < READY_MAX_S, f"{name}: ready after {max(ready):.2f} s")
    ready.sort()
    return (
        f"{name}: {kills} kills, {sessions} sessions, {counts['steps']} steps and {counts['verdicts']} verdicts kept, "
        f"{counts['effects']} effects once, {counts['lost']} unrecorded sessions said to be lost, ready after "
        f"{ready[len(ready) // 2]:.2f} s (worst {ready[-1]:.2f} s)"
    )


def run(short):
    """Both stores."""
    sessions, kills = (SESSIONS_SHORT, KILLS_SHORT) if short else (SESSIONS_LONG, KILLS_LONG)
    figures = [on_store("SQLite", None, sessions, kills)]
    url = os.environ.get("PALESTRA_TEST_POSTGRES_URL")
    expect(url, "PALESTRA_TEST_POSTGRES_URL is not set: run this through scripts/acceptance")
    figures.append(on_store("PostgreSQL", fresh_database(url), sessions, kills))
    return "; ".join(figures)


def fresh_database(url):
    """A new database on the server that `url` reaches."""
    import subprocess
    from urllib.parse import urlsplit, urlunsplit

    name = f"acceptance_{uuid.uuid4().hex}"
    subprocess.run(["psql", "-q", url, "-c", f"CREATE DATABASE {name}"], check=True)
    return urlunsplit(urlsplit(url)._replace(path=f"/{name}"))


if __name__ == "__main__":
    main(run)
