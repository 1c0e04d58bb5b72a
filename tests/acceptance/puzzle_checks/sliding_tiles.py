"""Boards of tiles: moves by coordinates, and solutions by a best-first search. About fifty boards a second."""

import heapq
import re

AGREES_WITH = "brute force"
MOVES_PER_TURN_MAX = 100


def coordinates(board):
    return {tile: (row, column) for row, tiles in enumerate(board) for column, tile in enumerate(tiles)}


def check(puzzle: dict, answer: str) -> float:
    places, goal, moves = coordinates(puzzle["start"]), coordinates(puzzle["goal"]), 0
    for turn in answer.splitlines():
        words = [word for word in re.split(r"[\s,;]+", turn.strip("[](){} ")) if word]
        known = all(re.fullmatch("[0-9]+", word) and int(word) in places and int(word) > 0 for word in words)
        if not known or not 1 <= len(words) <= MOVES_PER_TURN_MAX:
            continue
        for tile in map(int, words):
            if moves >= puzzle["moves_max"] or places == goal:
                return float(places == goal)
            moves += 1
            (row, column), (gap_row, gap_column) = places[tile], places[0]
            if (row - gap_row) ** 2 + (column - gap_column) ** 2 == 1:
                places[tile], places[0] = places[0], places[tile]
    return float(places == goal)


def search(puzzle, weight, rng):
    columns = len(puzzle["start"][0])
    start, goal = (tuple(tile for row in puzzle[name] for tile in row) for name in ("start", "goal"))
    home = {tile: divmod(place, columns) for place, tile in enumerate(goal)}
    apart = {
        (tile, place): tile and abs(home[tile][0] - place // columns) + abs(home[tile][1] - place % columns)
        for tile in goal
        for place in range(len(goal))
    }
    beside = [
        [
            other
            for other in range(len(goal))
            if abs(other // columns - place // columns) + abs(other % columns - place % columns) == 1
        ]
        for place in range(len(goal))
    ]
    far = sum(apart[tile, place] for place, tile in enumerate(start))
    way = {start: None}
    heap = [(weight * far, 0, 0, far, start)]
    while heap:
        _, _, moves, far, board = heapq.heappop(heap)
        if far == 0:
            break
        gap = board.index(0)
        for place in beside[gap]:
            tile = board[place]
            after = list(board)
            after[gap], after[place] = tile, 0
            after = tuple(after)
            if after not in way:
                way[after] = (board, tile)
                farther = far + apart[tile, gap] - apart[tile, place]
                heapq.heappush(heap, (moves + 1 + weight * farther, rng.random(), moves + 1, farther, after))
    tiles, board = [], goal
    while way[board]:
        board, tile = way[board]
        tiles.append(tile)
    return tiles[::-1]


def solve(puzzle: dict, rng) -> list[str]:
    weights = iter((3, 2, 1.5, 1.2, 1))
    tiles = search(puzzle, next(weights), rng)
    while len(tiles) > puzzle["moves_max"]:
        tiles = search(puzzle, next(weights), rng)
    cut = rng.randrange(len(tiles))
    turns = [turn for turn in (tiles[:cut], tiles[cut:]) if turn]
    return [" ".join(map(str, tiles)), "\n".join(", ".join(map(str, turn)) for turn in turns)]


def wrong(puzzle: dict, right: str, rng) -> list[str]:
    tiles = re.findall("[0-9]+", right)
    at = rng.randrange(len(tiles))
    lists = [
        tiles[:-1],
        tiles[:at] + tiles[at + 1 :],
        tiles[:at] + ["99"] + tiles[at:],
        tiles[:at] + [tiles[0]] * 30 + tiles[at:],
        tiles[::-1],
    ]
    return [" ".join(tiles) for tiles in lists] + ["\n".join(tiles[::-1] + tiles)]
