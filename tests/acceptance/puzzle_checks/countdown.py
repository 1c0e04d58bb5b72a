"""`puzzle/countdown`: reasoning-gym evaluates the expression; that few numbers may be left over is added to its rule."""

import collections
import itertools
import random
import re
from fractions import Fraction

from reasoning_gym.games.countdown import CountdownConfig, CountdownDataset

AGREES_WITH = "reasoning-gym countdown"
SCORER = CountdownDataset(CountdownConfig())
FORM = re.compile(r"[\d\s()+*/-]+")
# Neither signs before a number nor powers and floor division belong to the notation.
FOREIGN = re.compile(r"\*\s*\*|/\s*/|(^|[(+*/-])\s*[+-]|\d\s+\d|\)\s*[\d(]|\d\s*\(")


def check(puzzle, answer):
    expression, equals, result = answer.partition("=")
    if equals and result.strip() != str(puzzle["target"]):
        return 0.0
    for sign, plain in (("×", "*"), ("·", "*"), ("÷", "/"), ("−", "-")):
        expression = expression.replace(sign, plain)
    used = [int(number) for number in re.findall(r"\d+", expression)]
    left_over = collections.Counter(puzzle["numbers"])
    left_over.subtract(used)
    if not FORM.fullmatch(expression) or FOREIGN.search(expression) or min(left_over.values()) < 0:
        return 0.0
    entry = {"metadata": {"numbers": used, "target": puzzle["target"]}}
    if SCORER.score_answer(expression, entry) != 1.0:
        return 0.0
    # reasoning-gym calculates in floating point, with a tolerance.
    return float(exactly(expression) == puzzle["target"])


def exactly(expression):
    try:
        return eval(re.sub(r"(\d+)", r"Fraction(\1)", expression), {"Fraction": Fraction})
    except (ArithmeticError, SyntaxError):
        return None


def solve(puzzle, rng):
    """Values of all subsets, joined from those of their halves."""
    numbers, target = puzzle["numbers"], puzzle["target"]
    places = list(range(len(numbers)))
    rng.shuffle(places)
    reached = {1 << place: {numbers[place]: str(numbers[place])} for place in places}
    found = []
    for size in range(2, len(numbers) + 1):
        for subset in itertools.combinations(places, size):
            whole = sum(1 << place for place in subset)
            values = reached[whole] = {}
            half = (whole - 1) & whole
            while half:
                if half > whole ^ half or size <= 3:
                    join(reached[half], reached[whole ^ half], values, target)
                half = (half - 1) & whole
            if target in values:
                found.append(values[target])
                if len(found) == 2:
                    return found
    return found


def join(lefts, rights, values, target):
    for left, one in lefts.items():
        for right, other in rights.items():
            high, low, first, second = (left, right, one, other) if left >= right else (right, left, other, one)
            results = [(left + right, "+"), (high - low, "-"), (left * right, "*")]
            if low and high % low == 0:
                results.append((high // low, "/"))
            for value, sign in results:
                if 0 < value <= 10 * target and value not in values:
                    values[value] = f"({first} {sign} {second})"


def wrong(puzzle, right, rng):
    number = rng.choice(puzzle["numbers"])
    return [
        f"{right} + {number} - {number}",
        f"{right} = {puzzle['target'] + 1}",
        f"{right} - 1",
        str(puzzle["target"]),
        right.replace("+", "-", 1),
        right.replace("*", "**", 1),
        " + ".join(map(str, puzzle["numbers"])),
    ]
