"""Sudoku: an own solver over sets of candidates, and reasoning-gym's scorer against what it finds."""

import random
import re
from functools import lru_cache

from reasoning_gym.games.sudoku import SudokuConfig, SudokuDataset

AGREES_WITH = "reasoning-gym sudoku"

ROWS = [[9 * row + column for column in range(9)] for row in range(9)]
COLUMNS = [[9 * row + column for row in range(9)] for column in range(9)]
BOXES = [[27 * (box // 3) + 3 * (box % 3) + 9 * (cell // 3) + cell % 3 for cell in range(9)] for box in range(9)]
UNITS = ROWS + COLUMNS + BOXES
PEERS = [sorted({other for unit in UNITS if cell in unit for other in unit} - {cell}) for cell in range(81)]
RULES = SudokuDataset(SudokuConfig(size=1, seed=0))


def assign(candidates, cell, digit):
    """Candidates once a cell has a digit, with all that follows by elimination; None where that is impossible."""
    candidates = list(candidates)
    waiting = [(cell, 1 << digit)]
    while waiting:
        cell, bit = waiting.pop()
        if not candidates[cell] & bit:
            return None
        candidates[cell] = bit
        for peer in PEERS[cell]:
            if candidates[peer] & bit:
                candidates[peer] &= ~bit
                left = candidates[peer]
                if not left:
                    return None
                if not left & (left - 1):
                    waiting.append((peer, left))
    return candidates


def search(candidates):
    """Every solution, as lists of digits."""
    open_cells = [cell for cell in range(81) if candidates[cell] & (candidates[cell] - 1)]
    if not open_cells:
        yield [bits.bit_length() - 1 for bits in candidates]
        return
    cell = min(open_cells, key=lambda cell: candidates[cell].bit_count())
    for digit in range(1, 10):
        if candidates[cell] >> digit & 1:
            after = assign(candidates, cell, digit)
            if after:
                yield from search(after)


@lru_cache(maxsize=4096)
def solutions(clues):
    """The first two solutions of a grid of 81 letters."""
    candidates = [0b1111111110] * 81
    for cell, letter in enumerate(clues):
        if letter != ".":
            candidates = assign(candidates, cell, int(letter))
    found = search(candidates)
    return [solution for solution, _ in zip(found, range(2))]


def check(puzzle: dict, answer: str) -> float:
    found = solutions("".join(puzzle["rows"]))
    if len(found) != 1 or not re.fullmatch(r"[1-9\s]*", answer, re.ASCII):
        return 0.0
    digits = re.sub(r"\s", "", answer)
    grid = [found[0][start : start + 9] for start in range(0, 81, 9)]
    right = "\n".join(" ".join(map(str, row)) for row in grid)
    given = "\n".join(" ".join(digits[start : start + 9]) for start in range(0, len(digits), 9))
    score = RULES.score_answer(given, {"answer": right, "metadata": {"solution": grid}})
    return 1.0 if score == 1.0 else 0.0


def solve(puzzle: dict, rng: random.Random) -> list[str]:
    digits = ["".join(map(str, solution)) for solution in solutions("".join(puzzle["rows"]))]
    lines = ["\n".join(text[start : start + 9] for start in range(0, 81, 9)) for text in digits]
    return digits + lines


def wrong(puzzle: dict, right: str, rng: random.Random) -> list[str]:
    digits = list(re.sub(r"\s", "", right))
    clues = "".join(puzzle["rows"])
    one, other = rng.sample(range(81), 2)
    swapped = list(digits)
    swapped[one], swapped[other] = digits[other], digits[one]
    changed = list(digits)
    changed[rng.choice([cell for cell in range(81) if clues[cell] == "."])] = str(rng.randint(1, 9))
    renamed = "".join(str(int(digit) % 9 + 1) for digit in digits)
    turned = "".join(digits[9 * (cell % 9) + cell // 9] for cell in range(81))
    return ["".join(swapped), "".join(changed), renamed, turned, "".join(digits[:-1]), "".join(digits) + "1", clues]
