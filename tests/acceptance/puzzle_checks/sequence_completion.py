"""Continuations of sequences: the unknown numbers by exact fractions, or by inverses modulo the prime."""

import fractions
import re

AGREES_WITH = "brute force"


def values(puzzle, earlier):
    def value(summand):
        if summand.startswith("s("):
            return earlier[-int(summand[4:-1])]
        return {"1": 1, "n": len(earlier) + 1}.get(summand) or (len(earlier) + 1) ** int(summand[2:])

    return [value(summand) for summand in puzzle["summands"]]


def coefficients(puzzle, part):
    """Gauss and Jordan; fails where more than one solution or none exists."""
    modulus = puzzle["modulus"]
    free = max([0, *(int(summand[4:-1]) for summand in puzzle["summands"] if summand.startswith("s("))])
    rows = [[*values(puzzle, part[:at]), part[at]] for at in range(free, len(part))]
    number = (lambda value: value % modulus) if modulus else fractions.Fraction
    inverse = (lambda value: pow(value, -1, modulus)) if modulus else (lambda value: 1 / value)
    rows = [[number(value) for value in row] for row in rows]
    unknowns = len(puzzle["summands"])
    for column in range(unknowns):
        pivot = next(row for row in range(column, len(rows)) if rows[row][column])
        rows[column], rows[pivot] = rows[pivot], rows[column]
        by = inverse(rows[column][column])
        rows[column] = [number(value * by) for value in rows[column]]
        for at, row in enumerate(rows):
            if at != column and row[column]:
                rows[at] = [number(value - row[column] * other) for value, other in zip(row, rows[column], strict=True)]
    assert all(row[-1] == 0 for row in rows[unknowns:]), "the terms do not follow the rule"
    return [row[-1] for row in rows[:unknowns]]


def continuation(puzzle):
    parts = [puzzle["terms"][at :: puzzle["sequences"]] for at in range(puzzle["sequences"])]
    solved = [coefficients(puzzle, part) for part in parts]
    found = []
    for at in range(puzzle["asked"]):
        part = parts[at % len(parts)]
        term = sum(a * b for a, b in zip(solved[at % len(parts)], values(puzzle, part), strict=True))
        part.append(int(term % puzzle["modulus"] if puzzle["modulus"] else term))
        found.append(part[-1])
    return found


def check(puzzle: dict, answer: str) -> float:
    given = re.split(r"[\s,;]+", answer.strip(" [](){}\n"))
    return float(
        all(re.fullmatch("-?[0-9]{1,18}", word) for word in given)
        and [int(word) for word in given] == continuation(puzzle)
    )


def solve(puzzle: dict, rng) -> list[str]:
    terms = [str(term) for term in continuation(puzzle)]
    return [", ".join(terms), " ".join(terms), f"[{','.join(terms)}]"]


def wrong(puzzle: dict, right: str, rng) -> list[str]:
    terms = [int(term) for term in re.findall("-?[0-9]+", right)]
    at = rng.randrange(len(terms))
    missed = terms[:at] + [terms[at] + rng.choice((-1, 1, 10))] + terms[at + 1 :]
    lists = [missed, terms[::-1], terms[:-1], [*terms, 1], [-term for term in terms]]
    return [", ".join(map(str, numbers)) for numbers in lists]
