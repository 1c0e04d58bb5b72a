"""The wait before the next attempt, and the time to give up."""

from __future__ import annotations

import random
import time

FIRST_S = 0.05
LONGEST_S = 5.0


class Backoff:
    """Counts failures in a row: waits double up to a bound, and only a success begins the row anew."""

    def __init__(self, give_up_s: float):
        self.give_up_s = give_up_s
        self.succeeded()

    def succeeded(self) -> None:
        self.failures = 0
        self.since = time.monotonic()

    def wait_s(self, at_least_s: float = 0.0) -> float | None:
        """Seconds to wait after one more failure; ``None`` when it is time to give up."""
        left = self.since + self.give_up_s - time.monotonic()
        if left <= 0:
            return None
        full = min(FIRST_S * 2.0 ** min(self.failures, 16), LONGEST_S)
        self.failures += 1
        # Half of it by chance, so that many clients do not come back in step.
        return min(max(full * random.uniform(0.5, 1.0), at_least_s), left)
