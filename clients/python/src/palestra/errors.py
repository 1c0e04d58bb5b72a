"""Errors of the client. All of them are a :class:`PalestraError`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class PalestraError(Exception):
    """Something failed; the message says what, where, and what to do."""


class ConnectionLost(PalestraError):
    """The server could not be reached for as long as the client was told to try."""


class ClientClosed(PalestraError):
    """The client was closed, or belongs to another process."""


class ApiError(PalestraError):
    """The server refused: a problem document (RFC 9457).

    ``code`` is stable, such as ``"episode_over"``; docs/errors.md lists all codes with what to do.
    """

    def __init__(self, problem: Mapping[str, Any]):
        self.problem: dict[str, Any] = dict(problem)
        super().__init__(f"{self.code}: {self.detail}")

    @property
    def status(self) -> int:
        """HTTP status."""
        return int(self.problem.get("status", 0))

    @property
    def code(self) -> str:
        """Stable name of the cause."""
        return str(self.problem.get("code", "unknown"))

    @property
    def detail(self) -> str:
        """The reason this time, with every fault that was found."""
        detail = str(self.problem.get("detail") or self.problem.get("title") or "")
        return detail + "".join("; " + _fault(fault) for fault in self.problem.get("errors") or [])

    @property
    def retry_after_s(self) -> float | None:
        """Seconds after which the server wants to be asked again; ``None`` where it says nothing."""
        milliseconds = self.problem.get("retry_after_ms")
        return None if milliseconds is None else float(milliseconds) / 1000

    def __reduce__(self) -> tuple[type[ApiError], tuple[dict[str, Any]]]:
        return type(self), (self.problem,)


def _fault(fault: Mapping[str, Any]) -> str:
    place = [str(fault[name]) for name in ("file", "line", "field") if fault.get(name) is not None]
    return ": ".join([*place, str(fault.get("detail", ""))])


# The state of the server, not the fault of the command: it has not acted, and may later.
PASSING = frozenset(
    {"capacity", "draining", "not_recorded", "session_busy", "session_elsewhere", "store_unavailable", "too_many_requests", "request_timeout"}
)
