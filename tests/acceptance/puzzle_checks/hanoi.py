"""Disks on pegs: moves on real stacks, and shortest solutions searched from both ends."""

import re

AGREES_WITH = "brute force"


def stacks(puzzle, stands):
    return {
        peg: [disk for disk in range(len(stands), 0, -1) if stands[disk - 1] == peg]
        for peg in range(1, puzzle["pegs"] + 1)
    }


def check(puzzle: dict, answer: str) -> float:
    digits = [word for word in re.split(r"[\s,;()\[\]>→-]+", answer) if word]
    if (
        len(digits) % 2
        or len(digits) // 2 > puzzle["moves_max"]
        or not all(re.fullmatch("[0-9]", word) for word in digits)
    ):
        return 0.0
    pegs = stacks(puzzle, puzzle["start"])
    for source, target in zip(map(int, digits[::2]), map(int, digits[1::2]), strict=True):
        if (
            source == target
            or not pegs.get(source)
            or target not in pegs
            or (pegs[target] and pegs[target][-1] < pegs[source][-1])
        ):
            return 0.0
        pegs[target].append(pegs[source].pop())
    return float(pegs == stacks(puzzle, puzzle["goal"]))


def steps(stands, pegs):
    uppermost = {}
    for disk, peg in enumerate(stands):
        uppermost.setdefault(peg, disk)
    for source, disk in uppermost.items():
        for target in range(1, pegs + 1):
            if uppermost.get(target, len(stands)) > disk:
                yield source, target, (*stands[:disk], target, *stands[disk + 1 :])


def search(puzzle, rng):
    start, goal = tuple(puzzle["start"]), tuple(puzzle["goal"])
    ways = [{start: []}, {goal: []}]
    edges = [[start], [goal]]
    while True:
        side = 0 if len(edges[0]) <= len(edges[1]) else 1
        edge = []
        rng.shuffle(edges[side])
        for stands in edges[side]:
            for source, target, reached in steps(stands, puzzle["pegs"]):
                if reached not in ways[side]:
                    move = (source, target) if side == 0 else (target, source)
                    ways[side][reached] = (stands, move)
                    edge.append(reached)
        edges[side] = edge
        met = next((stands for stands in edge if stands in ways[1 - side]), None)
        if met is not None:
            halves = [[], []]
            for half in (0, 1):
                at = met
                while ways[half][at]:
                    at, move = ways[half][at]
                    halves[half].append(move)
            return halves[0][::-1] + halves[1]


def solve(puzzle: dict, rng) -> list[str]:
    first, second = search(puzzle, rng), search(puzzle, rng)
    return [
        ", ".join(f"{source}>{target}" for source, target in first),
        "\n".join(f"{source} {target}" for source, target in second),
    ]


def wrong(puzzle: dict, right: str, rng) -> list[str]:
    moves = re.findall(r"[0-9][> ][0-9]", right)
    at = rng.randrange(len(moves))
    other = f"{rng.randint(1, puzzle['pegs'])}>{rng.randint(0, puzzle['pegs'] + 1)}"
    lists = [
        moves[:-1],
        moves[:at] + moves[at + 1 :],
        moves[:at] + [other] + moves[at + 1 :],
        [*moves, other],
        moves[::-1],
    ]
    return [", ".join(moves) for moves in lists]
