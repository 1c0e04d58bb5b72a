"""puzzle/knights_and_knaves: every claim as a truth table over all choices of roles, held in one integer."""

import functools
import re

AGREES_WITH = "brute force"


@functools.cache
def tables(people):
    """For each person the choices, as bits of an integer, in which the person is a knight; and all choices."""
    choices = range(1 << people)
    return [sum(1 << choice for choice in choices if choice >> person & 1) for person in range(people)], (1 << (1 << people)) - 1


def truth(claim, people):
    knights, everything = tables(people)
    (kind, rest), = claim.items()
    if kind == "is":
        return knights[rest["person"]] if rest["knight"] else everything ^ knights[rest["person"]]
    if kind == "not":
        return everything ^ truth(rest, people)
    if kind == "join":
        left, right = (truth(part, people) for part in rest["parts"])
        return {"and": left & right, "or": left | right, "iff": everything ^ left ^ right}[rest["by"]]
    # exactly[k]: the choices with k knights among those counted so far
    exactly = [everything] + [0] * len(rest["people"])
    for person in rest["people"]:
        is_knight = knights[person]
        for count in range(len(exactly) - 1, -1, -1):
            fewer = exactly[count - 1] if count else 0
            exactly[count] = exactly[count] & ~is_knight | fewer & is_knight
    bound = rest["knights"]
    chosen = {"at_least": exactly[bound:], "at_most": exactly[: bound + 1], "exactly": exactly[bound : bound + 1]}
    return functools.reduce(lambda left, right: left | right, chosen[rest["bound"]], 0)


def solutions(puzzle):
    people = len(puzzle["people"])
    knights, everything = tables(people)
    left = everything
    for speaker, claim in enumerate(puzzle["claims"]):
        left &= everything ^ truth(claim, people) ^ knights[speaker]
    while left:
        lowest = left & -left
        yield lowest.bit_length() - 1
        left ^= lowest


def write(puzzle, choice):
    roles = (f"{name}: {'knight' if choice >> at & 1 else 'knave'}" for at, name in enumerate(puzzle["people"]))
    return ", ".join(roles)


def check(puzzle: dict, answer: str) -> float:
    found = re.findall(r"([A-Za-z]+)\W+(?:is\W+)?(?:a\W+)?(knight|knave)\b", answer, re.IGNORECASE)
    roles = {name.lower(): role.lower() == "knight" for name, role in found}
    names = [name.lower() for name in puzzle["people"]]
    if len(found) != len(names) or set(roles) != set(names):
        return 0.0
    return float(sum(roles[name] << at for at, name in enumerate(names)) in set(solutions(puzzle)))


def solve(puzzle: dict, rng) -> list[str]:
    return [write(puzzle, choice) for choice in solutions(puzzle)]


def wrong(puzzle: dict, right: str, rng) -> list[str]:
    choice = rng.randrange(1 << len(puzzle["people"]))
    pairs = right.split(", ")
    rng.shuffle(pairs)
    return [write(puzzle, choice), ", ".join(pairs[:-1]), ", ".join(pairs), right.replace("knave", "knight")]
