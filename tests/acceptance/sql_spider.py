"""A folder of databases with questions becomes an environment by one command, which proves every reference on SQLite, and on
PostgreSQL wherever it can be said there. Over HTTP, references score 1, and queries without a row do not. Where the data folder
is not there, a database of our own takes its place."""

import collections
import json
import os
import shutil
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor

from harness import ADMIN_KEY, FOLDER, Failed, Server, binary, expect, main, not_tried

NAME = "sql/spider"
WORKERS = 4
# In the short form.
QUESTIONS = 60


def own_data():
    """The folder of a package's tests with questions about a database of our own."""
    for folder, below, files in os.walk(FOLDER):
        below[:] = [name for name in below if name not in (".git", "target")]
        if folder.endswith(os.path.join("tests", "own")) and "questions.json" in files:
            return folder
    raise Failed("no folder tests/own with questions.json is in the checkout")


def folder_of_data():
    data = os.path.join(os.environ.get("PALESTRA_SHARED_DATA", os.path.join(FOLDER, "..", "shared", "data")), "spider")
    if os.path.isdir(data):
        return data
    not_tried("the questions of Spider", "the data folder (PALESTRA_SHARED_DATA)")
    return own_data()


def smaller(data, target):
    """A folder with the first questions and the databases that they ask."""
    with open(os.path.join(data, "questions.json")) as file:
        questions = json.load(file)[:QUESTIONS]
    os.makedirs(os.path.join(target, "sqlite"))
    for name in {question["db"] for question in questions}:
        shutil.copy(os.path.join(data, "sqlite", f"{name}.sql"), os.path.join(target, "sqlite"))
    with open(os.path.join(target, "questions.json"), "w") as file:
        json.dump(questions, file)
    return target


def publish(server, folder):
    command = [binary(), "publish", folder, "--name", NAME, "--json"]
    environment = {**os.environ, "PALESTRA_URL": server.url, "PALESTRA_API_KEY": ADMIN_KEY}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    expect(done.returncode == 0, f"publishing failed: {done.stderr[-3000:]}")
    return json.loads(done.stdout.strip().splitlines()[-1])


def play(api, index, split, sql):
    """The verdict of one submitted query."""
    session = api.post("/v1/sessions", {"environment": NAME, "task": {"split": split, "index": index}})
    step = {"seq": 1, "action": {"tool": "submit", "arguments": {"sql": sql}}}
    answer = api.post(f"/v1/sessions/{session['id']}/step", step)
    api.delete(f"/v1/sessions/{session['id']}")
    return answer["verdict"]


def run(short):
    data = folder_of_data()
    with tempfile.TemporaryDirectory() as target, Server("--sandbox", "none") as server:
        folder = smaller(data, os.path.join(target, "part")) if short else data
        published = publish(server, folder)
        again = publish(server, folder)
        expect(not again["created"] and again["version"] == published["version"], "the same folder is another version")
        with open(os.path.join(folder, "questions.json")) as file:
            questions = json.load(file)
        tasks = [
            (split, index)
            for split, length in sorted(published["splits"].items())
            for index in range(length)
        ]
        expect(len(tasks) == len(questions), f"{len(questions)} questions became {len(tasks)} tasks")
        gold = {(question["db"], question["query"]): question["gold"] for question in questions}
        found = collections.Counter()
        failed = []

        def check(place):
            api = server.api()
            split, index = place
            task = api.get(f"/v1/environments/{NAME}/tasks?split={split}&offset={index}&limit=1")["data"][0]
            sql = gold[task["metadata"]["database"], task["messages"][-1]["content"]]
            verdict = play(api, index, split, sql)
            if verdict["status"] == "scored" and verdict["score"] == 1:
                found["references accepted"] += 1
            else:
                failed.append((sql, verdict))
            verdict = play(api, index, split, "SELECT 'nothing' AS a, 2 AS b, 3 AS c WHERE 1 = 0")
            found["empty results rejected"] += verdict["status"] == "scored" and verdict["score"] == 0

        with ThreadPoolExecutor(WORKERS) as pool:
            list(pool.map(check, tasks))
        for line in failed[:20]:
            print(line)
        expect(not failed, f"{len(failed)} references are not accepted; {dict(found)}")
        counts = ", ".join(f"{name} {count}" for name, count in sorted(found.items()))
        summary = [note for note in published["notes"] if "references run on" in note or "on SQLite alone" in note]
        return f"{len(tasks)} questions over HTTP: {counts}; {'; '.join(summary)}"


if __name__ == "__main__":
    main(run)
