"""Colourings: reasoning-gym's own verification, and a search that always takes the most constrained node."""

import random
import re

from reasoning_gym.algorithmic.graph_color import verify_graph_coloring_solution

AGREES_WITH = "reasoning-gym graph_color"


def check(puzzle: dict, answer: str) -> float:
    pairs = re.fullmatch(r"\s*(\d+\s*:\s*\d+[\s,]*)*", answer, re.ASCII)
    found = [(int(node), int(colour)) for node, colour in re.findall(r"(\d+)\s*:\s*(\d+)", answer, re.ASCII)]
    nodes = list(range(1, puzzle["nodes"] + 1))
    if not pairs or sorted(node for node, _ in found) != nodes:
        return 0.0
    problem = {"vertices": nodes, "edges": puzzle["edges"], "color_options": list(range(1, puzzle["colours"] + 1))}
    return float(verify_graph_coloring_solution(problem, dict(found))[0])


def colour(neighbours, left, painted, rng):
    """Paints the rest; `left` are the colours that each node can have."""
    open_nodes = [node for node in left if node not in painted]
    if not open_nodes:
        return True
    node = min(open_nodes, key=lambda node: (len(left[node]), -len(neighbours[node])))
    colours = sorted(left[node])
    rng.shuffle(colours)
    for choice in colours:
        painted[node] = choice
        taken = [other for other in neighbours[node] if other not in painted and choice in left[other]]
        for other in taken:
            left[other].discard(choice)
        if all(left[other] for other in taken) and colour(neighbours, left, painted, rng):
            return True
        for other in taken:
            left[other].add(choice)
        del painted[node]
    return False


def solve(puzzle: dict, rng: random.Random) -> list[str]:
    neighbours = {node: set() for node in range(1, puzzle["nodes"] + 1)}
    for low, high in puzzle["edges"]:
        neighbours[low].add(high)
        neighbours[high].add(low)
    answers = []
    for _ in range(2):
        left = {node: set(range(1, puzzle["colours"] + 1)) for node in neighbours}
        painted = {}
        if colour(neighbours, left, painted, rng):
            pairs = list(painted.items())
            answers.append(" ".join(f"{node}:{choice}" for node, choice in pairs))
    return answers


def wrong(puzzle: dict, right: str, rng: random.Random) -> list[str]:
    pairs = [pair.split(":") for pair in right.split()]
    at = rng.randrange(len(pairs))
    node, choice = pairs[at]
    answers = [[*pairs[:at], [node, str(rng.randint(0, puzzle["colours"] + 1))], *pairs[at + 1 :]] for _ in range(2)]
    # Two colours change names, which is right again.
    names = {"1": "2", "2": "1"}
    answers.append([[node, names.get(choice, choice)] for node, choice in pairs])
    answers += [pairs[:at] + pairs[at + 1 :], [*pairs, [node, choice]], [[choice, node] for node, choice in pairs]]
    return [" ".join(":".join(pair) for pair in answer) for answer in answers]
