"""Stretches of time: joined, cut, common, and how long."""

import pytest

from budget.spans import both, joined, length, minus, touches


@pytest.mark.parametrize(
    ("spans", "slack", "found"),
    [
        ([], 0, []),
        ([(5, 9), (0, 3)], 0, [(0, 3), (5, 9)]),
        ([(0, 3), (3, 5), (4, 9)], 0, [(0, 9)]),
        ([(0, 9), (2, 3)], 0, [(0, 9)]),
        ([(0, 3), (5, 9)], 2, [(0, 9)]),  # 5 - 3 = 2
        ([(0, 3), (5.1, 9)], 2, [(0, 3), (5.1, 9)]),
        ([(4, 4), (6, 5)], 0, []),  # nothing, and an end before its start
    ],
)
def test_spans_that_touch_become_one(spans, slack, found):
    assert joined(spans, slack) == found


@pytest.mark.parametrize(
    ("spans", "covers", "left"),
    [
        ([(0, 10)], [], [(0, 10)]),
        ([(0, 10)], [(2, 3), (5, 7)], [(0, 2), (3, 5), (7, 10)]),
        ([(0, 10)], [(-5, 2), (9, 20)], [(2, 9)]),
        ([(0, 10)], [(0, 10)], []),
        ([(0, 2), (8, 10)], [(1, 9)], [(0, 1), (9, 10)]),
        ([(0, 2)], [(2, 9)], [(0, 2)]),
    ],
)
def test_what_is_covered_is_cut_off(spans, covers, left):
    assert minus(spans, covers) == left


def test_what_lies_in_both_is_found_and_overlap_counts_once():
    assert both([(0, 4), (6, 10)], [(3, 7), (9, 20)]) == [(3, 4), (6, 7), (9, 10)]
    assert both([(0, 4)], [(4, 9)]) == []
    assert length([(0, 4), (2, 6), (10, 11)]) == 7  # 6 + 1


@pytest.mark.parametrize(
    ("span", "found"),
    [((0, 1), False), ((0, 2), False), ((0, 3), True), ((3, 4), True), ((5, 8), False),
     ((7, 20), True), ((12, 20), False)],
)  # fmt: skip
def test_a_span_touches_what_it_overlaps_and_nothing_it_only_meets(span, found):
    assert touches(span, [(2, 5), (8, 12)]) is found
    assert touches(span, []) is False
