"""Best-first search in a browser: each promising click is tried in a fork of the session, pages and all, and the most promising page is
gone on from.

Needs no package. Reads PALESTRA_URL and PALESTRA_API_KEY; the key needs the scopes `sessions` and `verify:probe`. The value of a page is
what a probe of its verdict says, and the words of the task that it shows.
"""

import heapq
import itertools
import json
import os
import re
import urllib.request

TASK = {"environment": "app/mail", "task": {"split": "train", "seed": 0}, "config": {"surface": "browser"}}
# Pages that are gone on from, and clicks that are tried from each.
EXPANSIONS_MAX = 12
CLICKS_MAX = 6
ELEMENT = re.compile(r"\[([a-z0-9]+)\] (?:button|link|checkbox|switch|tab) '((?:[^'\\]|\\.)*)'")
ROW = re.compile(r"(\t*)\[[a-z0-9]+\] (?:listitem|row|article) ")
# Words that say little about where to click.
COMMON = {"the", "a", "an", "on", "in", "of", "to", "my", "from", "and", "it", "is", "for", "put", "please"}


def call(method, path, body=None):
    request = urllib.request.Request(
        os.environ["PALESTRA_URL"] + "/v1/" + path,
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={"Authorization": "Bearer " + os.environ["PALESTRA_API_KEY"], "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request) as answer:
        text = answer.read()
    return json.loads(text) if text else None


def words(text):
    return set(re.findall(r"[a-z0-9]+", text.lower())) - COMMON


def click(session, element):
    answer = call("POST", f"sessions/{session}/step", {"action": {"tool": "click", "arguments": {"bid": element}}})
    return answer["observation"]


def value(session, page, task):
    """Higher is better: the score so far counts most, and doing what nobody asked for costs as much."""
    verdict = call("POST", f"sessions/{session}/verify", {"probe": True})
    broken = any(check["weight"] == 0 and not check["passed"] for check in verdict["checks"])
    return 10 * (verdict["score"] or 0) - 10 * broken + len(words(page) & task) / len(task)


def rows(page):
    """Each line of the tree with the text of the row of a list or table that it is in."""
    around, texts, found = [], {}, []
    for line in page.split("\n"):
        depth = len(line) - len(line.lstrip("\t"))
        while around and around[-1][0] >= depth:
            around.pop()
        if ROW.match(line):
            around.append((depth, len(found)))
        row = around[-1][1] if around else None
        texts[row] = texts.get(row, "") + line
        found.append((line, row))
    return [(line, "" if row is None else texts[row]) for line, row in found]


def clicks(page, task):
    """What can be clicked, those first whose names, and the rows around them, share the most words with the task."""
    found = {}
    for line, row in rows(page):
        element = ELEMENT.search(line)
        if element and element[2] not in found:
            shared = 2 * len(words(element[2]) & task) + len(words(row) & task)
            found[element[2]] = (shared, element[1], element[2])
    return sorted(found.values(), key=lambda found: -found[0])[:CLICKS_MAX]


def search(session, page, task):
    """The session in which the task is done, with the clicks that led there; the best that was found otherwise."""
    order = itertools.count()
    best = (value(session, page, task), session, page, [])
    waiting, seen = [(-best[0], next(order), session, page, [])], {page}
    for expansion in range(EXPANSIONS_MAX):
        if not waiting or best[0] >= 10:
            break
        _, _, at, page, path = heapq.heappop(waiting)
        print(f"page {expansion + 1}, after {path or 'nothing'}")
        chosen = clicks(page, task)
        forks = call("POST", f"sessions/{at}/fork", {"count": len(chosen)})["data"] if chosen else []
        for fork, (_, element, name) in zip(forks, chosen):
            seen_now = click(fork["id"], element)
            page = seen_now["text"]
            if seen_now["data"].get("error") or page in seen:
                call("DELETE", f"sessions/{fork['id']}")
                continue
            seen.add(page)
            worth = value(fork["id"], page, task)
            heapq.heappush(waiting, (-worth, next(order), fork["id"], page, [*path, name]))
            best = max(best, (worth, fork["id"], page, [*path, name]), key=lambda found: found[0])
        if at != best[1]:
            call("DELETE", f"sessions/{at}")
    return best, [session for _, _, session, _, _ in waiting if session != best[1]]


def main():
    opened = call("POST", "sessions", TASK)
    instruction = opened["task"]["messages"][1]["content"]
    print(instruction)
    (_, session, _, path), others = search(opened["id"], opened["observation"]["text"], words(instruction))
    for other in others:
        call("DELETE", f"sessions/{other}")
    print(" > ".join(path))
    done = call("POST", f"sessions/{session}/step", {"action": {"tool": "submit", "arguments": {"status": "ok"}}})
    call("DELETE", f"sessions/{session}")
    score = done["verdict"]["score"]
    print(f"score {score}")
    assert score == 1.0


if __name__ == "__main__":
    main()
