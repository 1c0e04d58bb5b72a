"""Formulas of three literals a clause: assignments by local search, answers by looking at every clause."""

import re

AGREES_WITH = "brute force"
FLIPS_MAX = 20_000


def check(puzzle: dict, answer: str) -> float:
    words = [word for word in re.split(r"[\s,;]+", answer.strip("[](){} ")) if word]
    if not all(re.fullmatch(r"-?x?[0-9]+", word) for word in words):
        return 0.0
    said = {int(word.lstrip("-x")): not word.startswith("-") for word in words}
    if len(words) != puzzle["variables"] or sorted(said) != list(range(1, puzzle["variables"] + 1)):
        return 0.0
    return float(all(any(said[abs(literal)] == (literal > 0) for literal in clause) for clause in puzzle["clauses"]))


def search(puzzle, rng):
    """WalkSAT (Selman, Kautz and Cohen, 1994)."""
    clauses = puzzle["clauses"]
    places = {}
    for at, clause in enumerate(clauses):
        for literal in clause:
            places.setdefault(literal, []).append(at)
    while True:
        true = {sign * variable for variable in range(1, puzzle["variables"] + 1) for sign in [rng.choice((-1, 1))]}
        count = [sum(literal in true for literal in clause) for clause in clauses]
        false = {at for at, holding in enumerate(count) if holding == 0}
        for _ in range(FLIPS_MAX):
            if not false:
                return true
            clause = clauses[rng.choice(tuple(false))]
            breaks = {literal: sum(count[at] == 1 for at in places.get(-literal, ())) for literal in clause}
            if min(breaks.values()) and rng.random() < 0.4:
                literal = rng.choice(clause)
            else:
                literal = min(clause, key=breaks.get)
            true.remove(-literal)
            true.add(literal)
            for at in places.get(literal, ()):
                count[at] += 1
                false.discard(at)
            for at in places.get(-literal, ()):
                count[at] -= 1
                if count[at] == 0:
                    false.add(at)


def solve(puzzle: dict, rng) -> list[str]:
    found = []
    for _ in range(2):
        literals = sorted(search(puzzle, rng), key=abs)
        found.append(" ".join(f"{'-' if literal < 0 else ''}x{abs(literal)}" for literal in literals))
    rng.shuffle(literals)
    found.append(", ".join(map(str, literals)))
    return found


def wrong(puzzle: dict, right: str, rng) -> list[str]:
    words = right.replace(",", " ").split()
    flipped = []
    for _ in range(3):
        at = rng.randrange(len(words))
        other = words[at][1:] if words[at].startswith("-") else "-" + words[at]
        flipped.append(" ".join(words[:at] + [other] + words[at + 1 :]))
    return [*flipped, " ".join(words[:-1]), " ".join([*words, words[0]]), " ".join(reversed(words))]
