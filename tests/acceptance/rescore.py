"""A task whose verifier was too kind is published again with a better one: after a restart, stored episodes get a second verdict
from their evidence, and both stay readable."""

from concurrent.futures import ThreadPoolExecutor

from harness import Server, expect, main

NAME = "terminal/ledger"
TASK = """\
instruction: |
  The file sales.csv holds one sale a line, as name,amount. Write the sum of all amounts into total.txt, as `total N`.
difficulty: 0.1
setup:
  files:
    - path: sales.csv
      text: |
        tea,3
        milk,4
        bread,5
artefacts: [total.txt]
checks:
  - name: total
    file: total.txt
    trim: true
    CHECK
solution: |
  awk -F, '{sum += $2} END {print "total " sum}' sales.csv > total.txt
"""
KIND = TASK.replace("CHECK", "matches: '^total \\d+$'")
RIGHT = TASK.replace("CHECK", 'equals: "total 12"')


def publish(api, text):
    headers = {"content-type": "application/yaml"}
    return api.call("POST", f"/v1/environments?name={NAME}", text.encode(), headers)["environment"]


def play(server, index):
    """Every second episode writes a wrong sum."""
    api = server.api()
    session = api.post("/v1/sessions", {"environment": NAME})
    total = 12 if index % 2 == 0 else 11
    for seq, (tool, arguments) in enumerate([("exec", {"command": f"echo total {total} > total.txt"}), ("submit", {})], 1):
        answer = api.post(
            f"/v1/sessions/{session['id']}/step", {"seq": seq, "action": {"tool": tool, "arguments": arguments}}
        )
    verdict = answer["verdict"]
    expect(verdict["status"] == "scored" and verdict["score"] == 1, f"the kind verifier says {verdict}")
    api.delete(f"/v1/sessions/{session['id']}")
    return session["episode"], index % 2 == 0


def run(short):
    count = 10 if short else 100
    with Server("--sandbox", "local") as server:
        first = publish(server.api(), KIND)
        with ThreadPoolExecutor(4) as pool:
            episodes = list(pool.map(lambda index: play(server, index), range(count)))
        server.restart()
        api = server.api()
        second = publish(api, RIGHT)
        expect(second["version"] == first["version"] + 1, f"version {second['version']} follows {first['version']}")
        for episode, right in episodes:
            verdict = api.post(f"/v1/episodes/{episode}/verify", {"version": second["version"]})
            expect(verdict["status"] == "scored", f"judged again: {verdict['status']}: {verdict.get('detail')}")
            expect(verdict["score"] == (1 if right else 0), f"judged again: {verdict['score']} for right={right}")
        for episode, right in episodes:
            verdicts = api.get(f"/v1/episodes/{episode}/verdicts")["data"]
            scores = [verdict["score"] for verdict in verdicts]
            expect(scores == [1, 1 if right else 0], f"the verdicts of {episode} are {scores}")
            versions = {verdict["verifier"]["version"] for verdict in verdicts}
            expect(len(versions) == 2, "both verdicts are of one verifier version")
    return f"{count} stored episodes judged again after a restart, {count // 2} of them otherwise; both verdicts stay"


if __name__ == "__main__":
    main(run)
