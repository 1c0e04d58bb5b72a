"""Compares with the standard library, and looks at what is imported. The module runs as a program of its own."""
import ast
import datetime
import json
import random
import subprocess
import sys

PATH = "/app/calendar_tools.py"
ASK = """
import json
def ask(name, arguments):
    try:
        print(json.dumps(globals()[name](*arguments)))
    except ValueError:
        print(json.dumps("ValueError"))

"""


def answers(questions):
    """The module is the program that runs, and is asked as one would at a prompt: no code of the tests shares its process."""
    lines = ASK + "".join(f"ask({name!r}, {arguments!r})\n" for name, arguments in questions)
    asked = subprocess.run([sys.executable, "-I", "-i", PATH], input=lines, capture_output=True, text=True, timeout=30)
    return [json.loads(line) for line in asked.stdout.splitlines()]


def test_imports():
    tree = ast.parse(open(PATH).read())
    assert not [node for node in ast.walk(tree) if isinstance(node, (ast.Import, ast.ImportFrom))]


def test_months():
    questions = [("days_in_month", pair) for pair in [(2000, 1), (2000, 2), (1900, 2), (2024, 12), (2020, 0), (2020, 13), (2020, -1)]]
    assert answers(questions) == [31, 29, 28, 31, "ValueError", "ValueError", "ValueError"]


def test_leap_years():
    years = [1, 4, 100, 400, 1600, 1700, 2000, 2023, 2024, 2100]
    assert answers([("is_leap", [year]) for year in years]) == [False, True, False, True, True, False, True, False, True, False]


def test_days():
    chance = random.Random(5)
    days = [datetime.date.fromordinal(chance.randint(1, 3_000_000)) for _ in range(300)]
    parts = [(day.year, day.month, day.day) for day in days]
    assert answers([("day_of_year", part) for part in parts]) == [day.timetuple().tm_yday for day in days]
    pairs = list(zip(days, days[1:]))
    questions = [("days_between", pair) for pair in zip(parts, parts[1:])]
    assert answers(questions) == [(second - first).days for first, second in pairs]
    wrong = [(2023, 2, 29), (2024, 4, 31), (2024, 1, 0), (2024, 13, 1)]
    assert answers([("day_of_year", day) for day in wrong]) == ["ValueError"] * 4
