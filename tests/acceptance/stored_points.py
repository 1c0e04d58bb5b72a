"""Sessions that begin at stored points, with real processes.

A server is killed while callers open groups of sessions from a snapshot and from a step: every request with a key made its whole
group or nothing, and sent again it answers the group that it made. Then two servers share one PostgreSQL: what the first stored
opens on the second once the first is killed.
"""

import http.client
import json
import os
import random
import threading

from harness import Api, Server, expect, main
from kill_nine import fresh_database

KILLS_LONG, KILLS_SHORT = 20, 3
CALLERS = 6
GROUP = 5
# The moment of a kill after the callers have begun, in seconds.
LOAD_S = (0.05, 0.6)
TARGET = {"environment": "bench/counter", "task": {"split": "train", "index": 0}, "seed": 5, "config": {"draws": True}}


def play(api):
    """A closed session with three steps, and the points in it: each with the hash of its state and what the next step showed."""
    origin = api.post("/v1/sessions", TARGET)
    path = f"/v1/sessions/{origin['id']}"
    hashes, seen, snapshot = [], [], None
    for seq in (1, 2, 3):
        step = {"seq": seq, "action": {"text": str(seq)}, "observe": {"state_hash": True}}
        answer = api.post(f"{path}/step", step)
        hashes.append(answer["info"]["state_hash"])
        seen.append(answer["observation"])
        if seq == 1:
            snapshot = api.post(f"{path}/snapshots", {"name": "one"})
    api.delete(path)
    return origin, [
        ({"snapshot": snapshot["id"]}, 1, hashes[0], seen[1]),
        ({"episode": origin["episode"], "seq": 2}, 2, hashes[1], seen[2]),
    ]


def check(api, opened, origin, point):
    """The session stands at the point, and goes on as the origin did."""
    _, seq, digest, after = point
    expect(opened["seq"] == seq and opened["at_seq"] == seq and opened["parent"] == origin["id"], f"it does not stand there: {opened}")
    state = api.get(f"/v1/sessions/{opened['id']}/state")
    expect(state["hash"] == digest, f"another state: {state['hash']}, not {digest}")
    answer = api.post(f"/v1/sessions/{opened['id']}/step", {"seq": seq + 1, "action": {"text": str(seq + 1)}})
    expect(answer["observation"] == after, f"it goes on otherwise: {answer['observation']}, not {after}")


def call(port, points, caller, number, answers):
    """One request with a key; a server that dies meanwhile owes an answer."""
    key = f"{caller}-{number}"
    body = {"from": points[number % len(points)][0], "count": GROUP}
    try:
        status, _, text = Api(port).raw("POST", "/v1/sessions", body, {"idempotency-key": key})
    except (http.client.HTTPException, OSError):
        answers[key] = None
        return False
    expect(status == 201, f"{key} is answered {status}: {text[:300]}")
    answers[key] = [one["id"] for one in json.loads(text)["data"]]
    return True


def count(api):
    total, cursor = 0, None
    while True:
        page = api.get("/v1/sessions?limit=1000" + (f"&cursor={cursor}" if cursor else ""))
        total += len(page["data"])
        cursor = page["next_cursor"]
        if cursor is None:
            return total


def kills(name, database_url, how_many):
    dice, answers, faults = random.Random(how_many), {}, []
    with Server(database_url=database_url) as server:
        origin, points = play(server.api())

        def work(caller, start):
            number = start
            try:
                while call(server.port, points, caller, number, answers):
                    number += 1
            except Exception as fault:
                faults.append(fault)

        for kill in range(how_many):
            callers = [threading.Thread(target=work, args=(caller, kill * 100_000)) for caller in range(CALLERS)]
            for thread in callers:
                thread.start()
            threading.Event().wait(dice.uniform(*LOAD_S))
            server.kill()
            for thread in callers:
                thread.join()
            expect(not faults, f"{name}: {faults[:1]}")
            server.start()
        api = server.api()
        before = count(api)
        expect((before - 1) % GROUP == 0, f"{name}: {before - 1} sessions are no whole groups of {GROUP}")
        cut = [key for key, answer in answers.items() if answer is None]
        made = (before - 1) // GROUP - (len(answers) - len(cut))
        expect(0 <= made <= len(cut), f"{name}: {made} of {len(cut)} unanswered groups were made")
        for key, answer in answers.items():
            number = int(key.split("-")[1])
            body = {"from": points[number % len(points)][0], "count": GROUP}
            again = api.post("/v1/sessions", body, headers={"idempotency-key": key})["data"]
            expect(answer is None or [one["id"] for one in again] == answer, f"{name}: {key} is answered otherwise")
            if answer is None:
                check(api, again[0], origin, points[number % len(points)])
        after = count(api)
        expect(after == 1 + GROUP * len(answers), f"{name}: {after} sessions for {len(answers)} groups")
    return f"{name}: {how_many} kills, {len(answers)} groups of {GROUP} made once, {len(cut)} of them cut off and {made} of these whole"


def two_nodes(url):
    database = fresh_database(url)
    one, other = Server(database_url=database), Server(database_url=database)
    with one, other:
        origin, points = play(one.api())
        one.kill()
        for point in points:
            for opened in other.api().post("/v1/sessions", {"from": point[0], "count": 2})["data"]:
                check(other.api(), opened, origin, point)
    return f"{len(points)} points of a killed node opened on another"


def run(short):
    """Both stores, and two nodes."""
    how_many = KILLS_SHORT if short else KILLS_LONG
    url = os.environ.get("PALESTRA_TEST_POSTGRES_URL")
    expect(url, "PALESTRA_TEST_POSTGRES_URL is not set: run this through scripts/acceptance")
    figures = [kills("SQLite", None, how_many), kills("PostgreSQL", fresh_database(url), how_many), two_nodes(url)]
    return "; ".join(figures)


if __name__ == "__main__":
    main(run)
