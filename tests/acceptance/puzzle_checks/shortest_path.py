"""Shortest paths: distances to the target by rounds over all edges (Bellman and Ford), and paths that follow them."""

import random
import re

AGREES_WITH = "brute force"


def distances(puzzle):
    """From each node to the target."""
    to_target = {puzzle["to"]: 0}
    for _ in range(puzzle["nodes"]):
        for start, end, length in puzzle["edges"]:
            if end in to_target and to_target[end] + length < to_target.get(start, float("inf")):
                to_target[start] = to_target[end] + length
    return to_target


def check(puzzle: dict, answer: str) -> float:
    if not re.fullmatch(r"\s*\d+(\s*(->|,|\s)\s*\d+)*\s*", answer, re.ASCII):
        return 0.0
    nodes = [int(node) for node in re.findall(r"\d+", answer, re.ASCII)]
    lengths = {(start, end): length for start, end, length in puzzle["edges"]}
    steps = list(zip(nodes, nodes[1:]))
    if (nodes[0], nodes[-1]) != (puzzle["from"], puzzle["to"]) or not all(step in lengths for step in steps):
        return 0.0
    return float(sum(lengths[step] for step in steps) == distances(puzzle)[puzzle["from"]])


def solve(puzzle: dict, rng: random.Random) -> list[str]:
    to_target = distances(puzzle)
    answers = set()
    for _ in range(4):
        path = [puzzle["from"]]
        while path[-1] != puzzle["to"]:
            after = [
                end
                for start, end, length in puzzle["edges"]
                if start == path[-1] and end in to_target and to_target[start] == length + to_target[end]
            ]
            path.append(rng.choice(after))
        answers.add(" -> ".join(map(str, path)))
    return sorted(answers)


def wrong(puzzle: dict, right: str, rng: random.Random) -> list[str]:
    nodes = right.split(" -> ")
    at = rng.randrange(1, len(nodes) - 1)
    other = str(rng.randint(1, puzzle["nodes"]))
    answers = [
        nodes[:at] + nodes[at + 1 :],
        nodes[:at] + [other] + nodes[at + 1 :],
        nodes[:at] + [other] + nodes[at:],
        nodes[::-1],
        nodes[:-1],
        nodes[1:],
        nodes + nodes,
    ]
    walk = [puzzle["from"]]
    for _ in range(40):
        after = [end for start, end, _ in puzzle["edges"] if start == walk[-1]]
        if not after or walk[-1] == puzzle["to"]:
            break
        walk.append(rng.choice(after))
    answers.append(list(map(str, walk)))
    return [" -> ".join(answer) for answer in answers]
