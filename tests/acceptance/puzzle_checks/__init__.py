"""Checkers and solvers of puzzles that share nothing with the server: each works from a task's public metadata alone.

A module has AGREES_WITH (what the checker rests on), check(puzzle, answer) -> score, solve(puzzle, rng) -> right answers, and
wrong(puzzle, right, rng) -> near misses. Answers of puzzles with many turns hold one turn per line.
"""
