"""Sets of half-open intervals ``[start, stop)``, kept sorted and disjoint."""

from bisect import bisect_right


class IntervalSet:
    """An immutable set of points, held as half-open intervals."""

    __slots__ = ("_spans",)

    def __init__(self, spans=()):
        self._spans = tuple(_normalise(spans))

    def __iter__(self):
        return iter(self._spans)

    def __len__(self):
        return len(self._spans)

    def __bool__(self):
        return bool(self._spans)

    def __eq__(self, other):
        if not isinstance(other, IntervalSet):
            return NotImplemented
        return self._spans == other._spans

    def __hash__(self):
        return hash(self._spans)

    def __repr__(self):
        return f"IntervalSet({list(self._spans)!r})"

    def __contains__(self, point):
        index = bisect_right(self._spans, point, key=lambda span: span[0]) - 1
        return index >= 0 and point < self._spans[index][1]

    def __or__(self, other):
        return IntervalSet([*self._spans, *other._spans])

    def __and__(self, other):
        found = []
        mine, theirs = list(self._spans), list(other._spans)
        i = j = 0
        while i < len(mine) and j < len(theirs):
            start = max(mine[i][0], theirs[j][0])
            stop = min(mine[i][1], theirs[j][1])
            if start < stop:
                found.append((start, stop))
            if mine[i][1] < theirs[j][1]:
                i += 1
            else:
                j += 1
        return IntervalSet(found)

    def __sub__(self, other):
        left = []
        for start, stop in self._spans:
            for cut_start, cut_stop in other._spans:
                if cut_stop <= start or stop <= cut_start:
                    continue
                if start < cut_start:
                    left.append((start, cut_start))
                start = cut_stop
                break
            if start < stop:
                left.append((start, stop))
        return IntervalSet(left)

    def measure(self):
        """The sum of all lengths."""
        return sum(stop - start for start, stop in self._spans)

    def gaps(self):
        """What lies between the first start and the last stop and is not in the set."""
        pairs = zip(self._spans, self._spans[1:])
        return IntervalSet((before[1], after[0]) for before, after in pairs)

    def clamp(self, start, stop):
        """The part within ``[start, stop)``."""
        return self & IntervalSet([(start, stop)])


def _normalise(spans):
    """Sorts spans, drops empty ones and joins those that overlap."""
    joined = []
    for start, stop in sorted(spans):
        if stop < start:
            raise ValueError(f"an interval ends before it starts: {start!r} .. {stop!r}")
        if start == stop:
            continue
        if joined and start < joined[-1][1]:
            joined[-1] = (joined[-1][0], max(stop, joined[-1][1]))
        else:
            joined.append((start, stop))
    return joined
