"""Why no handler was found."""


class RouteError(Exception):
    """A route that cannot be added."""


class NotFound(LookupError):
    """No route has this path."""


class MethodNotAllowed(LookupError):
    """Routes have this path, but not for this method."""

    def __init__(self, allowed):
        super().__init__(f"allowed: {', '.join(sorted(allowed))}")
        self.allowed = frozenset(allowed)
