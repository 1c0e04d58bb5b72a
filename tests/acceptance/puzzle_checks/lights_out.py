"""Lights out: presses played on a set of lights that are on, and solutions from a basis of what presses do."""

import random
import re

AGREES_WITH = "brute force"


def lights(rows):
    return {(row, column): letter for row, text in enumerate(rows) for column, letter in enumerate(text) if letter != "#"}


def switched(board, light):
    row, column = light
    return {light, (row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)} & board.keys()


def name(light):
    return f"{chr(ord('a') + light[1])}{light[0] + 1}"


def check(puzzle: dict, answer: str) -> float:
    board = lights(puzzle["rows"])
    named = {name(light): light for light in board}
    on = {light for light, letter in board.items() if letter == "O"}
    presses = 0
    for turn in answer.splitlines():
        names = re.split(r"[ ,]+", turn.strip().lower())
        if not all(one in named for one in names) or len(names) > 100:
            continue
        for one in names:
            if on and presses < puzzle["presses_max"]:
                on ^= switched(board, named[one])
                presses += 1
    return float(not on)


def solve(puzzle: dict, rng: random.Random) -> list[str]:
    board = lights(puzzle["rows"])
    order = list(board)
    rng.shuffle(order)
    bit = {light: 1 << index for index, light in enumerate(order)}
    # What sums of presses do, by the highest light that they switch, with the presses; and sums that do nothing.
    basis, idle = {}, []

    def reduce(does, presses):
        while does and does.bit_length() in basis:
            other = basis[does.bit_length()]
            does, presses = does ^ other[0], presses ^ other[1]
        return does, presses

    for light in order:
        does, presses = reduce(sum(bit[other] for other in switched(board, light)), bit[light])
        if does:
            basis[does.bit_length()] = (does, presses)
        else:
            idle.append(presses)
    on = sum(bit[light] for light, letter in board.items() if letter == "O")
    _, presses = reduce(on, 0)
    found = {presses}
    for nothing in idle:
        found |= {known ^ nothing for known in found}
    answers = []
    for presses in sorted(found, key=int.bit_count):
        names = [name(light) for light in order if presses & bit[light]]
        if len(names) <= puzzle["presses_max"]:
            answers.append("\n".join(names))
    # A press and its return to it in a single turn, where the limit has room.
    if answers and answers[0].count("\n") + 3 <= puzzle["presses_max"]:
        spare = name(order[0])
        answers.append(f"{spare} {spare}\n{answers[0]}")
    return answers[:3] + answers[-1:]


def wrong(puzzle: dict, right: str, rng: random.Random) -> list[str]:
    names = right.split()
    at = rng.randrange(len(names))
    other = name(rng.choice(list(lights(puzzle["rows"]))))
    shuffled = rng.sample(names, len(names))
    answers = [names[:at] + names[at + 1 :], names[:at] + [other] + names[at + 1 :], names[:at] + [other] + names[at:], shuffled]
    answers.append([names[0]] * puzzle["presses_max"] + names)
    return ["\n".join(answer) for answer in answers] + [f"{right.splitlines()[0]} z99"]
