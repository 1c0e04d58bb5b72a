"""What a parameter of a path may be."""

import re


class Converter:
    """Turns a part of a path into a value; ``None`` where it does not fit."""

    takes_rest = False

    def __init__(self, pattern, make):
        self._pattern = re.compile(pattern)
        self._make = make

    def __call__(self, part):
        return self._make(part) if self._pattern.fullmatch(part) else None


class Rest(Converter):
    """Takes all that is left of a path."""

    takes_rest = True


CONVERTERS = {
    "str": Converter(r"[^/]+", str),
    "int": Converter(r"[0-9]+", int),
    "slug": Converter(r"[a-z0-9]+(?:-[a-z0-9]+)*", str),
    "path": Rest(r".+", str),
}
