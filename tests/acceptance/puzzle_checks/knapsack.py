"""Selections for a bag: the best value by undominated pairs with an upper bound, not by a table of weights."""

import functools
import json
import re

AGREES_WITH = "brute force"


def best_selection(items, capacity, order):
    """Nemhauser and Ullmann's undominated pairs; drops those whose fractional bound is below what is reached."""
    density = sorted(order, key=lambda at: items[at]["value"] / items[at]["weight"], reverse=True)

    def bound(weight, value, rest):
        for at in rest:
            if weight + items[at]["weight"] > capacity:
                return value + (capacity - weight) * items[at]["value"] / items[at]["weight"]
            weight, value = weight + items[at]["weight"], value + items[at]["value"]
        return value

    reached, weight = 0, 0
    for at in density:
        if weight + items[at]["weight"] <= capacity:
            reached, weight = reached + items[at]["value"], weight + items[at]["weight"]
    pairs = [(0, 0, None)]
    for step, at in enumerate(density):
        more = [
            (weight + items[at]["weight"], value + items[at]["value"], (at, before))
            for weight, value, before in pairs
            if weight + items[at]["weight"] <= capacity
        ]
        kept, highest = [], -1
        for pair in sorted(pairs + more, key=lambda pair: (pair[0], -pair[1])):
            if pair[1] > highest and bound(pair[0], pair[1], density[step + 1 :]) >= reached:
                kept.append(pair)
                highest = pair[1]
        pairs = kept
        reached = max(reached, pairs[-1][1])
    _, value, chain = pairs[-1]
    chosen = []
    while chain:
        chosen.append(chain[0] + 1)
        chain = chain[1]
    return value, sorted(chosen)


@functools.lru_cache(maxsize=16)
def best_value(text):
    puzzle = json.loads(text)
    return best_selection(puzzle["items"], puzzle["capacity"], range(len(puzzle["items"])))[0]


def check(puzzle: dict, answer: str) -> float:
    words = re.findall(r"[^\s,;\[\](){}]+", answer)
    if not all(re.fullmatch(r"-?[0-9]{1,18}", word) for word in words):
        return 0.0
    chosen = [int(word) for word in words]
    items = puzzle["items"]
    if len(set(chosen)) < len(chosen) or not all(1 <= number <= len(items) for number in chosen):
        return 0.0
    if sum(items[number - 1]["weight"] for number in chosen) > puzzle["capacity"]:
        return 0.0
    share = sum(items[number - 1]["value"] for number in chosen) / best_value(json.dumps(puzzle))
    return 1.0 if share == 1 else max(0.0, 0.3 * (share - 0.98) / 0.02)


def solve(puzzle: dict, rng) -> list[str]:
    order = list(range(len(puzzle["items"])))
    answers = set()
    for _ in range(2):
        rng.shuffle(order)
        answers.add(", ".join(map(str, best_selection(puzzle["items"], puzzle["capacity"], order)[1])))
    return sorted(answers)


def wrong(puzzle: dict, right: str, rng) -> list[str]:
    chosen = [int(word) for word in right.split(",")]
    others = [number for number in range(1, len(puzzle["items"]) + 1) if number not in chosen]
    out, into = rng.choice(chosen), rng.choice(others)
    without = [number for number in chosen if number != out]
    lists = [without, [*without, into], [*chosen, into], [*chosen, out], [*without, 0], others]
    return [", ".join(map(str, numbers)) for numbers in lists]
