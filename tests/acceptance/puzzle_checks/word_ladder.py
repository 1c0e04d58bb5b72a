"""Word ladders over the lists that the server was built with: letters are compared and exchanged one by one."""

import functools
import itertools
import pathlib
import re
import string

AGREES_WITH = "brute force"
FOLDER = pathlib.Path(__file__).parents[3] / "crates/puzzles/src/search/word_ladder"


@functools.cache
def words():
    lines = [line for name in ("common", "further") for line in (FOLDER / f"{name}.txt").read_text().splitlines()]
    return frozenset(word for line in lines if not line.startswith("#") for word in line.split())


@functools.cache
def near(word):
    changed = (word[:at] + letter + word[at + 1 :] for at in range(len(word)) for letter in string.ascii_lowercase)
    return [other for other in changed if other != word and other in words()]


def check(puzzle: dict, answer: str) -> float:
    ladder = [word for word in re.split(r"[\s,;]+", answer.lower().strip("[](){} ")) if word]
    if not 2 <= len(ladder) <= puzzle["words_max"] or [ladder[0], ladder[-1]] != [puzzle["start"], puzzle["goal"]]:
        return 0.0
    if any(word not in words() or word in puzzle["avoid"] for word in ladder):
        return 0.0
    differences = (sum(a != b for a, b in zip(one, other, strict=True)) for one, other in itertools.pairwise(ladder))
    return float(all(len(word) == len(ladder[0]) for word in ladder) and all(count == 1 for count in differences))


def solve(puzzle: dict, rng) -> list[str]:
    answers = set()
    for _ in range(2):
        before = {puzzle["start"]: None} | dict.fromkeys(puzzle["avoid"])
        waiting = [puzzle["start"]]
        for word in waiting:
            others = near(word)[:]
            rng.shuffle(others)
            for other in others:
                if other not in before:
                    before[other] = word
                    waiting.append(other)
            if puzzle["goal"] in before:
                break
        ladder = [puzzle["goal"]]
        while before[ladder[-1]]:
            ladder.append(before[ladder[-1]])
        answers.add(", ".join(reversed(ladder)))
        answers.add(" ".join(reversed(ladder)).upper())
    return sorted(answers)


def wrong(puzzle: dict, right: str, rng) -> list[str]:
    ladder = right.lower().replace(",", " ").split()
    at = rng.randrange(1, len(ladder) - 1)
    lists = [
        ladder[:at] + ladder[at + 1 :],
        ladder[:at] + [rng.choice(near(ladder[at - 1]))] + ladder[at + 1 :],
        ladder[:at] + [puzzle["avoid"][0]] + ladder[at + 1 :],
        ladder[:at] + [ladder[at - 1], ladder[at - 1]] + ladder[at:],
        ladder[:at] + [ladder[at], ladder[at - 1]] + ladder[at:],
        ladder[:at] + [ladder[at], ladder[at - 1]] * 3 + ladder[at:],
        ladder[::-1],
        ladder[:-1],
    ]
    return [", ".join(words) for words in lists]
