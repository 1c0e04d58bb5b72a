"""`puzzle/geometry`: other formulas than the server's, in Python's fractions."""

import math
import re
from fractions import Fraction

AGREES_WITH = "brute force"


def truth(puzzle):
    points = [tuple(map(Fraction, point)) for point in puzzle["points"]]
    return globals()[puzzle["asked"]](points)


def square(one, other):
    return (one[0] - other[0]) ** 2 + (one[1] - other[1]) ** 2


def root(number):
    return Fraction(math.isqrt(number.numerator), math.isqrt(number.denominator))


def edges(points):
    return list(zip(points, points[1:] + points[:1]))


def tangent(points):
    """By the law of cosines."""
    a, b, c = points
    left, right, across = square(a, b), square(c, b), square(a, c)
    dot = (left + right - across) / 2
    return [root(left * right - dot**2) / dot]


def area(points):
    """Trapezes between the edges and the axis."""
    return [abs(sum((next_x - x) * (y + next_y) / 2 for (x, y), (next_x, next_y) in edges(points)))]


def line(a, b):
    """Coefficients of `p x + q y = r`."""
    p, q = b[1] - a[1], a[0] - b[0]
    return p, q, p * a[0] + q * a[1]


def squared_distance(points):
    a, b, (x, y) = points
    p, q, r = line(a, b)
    return [(p * x + q * y - r) ** 2 / (p**2 + q**2)]


def meet(one, other):
    """By Cramer's rule; None for parallels."""
    (p, q, r), (s, t, u) = one, other
    bottom = p * t - q * s
    return ((r * t - q * u) / bottom, (p * u - r * s) / bottom) if bottom else None


def crossing(points):
    a, b, c, d = points
    return list(meet(line(a, b), line(c, d)))


def mirror(points):
    a, b, (x, y) = points
    p, q, r = line(a, b)
    off = (p * x + q * y - r) / (p**2 + q**2)
    return [x - 2 * p * off, y - 2 * q * off]


def circumcentre(points):
    """Where two perpendicular bisectors meet."""
    a, b, c = points
    bisectors = [
        (other[0] - a[0], other[1] - a[1], (other[0] ** 2 + other[1] ** 2 - a[0] ** 2 - a[1] ** 2) / 2) for other in (b, c)
    ]
    return list(meet(*bisectors))


def inner_points(points):
    """Row by row."""
    on_edge = set()
    for (x, y), (next_x, next_y) in edges(points):
        steps = math.gcd(int(next_x - x), int(next_y - y))
        on_edge |= {(x + (next_x - x) * step / steps, y + (next_y - y) * step / steps) for step in range(steps)}
    count = 0
    for y in range(int(min(y for _, y in points)), int(max(y for _, y in points)) + 1):
        cuts = sorted(
            a[0] + (b[0] - a[0]) * (y - a[1]) / (b[1] - a[1]) for a, b in edges(points) if (a[1] > y) != (b[1] > y)
        )
        for left, right in zip(cuts[::2], cuts[1::2]):
            row = range(math.floor(left) + 1, math.ceil(right))
            count += len(row) - sum(1 for x, other_y in on_edge if other_y == y and left < x < right)
    return [Fraction(count)]


def overlap(points):
    """Horizontal strips between all heights where the width of the overlap can bend."""
    triangles = points[:3], points[3:]
    heights = {y for _, y in points}
    for one in edges(triangles[0]):
        for other in edges(triangles[1]):
            met = meet(line(*one), line(*other))
            if met:
                heights.add(met[1])
    heights = sorted(heights)
    total = Fraction(0)
    for low, high in zip(heights, heights[1:]):
        middle = (low + high) / 2
        spans = [
            sorted(
                a[0] + (b[0] - a[0]) * (middle - a[1]) / (b[1] - a[1])
                for a, b in edges(triangle)
                if (a[1] > middle) != (b[1] > middle)
            )
            for triangle in triangles
        ]
        if all(spans):
            total += max(Fraction(0), min(span[1] for span in spans) - max(span[0] for span in spans)) * (high - low)
    return [total]


def read(text):
    text = text.strip()
    if text.startswith("(") and text.endswith(")"):
        text = text[1:-1]
    parts = [part.strip().removeprefix(name).lstrip() for part, name in zip(text.split(","), ("x =", "y =", ""))]
    if not all(re.fullmatch(r"[+-]?\d+(\.\d*)?|[+-]?\d+ ?/ ?\d+", part) for part in parts):
        return None
    try:
        return [Fraction(part.replace(" ", "")) for part in parts]
    except ZeroDivisionError:
        return None


def check(puzzle, answer):
    return float(read(answer) == truth(puzzle))


def solve(puzzle, rng):
    right = truth(puzzle)
    tripled = [f"{3 * number.numerator}/{3 * number.denominator}" for number in right]
    if len(right) == 1:
        return [str(right[0]), tripled[0]]
    x, y = right
    return [f"({x}, {y})", f"{x}, {y}", f"({', '.join(tripled)})", f"x = {x}, y = {y}"]


def wrong(puzzle, right, rng):
    numbers = truth(puzzle)
    near = [number + Fraction(rng.choice([-1, 1]), number.denominator) for number in numbers]
    form = "({})" if len(numbers) > 1 else "{}"
    others = [near, [-number for number in numbers], numbers[::-1], [2 * number for number in numbers], [*numbers, numbers[0]]]
    rounded = ", ".join(f"{float(number):.4f}" for number in numbers)
    return [form.format(", ".join(map(str, other))) for other in others] + [form.format(rounded), ""]
