"""Finds the handler of a request by method and path."""

from .errors import MethodNotAllowed, NotFound, RouteError
from .router import Match, Router

__all__ = ["Match", "MethodNotAllowed", "NotFound", "RouteError", "Router"]
