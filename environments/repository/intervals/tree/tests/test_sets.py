import pytest

from intervals import IntervalSet


def test_overlapping_spans_are_joined():
    assert list(IntervalSet([(5, 8), (1, 3), (2, 6)])) == [(1, 8)]


def test_empty_spans_are_dropped():
    assert not IntervalSet([(3, 3)])


def test_a_span_that_ends_before_it_starts_is_refused():
    with pytest.raises(ValueError):
        IntervalSet([(3, 2)])


def test_points_are_found_by_half_open_spans():
    spans = IntervalSet([(1, 3), (5, 8)])
    assert 1 in spans and 2 in spans and 7 in spans
    assert 3 not in spans and 4 not in spans and 8 not in spans and 0 not in spans


def test_union_and_intersection():
    left, right = IntervalSet([(0, 4), (6, 9)]), IntervalSet([(3, 7)])
    assert left | right == IntervalSet([(0, 9)])
    assert left & right == IntervalSet([(3, 4), (6, 7)])


def test_a_cut_in_the_middle_leaves_both_ends():
    assert IntervalSet([(0, 10)]) - IntervalSet([(3, 4)]) == IntervalSet([(0, 3), (4, 10)])


def test_cutting_what_is_not_there_changes_nothing():
    assert IntervalSet([(0, 2)]) - IntervalSet([(5, 6)]) == IntervalSet([(0, 2)])


def test_measure_and_gaps():
    spans = IntervalSet([(0, 2), (5, 6), (9, 12)])
    assert spans.measure() == 6
    assert spans.gaps() == IntervalSet([(2, 5), (6, 9)])


def test_clamp():
    assert IntervalSet([(0, 5), (8, 12)]).clamp(3, 10) == IntervalSet([(3, 5), (8, 10)])
