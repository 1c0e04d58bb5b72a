"""puzzle/table_questions: the tables in SQLite, and the question as a statement over their join."""

import re
import sqlite3
from decimal import Decimal

AGREES_WITH = "SQLite"

TESTS = {"is": "=", "is_not": "<>", "above": ">", "below": "<"}


def name(text):
    return f'"{text}"'


def right_answer(puzzle):
    """A tuple of what has to be in the answer, in order."""
    tables, query = puzzle["tables"], puzzle["query"]
    database = sqlite3.connect(":memory:")
    source, where_is = name(tables[0]["name"]), {}
    for at, table in enumerate(tables):
        database.execute(f"CREATE TABLE {name(table['name'])} ({', '.join(map(name, table['columns']))})")
        marks = ", ".join("?" * len(table["columns"]))
        database.executemany(f"INSERT INTO {name(table['name'])} VALUES ({marks})", table["rows"])
        for column in table["columns"]:
            where_is.setdefault(column, f"{name(table['name'])}.{name(column)}")
        if at:
            key = table["columns"][0]
            source += f" JOIN {name(table['name'])} ON {where_is[key]} = {name(table['name'])}.{name(key)}"
    conditions, values = [], []
    for condition in query["conditions"]:
        (test, value), = condition["test"].items()
        conditions.append(f"{where_is[condition['column']]} {TESTS[test]} ?")
        values.append(value)
    source += " WHERE " + " AND ".join(conditions)
    run = lambda what, *more: database.execute(what.replace("SOURCE", source), [*values, *more]).fetchall()
    ask = query["ask"]
    if ask == "count":
        return run("SELECT count(*) FROM SOURCE")[0]
    (kind, ask), = ask.items()
    column = where_is[ask["column"]]
    if kind == "total":
        return run(f"SELECT sum({column}) FROM SOURCE")[0]
    if kind == "difference":
        total = f"SELECT sum({column}) FROM SOURCE AND {where_is[ask['by']]} = ?"
        one, other = (run(total, group)[0][0] for group in ask["groups"])
        return (abs(one - other),)
    order = "DESC" if ask["largest"] else "ASC"
    if kind == "row":
        key = where_is[tables[0]["columns"][0]]
        return run(f"SELECT {key} FROM SOURCE ORDER BY {column} {order} LIMIT 1")[0]
    by = where_is[ask["by"]]
    return run(f"SELECT {by}, sum({column}) AS total FROM SOURCE GROUP BY {by} ORDER BY total {order} LIMIT 1")[0]


def is_number(text, number):
    grouped = re.fullmatch(r"\+?((?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d*)?)", text)
    return bool(grouped) and Decimal(grouped[1].replace(",", "")) == number


def check(puzzle: dict, answer: str) -> float:
    right = right_answer(puzzle)
    answer = answer.strip().strip('*"').removesuffix(".").lower()
    if len(right) == 2:
        parts = re.fullmatch(r"([a-z]+)[\s,:(-]+([\d,.]*\d)\)?", answer)
        return float(bool(parts) and parts[1] == right[0].lower() and is_number(parts[2], right[1]))
    right, = right
    return float(answer == right.lower() if isinstance(right, str) else is_number(answer, right))


def solve(puzzle: dict, rng) -> list[str]:
    right = right_answer(puzzle)
    if len(right) == 2:
        return [f"{right[0]}, {right[1]}", f"{right[0].upper()}: {right[1]:,}"]
    right, = right
    return [right, right.lower()] if isinstance(right, str) else [str(right), f"{right:,}", f"{right}.0"]


def wrong(puzzle: dict, right: str, rng) -> list[str]:
    digits = re.search(r"\d+$", right)
    near = [f"{right[: digits.start()]}{int(digits[0]) + rng.choice([-2, -1, 1, 10])}"] if digits else []
    row = rng.choice(puzzle["tables"][0]["rows"])
    return [*near, str(row[0]), str(row[-1]), f"{row[1]}, {row[-1]}", right + " 1", ""]
