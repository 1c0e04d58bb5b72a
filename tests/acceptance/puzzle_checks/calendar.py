"""`puzzle/calendar`: the same walk with the dates of Python's standard library."""

import re
from datetime import date, datetime, timedelta

AGREES_WITH = "brute force"
FORMS = ("%Y-%m-%d", "%Y/%m/%d", "%d %B %Y", "%B %d %Y", "%A %d %B %Y", "%d %b %Y")


def follow(day, step):
    kind = step["step"]
    if kind == "days":
        return day + timedelta(step["days"])
    if kind == "months":
        months = day.year * 12 + day.month - 1 + step["months"]
        return on_month(months // 12, months % 12 + 1, day.day)
    if kind == "working_days":
        return count_on(day, step["days"], lambda other: other.weekday() < 5)
    if kind == "weekday":
        return count_on(day, step["nth"], lambda other: other.isoweekday() == step["iso_weekday"])
    if kind == "weekday_of_month":
        month = [day.replace(day=1) + timedelta(ahead) for ahead in range(31)]
        days = [other for other in month if other.month == day.month and other.isoweekday() == step["iso_weekday"]]
        return days[step["nth"] - 1 if step["nth"] > 0 else step["nth"]]
    if kind == "month_end":
        return on_month(day.year, day.month, 31)
    if kind == "leap_day":
        return count_on(day, 1, lambda other: (other.month, other.day) == (2, 29))
    leap = on_month(day.year, 2, 31).day == 29
    return day + timedelta(step["leap_days" if leap else "other_days"])


def on_month(year, month, day):
    """The day of the month, or its last one where it is shorter."""
    try:
        return date(year, month, day)
    except ValueError:
        return on_month(year, month, day - 1)


def count_on(day, count, counts):
    left, one = abs(count), timedelta(1 if count > 0 else -1)
    while left:
        day += one
        left -= counts(day)
    return day


def truth(puzzle):
    start = end = date.fromisoformat(puzzle["start"])
    for step in puzzle["steps"]:
        end = follow(end, step)
    first, last = min(start, end), max(start, end)
    asked = puzzle["asked"]
    if asked["question"] == "date":
        return end
    if asked["question"] == "days":
        return (last - first).days
    ordinals = range(first.toordinal(), last.toordinal() + 1)
    return sum(1 for ordinal in ordinals if ordinal % 7 == asked["iso_weekday"] % 7)


def read(text):
    text = text.strip()
    if re.fullmatch(r"\d{1,3}(,\d{3})+|\d+", text):
        return int(text.replace(",", ""))
    for form in FORMS:
        try:
            return datetime.strptime(text.replace(",", ""), form).date()
        except ValueError:
            pass
    return None


def check(puzzle, answer):
    right, given = truth(puzzle), read(answer)
    if isinstance(given, date) and answer[0].isalpha() and not answer.startswith(given.strftime("%B")):
        # A weekday that is named has to be the right one, which Python's reader does not look at.
        return float(right == given and answer.startswith(given.strftime("%A")))
    return float(type(right) is type(given) and right == given)


def solve(puzzle, rng):
    right = truth(puzzle)
    if isinstance(right, int):
        return [str(right), f"{right:,}"]
    return [
        right.isoformat(),
        f"{right.day} {right:%B} {right.year}",
        f"{right:%B} {right.day}, {right.year}",
        f"{right:%A}, {right.day} {right:%B} {right.year}",
    ]


def wrong(puzzle, right, rng):
    true = truth(puzzle)
    if isinstance(true, int):
        return [str(true + 1), str(true - 1), str(true + 7), f"-{true}", f"{true}.5", puzzle["start"], ""]
    other = true + timedelta(rng.choice([-7, -1, 1, 7, 30]))
    return [
        other.isoformat(),
        f"{other:%A}, {true.day} {true:%B} {true.year}",
        f"{true:%A}, {other.day} {other:%B} {other.year}",
        f"{true.year}-{true.month:02}",
        str(true.day),
        puzzle["start"],
        "",
    ]
