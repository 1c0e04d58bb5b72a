"""Orders: every condition looked up in the finished order, and a search that fills the places from the last one back."""

import random
import re

AGREES_WITH = "brute force"
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def check(puzzle: dict, answer: str) -> float:
    items = LETTERS[: puzzle["items"]]
    if not re.fullmatch(r"[A-Za-z\s,]*", answer, re.ASCII):
        return 0.0
    order = re.sub(r"[\s,]", "", answer).upper()
    if sorted(order) != list(items):
        return 0.0
    pairs = {order[at : at + 2] for at in range(len(order) - 1)}
    return float(
        all(re.search(f"{first}.*{second}", order) for first, second in puzzle["before"])
        and all(order[place - 1] == item for item, place in puzzle["pinned"])
        and all(one + other in pairs or other + one in pairs for one, other in puzzle["neighbours"])
    )


def earliest(puzzle):
    """The first place that each item can have, by what is pinned and what comes before it."""
    places = dict.fromkeys(LETTERS[: puzzle["items"]], 1) | {item: place for item, place in puzzle["pinned"]}
    for _ in places:
        for first, second in puzzle["before"]:
            places[second] = max(places[second], places[first] + 1)
    return places


def fill(puzzle, first_places, pinned, after, beside, tail, rng):
    """Puts items before `tail`, which is the end of the order, until it is whole."""
    place = puzzle["items"] - len(tail)
    rest = [item for item in first_places if item not in tail]
    if not rest:
        return tail
    if any(first_places[item] > place for item in rest):
        return None
    owed = {other for item in tail[:1] for other in beside[item] if other not in tail}
    rng.shuffle(rest)
    for item in sorted(rest, key=lambda item: -first_places[item]):
        fits = (
            owed <= {item}
            and all(other in tail for other in after[item])
            and pinned.get(item, place) == place
            and all(other == item for other, wanted in pinned.items() if wanted == place)
            and not any(other in tail[1:] for other in beside[item])
        )
        if fits:
            found = fill(puzzle, first_places, pinned, after, beside, item + tail, rng)
            if found:
                return found
    return None


def solve(puzzle: dict, rng: random.Random) -> list[str]:
    items = LETTERS[: puzzle["items"]]
    after = {item: [second for first, second in puzzle["before"] if first == item] for item in items}
    beside = {item: [pair[1 - pair.index(item)] for pair in puzzle["neighbours"] if item in pair] for item in items}
    pinned = {item: place for item, place in puzzle["pinned"]}
    found = [fill(puzzle, earliest(puzzle), pinned, after, beside, "", rng) for _ in range(2)]
    return [" ".join(order) for order in found]


def wrong(puzzle: dict, right: str, rng: random.Random) -> list[str]:
    order = right.split()
    at = rng.randrange(len(order) - 1)
    one, other = rng.sample(range(len(order)), 2)
    beside = order[:at] + [order[at + 1], order[at]] + order[at + 2 :]
    swapped = list(order)
    swapped[one], swapped[other] = order[other], order[one]
    moved = list(order)
    moved.insert(other, moved.pop(one))
    return [" ".join(answer) for answer in (beside, swapped, moved, order[::-1], order[:-1], [*order, order[0]])]
