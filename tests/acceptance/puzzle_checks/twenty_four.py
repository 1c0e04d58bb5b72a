"""`puzzle/twenty_four`: reasoning-gym judges each expression, whose numbers are compared here (it only counts them)."""

import itertools
import random
import re
from fractions import Fraction

from reasoning_gym.games.puzzle24 import Puzzle24Config, Puzzle24Dataset

AGREES_WITH = "reasoning-gym puzzle24"
SCORER = Puzzle24Dataset(Puzzle24Config())
SCORER.config.max_value = 99
FORM = re.compile(r"[\d\s()+*/-]+")
FOREIGN = re.compile(r"\*\s*\*|/\s*/|(^|[(+*/-])\s*[+-]|\d\s+\d|\)\s*[\d(]|\d\s*\(")
SHAPES = (
    "(({0} {4} {1}) {5} {2}) {6} {3}",
    "({0} {4} ({1} {5} {2})) {6} {3}",
    "({0} {4} {1}) {5} ({2} {6} {3})",
    "{0} {4} (({1} {5} {2}) {6} {3})",
    "{0} {4} ({1} {5} ({2} {6} {3}))",
)


def check(puzzle, answer):
    lines = [line.strip() for line in re.split(r"[\n;,]", answer) if line.strip()]
    hands = [sorted(hand) for hand in puzzle["hands"]]
    if len(lines) > len(hands):
        return 0.0
    open_hands = list(hands)
    for line in lines:
        expression, equals, result = line.rpartition(":")[2].partition("=")
        numbers = sorted(int(number) for number in re.findall(r"\d+", expression))
        right = (not equals or result.strip() == "24") and makes_24(expression)
        if right and numbers in open_hands:
            open_hands.remove(numbers)
    return (len(hands) - len(open_hands)) / len(hands)


def makes_24(expression):
    if not FORM.fullmatch(expression) or FOREIGN.search(expression):
        return False
    # reasoning-gym cuts fractions off, so that 24.5 were right.
    return exactly(expression) == 24 and SCORER.score_answer(expression, {}) == 1.0


def exactly(expression):
    try:
        return eval(re.sub(r"(\d+)", r"Fraction(\1)", expression), {"Fraction": Fraction})
    except (ArithmeticError, SyntaxError):
        return None


def solve(puzzle, rng):
    ways = [made(hand, rng) for hand in puzzle["hands"]]
    shuffled = rng.sample(ways, len(ways))
    return ["\n".join(ways), "; ".join(f"{way} = 24" for way in shuffled)]


def made(hand, rng):
    """Every order, every three signs, every way to put parentheses."""
    orders = list(itertools.permutations(map(float, hand)))
    rng.shuffle(orders)
    for order in orders:
        for signs in itertools.product("+-*/", repeat=3):
            for index, shape in enumerate(SHAPES):
                if close_to_24(index, order, signs):
                    way = shape.format(*map(int, order), *signs)
                    if exactly(way) == 24:
                        return way
    raise ValueError(f"{hand} cannot be made")


def close_to_24(index, numbers, signs):
    a, b, c, d = numbers
    try:
        if index == 0:
            value = act(act(act(a, signs[0], b), signs[1], c), signs[2], d)
        elif index == 1:
            value = act(act(a, signs[0], act(b, signs[1], c)), signs[2], d)
        elif index == 2:
            value = act(act(a, signs[0], b), signs[1], act(c, signs[2], d))
        elif index == 3:
            value = act(a, signs[0], act(act(b, signs[1], c), signs[2], d))
        else:
            value = act(a, signs[0], act(b, signs[1], act(c, signs[2], d)))
    except ZeroDivisionError:
        return False
    return abs(value - 24) < 1e-6


def act(left, sign, right):
    if sign == "+":
        return left + right
    if sign == "-":
        return left - right
    return left * right if sign == "*" else left / right


def wrong(puzzle, right, rng):
    lines = right.replace(";", "\n").split("\n")
    fewer = lines[:-1]
    return [
        "\n".join(fewer),
        "\n".join(fewer + fewer[:1]),
        "\n".join(lines + lines[:1]),
        "\n".join(fewer + ["24"]),
        "\n".join(fewer + [lines[-1] + " + 1"]),
        right.replace("+", "-", 1),
        "",
    ]
