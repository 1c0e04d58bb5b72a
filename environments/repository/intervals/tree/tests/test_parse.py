import pytest

from intervals import IntervalSet, parse
from intervals.parse import render


def test_ranges_and_single_numbers():
    assert parse("7, 1-3") == IntervalSet([(1, 4), (7, 8)])


def test_nothing_is_the_empty_set():
    assert parse(" , ") == IntervalSet()


@pytest.mark.parametrize("text", ["a", "3-1", "1-", "1-2-3"])
def test_what_is_no_range_is_refused(text):
    with pytest.raises(ValueError):
        parse(text)


def test_what_is_rendered_is_read_again():
    spans = parse("1-3, 9, 20-22")
    assert parse(render(spans)) == spans
