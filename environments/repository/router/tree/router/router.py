"""The tree of routes."""

import re
from dataclasses import dataclass, field

from .converters import CONVERTERS
from .errors import MethodNotAllowed, NotFound, RouteError

_PARAMETER = re.compile(r"<(?:(?P<converter>[a-z]+):)?(?P<name>[a-z_][a-z0-9_]*)>")


@dataclass(frozen=True)
class Match:
    """A handler and what its path says."""

    handler: object
    parameters: dict


@dataclass
class _Node:
    fixed: dict = field(default_factory=dict)
    # Pairs of (converter's name, parameter's name) with what follows, in the order in which they were added.
    parameters: dict = field(default_factory=dict)
    handlers: dict = field(default_factory=dict)


class Router:
    """Routes by path and method."""

    def __init__(self):
        self._root = _Node()

    def add(self, method, path, handler):
        """Adds a route.

        Raises :class:`RouteError` when the path is malformed or the route is there already.
        """
        if not path.startswith("/"):
            raise RouteError(f"a path begins with a slash: {path!r}")
        node, names = self._root, set()
        parts = _parts(path)
        for index, part in enumerate(parts):
            parameter = _PARAMETER.fullmatch(part)
            if parameter is None:
                if "<" in part or ">" in part:
                    raise RouteError(f"no parameter: {part!r}")
                node = node.fixed.setdefault(part, _Node())
                continue
            converter, name = parameter["converter"] or "str", parameter["name"]
            if converter not in CONVERTERS:
                raise RouteError(f"no converter is called {converter!r}")
            if name in names:
                raise RouteError(f"two parameters are called {name!r}")
            if CONVERTERS[converter].takes_rest and index + 1 < len(parts):
                raise RouteError(f"nothing can follow {part!r}")
            names.add(name)
            node = node.parameters.setdefault((converter, name), _Node())
        if method in node.handlers:
            raise RouteError(f"there is a route for {method} {path} already")
        node.handlers[method] = handler

    def find(self, method, path):
        """The match of a request.

        Raises :class:`NotFound` or :class:`MethodNotAllowed`.
        """
        node, parameters = self._root, {}
        parts = _parts(path)
        for index, part in enumerate(parts):
            if part in node.fixed:
                node = node.fixed[part]
                continue
            for (converter, name), following in node.parameters.items():
                rest = CONVERTERS[converter].takes_rest
                value = CONVERTERS[converter]("/".join(parts[index:]) if rest else part)
                if value is not None:
                    parameters[name] = value
                    node = following
                    break
            else:
                raise NotFound(path)
            if rest:
                break
        if method not in node.handlers:
            raise MethodNotAllowed(node.handlers)
        return Match(node.handlers[method], parameters)


def _parts(path):
    return [part for part in path.split("/") if part]
