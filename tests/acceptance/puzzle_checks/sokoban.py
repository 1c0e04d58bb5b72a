"""Sokoban: reasoning-gym's game plays the moves; levels are solved by a search over pushes. Hard levels take up to a second."""

import heapq
import random
import re
from collections import deque

from reasoning_gym.games.contrib.sokoban.src.game import Game

AGREES_WITH = "reasoning-gym sokoban"

STEPS = {"up": (-1, 0), "down": (1, 0), "left": (0, -1), "right": (0, 1)}
# The letters of reasoning-gym: + wall, X goal, @ box, $ box on a goal, * player, % player on a goal.
LETTERS = str.maketrans("#.$*@+", "+X@$*%")
# How searches count what is behind a position, and weigh what is before it: the first finds an answer soonest, the second
# one with the fewest pushes, and the last one with few moves.
SEARCHES = (("pushes", 2), ("pushes", 1), ("moves", 1))


def check(puzzle: dict, answer: str) -> float:
    game = Game(height=len(puzzle["rows"]), width=len(puzzle["rows"][0]))
    game.load_puzzle_matrix([list(row.translate(LETTERS)) for row in puzzle["rows"]])
    moves = 0
    for turn in answer.splitlines():
        words = [word.lower() for word in re.split(r"[ ,]+", turn.strip())]
        words = [next((step for step in STEPS if word in (step, step[0])), None) for word in words]
        if None in words or len(words) > 100:
            continue
        for word in words:
            if moves < puzzle["moves_max"] and not game.is_level_complete():
                game.player.update(key=word[0].upper())
                moves += 1
    return float(game.is_level_complete())


def read(rows):
    cells = {(row, column): letter for row, text in enumerate(rows) for column, letter in enumerate(text)}
    floor = {cell for cell, letter in cells.items() if letter != "#"}
    boxes = frozenset(cell for cell, letter in cells.items() if letter in "$*")
    goals = frozenset(cell for cell, letter in cells.items() if letter in ".*+")
    player = next(cell for cell, letter in cells.items() if letter in "@+")
    return floor, goals, boxes, player


def walks(floor, boxes, player):
    """For every place that can be walked to, the walk there."""
    found = {player: []}
    waiting = deque([player])
    while waiting:
        cell = waiting.popleft()
        for word, (down, right) in STEPS.items():
            after = (cell[0] + down, cell[1] + right)
            if after in floor and after not in boxes and after not in found:
                found[after] = [*found[cell], word]
                waiting.append(after)
    return found


def pushes_needed(floor, goals):
    """For every place from which a lone box can be pushed to a goal, the fewest pushes."""
    found = {goal: 0 for goal in goals}
    waiting = deque(goals)
    while waiting:
        cell = waiting.popleft()
        for down, right in STEPS.values():
            before, stand = (cell[0] - down, cell[1] - right), (cell[0] - 2 * down, cell[1] - 2 * right)
            if before in floor and stand in floor and before not in found:
                found[before] = found[cell] + 1
                waiting.append(before)
    return found


def search(rows, counted, weight):
    """Words of a solution."""
    floor, goals, boxes, player = read(rows)
    needed = pushes_needed(floor, goals)
    waiting = [(0, 0, 0, boxes, player, [])]
    seen = set()
    count = 0
    while waiting:
        _, _, pushes, boxes, player, words = heapq.heappop(waiting)
        if boxes == goals:
            return words
        reached = walks(floor, boxes, player)
        # Where the player can walk to is the same position, unless walks are counted.
        position = (boxes, player if counted == "moves" else min(reached))
        if position in seen:
            continue
        seen.add(position)
        for box in boxes:
            for word, (down, right) in STEPS.items():
                stand, after = (box[0] - down, box[1] - right), (box[0] + down, box[1] + right)
                if stand in reached and after in needed and after not in boxes:
                    pushed = boxes - {box} | {after}
                    step = [*words, *reached[stand], word]
                    behind = len(step) if counted == "moves" else pushes + 1
                    left = sum(needed[cell] for cell in pushed)
                    count += 1
                    heapq.heappush(waiting, (behind + weight * left, count, pushes + 1, pushed, box, step))
    return []


def solve(puzzle: dict, rng: random.Random) -> list[str]:
    for counted, weight in SEARCHES:
        words = search(puzzle["rows"], counted, weight)
        if 0 < len(words) <= puzzle["moves_max"]:
            return ["\n".join(words)]
    return []


def wrong(puzzle: dict, right: str, rng: random.Random) -> list[str]:
    words = right.split()
    at = rng.randrange(len(words))
    other = rng.choice(list(STEPS))
    answers = [words[:at], words[:at] + words[at + 1 :], words[:at] + [other] + words[at + 1 :], words[::-1]]
    # A detour that leads back may still be right.
    back = {"up": "down", "down": "up", "left": "right", "right": "left"}
    answers.append(words[:at] + [other, back[other]] + words[at:])
    answers.append([rng.choice(list(STEPS)) for _ in range(puzzle["moves_max"])])
    return ["\n".join(answer) for answer in answers if answer]
