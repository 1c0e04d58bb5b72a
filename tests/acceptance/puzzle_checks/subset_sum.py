"""Choices of numbers with a given sum: by the sums of two halves in a dictionary."""

import collections
import re

AGREES_WITH = "brute force"


def check(puzzle: dict, answer: str) -> float:
    words = re.findall(r"[^\s,;+\[\](){}]+", answer)
    if not all(re.fullmatch(r"-?[0-9]{1,18}", word) for word in words):
        return 0.0
    chosen = collections.Counter(int(word) for word in words)
    return float(
        not chosen - collections.Counter(puzzle["numbers"])
        and chosen.total()
        and sum(chosen.elements()) == puzzle["target"]
    )


def sums(numbers):
    made = {0: ()}
    for number in numbers:
        made |= {total + number: (*chosen, number) for total, chosen in made.items()}
    return made


def solve(puzzle: dict, rng) -> list[str]:
    numbers = puzzle["numbers"][:]
    answers = set()
    for _ in range(2):
        rng.shuffle(numbers)
        left, right = sums(numbers[: len(numbers) // 2]), sums(numbers[len(numbers) // 2 :])
        total = next(total for total in left if puzzle["target"] - total in right)
        answers.add(", ".join(map(str, left[total] + right[puzzle["target"] - total])))
    return sorted(answers)


def wrong(puzzle: dict, right: str, rng) -> list[str]:
    chosen = [int(word) for word in right.split(",")]
    at = rng.randrange(len(chosen))
    without = chosen[:at] + chosen[at + 1 :]
    lists = [
        without,
        [*without, rng.choice(puzzle["numbers"])],
        [*chosen, chosen[at]],
        [*without, chosen[at] + 1],
        [puzzle["target"]],
    ]
    return [", ".join(map(str, numbers)) for numbers in lists]
