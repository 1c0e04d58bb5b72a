"""Reads sets as people write them: ``1-3, 7, 9-12``."""

from .sets import IntervalSet


def parse(text):
    """The set of whole numbers that a text lists; both ends of a range belong to it.

    >>> parse("1-3, 7")
    IntervalSet([(1, 4), (7, 8)])
    """
    spans = []
    for part in text.split(","):
        part = part.strip()
        if not part:
            continue
        first, dash, last = part.partition("-")
        try:
            start = int(first)
            stop = int(last) if dash else start
        except ValueError:
            raise ValueError(f"no range of whole numbers: {part!r}") from None
        if stop < start:
            raise ValueError(f"a range counts upwards: {part!r}")
        spans.append((start, stop + 1))
    return IntervalSet(spans)


def render(spans):
    """The text that :func:`parse` reads."""
    parts = []
    for start, stop in spans:
        parts.append(str(start) if stop == start + 1 else f"{start}-{stop - 1}")
    return ", ".join(parts)
