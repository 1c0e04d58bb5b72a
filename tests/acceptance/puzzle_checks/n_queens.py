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


def placements(rows, rng, row=0, columns=0, falling=0, rising=0):
    """All placements from a row on, as lists of columns from 0, in random order."""
    size = len(rows)
    if row == size:
        yield []
        return
    letters = rows[row]
    squares = [column for column in range(size) if letters[column] == ("Q" if "Q" in letters else ".")]
    rng.shuffle(squares)
    for column in squares:
        bit = 1 << column
        if not bit & (columns | falling | rising):
            after = placements(rows, rng, row + 1, columns | bit, (falling | bit) << 1, (rising | bit) >> 1)
            for rest in after:
                yield [column, *rest]


def solve(puzzle: dict, rng: random.Random) -> list[str]:
    found = islice(placements(puzzle["rows"], rng), 3)
    return [" ".join(str(column + 1) for column in columns) for columns in found]


def wrong(puzzle: dict, right: str, rng: random.Random) -> list[str]:
    columns = right.split()
    swapped, moved = list(columns), list(columns)
    one, other = rng.sample(range(len(columns)), 2)
    swapped[one], swapped[other] = columns[other], columns[one]
    moved[one] = str(rng.randint(0, len(columns) + 1))
    mirrored = [str(len(columns) + 1 - int(column)) for column in columns]
    return [" ".join(answer) for answer in (swapped, moved, mirrored, columns[::-1], columns[:-1], [*columns, "1"])]
