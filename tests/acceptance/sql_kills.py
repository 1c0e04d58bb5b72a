"""kill -9 under SQL sessions of both engines: they come back with their rows, and nothing of the dead server is left, neither
processes nor databases, roles or files; not in a private cluster, and not in one that the user named."""

import glob
import os
import subprocess
import threading
import time

from harness import Server, expect, main
from sandbox_kills import alive, descendants, until

ENVIRONMENT = "sql/policy"
# With their numbers: a new server gives the same names again.
NAMES = ("SELECT 'database ' || datname || ' ' || oid FROM pg_database WHERE datname LIKE 'palestra\\_%'"
         " UNION ALL SELECT 'role ' || rolname || ' ' || oid FROM pg_roles WHERE rolname LIKE 'palestra\\_%'")


def left_in(url):
    """What carries our prefix in a cluster."""
    done = subprocess.run(["psql", url, "-Atc", NAMES], capture_output=True, text=True, check=True)
    return set(done.stdout.split("\n")) - {""}


def query(api, session, sql):
    action = {"tool": "query", "arguments": {"sql": sql}}
    return api.post(f"/v1/sessions/{session['id']}/step", {"action": action})


def rows(answer):
    data = answer["observation"]["data"]
    expect(data.get("error") is None, f"a query failed: {data}")
    return data["results"][-1]["rows"]


def open_sessions(api, count, engine):
    sessions = []
    for index in range(count):
        session = api.post(
            "/v1/sessions",
            {"environment": ENVIRONMENT, "task": {"split": "train", "index": index % 4}, "config": {"engine": engine}},
        )
        rows(query(api, session, f"CREATE TEMPORARY TABLE mark (name TEXT); INSERT INTO mark VALUES ('{engine} {index}'); SELECT 1"))
        sessions.append(session)
    return sessions


# What a database of its own gives differently each time, and what only time cuts off.
UNLIKE = {
    "sqlite": ["SELECT random(), datetime('now')"],
    "postgres": [
        "SELECT random(), now(), clock_timestamp(), current_user, current_database(), pg_backend_pid()",
        "SELECT table_catalog, count(*) FROM information_schema.tables GROUP BY 1",
        "SELECT oid, relname, xmin FROM pg_class WHERE relname LIKE 'pg_c%'",
        "EXPLAIN SELECT * FROM mark",
    ],
}


def endless():
    """A query that takes up nothing but time, whatever the speed of the machine: subqueries, each of which hangs on the one around it."""
    inner = "0"
    for level in reversed(range(10)):
        around = f"d{level - 1}.x" if level else "0"
        inner = f"(SELECT count(*) FROM d AS d{level} WHERE d{level}.x + {around} + {inner} > -1)"
    digits = ", ".join(f"({digit})" for digit in range(10))
    return f"WITH d(x) AS (VALUES {digits}) SELECT {inner}"


def open_awkward(api, engine):
    """A session whose steps would not all come out alike by themselves."""
    [session] = open_sessions(api, 1, engine)
    for sql in UNLIKE[engine]:
        query(api, session, sql)
    cut = query(api, session, f"INSERT INTO mark VALUES ('kept'); {endless()}; INSERT INTO mark VALUES ('never')")
    expect(cut["observation"]["data"]["error"]["cut"] == "time", f"an endless query: {cut}")
    return session


def hammer(server, sessions, stop):
    """Keeps acting until the server is gone."""
    api = server.api()
    while not stop.is_set():
        for session in sessions:
            try:
                query(api, session, "INSERT INTO mark SELECT name FROM mark LIMIT 1")
            except Exception:
                return


def kill_under_load(short, url):
    counts = {"sqlite": 20 if short else 200, "postgres": 4 if short else 20}
    arguments = ["--sandbox", "none"] + (["--sql-postgres-url", url] if url else [])
    with Server(*arguments) as server:
        sessions = {engine: open_sessions(server.api(), count, engine) for engine, count in counts.items()}
        awkward = {engine: open_awkward(server.api(), engine) for engine in counts}
        stop = threading.Event()
        threads = [threading.Thread(target=hammer, args=(server, some, stop)) for some in sessions.values()]
        for thread in threads:
            thread.start()
        time.sleep(1 if short else 5)
        below = descendants(server.process.pid)
        expect(below, "the server has no workers")
        before = left_in(url) if url else set()
        server.kill()
        stop.set()
        for thread in threads:
            thread.join()
        until("the workers of a dead server end", lambda: not alive(below))
        server.start()
        if url:
            # What is there now was made by the new server.
            until("a new server sweeps", lambda: not (left_in(url) & before))
        api = server.api()
        for engine, some in sessions.items():
            for index, session in enumerate(some):
                found = rows(query(api, session, "SELECT DISTINCT name FROM mark"))
                expect(found == [[f"{engine} {index}"]], f"{engine} session {index} came back with {found}")
        for engine, session in awkward.items():
            found = rows(query(api, session, "SELECT name FROM mark ORDER BY name DESC"))
            expect(found == [[f"{engine} 0"], ["kept"]], f"the awkward session on {engine} came back with {found}")
        below = descendants(server.process.pid)
        for some in [*sessions.values(), awkward.values()]:
            for session in some:
                api.delete(f"/v1/sessions/{session['id']}")
        server.terminate()
        until("the workers of a server end with it", lambda: not alive(below))
        expect(not url or not left_in(url), f"left in the cluster: {left_in(url) if url else ''}")
        folders = glob.glob(os.path.join(server.data, "postgres", "*"))
        expect(not folders, f"left in the data folder: {folders}")
    return sum(counts.values()) + len(awkward)


def run(short):
    url = os.environ["PALESTRA_TEST_POSTGRES_URL"]
    private = kill_under_load(short, None)
    named = kill_under_load(short, url)
    return f"{private} sessions on workers and a private cluster, {named} with a named one came back with their rows; nothing was left behind"


if __name__ == "__main__":
    main(run)
