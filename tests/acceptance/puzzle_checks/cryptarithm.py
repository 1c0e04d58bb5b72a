"""`puzzle/cryptarithm`: reasoning-gym judges the digits; the solver weighs each letter by its places and searches."""

import random
import re

from reasoning_gym.algorithmic.cryptarithm import CryptarithmConfig, CryptarithmDataset

AGREES_WITH = "reasoning-gym cryptarithm"
SCORER = CryptarithmDataset(CryptarithmConfig())
PAIR = re.compile(r"([A-Z])\s*[=:]\s*(\d)")


def check(puzzle, answer):
    bare = re.sub(r"[{}\"']", "", answer.upper())
    pairs = PAIR.findall(bare)
    rest = PAIR.sub("", bare)
    if rest.strip(" ,;\n\r\t") and re.search(r"[^ ,;\n\r\t]", rest):
        return 0.0
    letters = {letter for word in [*puzzle["addends"], puzzle["sum"]] for letter in word}
    if len(pairs) != len(letters) or {letter for letter, _ in pairs} != letters:
        return 0.0
    metadata = {"words_letters": puzzle["addends"], "result_letters": puzzle["sum"]}
    spelled = ",".join(f"{letter}={digit}" for letter, digit in pairs)
    return float(SCORER.score_answer(spelled, {"metadata": metadata}) == 1.0)


def weights(puzzle):
    """What a letter adds to the addends less the sum if its digit is one more."""
    weight = {}
    for factor, words in ((1, puzzle["addends"]), (-1, [puzzle["sum"]])):
        for word in words:
            for place, letter in enumerate(reversed(word)):
                weight[letter] = weight.get(letter, 0) + factor * 10**place
    return weight


def solve(puzzle, rng):
    weight = weights(puzzle)
    letters = sorted(weight, key=lambda letter: -abs(weight[letter]))
    leading = {word[0] for word in [*puzzle["addends"], puzzle["sum"]]}
    rest = [[weight[letter] for letter in letters[at:]] for at in range(len(letters) + 1)]
    found, digits = [], []

    def place(at, total, free):
        if at == len(letters):
            if total == 0:
                found.append(list(digits))
            return
        # The rest can bring the total back to zero only from within its bounds.
        positive, negative = sum(w for w in rest[at] if w > 0), sum(w for w in rest[at] if w < 0)
        if total + 9 * negative > 0 or total + 9 * positive < 0:
            return
        for digit in free:
            if digit or letters[at] not in leading:
                digits.append(digit)
                place(at + 1, total + weight[letters[at]] * digit, [other for other in free if other != digit])
                digits.pop()

    place(0, 0, list(range(10)))
    if len(found) != 1:
        raise ValueError(f"{puzzle} has {len(found)} solutions")
    pairs = list(zip(letters, found[0]))
    rng.shuffle(pairs)
    return [
        ", ".join(f"{letter}={digit}" for letter, digit in sorted(pairs)),
        "\n".join(f"{letter.lower()}: {digit}" for letter, digit in pairs),
    ]


def wrong(puzzle, right, rng):
    letters = sorted(weights(puzzle))
    digits = rng.sample("0123456789", len(letters))
    first, _, others = right.partition("=")
    return [
        ", ".join(map("=".join, zip(letters, digits))),
        right[:-1],
        right[:-1] + rng.choice("0123456789"),
        right + ", " + right[:3],
        right + ", Å=1",
        f"{first}=0{others}",
        "",
    ]
