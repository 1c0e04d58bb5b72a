"""puzzle/zebra: the clues as clauses, for the SAT solver that reasoning-gym makes and checks its own zebra puzzles with."""

import functools
import itertools
import re

AGREES_WITH = "reasoning-gym zebra_puzzles"

RELATIONS = {
    "same": lambda first, second: first == second,
    "different": lambda first, second: first != second,
    "next_to": lambda first, second: abs(first - second) == 1,
    "directly_left": lambda first, second: second - first == 1,
    "left": lambda first, second: first < second,
    "one_between": lambda first, second: abs(first - second) == 2,
}


@functools.cache
def symbols():
    from reasoning_gym.logic.contrib.logic_puzzle import sat_utils

    return sat_utils


def clauses(puzzle):
    houses = range(1, puzzle["houses"] + 1)
    for values in puzzle["attributes"].values():
        for value in values:
            yield from symbols().one_of([f"{value} {house}" for house in houses])
        for house in houses:
            yield from symbols().one_of([f"{value} {house}" for value in values])
    for clue in puzzle["clues"]:
        if clue["relation"] == "house":
            yield (f"{clue['item']} {clue['house']}",)
            continue
        related = RELATIONS[clue["relation"]]
        first, second = clue["items"]
        for pair in itertools.product(houses, houses):
            if not related(*pair):
                yield (f"~{first} {pair[0]}", f"~{second} {pair[1]}")


def solutions(puzzle):
    """House of each value, in each arrangement that fits; two at most, as one is expected."""
    found = itertools.islice(symbols().itersolve(list(clauses(puzzle))), 2)
    return [{value: int(house) for value, house in (literal.split() for literal in model)} for model in found]


def read(puzzle, answer):
    values = {value.lower(): value for values in puzzle["attributes"].values() for value in values}
    passed_over = {"house", *puzzle["attributes"]}
    placed, house, headed = {}, None, []
    for word in re.findall(r"[a-z0-9]+", answer.lower()):
        if word.isdigit():
            house = int(word)
            headed.append(house)
        elif word not in passed_over:
            if house is None or word not in values or values[word] in placed:
                return None
            placed[values[word]] = house
    return placed if sorted(headed) == list(range(1, puzzle["houses"] + 1)) else None


def check(puzzle: dict, answer: str) -> float:
    return float(read(puzzle, answer) in solutions(puzzle))


def write(puzzle, placed, order):
    rows = ([value for value in order if placed[value] == house] for house in range(1, puzzle["houses"] + 1))
    return [f"{house}: {', '.join(row)}" for house, row in enumerate(rows, 1)]


def solve(puzzle: dict, rng) -> list[str]:
    order = [value for values in puzzle["attributes"].values() for value in values]
    answers = []
    for placed in solutions(puzzle):
        rng.shuffle(order)
        lines = write(puzzle, placed, order)
        answers.append("\n".join(lines))
        rng.shuffle(lines)
        answers.append("House " + "; house ".join(lines))
    return answers


def wrong(puzzle: dict, right: str, rng) -> list[str]:
    values = rng.choice(list(puzzle["attributes"].values()))
    one, other = rng.sample(values, 2)
    swapped = re.sub(rf"\b({one}|{other})\b", lambda match: other if match[0] == one else one, right)
    doubled = re.sub(rf"\b{one}\b", other, right)
    return [swapped, doubled, right.splitlines()[0], right.replace("1:", "2:")]
