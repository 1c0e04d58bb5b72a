"""Crossings: sets of names on two banks, and shortest plans over them.."""

import itertools
import re

AGREES_WITH = "brute force"


def quiet(puzzle, bank):
    return not any(set(pair) <= bank for pair in puzzle["apart"])


def fits(puzzle, load, weights):
    return len(load) <= puzzle["seats"] and sum(weights[name] for name in load) <= puzzle["load_max"]


def check(puzzle: dict, answer: str) -> float:
    weights = {passenger["name"]: passenger["weight"] for passenger in puzzle["passengers"]}
    here, there, crossings, at_far = set(weights), set(), 0, False
    for turn in answer.splitlines():
        words = [word for word in re.split(r"[\s,;]+", turn.lower().strip("[](){} ")) if word and word != "and"]
        load = set() if words in (["nothing"], ["nobody"], ["none"], ["alone"]) else set(words)
        if not words or not load <= set(weights) or (load and len(load) < len(words)):
            continue
        far = here if at_far else there
        if crossings >= puzzle["crossings_max"] or far == set(weights):
            break
        crossings += 1
        if load <= here and fits(puzzle, load, weights) and quiet(puzzle, here - load):
            here, there, at_far = there | load, here - load, not at_far
    return float((here if at_far else there) == set(weights))


def solve(puzzle: dict, rng) -> list[str]:
    weights = {passenger["name"]: passenger["weight"] for passenger in puzzle["passengers"]}
    names = list(weights)
    rng.shuffle(names)
    everybody = frozenset(names)
    groups = [frozenset(group) for size in range(puzzle["seats"] + 1) for group in itertools.combinations(names, size)]
    loads = [group for group in groups if fits(puzzle, group, weights)]
    alone = {
        frozenset(group)
        for size in range(len(names) + 1)
        for group in itertools.combinations(names, size)
        if quiet(puzzle, set(group))
    }
    way = {(everybody, False): None}
    waiting = [(everybody, False)]
    for here, at_far in waiting:
        if at_far and here == everybody:
            break
        for load in loads:
            left = here - load
            after = (everybody - left, not at_far)
            if load <= here and after not in way and left in alone:
                way[after] = ((here, at_far), load)
                waiting.append(after)
    turns, at = [], (everybody, True)
    while way[at]:
        at, load = way[at]
        turns.append(", ".join(sorted(load)) or "nothing")
    return ["\n".join(reversed(turns))]


def wrong(puzzle: dict, right: str, rng) -> list[str]:
    turns = right.split("\n")
    at = rng.randrange(len(turns))
    name = rng.choice(puzzle["passengers"])["name"]
    lists = [
        turns[:-1],
        turns[:at] + turns[at + 1 :],
        turns[:at] + [name] + turns[at + 1 :],
        turns[:at] + ["unicorn"] + turns[at:],
    ]
    return ["\n".join(turns) for turns in [*lists, turns[::-1], turns[:at] + ["nothing", "nothing"] + turns[at:]]]
