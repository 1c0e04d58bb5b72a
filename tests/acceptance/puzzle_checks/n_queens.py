"""Queens: lines counted on the finished board, and a search over bit masks."""

import random
import re
from itertools import islice

AGREES_WITH = "brute force"


def check(puzzle: dict, answer: str) -> float:
    rows = puzzle["rows"]
    size = len(rows)
    if not re.fullmatch(r"[0-9\s,\[\]]*", answer, re.ASCII):
        return 0.0
    columns = [int(number) - 1 for number in re.findall(r"[0-9]+", answer)]
    if len(columns) != size or not all(0 <= column < size for column in columns):
        return 0.0
    queens = set(enumerate(columns))
    given = {(row, column) for row in range(size) for column in range(size) if rows[row][column] == "Q"}
    closed = {(row, column) for row in range(size) for column in range(size) if rows[row][column] == "x"}
    lines = [{column for _, column in queens}, {row + column for row, column in queens}, {row - column for row, column in queens}]
    return float(given <= queens and not closed & queens and all(len(line) == size for line in lines))


def placements(left, rng):
    """All placements in random order, as pairs of row and column; `left` are the columns that each row can have, as bits."""
    if not left:
        yield []
        return
    row = min(left, key=lambda row: left[row].bit_count())
    columns = [column for column in range(left[row].bit_length()) if left[row] >> column & 1]
    rng.shuffle(columns)
    for column in columns:
        after = {}
        for other, bits in left.items():
            apart = abs(other - row)
            attacked = 1 << column | 1 << (column + apart) | (1 << column) >> apart
            after[other] = bits & ~attacked
        del after[row]
        if all(after.values()):
            for rest in placements(after, rng):
                yield [(row, column), *rest]


def solve(puzzle: dict, rng: random.Random) -> list[str]:
    rows = puzzle["rows"]
    left = {}
    for row, letters in enumerate(rows):
        allowed = "Q" if "Q" in letters else "."
        left[row] = sum(1 << column for column, letter in enumerate(letters) if letter == allowed)
    found = islice(placements(left, rng), 3)
    return [" ".join(str(column + 1) for _, column in sorted(queens)) for queens in found]


def wrong(puzzle: dict, right: str, rng: random.Random) -> list[str]:
    columns = right.split()
    swapped, moved = list(columns), list(columns)
    one, other = rng.sample(range(len(columns)), 2)
    swapped[one], swapped[other] = columns[other], columns[one]
    moved[one] = str(rng.randint(0, len(columns) + 1))
    mirrored = [str(len(columns) + 1 - int(column)) for column in columns]
    return [" ".join(answer) for answer in (swapped, moved, mirrored, columns[::-1], columns[:-1], [*columns, "1"])]
