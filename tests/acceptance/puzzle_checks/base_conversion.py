"""`puzzle/base_conversion`: Python reads numbers of any base itself, and reasoning-gym compares the spelling."""

import random
import string

from reasoning_gym.algorithmic.base_conversion import BaseConversionConfig, BaseConversionDataset

AGREES_WITH = "reasoning-gym base_conversion"
DIGITS = string.digits + string.ascii_lowercase
SCORER = BaseConversionDataset(BaseConversionConfig())


def check(puzzle, answer):
    expected = solve(puzzle, random.Random(0))[0]
    spelled = answer.lower().lstrip("0")
    return float(SCORER.score_answer(spelled, {"answer": expected}) == 1.0)


def solve(puzzle, rng):
    value, digits = int(puzzle["number"], puzzle["from"]), ""
    while value:
        value, digit = divmod(value, puzzle["to"])
        digits = DIGITS[digit] + digits
    return [digits, digits.upper(), "00" + digits]


def wrong(puzzle, right, rng):
    place, digit = rng.randrange(len(right)), rng.choice(DIGITS[: puzzle["to"]])
    return [right + "0", right[:-1], "+" + right, right[:place] + digit + right[place + 1 :], puzzle["number"], ""]
